package meaning_test

import (
	"strconv"
	"testing"

	"piloto/internal/ground/meaning"
)

// A code refuses a call only where JSON-RPC or the Model Context Protocol says that it comes before the call.
func TestOnlyACodeFromBeforeTheCallRefuses(t *testing.T) {
	before := map[int]bool{-32700: true, -32600: true, -32601: true, -32602: true, -32020: true, -32021: true, -32022: true, -32042: true}
	for code := -32800; code <= 600; code++ {
		want := meaning.Unknown
		if before[code] {
			want = meaning.Refused
		}
		if got := meaning.OfCode(strconv.Itoa(code)); got != want {
			t.Errorf("%d is %v, want %v", code, got, want)
		}
	}
	for _, code := range []string{"", "0", "x", "-32602.5", "32602", "null"} {
		if got := meaning.OfCode(code); got != meaning.Unknown {
			t.Errorf("%q is %v", code, got)
		}
	}
}
