// Package failpoint defines the named failpoints at which a crash test kills the process. They stand before and
// after every effect, and between any two transitions of a state machine.
//
// In a build without the tag failpoints the package does nothing: every function is empty and inlined, the binary
// contains no name of a failpoint, and no environment variable is read for it. With the tag, the n-th pass of a
// failpoint has the name "moment#n". A process that is armed with such a name kills itself there with SIGKILL, as a
// power cut does: no deferred call runs and nothing is flushed. Processes of one deployment count together, in the
// file of the trace, so that one of them dies, once. Counting, tracing and killing are one step under one lock, so
// that no later failpoint of the process passes after the kill.
package failpoint
