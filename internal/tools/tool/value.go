package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"piloto/internal/ground/jcs"
)

// Limits of a value in a call.
const (
	maxDepth  = 64
	maxValue  = 1 << 20 // bytes
	maxNumber = 100     // characters of one number
	maxPower  = 400     // of ten, in one number
)

// notUsable returns the reason why a JSON text must not be sent.
func notUsable(code string, pairs ...any) error {
	return Because("problem.json", "why", Because(code, pairs...))
}

// readValue reads exactly one JSON value; numbers keep their digits (json.Number). It refuses values that two
// readers could understand differently, and values that cost more to check than to write: a repeated member,
// nesting beyond 64, giant numbers.
func readValue(raw json.RawMessage) (any, error) {
	if len(raw) > maxValue {
		return nil, notUsable("problem.json.long", "most", maxValue)
	}
	if !utf8.Valid(raw) {
		return nil, notUsable("problem.json.encoding")
	}
	if jcs.HalfPair(raw) { // it would be sent as another text
		return nil, notUsable("problem.json.half")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	v, err := readToken(dec, 0)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, notUsable("problem.json.several")
	}
	return v, nil
}

func readToken(dec *json.Decoder, depth int) (any, error) {
	t, err := dec.Token()
	if err != nil {
		return nil, notUsable("problem.json.form")
	}
	switch t := t.(type) {
	case json.Delim:
		if depth >= maxDepth {
			return nil, notUsable("problem.json.deep", "most", maxDepth)
		}
		if t == '{' {
			return readObject(dec, depth+1)
		}
		return readList(dec, depth+1)
	case json.Number:
		return t, checkNumber(t.String())
	}
	return t, nil
}

func readObject(dec *json.Decoder, depth int) (any, error) {
	object := map[string]any{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, notUsable("problem.json.form")
		}
		name, _ := t.(string)
		if _, twice := object[name]; twice {
			return nil, notUsable("problem.json.twice", "name", strconv.Quote(name))
		}
		if object[name], err = readToken(dec, depth); err != nil {
			return nil, err
		}
	}
	if _, err := dec.Token(); err != nil {
		return nil, notUsable("problem.json.form")
	}
	return object, nil
}

func readList(dec *json.Decoder, depth int) (any, error) {
	list := []any{}
	for dec.More() {
		v, err := readToken(dec, depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	if _, err := dec.Token(); err != nil {
		return nil, notUsable("problem.json.form")
	}
	return list, nil
}

// UsableNumber reports whether a number of JSON is short enough to be computed with.
func UsableNumber(s string) bool { return checkNumber(s) == nil }

func checkNumber(s string) error {
	if len(s) > maxNumber {
		return notUsable("problem.json.digits", "n", len(s))
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		if power, err := strconv.Atoi(s[i+1:]); err != nil || power > maxPower || power < -maxPower {
			return notUsable("problem.json.number", "number", s)
		}
	}
	return nil
}

// member is one member of an object.
type member struct {
	name  string
	value json.RawMessage
}

// members returns an object's members in the order written, and false when raw is no object.
func members(raw json.RawMessage) ([]member, bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	var list []member
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, false
		}
		m := member{name: t.(string)}
		if err := dec.Decode(&m.value); err != nil {
			return nil, false
		}
		list = append(list, m)
	}
	return list, true
}

// isAbsent reports whether raw holds no value: it is empty, or null.
func isAbsent(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}

// scalarText returns a scalar as text for a URL or a form, and false for an object, a list or null.
func scalarText(raw json.RawMessage) (string, bool) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0, raw[0] == '{', raw[0] == '[', string(raw) == "null":
		return "", false
	case raw[0] == '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err == nil
	}
	return string(raw), true
}
