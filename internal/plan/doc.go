// Package plan owns what is proposed and what becomes of it.
//
// A Plan is a goal and steps; it is immutable, and its Digest is the SHA-256 of
// its canonical form together with what every step is bound to: the server's
// base URL and the tool's fingerprint. What a person confirms is a digest, and
// what runs is recomputed against it.
//
// A Run is one execution of one plan. Its life is the table in lifecycle.go and
// nothing else: storage derives its conditions from that table, so a transition
// that is not in it cannot be written.
package plan
