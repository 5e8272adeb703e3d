//go:build !race

package openapi

// slow is how much longer things may take: the race detector is not what is measured.
const slow = 1
