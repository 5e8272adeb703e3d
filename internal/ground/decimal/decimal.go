// Package decimal compares numbers as they are written in JSON, digit by digit: without rounding, and without
// arithmetic, whose time grows with the exponent.
package decimal

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

// Number is a number in normal form: 0.DIGITS times ten to the exponent, where DIGITS has no zero at either end.
// Equal numbers are equal (==), and the zero Number is zero.
type Number struct {
	negative bool
	digits   string
	exponent int
}

// Parse reads a number of JSON, each digit once. Exponents beyond an int count as the largest or the smallest one.
func Parse(s string) Number {
	digits, negative := strings.CutPrefix(s, "-")
	power := 0
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		power, _ = strconv.Atoi(digits[i+1:])
		digits = digits[:i]
	}
	whole, part, _ := strings.Cut(digits, ".")
	digits = whole + part
	trimmed := strings.TrimLeft(digits, "0")
	point := len(whole) - (len(digits) - len(trimmed))
	trimmed = strings.TrimRight(trimmed, "0")
	if trimmed == "" {
		return Number{}
	}
	return Number{negative, trimmed, add(power, point)}
}

// add returns the sum, and the nearest int when it is none.
func add(a, b int) int {
	switch {
	case b > 0 && a > math.MaxInt-b:
		return math.MaxInt
	case b < 0 && a < math.MinInt-b:
		return math.MinInt
	}
	return a + b
}

// Compare returns -1, 0 or 1 when the number is smaller than, equal to, or larger than another.
func (n Number) Compare(m Number) int {
	switch a, b := n.sign(), m.sign(); {
	case a != b:
		return cmp.Compare(a, b)
	case a < 0:
		n, m = m, n
	}
	if n.exponent != m.exponent {
		return cmp.Compare(n.exponent, m.exponent)
	}
	return cmp.Compare(n.digits, m.digits)
}

func (n Number) sign() int {
	switch {
	case n.digits == "":
		return 0
	case n.negative:
		return -1
	}
	return 1
}

// IsInteger reports whether the number has no fraction: 1.0 and 1e3 have none.
func (n Number) IsInteger() bool { return n.exponent >= len(n.digits) }

// String returns a text that is the same for equal numbers only.
func (n Number) String() string {
	sign := ""
	if n.negative {
		sign = "-"
	}
	return sign + "0." + n.digits + "e" + strconv.Itoa(n.exponent)
}
