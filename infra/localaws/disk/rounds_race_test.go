//go:build race

package disk

// raced says that the race detector makes each round five to ten times slower.
const raced = true
