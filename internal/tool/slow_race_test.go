//go:build race

package tool

const slow = 20
