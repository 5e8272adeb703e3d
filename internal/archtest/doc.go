// Package archtest checks the architecture: the direction of imports, which packages may read the environment and
// the clock, the length of files, and that template.yaml, the functions and their configuration agree.
//
// It contains only tests. Every rule has a reason in a comment. An exception has a reason too, and fails the test
// when it is no longer needed.
package archtest
