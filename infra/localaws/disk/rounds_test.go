//go:build !race

package disk

const raced = false
