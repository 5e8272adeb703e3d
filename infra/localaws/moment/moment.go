// Package moment marks the named moments between two effects that belong together. A crash test
// receives them, and ends the process at one. Without the build tag failpoints they do nothing, and
// none of their names is in the binary.
package moment
