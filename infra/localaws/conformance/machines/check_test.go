package machines

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestCheckReturnsDifferences(t *testing.T) {
	cause, elapsed := "why", 2.0
	c := Case{
		Status: "FAILED", Output: json.RawMessage(`{"a":1.0,"b":[2]}`), Error: "E", Cause: &cause, Says: "w", Elapsed: &elapsed,
		Calls:   []Call{{Function: "f", Payload: json.RawMessage(`{"x":1}`), Kind: "Event"}},
		History: []string{"1<0 ExecutionStarted", "2<1 ExecutionFailed"}, Events: []string{"ExecutionFailed"},
	}
	good := func() Result {
		return Result{
			Status: "FAILED", Output: `{"b":[2e0],"a":1}`, Error: "E", Cause: "why", Elapsed: 2 * time.Second,
			Calls:   []Call{{Function: "f", Payload: json.RawMessage(`{"x":1}`), Kind: "Event"}},
			History: []string{"1<0 ExecutionStarted", "2<1 ExecutionFailed"},
		}
	}
	if wrong := c.Check(good(), 0); wrong != nil {
		t.Errorf("a good result: %q", wrong)
	}
	for says, spoil := range map[string]func(*Result){
		"status SUCCEEDED": func(r *Result) { r.Status = "SUCCEEDED" },
		"output {}":        func(r *Result) { r.Output = "{}" },
		"output {":         func(r *Result) { r.Output = "{" },
		`error ""`:         func(r *Result) { r.Error = "" },
		`cause "no"`:       func(r *Result) { r.Cause = "no" },
		"took 2.5s":        func(r *Result) { r.Elapsed = 2500 * time.Millisecond },
		"took 1.9s":        func(r *Result) { r.Elapsed = 1900 * time.Millisecond },
		"0 calls":          func(r *Result) { r.Calls = nil },
		"call 0 is":        func(r *Result) { r.Calls[0].Qualifier = "live" },
		"misses":           func(r *Result) { r.History = r.History[:1] },
	} {
		r := good()
		spoil(&r)
		if wrong := c.Check(r, 0); !strings.Contains(strings.Join(wrong, "\n"), says) {
			t.Errorf("want %q, got %q", says, wrong)
		}
	}
}

func TestEveryCaseHasExpectation(t *testing.T) {
	cases, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) < 400 {
		t.Errorf("only %d cases", len(cases))
	}
	for _, c := range cases {
		switch {
		case c.Refused != "":
			if c.Status != "" || !strings.HasPrefix(c.Refused, "/") {
				t.Errorf("%s: a refusal has a pointer and nothing else", c.ID())
			}
		case c.Status == "":
			t.Errorf("%s demands no status", c.ID())
		case c.Status == "SUCCEEDED" && c.Output == nil:
			t.Errorf("%s demands no output", c.ID())
		}
	}
}

// TestKnownDifferencesAreOfCases refuses cases that do not exist in the list of moto's differences.
func TestKnownDifferencesAreOfCases(t *testing.T) {
	cases, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range Known() {
		prefix, many := strings.CutSuffix(d.Name, "*")
		found := false
		for i := range cases {
			id := cases[i].ID()
			found = found || id == d.Name || many && strings.HasPrefix(id, prefix)
		}
		if !found || d.Reason == "" {
			t.Errorf("%q", d)
		}
	}
}
