package stepfunctions

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// testCase is one machine of testdata/cases: what it is given and what it does.
type testCase struct {
	Name       string              `json:"name"`
	Definition json.RawMessage     `json:"definition"`
	Input      json.RawMessage     `json:"input"`
	Functions  map[string][]answer `json:"functions"`

	Status  string          `json:"status"`
	Output  json.RawMessage `json:"output"`
	Error   string          `json:"error"`
	Cause   *string         `json:"cause"`
	Calls   []call          `json:"calls"`   // in order; absent: not looked at
	Elapsed *float64        `json:"elapsed"` // seconds from start to stop
	History []string        `json:"history"` // "id<previous Type"; absent: not looked at
}

func loadCases(t testing.TB) []testCase {
	t.Helper()
	files, err := filepath.Glob("testdata/cases/*.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []testCase
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list []testCase
		if err := json.Unmarshal(text, &list); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		topic := strings.TrimSuffix(filepath.Base(file), ".json")
		for i := range list {
			list[i].Name = topic + "/" + list[i].Name
		}
		all = append(all, list...)
	}
	return all
}

// definition compacts the case's definition, with function names made ARNs.
func (c *testCase) definition() string {
	return strings.ReplaceAll(string(c.Definition), `"lambda:`, `"arn:aws:lambda:us-east-1:123456789012:function:`)
}

func (c *testCase) input() string {
	if c.Input == nil {
		return "{}"
	}
	return string(c.Input)
}

func sameJSON(t testing.TB, got, want []byte) bool {
	t.Helper()
	g, err := parseValue(got)
	if err != nil {
		t.Errorf("not JSON: %s", got)
		return false
	}
	w, err := parseValue(want)
	if err != nil {
		t.Fatalf("the case is not JSON: %s", want)
	}
	return equalValues(g, w)
}

func TestCasesBehaveAsDescribed(t *testing.T) {
	cases := loadCases(t)
	if len(cases) < 60 {
		t.Errorf("only %d cases", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.run(t) })
		})
	}
}

func (c *testCase) run(t *testing.T) {
	w := newWorld(t, "", &functions{script: c.Functions}).start()
	defer w.close()
	arn := w.run(w.create("machine", c.definition()), "run", c.input())
	out := w.finish(arn)
	if string(out.Status) != c.Status {
		t.Errorf("status %s, want %s (error %s: %s)", out.Status, c.Status, aws.ToString(out.Error), aws.ToString(out.Cause))
	}
	if c.Output != nil && !sameJSON(t, []byte(aws.ToString(out.Output)), c.Output) {
		t.Errorf("output %s, want %s", aws.ToString(out.Output), c.Output)
	}
	if aws.ToString(out.Error) != c.Error {
		t.Errorf("error %q, want %q", aws.ToString(out.Error), c.Error)
	}
	if c.Cause != nil && aws.ToString(out.Cause) != *c.Cause {
		t.Errorf("cause %q, want %q", aws.ToString(out.Cause), *c.Cause)
	}
	if c.Calls != nil {
		c.checkCalls(t, w.fns.calls)
	}
	if c.Elapsed != nil {
		if got := out.StopDate.Sub(*out.StartDate); (got - seconds64(*c.Elapsed)).Abs() > 5*time.Millisecond {
			t.Errorf("took %s, want %gs", got, *c.Elapsed)
		}
	}
	if got := brief(w.history(arn)); c.History != nil && !slices.Equal(got, c.History) {
		t.Errorf("history\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(c.History, "\n  "))
	}
	if n := len(w.engine.open); n != 0 {
		t.Errorf("%d executions are still held in memory", n)
	}
}

func (c *testCase) checkCalls(t *testing.T, got []call) {
	if len(got) != len(c.Calls) {
		t.Errorf("%d calls %+v, want %d", len(got), got, len(c.Calls))
		return
	}
	for i, want := range c.Calls {
		if got[i].Function != want.Function || (want.Payload != nil && !sameJSON(t, got[i].Payload, want.Payload)) {
			t.Errorf("call %d is %s %s, want %s %s", i, got[i].Function, got[i].Payload, want.Function, want.Payload)
		}
	}
}
