//go:build race

package receipt

const raced = true
