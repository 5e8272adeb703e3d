package turn

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestArgumentsAreReadInAnyWrapping(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1}`:                             `{"a":1}`,
		"  {\"a\":1}\n":                       `{"a":1}`,
		``:                                    `{}`,
		`"{\"a\":1}"`:                         `{"a":1}`,
		`"\"{\\\"a\\\":1}\""`:                 `{"a":1}`,
		"```json\n{\"a\":1}\n```":             `{"a":1}`,
		`Here you are: {"a":"}"} — done`:      `{"a":"}"}`,
		`{"a":[1,2,],"b":{"c":3,},}`:          `{"a":[1,2],"b":{"c":3}}`,
		`{"a":"1,]","b":2,}`:                  `{"a":"1,]","b":2}`,
		`{"a":"\",}",}`:                       `{"a":"\",}"}`,
		`{"id":12345678901234567890}`:         `{"id":12345678901234567890}`,
		`{}{"a":1}`:                           `{"a":1}`,
		`{"a":{}} {}`:                         `{"a":{}}`,
		`{}`:                                  `{}`,
		`{"a":"\ud83d\ude00 \\ud800"}`:        `{"a":"\ud83d\ude00 \\ud800"}`,
		`<tool_call>{"a":1}</tool_call>`:      `{"a":1}`,
		`{"a":"line\nbreak","b":"\u00e1"}`:    `{"a":"line\nbreak","b":"\u00e1"}`,
		`{"nested":{"a":{"b":{"c":"deep"}}}}`: `{"nested":{"a":{"b":{"c":"deep"}}}}`,
	} {
		got, err := readArguments(in)
		if err != nil || string(got) != want {
			t.Errorf("%q = %s, %v; want %s", in, got, err, want)
		}
	}
	for _, in := range []string{
		`{"a":1}{"b":2}`, `{"a":1}{"a":1}`, `{"a":1} {"b":2`, `[{"a":1},{"b":2}]`, "```json\n{\"a\":1}\n{\"b\":2}\n```", `"{\"a\":1}{\"b\":2}"`, `{"a":1,}{"b":2,}`,
		`[1]`, `7`, `{"a":`, `{"a" 1}`, `nothing`, `{a:1}`, `"7"`,
		"{\"a\":\"x\xff\"}", `{"a":"\ud800"}`, `{"a":"\ude00"}`, `{"a":"\ud83dx"}`, `{"\ud800":1}`, `{"a":"\ud800\ud800"}`,
		`{"a":1,"a":2}`, `{"a":1,"a":1}`, `{"a":{"b":1,"b":null}}`, `{"a":[{"b":1,"b":1}]}`, `{"a":1,"\u0061":2}`, `"{\"a\":1,\"a\":2}"`, "```json\n{\"a\":1,\"a\":2}\n```", `{"a":1,"a":2,}`,
		`{"a":"\\\ud800"}`, `{"a":["\uD800\u0041"]}`, `"{\"a\":\"\\ud800\"}"`, `"{\"a\":\"\ud800\"}"`, strings.Repeat(" ", maxArguments+1),
	} {
		if got, err := readArguments(in); err == nil {
			t.Errorf("%.20q was read as %s", in, got)
		}
	}
}

// The answer of the call says what stands twice, and where a text has the members, too: nobody knows which the model means.
func TestAMemberThatStandsTwiceIsRefused(t *testing.T) {
	if _, err := readArguments(`{"mcp_id":"m","body":{"sku":"te"},"method":"POST","body":{"sku":"oro"}}`); err == nil || !strings.Contains(err.Error(), `"body" stands twice`) {
		t.Error(err)
	}
	for name, step := range map[string]string{
		"body": `{"body":"{\"sku\":1,\"sku\":2}"}`, "query": `{"query":"{\"a\":1,\"a\":2}"}`, "headers": `{"headers":"{\"a\":\"1\",\"a\":\"2\"}"}`,
		"undo.body": `{"undo":{"method":"DELETE","path":"/x","body":"{\"a\":1,\"a\":2}"}}`, "verify.query": `{"verify":{"path":"/x","query":"{\"a\":1,\"a\":2}"}}`,
	} {
		_, wrong := readStep(json.RawMessage(`{"mcp_id":"m","method":"POST","path":"/x",` + step[1:]))
		if len(wrong) != 1 || location(wrong[0].Loc) != name || !strings.Contains(wrong[0].Msg, "stands twice") {
			t.Errorf("%s: %+v", name, wrong)
		}
	}
}

func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{"a":[1,],}`, "```\n{}\n```", `"{\"a\":1}"`, `{"a":"\\"}`, `{{}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if got, err := readArguments(raw); err == nil && (!json.Valid(got) || got[0] != '{') {
			t.Fatalf("%q became %q", raw, got)
		}
	})
}

func TestRequestsAreNormalizedAndReportEveryError(t *testing.T) {
	step, wrong := readRequest(json.RawMessage(`{"mcp_id":"m","method":"post","path":" /x ","query":"{\"a\":1}","body":"{\"b\": 2}"}`))
	if len(wrong) > 0 || step.Method != "POST" || step.Path != "/x" || string(step.Query) != `{"a":1}` || string(step.Body) != `{"b":2}` {
		t.Errorf("%+v %v", step, wrong)
	}
	step, wrong = readRequest(json.RawMessage(`{"mcp_id":"m","method":"GET","path":"/x","query":{},"body":null}`))
	if len(wrong) > 0 || step.Query != nil || step.Body != nil {
		t.Errorf("%+v %v", step, wrong)
	}
	if step, _ = readRequest(json.RawMessage(`{"mcp_id":"m","method":"GET","path":"/x","body":"just text"}`)); string(step.Body) != `"just text"` {
		t.Errorf("body %s", step.Body)
	}
	_, wrong = readRequest(json.RawMessage(`{"method":"FETCH","url":"http://x","cookies":{},"query":[1],"headers":[1]}`))
	var said []string
	for _, f := range wrong {
		said = append(said, location(f.Loc)+":"+f.Type)
	}
	if got, want := strings.Join(said, " "), "cookies:extra_forbidden url:extra_forbidden mcp_id:missing path:missing method:enum query:type_error headers:type_error"; got != want {
		t.Errorf("said %s\nwant %s", got, want)
	}
}

func TestPlanErrorsNameTheirStep(t *testing.T) {
	p, wrong := readPlan(json.RawMessage(`{"goal":"g","steps":[
		{"id":"s1","title":"a","mcp_id":"m","method":"GET","path":"/x"},
		{"id":"s2","title":"b","mcp_id":7,"method":"GET","path":"/y","why":1}]}`))
	var said []string
	for _, f := range wrong {
		said = append(said, location(f.Loc)+":"+f.Type)
	}
	if got, want := strings.Join(said, " "), "steps.1.why:extra_forbidden steps.1.mcp_id:type_error steps.1.mcp_id:missing"; got != want || len(p.Steps) != 2 {
		t.Errorf("%d steps; said %s\nwant %s", len(p.Steps), got, want)
	}
}
