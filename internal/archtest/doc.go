// Package archtest holds the tree to its architecture: which way imports point,
// who may read the environment and the clock, how long a file may be, and that
// template.yaml, the functions and their configuration say the same.
//
// It owns tests only. Every rule says why it is there; an exception says why it
// may be one, and fails the test when it is no longer needed.
package archtest
