package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"piloto/internal/ground/fault"
)

func TestStrictRefuses(t *testing.T) {
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	known := map[string]bool{"message": true, "confirm": true}
	for _, c := range []struct {
		name, text string
		want       error
		types      string // of the fields
	}{
		{"an object", `{"message":"hola","n":[1,-0.5e3,true,false,null,{}]}`, nil, ""},
		{"an escaped pair", `{"message":"\ud83d\ude00 \u00e9 \\ud800"}`, nil, ""},
		{"twenty digits", `{"n":12345678901234567890}`, nil, ""},
		{"the deepest", deep(maxDepth), nil, ""},
		{"equal names apart", `{"a":{"x":1},"b":{"x":1},"c":[{"x":1},{"x":2}]}`, nil, ""},
		{"nothing", ``, errJSON, ""},
		{"a byte order mark", "\xef\xbb\xbf{}", errJSON, ""},
		{"something behind", `{} {}`, errJSON, ""},
		{"a comma too many", `{"a":1,}`, errJSON, ""},
		{"a list with a comma too many", `[1,]`, errJSON, ""},
		{"single quotes", `{'a':1}`, errJSON, ""},
		{"a leading zero", `{"a":01}`, errJSON, ""},
		{"a plus", `{"a":+1}`, errJSON, ""},
		{"NaN", `{"a":NaN}`, errJSON, ""},
		{"a bare point", `{"a":1.}`, errJSON, ""},
		{"a bare exponent", `{"a":1e}`, errJSON, ""},
		{"an open string", `{"a":"b`, errJSON, ""},
		{"an open escape", `{"a":"\`, errJSON, ""},
		{"a raw line break", "{\"a\":\"b\nc\"}", errJSON, ""},
		{"a bad escape", `{"a":"\x41"}`, errJSON, ""},
		{"invalid UTF-8", "{\"a\":\"\xff\"}", errEncoding, ""},
		{"an overlong slash", "{\"a\":\"\xc0\xaf\"}", errEncoding, ""},
		{"a surrogate in UTF-8", "{\"a\":\"\xed\xa0\x80\"}", errEncoding, ""},
		{"half a pair", `{"a":"\ud800"}`, errEncoding, ""},
		{"half a pair, then text", `{"a":"\ud800x"}`, errEncoding, ""},
		{"the second half", `{"a":"\ude00"}`, errEncoding, ""},
		{"half a pair in a name", `{"\ud800":1}`, errEncoding, ""},
		{"a raw NUL", "{\"a\":\"\x00\"}", errEncoding, ""},
		{"an escaped NUL", `{"a":"\u0000"}`, errEncoding, ""},
		{"too deep", deep(maxDepth + 1), errDepth, ""},
		{"lists too deep", strings.Repeat("[", 100_000), errDepth, ""},
		{"a number beyond a double", `{"a":1e400}`, errNumber, ""},
		{"a negative one", `{"a":-1e400}`, errNumber, ""},
		{"a number without end", `{"a":1` + strings.Repeat("0", 300) + `}`, errNumber, ""},
		{"a member twice", `{"message":"a","message":"b"}`, errInvalid, "duplicate_key"},
		{"the same member, escaped", `{"message":"a","m\u0065ssage":"b"}`, errInvalid, "duplicate_key"},
		{"a member twice, inside", `{"x":[{"k":1,"k":2}]}`, errInvalid, "duplicate_key"},
		{"two cases", `{"confirm":false,"CONFIRM":true}`, errInvalid, "case_variant"},
		{"two cases of an unknown one", `{"x":1,"X":2}`, errInvalid, "case_variant"},
		{"a case that json would take", `{"MESSAGE":"a"}`, errInvalid, "case_variant"},
		{"a long s that json would take", `{"meſſage":"a"}`, errInvalid, "case_variant"},
		{"a kelvin sign", `{"k":1,"` + "\u212a" + `":2}`, errInvalid, "case_variant"},
		{"all of them", `{"a":1,"a":2,"B":1,"b":2}`, errInvalid, "duplicate_key case_variant"},
	} {
		_, err := checkJSON([]byte(c.text), known)
		if !errors.Is(err, c.want) && (err != nil || c.want != nil) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
			continue
		}
		var types []string
		if err != nil {
			for _, f := range fault.Of(err).Fields {
				types = append(types, f.Type)
			}
		}
		if got := strings.Join(types, " "); got != c.types {
			t.Errorf("%s: fields %q, want %q", c.name, got, c.types)
		}
	}
}

// FuzzStrict compares with encoding/json, which is laxer: a body that is accepted here is valid there, and one that
// only this package refuses has one of its own faults.
func FuzzStrict(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":1,"a":2}`, `{"confirm":false,"CONFIRM":true}`, `[1e400]`, "\"\xff\"", `"\ud800"`, `{"a":"\u0000"}`,
		`{"a":[[[[1]]]]}`, ` [ 1 , -0.5E+3 ] `, `"\ud83d\ude00"`, `nul`, `-`, `1.`, `{"a"`, `"\`, `12345678901234567890`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		_, err := checkJSON(text, map[string]bool{"confirm": true})
		valid := json.Valid(text)
		switch {
		case err == nil && !valid:
			t.Fatalf("accepted what is not JSON: %q", text)
		case errors.Is(err, errJSON) && valid:
			t.Fatalf("called valid JSON invalid: %q", text)
		case err == nil:
			var v any
			dec := json.NewDecoder(bytes.NewReader(text))
			if err := dec.Decode(&v); err != nil {
				t.Fatalf("accepted what cannot be decoded: %q: %v", text, err)
			}
			again, err := json.Marshal(v)
			if err != nil || strings.Contains(string(again), "\\u0000") {
				t.Fatalf("accepted what cannot be kept: %q", text)
			}
		}
	})
}

func TestStrictNamesThePlace(t *testing.T) {
	_, err := checkJSON([]byte(`{"a":[{"b":{"c":1}},{"b":{"c":1,"c\u0007":2,"C":3}}]}`), nil)
	fields := fault.Of(err).Fields
	if got, _ := json.Marshal(fields); string(got) != `[{"loc":["body","a",1,"b","C"],"msg":"","type":"case_variant"}]` {
		t.Errorf("%s", got)
	}
}

// BenchmarkStrict reads the largest bodies of the worst shapes.
func BenchmarkStrict(b *testing.B) {
	fill := func(unit string) []byte {
		return []byte("[" + strings.Repeat(unit+",", (MaxBody-8)/(len(unit)+1)) + "1]")
	}
	for name, body := range map[string][]byte{
		"numbers": fill("1"), "empty": fill("{}"), "doubles": fill(`{"a":1,"A":2,"a":3}`), "strings": fill(`"\u00e9"`),
		"deep": []byte(strings.Repeat("[", maxDepth-1) + string(fill("1")) + strings.Repeat("]", maxDepth-1)),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				_, _ = checkJSON(body, map[string]bool{"a": true})
			}
		})
	}
}
