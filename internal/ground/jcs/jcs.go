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

	"piloto/internal/ground/decimal"
)

const numberMark = "$number"

// Marshal is json.Marshal without escapes for <, > and &, which need six bytes each.
func Marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Canonical returns the canonical form of v, after v is encoded as JSON.
func Canonical(v any) (form []byte, err error) {
	err = canonical(v, func(whole []byte) { form = bytes.Clone(whole) })
	return form, err
}

// Sum returns the lower-case hex SHA-256 of v's canonical form.
func Sum(v any) (sum string, err error) {
	err = canonical(v, func(whole []byte) {
		hash := sha256.Sum256(whole)
		sum = hex.EncodeToString(hash[:])
	})
	return sum, err
}

// canonical calls use with the canonical form of v, which is overwritten afterwards.
func canonical(v any, use func([]byte)) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("canon: encode: %w", err)
	}
	t := trees.Get().(*tree)
	defer t.release()
	root, err := t.read(raw)
	if err == nil {
		err = t.write(root)
	}
	if err != nil {
		return fmt.Errorf("canon: %w", err)
	}
	use(t.form)
	return nil
}

// Check returns the reason why a text has no canonical form: it is not one JSON value, or one of its objects has a
// member twice.
func Check(raw json.RawMessage) error {
	var whole json.RawMessage
	if err := json.Unmarshal(raw, &whole); err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	t := trees.Get().(*tree)
	defer t.release()
	_, err := t.read(raw)
	return err
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
	return decimal.Parse(s) == decimal.Parse(strconv.FormatFloat(f, 'e', -1, 64))
}

// smallestNormal is the smallest normal double (DBL_MIN).
const smallestNormal = 0x1p-1022

func mantissa(s string) string {
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		return s[:i]
	}
	return s
}
