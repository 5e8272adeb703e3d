// Package plan owns what is proposed and what becomes of it.
//
// A Plan is a goal and steps; it is immutable, and its Digest is the SHA-256 of
// its canonical form together with what every step is bound to: the server's
// base URL and the tool's fingerprint. What a person confirms is a digest, and
// what runs is recomputed against it.
//
// A Run is one execution of one plan. Its life is the table in lifecycle.go and
// nothing else: storage asks that table before it writes a transition, on the
// condition that the run still is in the state it was read in.
package plan
