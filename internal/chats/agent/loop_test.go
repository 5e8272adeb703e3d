package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
)

func TestShippedAgents(t *testing.T) {
	for _, name := range Shipped() {
		l, ok := shipped(name)
		if !ok || l.check(nil) != nil {
			t.Fatalf("%s: shipped %v, problems %v", name, ok, l.check(nil))
		}
		if writes := l.MayUse("propose_plan"); writes != (name == "build") || !l.MayUse("look") || !l.MayUse("read_result") {
			t.Errorf("%s: it may propose: %v", name, writes)
		}
		for _, tag := range locale.Tags() {
			text, err := l.PromptIn(tag)
			if err != nil {
				t.Fatal(err)
			}
			checkGolden(t, fmt.Sprintf("loop_%s_%s.txt", name, tag), l.DescriptionIn(tag)+"\n\n"+text)
		}
	}
	for name, steps := range map[string]int{"plan": 20, "build": 50, "resume": 15, "review": 20} {
		if l, _ := shipped(name); l.MaxSteps != steps {
			t.Errorf("%s: %d steps, want %d", name, l.MaxSteps, steps)
		}
	}
}

func TestMergePatch(t *testing.T) {
	for _, c := range [][3]string{ // the examples of RFC 7386, appendix A
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `null`, `null`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"a":1,"e":null}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
	} {
		if got := string(mergePatch(json.RawMessage(c[0]), json.RawMessage(c[1]))); got != c[2] {
			t.Errorf("%s over %s is %s, want %s", c[1], c[0], got, c[2])
		}
	}
}

func TestReadLoopMergesOverShippedOne(t *testing.T) {
	l, wrong := ReadLoop("plan", json.RawMessage(`{"max_steps":7,"tools":null,"assistant":{"provider":"p","model":"m"}}`))
	if wrong != nil || l.MaxSteps != 7 || l.Tools != nil || !l.MayUse("propose_plan") || l.Assistant.Model != "m" {
		t.Errorf("%+v, %v", l, wrong)
	}
	if text, err := l.PromptIn(locale.English); err != nil || !strings.HasPrefix(text, "You prepare") {
		t.Errorf("%q, %v", text, err)
	}
	l, wrong = ReadLoop("plan", json.RawMessage(`{"prompt":"Mine.","tools":[]}`))
	if text, _ := l.PromptIn(locale.English); wrong != nil || text != "Mine." || l.MayUse("look") {
		t.Errorf("%+v, %v", l, wrong)
	}
	l, wrong = ReadLoop("own", json.RawMessage(`{"prompt":"Do it.","tools":["look","*_plan"],"servers":[]}`))
	if wrong != nil || l.MaxSteps != usualSteps || l.Mode != ConfirmSensitive || !l.MayUse("revise_plan") || l.MayUse("mcp_request") || l.MayCall("srv") {
		t.Errorf("%+v, %v", l, wrong)
	}
}

func TestReadLoopReturnsEveryProblem(t *testing.T) {
	long, _ := json.Marshal(strings.Repeat("x", 1<<20))
	globs, _ := json.Marshal(slices.Repeat([]string{"look"}, 200))
	for _, c := range []struct {
		name, patch string
		want        []string
	}{
		{"ok-1_x", `{"prompt":"p"}`, nil},
		{"", `{"prompt":"p"}`, []string{"path.name agent_name"}},
		{"Plan", `{"prompt":"p"}`, []string{"path.name agent_name"}},
		{"a\nb", `{"prompt":"p"}`, []string{"path.name agent_name"}},
		{strings.Repeat("a", 41), `{"prompt":"p"}`, []string{"path.name agent_name"}},
		{"own", `[]`, []string{"body object_type"}},
		{"own", `null`, []string{"body object_type"}},
		{"own", `{}`, []string{"body.prompt missing"}},
		{"own", `{"prompt":` + string(long) + `}`, []string{"body.prompt string_too_long"}},
		{"own", `{"prompt":"a\u0000b","description":"  "}`, []string{"body.prompt string_pattern_mismatch", "body.description string_too_short"}},
		{"own", `{"prompt":"p","tools":` + string(globs) + `}`, []string{"body.tools too_long"}},
		{"own", `{"prompt":"p","tools":["look","look","rm","[","*"]}`, []string{"body.tools.1 duplicate", "body.tools.2 matches_nothing", "body.tools.3 matches_nothing"}},
		{"own", `{"prompt":"p","tools":"look"}`, []string{"body.tools type_error"}},
		{"own", `{"prompt":"p","max_steps":0,"timeout_s":604801,"budget_micros":-1,"warn_micros":-1,"max_tokens":3}`, []string{
			"body.max_steps out_of_range", "body.timeout_s out_of_range", "body.budget_micros out_of_range", "body.warn_micros out_of_range", "body.max_tokens out_of_range",
		}},
		{"own", `{"prompt":"p","max_steps":1000,"mode":"never","eval":"twice"}`, []string{"body.mode enum", "body.eval enum", "body.max_steps out_of_range"}},
		{"own", `{"prompt":"p","max_steps":1.5,"budget_micros":10,"warn_micros":11}`, []string{"body.max_steps type_error", "body.warn_micros out_of_range"}},
		{"own", `{"prompt":"p","steps":3,"Mode":"yolo"}`, []string{"body.Mode extra_forbidden", "body.steps extra_forbidden"}},
		{"own", `{"prompt":"p","assistant":{"provider":"p"},"keywords":["","a\tb"]}`, []string{
			"body.keywords.0 string_too_short", "body.keywords.1 string_pattern_mismatch", "body.assistant.model string_too_short",
		}},
		{"own", `{"prompt":"p","assistant":{"provider":"p","model":"m","key":"k"}}`, []string{"body.assistant type_error"}},
	} {
		_, wrong := ReadLoop(c.name, json.RawMessage(c.patch))
		var got []string
		for _, f := range wrong {
			got = append(got, place(f)+" "+f.Type)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s %.80s (-want +got)\n%s", c.name, c.patch, diff)
		}
	}
}

func place(f fault.Field) string {
	parts := make([]string, len(f.Loc))
	for i, l := range f.Loc {
		parts[i] = fmt.Sprint(l)
	}
	return strings.Join(parts, ".")
}

// changes is a LoopReader of one account.
type changes map[string]Change

func (c changes) AgentChange(_ context.Context, _ ids.Account, name string) (Change, error) {
	return c[name], nil
}

func TestResolve(t *testing.T) {
	r := changes{
		"plan":  {Version: 3, Patch: json.RawMessage(`{"max_steps":3}`)},
		"own":   {Version: 1, Patch: json.RawMessage(`{"prompt":"p"}`)},
		"build": {ServerID: "srv"},
		"bad":   {Version: 1, Patch: json.RawMessage(`{"max_steps":-3}`)},
	}
	for name, want := range map[string]error{"plan": nil, "own": nil, "resume": nil, "build": ErrNotALoop, "none": ErrNoAgent, "bad": ErrLoop} {
		l, err := Resolve(t.Context(), r, "acct", name)
		if !errors.Is(err, want) || want == nil && l.Name != name {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
	}
	if l, _ := Resolve(t.Context(), r, "acct", "PLAN"); l.Name != "plan" || l.MaxSteps != 3 || l.MayUse("mcp_request") {
		t.Errorf("%+v", l)
	}
}
