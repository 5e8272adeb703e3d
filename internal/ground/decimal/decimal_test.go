package decimal

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// TestNumbersAgreeWithArithmetic compares with rational numbers.
func TestNumbersAgreeWithArithmetic(t *testing.T) {
	form := rapid.OneOf(
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,3})?([eE][-+]?[0-4])?`),
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,30})?([eE][-+]?[0-9]{1,2})?`),
	)
	rapid.Check(t, func(t *rapid.T) {
		a, b := form.Draw(t, "a"), form.Draw(t, "b")
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		if got, want := Parse(a).Compare(Parse(b)), x.Cmp(y); got != want {
			t.Errorf("%s and %s: %d, want %d", a, b, got, want)
		}
		if got, want := Parse(a) == Parse(b), x.Cmp(y) == 0; got != want {
			t.Errorf("%s == %s: %v", a, b, got)
		}
		if got, want := Parse(a).IsInteger(), x.IsInt(); got != want {
			t.Errorf("%s is an integer: %v", a, got)
		}
	})
}

func TestExponentsBeyondAnInt(t *testing.T) {
	big, small := Parse("9e99999999999999999999"), Parse("9e-99999999999999999999")
	one := Parse("1")
	if big.Compare(one) != 1 || small.Compare(one) != -1 || small.Compare(Number{}) != 1 || !big.IsInteger() || small.IsInteger() {
		t.Errorf("%v, %v", big, small)
	}
}
