package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/gowebpki/jcs"
)

// Digest names a plan exactly: the lower-case hex SHA-256 of its canonical form.
type Digest string

// Valid reports whether d could be a digest: 64 lower-case hex digits.
func (d Digest) Valid() bool {
	if len(d) != 2*sha256.Size {
		return false
	}
	for _, c := range []byte(d) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Digest returns the plan's digest: SHA-256 over the RFC 8785 form of all of it
// (goal, steps, bindings, expiry, revision).
//
// RFC 8785 writes numbers as IEEE doubles, in which 9007199254740993 and …992
// are the same. A number that a double cannot hold exactly is therefore written
// as {"$number":"9007199254740993"}, so that two plans that would send different
// digits never share a digest.
func (p Plan) Digest() (Digest, error) {
	p.ExpiresAt = p.ExpiresAt.UTC().Truncate(time.Second)
	raw, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("plan: encode for digest: %w", err)
	}
	exact, err := exactNumbers(raw)
	if err != nil {
		return "", err
	}
	canonical, err := jcs.Transform(exact)
	if err != nil {
		return "", fmt.Errorf("plan: canonical form: %w", err)
	}
	sum := sha256.Sum256(canonical)
	return Digest(hex.EncodeToString(sum[:])), nil
}

func exactNumbers(raw []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("plan: read for digest: %w", err)
	}
	return json.Marshal(markInexact(v))
}

func markInexact(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = markInexact(e)
		}
	case []any:
		for i, e := range v {
			v[i] = markInexact(e)
		}
	case json.Number:
		if !exactDouble(v.String()) {
			return map[string]any{"$number": v.String()}
		}
	}
	return v
}

// exactDouble reports whether a reader of doubles sees the number that is
// written: the shortest decimal that means the same double is the same number.
func exactDouble(s string) bool {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return false
	}
	if f == 0 { // zero itself, or too small to be told from it
		return !strings.ContainsAny(mantissa(s), "123456789")
	}
	if len(s) <= 15 { // DBL_DIG: every decimal of 15 digits survives
		return true
	}
	written, ok := new(big.Rat).SetString(s)
	if !ok {
		return false
	}
	shortest, ok := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	return ok && written.Cmp(shortest) == 0
}

func mantissa(s string) string {
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		return s[:i]
	}
	return s
}
