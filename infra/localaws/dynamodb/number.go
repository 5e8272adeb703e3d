package dynamodb

import (
	"math/big"
	"strconv"
	"strings"
)

// Limits of the service: significant digits, and the decimal exponent of the
// first one.
const (
	maxDigits   = 38
	maxExponent = 125
	minExponent = -130
)

// number is an exact decimal: ±0.DIGITS × 10^exp. digits has neither leading nor trailing zeros;
// zero has no digits and no sign.
type number struct {
	neg    bool
	digits string
	exp    int
}

const (
	notNumeric = "The parameter cannot be converted to a numeric value"
	overflow   = "Number overflow. Attempting to store a number with magnitude larger than supported range"
)

// parseNumber reads a number in the format of clients: sign, digits with an optional point,
// exponent. Any other text, spaces too, is refused.
func parseNumber(s string) (number, error) {
	n, written, ok := scanNumber(s)
	if !ok {
		if s == "" {
			return number{}, invalid(notNumeric)
		}
		return number{}, invalid("%s: %s", notNumeric, s)
	}
	if n.digits == "" {
		// A zero keeps the exponent of its text, which is checked too.
		return n, checkExponent(written)
	}
	return n, n.check()
}

func checkExponent(exp int) error {
	switch {
	case exp > maxExponent:
		return invalid(overflow)
	case exp < minExponent:
		return invalid("Number underflow. Attempting to store a number with magnitude smaller than supported range")
	}
	return nil
}

func (n number) check() error {
	if n.digits == "" {
		return nil
	}
	err := checkExponent(n.exp - 1)
	switch {
	case err != nil:
		return err
	case len(n.digits) > maxDigits:
		return invalid("Attempting to store more than 38 significant digits in a Number")
	}
	return nil
}

// scanNumber reads a number of any size, and returns the exponent of its text.
func scanNumber(s string) (n number, written int, ok bool) {
	i := 0
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		n.neg = s[i] == '-'
		i++
	}
	whole := i
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	digits, point := s[whole:i], i-whole
	if i < len(s) && s[i] == '.' {
		start := i + 1
		for i = start; i < len(s) && isDigit(s[i]); i++ {
		}
		if i > start {
			digits += s[start:i]
		}
	}
	if digits == "" {
		return number{}, 0, false
	}
	if written, ok = scanExponent(s[i:]); !ok {
		return number{}, 0, false
	}
	trimmed := strings.TrimLeft(digits, "0")
	n.exp = written + point - (len(digits) - len(trimmed))
	n.digits = strings.TrimRight(trimmed, "0")
	if n.digits == "" {
		return number{}, written, true
	}
	return n, written, true
}

// farExponent is larger than the digits of any request can compensate.
const farExponent = 1e9

// scanExponent reads an optional e±NN that must end the text and fit 64 bits.
// Absurdly long exponents keep their sign and stay out of range.
func scanExponent(s string) (int, bool) {
	if s == "" {
		return 0, true
	}
	if s[0] != 'e' && s[0] != 'E' {
		return 0, false
	}
	digits := strings.TrimLeft(s[1:], "+-")
	if digits == "" || len(s)-1-len(digits) > 1 || strings.ContainsFunc(digits, func(r rune) bool { return r < '0' || r > '9' }) {
		return 0, false
	}
	exp, err := strconv.ParseInt(s[1:], 10, 64)
	return int(max(-farExponent, min(farExponent, exp))), err == nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// String returns the number as the service returns it: expanded, without exponent, without
// redundant zeros.
func (n number) String() string {
	if n.digits == "" {
		return "0"
	}
	var b strings.Builder
	if n.neg {
		b.WriteByte('-')
	}
	switch {
	case n.exp >= len(n.digits):
		b.WriteString(n.digits)
		b.WriteString(strings.Repeat("0", n.exp-len(n.digits)))
	case n.exp <= 0:
		b.WriteString("0.")
		b.WriteString(strings.Repeat("0", -n.exp))
		b.WriteString(n.digits)
	default:
		b.WriteString(n.digits[:n.exp])
		b.WriteByte('.')
		b.WriteString(n.digits[n.exp:])
	}
	return b.String()
}

// compare orders by value.
func (n number) compare(o number) int {
	switch {
	case n.sign() != o.sign():
		return n.sign() - o.sign()
	case n.neg:
		return o.compareMagnitude(n)
	default:
		return n.compareMagnitude(o)
	}
}

func (n number) sign() int {
	switch {
	case n.digits == "":
		return 0
	case n.neg:
		return -1
	default:
		return 1
	}
}

func (n number) compareMagnitude(o number) int {
	if n.exp != o.exp {
		return n.exp - o.exp
	}
	return strings.Compare(n.digits, o.digits)
}

// add returns the exact sum, or the error of a sum that cannot be stored. For sums the service
// reports too many digits as an overflow too.
func (n number) add(o number) (number, error) {
	low := min(n.exp-len(n.digits), o.exp-len(o.digits))
	sum := n.scaleDown(low)
	sum.Add(sum, o.scaleDown(low))
	out := number{neg: sum.Sign() < 0}
	if sum.Sign() == 0 {
		return number{}, nil
	}
	digits := sum.Abs(sum).String()
	out.exp = len(digits) + low
	out.digits = strings.TrimRight(digits, "0")
	if len(out.digits) > maxDigits {
		return number{}, invalid(overflow)
	}
	return out, out.check()
}

func (n number) negate() number {
	if n.digits != "" {
		n.neg = !n.neg
	}
	return n
}

// scaleDown returns n / 10^low, which is an integer.
func (n number) scaleDown(low int) *big.Int {
	i := new(big.Int)
	if n.digits == "" {
		return i
	}
	i.SetString(n.digits+strings.Repeat("0", n.exp-len(n.digits)-low), 10)
	if n.neg {
		i.Neg(i)
	}
	return i
}

// size returns the bytes of the number in an item's 400 KB: digits before and after the point are
// counted in pairs, separately.
func (n number) size() int {
	if n.digits == "" {
		return 1
	}
	whole := min(max(n.exp, 0), len(n.digits))
	size := 1 + (whole+1)/2 + (len(n.digits)-whole+1)/2
	if n.neg {
		size++
	}
	return size
}

// appendKey appends a form whose bytes have the order of the numbers and that is no prefix of
// another number's form.
func (n number) appendKey(dst []byte) []byte {
	const negative, zero, positive = 0x01, 0x02, 0x03
	if n.digits == "" {
		return append(dst, zero)
	}
	sign, flip := byte(positive), byte(0)
	if n.neg {
		sign, flip = negative, 0xFF
	}
	biased := uint16(n.exp + 0x4000)
	dst = append(dst, sign, byte(biased>>8)^flip, byte(biased)^flip)
	for i := 0; i < len(n.digits); i += 2 {
		pair := (n.digits[i] - '0') * 10
		if i+1 < len(n.digits) {
			pair += n.digits[i+1] - '0'
		}
		dst = append(dst, (pair+1)^flip)
	}
	return append(dst, 0x00^flip)
}
