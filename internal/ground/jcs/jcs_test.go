package jcs

import (
	"encoding/json"
	"testing"
)

func TestSumDistinguishesMeanings(t *testing.T) {
	cases := []struct {
		a, b string
		same bool
	}{
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, true},
		{`{"a":1.0}`, `{"a":1}`, true},
		{`{"a":1e2}`, `{"a":100}`, true},
		{`{"a":"\u0061"}`, `{"a":"a"}`, true},
		{`9007199254740993`, `9007199254740992`, false},
		{`0.1`, `0.1000000000000000055511151231257827`, false},
		{`1e400`, `1e401`, false},
		{`1e-400`, `0`, false},
		{`[1,2]`, `[2,1]`, false},
		{`"1"`, `1`, false},
		{`null`, `{}`, false},
		{`9007199254740993`, `{"$number":"9007199254740993"}`, false},
		{`{"$number":"9007199254740993"}`, `{"$$number":"9007199254740993"}`, false},
		{`{"$number":1,"$$number":2}`, `{"$number":2,"$$number":1}`, false},
		{`{"x$number":1}`, `{"x$$number":1}`, false},
	}
	for _, c := range cases {
		a, err := Sum(json.RawMessage(c.a))
		if err != nil {
			t.Fatalf("%s: %v", c.a, err)
		}
		b, err := Sum(json.RawMessage(c.b))
		if err != nil {
			t.Fatalf("%s: %v", c.b, err)
		}
		if (a == b) != c.same {
			t.Errorf("%s and %s: same digest = %v, want %v", c.a, c.b, a == b, c.same)
		}
	}
}

func TestSumIsLowerHexOfCanonicalForm(t *testing.T) {
	got, err := Sum(map[string]any{})
	if err != nil {
		t.Fatal(err)
	}
	if want := "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"; got != want {
		t.Errorf("Sum({}) = %s, want SHA-256 of %q", got, "{}")
	}
}

func TestCanonicalRefusesDuplicateMember(t *testing.T) {
	for in, want := range map[string]bool{
		`{"a":1,"a":2}`:                        false,
		`{"a":1,"\u0061":1}`:                   false,
		`[{"b":{"a":[],"c":{},"a":1}}]`:        false,
		`{"a":{"a":{"a":1}},"b":["a","a"]}`:    true,
		`{"a":"a","b":"a","c":{},"d":[{},{}]}`: true,
		`[{"a":1},{"a":1}]`:                    true,
		`{"a":[],"b":{"a":1}}`:                 true,
		`{"a":{},"a":1}`:                       false,
		`{"a":[1],"a":1}`:                      false,
		`"a"`:                                  true,
	} {
		if _, err := Sum(json.RawMessage(in)); (err == nil) != want {
			t.Errorf("%s: %v", in, err)
		}
	}
	for _, in := range []string{``, `{`, `{"a"}`, `[1`, `tru`, `]`} {
		if Check(json.RawMessage(in)) == nil && in != `` {
			t.Errorf("%s passes", in)
		}
	}
}

// FuzzCanonical checks that the form of a parsed form is the same form.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{`{"b":[1.0,1e400],"a":{"$number":"x"}}`, `"\ud800"`, `-0`, `{"a":{"a":1},"b":[]}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			return
		}
		a, err := Canonical(json.RawMessage(text))
		if twice := Check(json.RawMessage(text)); (twice == nil) != (err == nil) {
			t.Fatalf("%s: %v, %v", text, err, twice)
		}
		if err != nil {
			return
		}
		var members any
		if err := json.Unmarshal(a, &members); err != nil {
			t.Fatalf("%s becomes %s: %v", text, a, err)
		}
	})
}
