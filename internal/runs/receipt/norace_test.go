//go:build !race

package receipt

const raced = false
