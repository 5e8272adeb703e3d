//go:build linux && !amd64

package sandbox

// oldModeCalls are calls that newer processors do not have.
var oldModeCalls []modeCall
