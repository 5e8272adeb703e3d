//go:build !race

package openapi

// slow multiplies the time limits; the race detector needs more time.
const slow = 1
