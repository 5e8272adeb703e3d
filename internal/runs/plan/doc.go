// Package plan defines plans, runs and the lifecycle of a run.
//
// A Plan is a goal and steps. It is immutable. Its Digest is the SHA-256 of its canonical form,
// including the binding of every step: the base URL of the server and the fingerprint of the tool.
// A person confirms a digest, and the digest is computed again before the run.
//
// A Run is one execution of one plan. The table in lifecycle.go is its whole lifecycle: the store
// checks that table before it writes a transition, on the condition that the run is still in the
// state in which it was read.
package plan
