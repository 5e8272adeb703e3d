package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// proposal parses steps in the form in which a model writes them: each a POST to /x of the server m
// by default.
func proposal(t *testing.T, steps ...string) Proposal {
	t.Helper()
	p := Proposal{Goal: "g"}
	for _, text := range steps {
		s := ProposedStep{MCPID: "m", Method: "post", Path: "/x"}
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		p.Steps = append(p.Steps, s)
	}
	return p
}

func TestArrangeReportsFaultAndPlace(t *testing.T) {
	const read = `{"id":"s1","method":"get"}`
	for name, c := range map[string]struct {
		steps []string
		want  string // "loc: type: part of the message", of the first fault
	}{
		"a condition on nothing":            {[]string{read, `{"when":{"value":"${s9.status}","is":"present"}}`}, "steps 1 when: reference: ${s9.status} names a step that is not in the plan"},
		"a condition on itself":             {[]string{`{"id":"a","when":{"value":"${a.status}","is":"present"}}`}, "steps 0 when: reference: names the step itself"},
		"a condition on the element":        {[]string{read, `{"for_each":"${s1.body}","when":{"value":"${item.x}","is":"present"}}`}, "steps 1 when: reference: decided once"},
		"a condition that is none":          {[]string{read, `{"when":{"value":"${s1.status}","is":"maybe"}}`}, "steps 1 when: invalid: no comparison"},
		"a list that is text":               {[]string{read, `{"for_each":"all ${s1.body}"}`}, "steps 1 for_each: reference: one reference"},
		"a list that is no reference":       {[]string{read, `{"for_each":"s1.body"}`}, "steps 1 for_each: reference: one reference"},
		"a list that is broken":             {[]string{read, `{"for_each":"${s1.body"}`}, "steps 1 for_each: reference: closing }"},
		"a status is no list":               {[]string{read, `{"for_each":"${s1.status}"}`}, "steps 1 for_each: reference: no list"},
		"a list of itself":                  {[]string{`{"id":"a","for_each":"${a.body}"}`}, "steps 0 for_each: reference: the step itself"},
		"a list of nothing":                 {[]string{`{"for_each":"${b.body}"}`}, "steps 0 for_each: reference: not in the plan"},
		"a list in its element":             {[]string{read, `{"for_each":"${item.x}"}`}, "steps 1 for_each: reference: element of this very list"},
		"an element of no list":             {[]string{`{"path":"/x/${item.id}"}`}, "steps 0 path: reference: not done for each"},
		"an element in an undo of no list":  {[]string{`{"undo":{"method":"delete","path":"/x/${item}"}}`}, "steps 0 undo path: reference: not done for each"},
		"a check's answer in a body":        {[]string{`{"body":{"a":"${check.status}"}}`}, "steps 0 body: reference: in its expect only"},
		"a check's answer in a condition":   {[]string{read, `{"when":{"value":"${check.status}","is":"present"}}`}, "steps 1 when: reference: in its expect only"},
		"an undo of what only reads":        {[]string{`{"method":"get","undo":{"method":"DELETE","path":"/x"}}`}, "steps 0 undo: invalid: nothing to undo"},
		"an undo that only reads":           {[]string{`{"undo":{"method":"get","path":"/x"}}`}, "steps 0 undo method: invalid: GET undoes nothing"},
		"an undo that names a stranger":     {[]string{`{"needs":[],"undo":{"method":"delete","path":"/x/${s2.body.id}"}}`, `{"needs":[]}`}, "steps 0 undo path: reference: need not be done before: s1 does not need it"},
		"an undo that names a later step":   {[]string{`{"undo":{"method":"delete","path":"/x","body":{"a":"${s2.body.id}"}}}`, `{}`}, "steps 0 undo body: reference: need not be done before"},
		"an undo that names nothing":        {[]string{`{"undo":{"method":"delete","path":"/x","query":{"a":"${s7.body.id}"}}}`}, "steps 0 undo query: reference: not in the plan"},
		"a check that writes":               {[]string{`{"verify":{"method":"post","path":"/x","expect":{"value":"${check.status}","is":"equal","to":200}}}`}, "steps 0 verify method: invalid: GET or HEAD"},
		"a check by a tool":                 {[]string{`{"verify":{"tool":"find","expect":{"value":"${check.status}","is":"equal","to":200}}}`}, "steps 0 verify tool: invalid: not a tool"},
		"a check that names its step":       {[]string{`{"id":"a","verify":{"method":"get","path":"/x/${a.body.id}","expect":{"value":"${check.status}","is":"equal","to":200}}}`}, "steps 0 verify path: reference: the step itself"},
		"a check that expects nothing":      {[]string{`{"verify":{"method":"get","path":"/x"}}`}, "steps 0 verify expect: invalid: one of value"},
		"a check that expects of a step":    {[]string{read, `{"verify":{"method":"get","path":"/x","expect":{"value":"${s1.status}","is":"equal","to":200}}}`}, "steps 1 verify expect: reference: not of the check's own answer"},
		"a check compared with a step":      {[]string{read, `{"verify":{"method":"get","path":"/x","expect":{"value":"${check.status}","is":"equal","to":"${s1.status}"}}}`}, "steps 1 verify expect: reference: not of the check's own answer"},
		"a header of many answers":          {[]string{read, `{"for_each":"${s1.body}"}`, `{"path":"/x/${s2.headers.Location}"}`}, "steps 2 path: reference: many answers"},
		"a reserved id":                     {[]string{`{"id":"item"}`}, "steps 0 id: reserved"},
		"a reserved id in capitals":         {[]string{`{"id":"Check"}`}, "steps 0 id: reserved"},
		"ids that differ in case":           {[]string{`{"id":"s1"}`, `{"id":"S1"}`}, "steps 1 id: duplicate: letter case"},
		"a circle of three":                 {[]string{`{"needs":["s3"]}`, `{"needs":["s1"]}`, `{"needs":["s2"]}`, `{"needs":[]}`}, "steps: cycle: s1 → s3 → s2 → s1"},
		"a circle behind a step":            {[]string{`{"needs":["s2"]}`, `{"needs":["s3"]}`, `{"needs":["s2"]}`}, "steps: cycle: s2 → s3 → s2"},
		"a circle of references":            {[]string{`{"needs":[],"path":"/${s2.body}"}`, `{"needs":[],"when":{"value":"${s1.status}","is":"present"}}`}, "steps: cycle: s1 → s2 → s1"},
		"a member that stands twice":        {[]string{`{"body":{"amount":1,"amount":100}}`}, "steps 0 body: invalid: \"amount\" stands twice"},
		"a member twice in an undo's query": {[]string{`{"undo":{"method":"delete","path":"/x","query":{"a":1,"a":2}}}`}, "steps 0 undo query: invalid: twice"},
		"an empty id is filled in":          {[]string{`{"id":"s2"}`, `{}`}, "steps 1 id: duplicate: twice"},
	} {
		t.Run(name, func(t *testing.T) {
			_, wrong := Arrange(proposal(t, c.steps...))
			if len(wrong) == 0 {
				t.Fatal("it passes")
			}
			loc := strings.Join(strings.Fields(strings.Trim(fmt.Sprintf("%v", wrong[0].Loc), "[]")), " ")
			place, rest, _ := strings.Cut(c.want, ": ")
			typ, part, _ := strings.Cut(rest, ": ")
			if loc != place || wrong[0].Type != typ || !strings.Contains(wrong[0].Msg, part) {
				t.Errorf("got %s: %s: %s\nwant %s", loc, wrong[0].Type, wrong[0].Msg, c.want)
			}
		})
	}
}

func TestArrangeReportsAllFaultsAtOnce(t *testing.T) {
	_, wrong := Arrange(proposal(t, `{"id":"item","path":"/${s9.body}"}`, `{"needs":["nobody"],"when":{}}`, `{"method":"get","undo":{}}`))
	var got []string
	for _, f := range wrong {
		got = append(got, f.Type)
	}
	if want := []string{"reserved", "reference", "invalid", "unknown", "invalid"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestArrangeAddsReferencedStepsToNeeds(t *testing.T) {
	steps, wrong := Arrange(proposal(t,
		`{"id":"list","method":"get"}`, `{"id":"free","method":"head","needs":[]}`,
		`{"id":"book","needs":[],"for_each":"${list.body.items}","path":"/x/${item.id}","body":{"n":"${item.name} ${list.body.total}"},
			"when":{"all":[{"value":"${free.status}","is":"equal","to":200},{"value":"${list.body.total}","is":"more","to":0}]},
			"undo":{"method":"delete","path":"/x/${book.body.id}","query":{"of":"${list.body.id}","item":"${item.id}"}},
			"verify":{"mcp_id":"other","method":"get","path":"/x/${item.id}","expect":{"value":"${check.body.id}","is":"present"}}}`,
		`{"id":"last","method":"put","path":"/y/${book.body[0].id}"}`))
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	if d := cmp.Diff([]string{"free", "list"}, steps[2].Needs); d != "" {
		t.Error(d)
	}
	if u := steps[2].Undo; u.Method != "DELETE" || u.MCPID != "m" || u.Suggested {
		t.Errorf("%+v", u)
	}
	if v := steps[2].Verify; v.Method != "GET" || v.MCPID != "other" {
		t.Errorf("%+v", v)
	}
	waves, err := Waves(steps)
	if d := cmp.Diff([][]string{{"list", "free"}, {"book"}, {"last"}}, texts(waves)); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestArrangeKeepsTheProposalUnchanged(t *testing.T) {
	p := proposal(t, `{"id":"b","method":"get"}`, `{"id":"a","needs":["b","b"],"undo":{"method":"delete","path":"/x"}}`)
	before, _ := json.Marshal(p)
	if _, wrong := Arrange(p); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	if after, _ := json.Marshal(p); string(after) != string(before) {
		t.Errorf("%s\nbecame\n%s", before, after)
	}
}

// TestACallAloneIsCheckedAsAStep: its faults are at places of the call.
func TestACallAloneIsCheckedAsAStep(t *testing.T) {
	s, wrong := ArrangeCall(Call{MCPID: "srv", Method: "get", Path: "/rooms", Query: json.RawMessage(`{"a":1}`)})
	if want := "s1 GET /rooms read"; len(wrong) > 0 || fmt.Sprint(s.ID, " ", s.Called(), " ", s.Risk) != want {
		t.Errorf("%+v, %v", s, wrong)
	}
	for _, c := range []struct {
		call Call
		at   string
	}{
		{Call{Path: "/rooms/${s1.body.id}"}, "path"},
		{Call{Path: "/", Query: json.RawMessage(`{"a":1,"a":2}`)}, "query"},
		{Call{Path: "/", Headers: json.RawMessage(`{"A":"${item}"}`)}, "headers"},
		{Call{Path: "/", Body: json.RawMessage(`"${x"`)}, "body"},
	} {
		if _, wrong := ArrangeCall(c.call); len(wrong) != 1 || fmt.Sprint(wrong[0].Loc...) != c.at {
			t.Errorf("%+v: %v", c.call, wrong)
		}
	}
}

// FuzzArrange checks that every accepted proposal can be carried out in waves, and that every
// reference names a step of an earlier wave.
func FuzzArrange(f *testing.F) {
	f.Add(`{"steps":[{"method":"get"},{"method":"post","for_each":"${s1.body}","path":"/${item}","undo":{"method":"delete","path":"/${s2.body.id}"}}]}`)
	f.Add(`{"steps":[{"id":"a","needs":["b"]},{"id":"b","needs":["a"]}]}`)
	f.Add(`{"steps":[{"when":{"value":"${s2.status}","is":"equal","to":1}},{"needs":[]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var p Proposal
		if json.Unmarshal([]byte(text), &p) != nil {
			return
		}
		steps, wrong := Arrange(p)
		if len(wrong) > 0 {
			return
		}
		waves, err := Waves(steps)
		if err != nil {
			t.Fatal(err)
		}
		done := map[string]bool{}
		byID := map[string]Step{}
		for _, s := range steps {
			byID[s.ID.String()] = s
		}
		for _, wave := range waves {
			for _, id := range wave {
				for _, n := range byID[id.String()].Needs {
					if !done[n] {
						t.Fatalf("%s runs before %s", id, n)
					}
				}
			}
			for _, id := range wave {
				done[id.String()] = true
			}
		}
		if _, err := (Plan{Steps: steps}).Digest(); err != nil {
			t.Fatalf("it passes and has no digest: %v", err)
		}
	})
}
