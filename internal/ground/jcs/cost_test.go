package jcs

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"piloto/infra/local/fixture/cost"
)

// TestCanonicalIsLinear: the digits of one number are tested below.
func TestCanonicalIsLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("large documents")
	}
	const size = 1 << 20
	list := func(form string) string {
		var b strings.Builder
		for i := 0; b.Len() < size-100; i++ {
			fmt.Fprintf(&b, form+",", i)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	cost.Alike(t, "Sum", func(s string) { _, _ = Sum(json.RawMessage(s)) }, `[`+list(`{"name":"Sala %d","capacity":6.5}`)+`]`, map[string]string{
		"many long numbers":  `[` + list(strings.Repeat("3", 200)+".%d") + `]`,
		"members":            `{` + list(`"k%d":1`) + `}`,
		"members of a mark":  `{` + list(`"`+strings.Repeat("$", 100)+`number%d":1`) + `}`,
		"signs of a mark":    `{"` + strings.Repeat("$", size) + `number":1}`,
		"levels":             strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
		"levels of members":  strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000),
		"one name":           `[` + list(`{"a":1,"a":%d}`) + `]`,
		"texts of controls":  `["` + strings.Repeat(`\u0001`, size/6) + `"]`,
		"texts of emoji":     `["` + strings.Repeat(`\ud83d\ude00`, size/12) + `"]`,
		"texts of backslash": `["` + strings.Repeat(`\\`, size/2) + `"]`,
	})
}

// TestNumberParsingIsLinear: a number of a million digits once took seconds, because of arithmetic with a million
// digits.
func TestNumberParsingIsLinear(t *testing.T) {
	const size = 1 << 20
	cost.Alike(t, "exactDouble", func(s string) { _ = exactDouble(s) }, "0."+strings.Repeat("0", size), map[string]string{
		"digits":            strings.Repeat("7", 300) + "." + strings.Repeat("3", size),
		"digits of part":    "0." + strings.Repeat("3", size),
		"digits before dot": strings.Repeat("3", size),
		"zeros":             "0." + strings.Repeat("0", 300) + strings.Repeat("1", size),
		"zeros and a power": "0." + strings.Repeat("0", size) + "1e" + strconv.Itoa(size),
		"a power of digits": "1e" + strings.Repeat("9", size),
	})
}

// TestExactDoubleAgreesWithArithmetic compares with rational numbers.
func TestExactDoubleAgreesWithArithmetic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,30})?([eE][-+]?[0-9]{1,3})?`).Draw(t, "number")
		switch rapid.SampledFrom([]string{"any", "of a double", "at an edge"}).Draw(t, "kind") {
		case "at an edge": // around the smallest subnormal, the smallest normal and the largest double
			exponent := rapid.SampledFrom([]int{-324, -308, 308}).Draw(t, "edge") + rapid.IntRange(-18, 18).Draw(t, "away")
			s = rapid.StringMatching(`-?[1-9][0-9]{0,17}`).Draw(t, "digits") + "e" + strconv.Itoa(exponent)
		case "of a double":
			format := rapid.SampledFrom([]byte("efg")).Draw(t, "format")
			s = strconv.FormatFloat(rapid.Float64().Draw(t, "double"), format, rapid.SampledFrom([]int{-1, 17, 25}).Draw(t, "precision"), 64)
		}
		f, err := strconv.ParseFloat(s, 64)
		written, ok := new(big.Rat).SetString(s)
		shortest, known := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
		want := err == nil && ok && known && written.Cmp(shortest) == 0
		if got := exactDouble(s); got != want {
			t.Fatalf("%s: %v, want %v", s, got, want)
		}
	})
}
