// Package moment owns the named moments between two effects that must not part. A test of
// crashes listens to them, and ends the process at one. Without the build tag failpoints
// they are nothing, and none of their names is in the binary.
package moment
