package canon

import (
	"encoding/json"
	"testing"
)

func TestSumTellsMeaningsApart(t *testing.T) {
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

func TestSumIsLowerHexOfTheCanonicalForm(t *testing.T) {
	got, err := Sum(map[string]any{})
	if err != nil {
		t.Fatal(err)
	}
	if want := "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"; got != want {
		t.Errorf("Sum({}) = %s, want SHA-256 of %q", got, "{}")
	}
}
