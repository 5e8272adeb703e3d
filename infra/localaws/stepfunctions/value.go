package stepfunctions

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A JSON value is nil, bool, json.Number, string, []any or object. Numbers keep their digits and
// objects keep the order of their members, so data that passes through a state is unchanged. Values
// are immutable: code that changes one copies the path to the change first.
type object []member

type member struct {
	key string
	val any
}

// maxDepth bounds the nesting of documents, which keeps recursion bounded.
const maxDepth = 500

var errDepth = errors.New("document is nested too deeply")

// get returns the member called key.
func (o object) get(key string) (any, bool) {
	for i := range o {
		if o[i].key == key {
			return o[i].val, true
		}
	}
	return nil, false
}

// with returns a copy of o in which key has the value v.
func (o object) with(key string, v any) object {
	out := make(object, len(o), len(o)+1)
	copy(out, o)
	for i := range out {
		if out[i].key == key {
			out[i].val = v
			return out
		}
	}
	return append(out, member{key, v})
}

// parseValue reads one JSON document; of duplicate keys the last wins.
func parseValue(text []byte) (any, error) { return parseDocument(text, false) }

// parseStrict reads one JSON document and refuses duplicate keys.
func parseStrict(text []byte) (any, error) { return parseDocument(text, true) }

type decoder struct {
	*json.Decoder
	strict bool
}

func parseDocument(text []byte, strict bool) (any, error) {
	dec := decoder{json.NewDecoder(bytes.NewReader(text)), strict}
	dec.UseNumber()
	v, err := decodeValue(dec, 0)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("data after the JSON document")
	}
	return v, nil
}

func decodeValue(dec decoder, depth int) (any, error) {
	tok, err := dec.Token()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return nil, io.ErrUnexpectedEOF
		}
		return nil, err
	}
	delim, ok := tok.(json.Delim)
	if !ok {
		return tok, nil
	}
	if depth >= maxDepth {
		return nil, errDepth
	}
	if delim == '[' {
		return decodeArray(dec, depth)
	}
	return decodeObject(dec, depth)
}

func decodeArray(dec decoder, depth int) (any, error) {
	list := []any{}
	for dec.More() {
		v, err := decodeValue(dec, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := dec.Token()
	return list, err
}

func decodeObject(dec decoder, depth int) (any, error) {
	obj := object{}
	var seen map[string]int
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, err
		}
		key, ok := tok.(string)
		if !ok {
			return nil, fmt.Errorf("object key %v is not a string", tok)
		}
		v, err := decodeValue(dec, depth+1)
		if err != nil {
			return nil, err
		}
		if seen == nil {
			seen = make(map[string]int)
		}
		if at, dup := seen[key]; dup {
			if dec.strict {
				return nil, fmt.Errorf("duplicate field '%s'", key)
			}
			obj[at].val = v
			continue
		}
		seen[key] = len(obj)
		obj = append(obj, member{key, v})
	}
	_, err := dec.Token()
	return obj, err
}

// encodeValue writes v as compact JSON, without escaping HTML characters.
func encodeValue(v any) []byte { return appendValue(nil, v) }

func appendValue(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case json.Number:
		return append(dst, v...)
	case string:
		return appendString(dst, v)
	case []any:
		dst = append(dst, '[')
		for i, item := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, item)
		}
		return append(dst, ']')
	case object:
		dst = append(dst, '{')
		for i := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendString(dst, v[i].key)
			dst = append(dst, ':')
			dst = appendValue(dst, v[i].val)
		}
		return append(dst, '}')
	}
	panic(fmt.Sprintf("stepfunctions: %T is not a JSON value", v))
}

const hexDigits = "0123456789abcdef"

func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[start:i]...), "\ufffd"...)
				i++
				start = i
				continue
			}
			i += size
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

// equalValues compares by JSON meaning: 1 equals 1.0, member order is ignored.
func equalValues(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && compareNumbers(a, b) == 0
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equalValues(a[i], b[i]) {
				return false
			}
		}
		return true
	case object:
		b, ok := b.(object)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			other, ok := b.get(a[i].key)
			if !ok || !equalValues(a[i].val, other) {
				return false
			}
		}
		return true
	case string:
		b, ok := b.(string)
		return ok && a == b
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	}
	return a == nil && b == nil
}

// appendLikeness appends a text that is the same for equal values, and seldom for others: numbers
// are written as float64, members in the order of their names.
func appendLikeness(b []byte, v any) []byte {
	switch v := v.(type) {
	case json.Number:
		f, _ := strconv.ParseFloat(string(v), 64) // too large ones are all infinite
		if f == 0 {
			f = 0 // -0 equals 0
		}
		return strconv.AppendFloat(b, f, 'g', -1, 64)
	case []any:
		b = append(b, '[')
		for _, item := range v {
			b = append(appendLikeness(b, item), ',')
		}
		return append(b, ']')
	case object:
		members := slices.Clone(v)
		slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.key, b.key) })
		b = append(b, '{')
		for _, m := range members {
			b = append(appendLikeness(append(strconv.AppendQuote(b, m.key), ':'), m.val), ',')
		}
		return append(b, '}')
	}
	return append(b, encodeValue(v)...)
}

// maxExponent is the largest decimal exponent that is compared exactly; beyond
// it a rational would need unbounded memory.
const maxExponent = 400

// compareNumbers compares two JSON numbers exactly.
func compareNumbers(a, b json.Number) int {
	if x, err := strconv.ParseInt(string(a), 10, 64); err == nil {
		if y, err := strconv.ParseInt(string(b), 10, 64); err == nil {
			switch {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return 0
		}
	}
	return toRat(a).Cmp(toRat(b))
}

func toRat(n json.Number) *big.Rat {
	s := string(n)
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		if exp, err := strconv.Atoi(s[i+1:]); err != nil || exp > maxExponent || exp < -maxExponent {
			f, _ := strconv.ParseFloat(s, 64)
			if r := new(big.Rat).SetFloat64(f); r != nil {
				return r
			}
			bound := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(maxExponent), nil))
			if strings.HasPrefix(s, "-") {
				bound.Neg(bound)
			}
			return bound
		}
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return new(big.Rat)
	}
	return r
}

// integer returns v as an int when v is a JSON integer that fits.
func integer(v any) (int, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return int(i), true
	}
	r := toRat(n)
	if !r.IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	return int(r.Num().Int64()), true
}

func number(i int) json.Number { return json.Number(strconv.Itoa(i)) }

// document is a JSON document as text, as value, or as both; each form is made from the other on
// first use.
type document struct {
	text   []byte
	value  any
	parsed bool
}

func textDocument(text []byte) *document { return &document{text: text} }
func valueDocument(v any) *document      { return &document{value: v, parsed: true} }

// Value returns the document as a value. Its text comes from the journal or was checked at the
// boundary, so it always parses.
func (d *document) Value() any {
	if !d.parsed {
		v, err := parseValue(d.text)
		if err != nil {
			panic("stepfunctions: unchecked document: " + err.Error())
		}
		d.value, d.parsed = v, true
	}
	return d.value
}

// Text returns the document as JSON text.
func (d *document) Text() []byte {
	if d.text == nil {
		d.text = encodeValue(d.value)
	}
	return d.text
}

// pointer appends one step to a JSON pointer.
func pointer(at string, step any) string {
	return at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(fmt.Sprint(step))
}
