package jcs

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
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

// FuzzCanonical compares with the form as it was first written: stored digests, hashes and receipts must stay true.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{
		`{"b":[1.0,1e400],"a":{"$number":"x"}}`, `"\ud800"`, `-0`, `{"a":{"a":1},"b":[]}`, `{"$number":1,"$$number":2,"$":3}`,
		`{"\ud83d\ude00":1,"\uffee":2,"\ue000":3,"z":4}`, "{\"\u00e9\":1,\"\xff\":2,\"a\xff\":3}", `"\b\f\n\r\t\u0000\u001f\u007f\u2028<&>\/"`, ` [ 1 , {} , [ ] ] `,
		`[1e21,1e-7,123456789012345678,0.1,-5,-0.0,4.9e-324,1e5,100000000000000000000,9007199254740993]`, `{"":{"":[]},"a":null,"A":[true,false]}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			return
		}
		form, err := Canonical(json.RawMessage(text))
		want, formerly := formerCanonical(json.RawMessage(text))
		if string(form) != string(want) || (err == nil) != (formerly == nil) {
			t.Fatalf("%q becomes %s (%v), want %s (%v)", text, form, err, want, formerly)
		}
		if twice := Check(json.RawMessage(text)); (twice == nil) != (formerCheck(json.RawMessage(text)) == nil) {
			t.Fatalf("%q: %v", text, twice)
		}
	})
}

// TestCanonicalOfRandomValues compares values of all shapes, too.
func TestCanonicalOfRandomValues(t *testing.T) {
	name := rapid.SampledFrom([]string{"a", "b", "$number", "$$number", "é", "\uffee", "😀", "\ue000", "a\nb", ""})
	number := rapid.OneOf(rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,8})?([eE][-+]?[0-9]{1,3})?`), rapid.StringMatching(`[1-9][0-9]{0,3}`))
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		return rapid.Custom(func(t *rapid.T) any {
			switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
			case kind == 0 && depth > 0:
				return rapid.SliceOfN(value(depth-1), 0, 4).Draw(t, "list")
			case kind <= 2 && depth > 0:
				return rapid.MapOfN(name, value(depth-1), 0, 5).Draw(t, "object")
			case kind == 3:
				return rapid.String().Draw(t, "text")
			case kind == 4:
				return rapid.SampledFrom([]any{nil, true, false}).Draw(t, "word")
			}
			return json.Number(number.Draw(t, "number"))
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		v := value(4).Draw(t, "value")
		form, err := Canonical(v)
		want, formerly := formerCanonical(v)
		if string(form) != string(want) || (err == nil) != (formerly == nil) {
			t.Fatalf("%v becomes %s (%v), want %s (%v)", v, form, err, want, formerly)
		}
	})
}

func BenchmarkSum(b *testing.B) {
	v := map[string]any{"prev": "0f", "seq": 12, "at": "2026-11-26T10:00:00.000Z", "type": "step.done", "step_id": "s1", "data": json.RawMessage(
		`{"status":201,"bytes":412,"request":{"method":"POST","url":"https://example.com/rooms/7/reservations","body":{"date":"2026-11-20","people":2,"guest":{"name":"Ana","email":"a@b.c"}}},"took":12.5}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Sum(v); err != nil {
			b.Fatal(err)
		}
	}
}
