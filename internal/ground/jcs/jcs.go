// Package jcs writes the canonical form of a value, so that two values have the same digest exactly when they mean
// the same.
//
// The form is RFC 8785 (JCS). RFC 8785 writes numbers as IEEE doubles, in which 9007199254740993 and
// 9007199254740992 are the same. So a number that a double cannot hold exactly is written as
// {"$number":"9007199254740993"}, and a member named $number, $$number and so on gets one more $, so that no object
// is mistaken for a number. An object with a duplicate member has no form, because parsers disagree on its meaning.
package jcs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gowebpki/jcs"
)

const numberMark = "$number"

// Canonical returns the canonical form of v, after v is encoded as JSON.
func Canonical(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("canon: encode: %w", err)
	}
	if err := Check(raw); err != nil {
		return nil, fmt.Errorf("canon: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		return nil, fmt.Errorf("canon: read: %w", err)
	}
	if raw, err = json.Marshal(markInexact(tree)); err != nil {
		return nil, fmt.Errorf("canon: encode exact: %w", err)
	}
	form, err := jcs.Transform(raw)
	if err != nil {
		return nil, fmt.Errorf("canon: %w", err)
	}
	return form, nil
}

// Sum returns the lower-case hex SHA-256 of v's canonical form.
func Sum(v any) (string, error) {
	form, err := Canonical(v)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(form)
	return hex.EncodeToString(sum[:]), nil
}

func markInexact(v any) any {
	switch v := v.(type) {
	case map[string]any:
		marked := make(map[string]any, len(v))
		for k, e := range v {
			if strings.HasSuffix(k, numberMark) && strings.Trim(k[:len(k)-len(numberMark)], "$") == "" {
				k = "$" + k
			}
			marked[k] = markInexact(e)
		}
		return marked
	case []any:
		for i, e := range v {
			v[i] = markInexact(e)
		}
	case json.Number:
		if !exactDouble(v.String()) {
			return map[string]any{numberMark: v.String()}
		}
	}
	return v
}

// exactDouble reports whether a parser of doubles reads exactly the written number: the shortest decimal for that
// double is the same number.
func exactDouble(s string) bool {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return false
	}
	if f == 0 { // zero, or a number that a double rounds to zero
		return !strings.ContainsAny(mantissa(s), "123456789")
	}
	// DBL_DIG: a normal double keeps every decimal of 15 digits. A subnormal double has fewer digits.
	if len(s) <= 15 && math.Abs(f) >= smallestNormal {
		return true
	}
	return decimalOf(s) == decimalOf(strconv.FormatFloat(f, 'e', -1, 64))
}

// smallestNormal is the smallest normal double (DBL_MIN).
const smallestNormal = 0x1p-1022

// decimal is a number in decimal form: 0.DIGITS times ten to the exponent. DIGITS has no zero at either end, so
// that equal numbers are equal decimals.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

// decimalOf parses a number that is not zero. It reads each digit once; arithmetic with big numbers is quadratic.
func decimalOf(s string) decimal {
	digits, negative := strings.CutPrefix(s, "-")
	d := decimal{negative: negative}
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		d.exponent, _ = strconv.Atoi(digits[i+1:]) // an exponent that overflows an int is far from every double
		digits = digits[:i]
	}
	whole, part, _ := strings.Cut(digits, ".")
	d.exponent += len(whole)
	digits = whole + part
	d.digits = strings.TrimLeft(digits, "0")
	d.exponent -= len(digits) - len(d.digits)
	d.digits = strings.TrimRight(d.digits, "0")
	return d
}

func mantissa(s string) string {
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		return s[:i]
	}
	return s
}
