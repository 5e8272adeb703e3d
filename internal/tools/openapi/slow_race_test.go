//go:build race

package openapi

const slow = 20
