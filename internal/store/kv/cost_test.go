package kv

import (
	"encoding/base64"
	"strings"
	"testing"

	"piloto/infra/local/fixture/cost"
)

// TestCostOfReadingCursorGrowsWithItsLength, whoever wrote it.
func TestCostOfReadingCursorGrowsWithItsLength(t *testing.T) {
	const n = 1 << 20
	hostile := cost.Repeated(n, "A", "=", "-", "_", "\n", "\x00", "%", "AAAA\n", "\xff")
	hostile["a valid text"] = base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("x", n/4*3)))
	cost.Alike(t, "a cursor", func(s string) {
		if _, err := ReadCursor("scope", s); err == nil {
			t.Error("a cursor of a megabyte is one")
		}
	}, base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("ab", n/8*3))), hostile)
}
