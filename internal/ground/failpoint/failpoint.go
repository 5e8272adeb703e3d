// Package failpoint owns the named moments at which a test of crashes ends the
// process: before and after every effect that must not part from another, and
// between any two transitions of a state machine.
//
// What must stay true: in a build without the tag failpoints it is nothing. Every
// function is empty and inlined, no name of a moment is in the binary, and nothing
// reads the environment for it. With the tag, the n-th time a moment passes has
// the name "moment#n"; the process that is armed with such a name kills itself
// there, with SIGKILL, as a power cut does: no deferred call runs and nothing is
// flushed. Counting, tracing and killing are one step, so that no later moment
// passes once the named one did.
package failpoint
