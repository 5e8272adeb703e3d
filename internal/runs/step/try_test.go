package step_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/tools/tool"
)

// triedOperations are those of a service with a place of each kind.
func triedOperations(base string) []tool.Operation {
	param := func(in, name, schema string) tool.Parameter {
		return tool.Parameter{Name: name, In: in, Required: in == "path", Style: "form", Explode: true, Schema: json.RawMessage(schema)}
	}
	const text, integer = `{"type":"string"}`, `{"type":"integer"}`
	body := func(media string) *tool.Body {
		return &tool.Body{MediaType: media, Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string"},"e":{"enum":["a","b"]},"o":{"type":"object","properties":{"x":{"type":"integer"}},"additionalProperties":false}}}`)}
	}
	ops := []tool.Operation{
		{Entry: tool.Entry{Method: "GET", Path: "/src"}},
		{Entry: tool.Entry{Method: "GET", Path: "/g"}, Parameters: []tool.Parameter{param("header", "X-Name", text)}},
		{Entry: tool.Entry{Method: "POST", Path: "/n"}, Body: body("application/json")},
		{Entry: tool.Entry{Method: "POST", Path: "/form"}, Body: body("application/x-www-form-urlencoded")},
		{Entry: tool.Entry{Method: "PUT", Path: "/h"}, Parameters: []tool.Parameter{param("header", "X-Name", text)}},
		{Entry: tool.Entry{Method: "PUT", Path: "/q"}, Parameters: []tool.Parameter{param("query", "a", text), param("query", "i", integer)}},
		{Entry: tool.Entry{Method: "DELETE", Path: "/d/{n}"}, Parameters: []tool.Parameter{param("path", "n", integer)}},
		{Entry: tool.Entry{Method: "PUT", Path: "/i/{n}"}, Parameters: []tool.Parameter{param("path", "n", integer)}},
		{Entry: tool.Entry{Method: "PUT", Path: "/p/{a}/{b}"}, Parameters: []tool.Parameter{param("path", "a", text), param("path", "b", text), param("header", "X-Name", text)}, Body: body("application/json")},
	}
	for i := range ops {
		ops[i].Fingerprint = tool.Fingerprint(base, ops[i])
	}
	return ops
}

// tried previews the first step of a draft, GET /src, with an answer, and returns the faults of the others.
func tried(t *testing.T, w *fixture.World, answer string, steps ...plan.ProposedStep) []fault.Field {
	t.Helper()
	return triedAfterLooks(t, w, answer, nil, append([]plan.ProposedStep{newStep("s1", "GET", "/src", "")}, steps...)...)
}

// triedAfterLooks does the same with all steps of a draft, after looks that were answered.
func triedAfterLooks(t *testing.T, w *fixture.World, answer string, looked map[string]ref.Result, steps ...plan.ProposedStep) []fault.Field {
	t.Helper()
	const base = "https://tried.example"
	catalogue := tool.Catalogue{Revision: w.IDs.New(w.Clock()), Operations: triedOperations(base)}
	server := tool.Server{
		ID: w.IDs.New(w.Clock()), Name: "Prueba", Kind: tool.KindOpenAPI, BaseURL: base, Active: true,
		Catalogue: catalogue.Revision, Operations: len(catalogue.Operations), Reads: tool.Reads{Mode: tool.ReadsPreview},
	}
	must(t, w.Store.Registry.CreateServer(t.Context(), fixture.Account, server, catalogue, nil))
	w.Answer(func(tool.Request) (tool.Answer, error) {
		if answer == "" {
			return tool.Answer{}, tool.ErrLost
		}
		return tool.Answer{Status: 200, Body: []byte(answer), Bytes: len(answer)}, nil
	})
	for i := range steps {
		steps[i].MCPID = server.ID
	}
	arranged, wrong := plan.Arrange(plan.Proposal{Goal: "g", Steps: steps})
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	p := plan.Plan{ID: "p", Goal: "g", Steps: arranged}
	bind := func(call plan.Step, ok bool) {
		if !ok {
			return
		}
		for _, op := range catalogue.Operations {
			if _, _, err := tool.Match([]tool.Entry{op.Entry}, call.Method, call.Path); err == nil {
				_, query, err := tool.Written(server, op, tool.Arguments{Path: call.Path, Query: call.Query})
				must(t, err)
				p.Bindings = append(p.Bindings, plan.Binding{StepID: call.ID, MCPID: server.ID, BaseURL: base, Template: op.Path, Fingerprint: op.Fingerprint, Query: query})
			}
		}
	}
	for _, s := range arranged {
		bind(s, true)
		undo, hasUndo := p.Step(plan.UndoOf(s.ID))
		bind(undo, hasUndo)
		bind(p.CheckOf(s.ID))
	}
	_, wrong = previewer(w).Known(t.Context(), plan.Run{ID: "r", Account: fixture.Account, Plan: p}, looked, time.Minute)
	return wrong
}

// TestKnownValuesAreTriedInEveryPlace: a value that a preview knows is tried as the run would send it, in each place, in an undo
// and a check, and beside values that are not known yet.
func TestKnownValuesAreTriedInEveryPlace(t *testing.T) {
	step := func(method, path, query, headers, body string) plan.ProposedStep {
		s := newStep("s2", method, path, body, "s1")
		s.Query, s.Headers = json.RawMessage(query), json.RawMessage(headers)
		return s
	}
	later := func(s plan.ProposedStep) []plan.ProposedStep { // after a change whose answer is not known
		s.ID, s.Needs = "s3", &[]string{"s1", "s2"}
		return []plan.ProposedStep{newStep("s2", "POST", "/n", `{"n":1}`, "s1"), s}
	}
	each := func(s plan.ProposedStep) plan.ProposedStep { s.ForEach = "${s1.body.v}"; return s }
	when := func(s plan.ProposedStep) plan.ProposedStep {
		s.When = &ref.Condition{Value: "${s1.body.v}", Is: ref.Present}
		return s
	}
	undone := step("POST", "/n", "", "", `{"n":1}`)
	undone.Undo = &plan.Call{Method: "PUT", Path: "/h", Headers: json.RawMessage(`{"X-Name":"${s1.body.v}"}`)}
	undoneLater := step("POST", "/n", "", "", `{"n":1}`)
	undoneLater.Undo = &plan.Call{Method: "PUT", Path: "/p/x/${s2.body.id}", Headers: json.RawMessage(`{"X-Name":"${s1.body.v}"}`)}
	checked := step("POST", "/n", "", "", `{"n":1}`)
	checked.Verify = &plan.Check{Call: plan.Call{Method: "GET", Path: "/g", Headers: json.RawMessage(`{"X-Name":"${s1.body.v}"}`)}, Expect: ref.Condition{Value: "${check.status}", Is: ref.Equal, To: json.RawMessage(`200`)}}
	const v = `${s1.body.v}`
	for name, c := range map[string]struct {
		steps []plan.ProposedStep
		good  []string // values that can be sent
		bad   []string
		at    string
	}{
		"a number in JSON":    {[]plan.ProposedStep{step("POST", "/n", "", "", `{"n":"`+v+`"}`)}, []string{`5`}, []string{`"x"`, `"5"`, `null`, `[1]`, `1.5`}, "[steps 1 body n]"},
		"one of several":      {[]plan.ProposedStep{step("POST", "/n", "", "", `{"e":"`+v+`"}`)}, []string{`"a"`}, []string{`"zz"`, `1`}, "[steps 1 body e]"},
		"an object":           {[]plan.ProposedStep{step("POST", "/n", "", "", `{"o":"`+v+`"}`)}, []string{`{"x":1}`, `{}`}, []string{`{"x":"a"}`, `{"hidden":1}`, `7`}, "[steps 1 body o]"},
		"inside a text":       {[]plan.ProposedStep{step("POST", "/n", "", "", `{"s":"hola `+v+`"}`)}, []string{`"x"`, `5`}, []string{`null`, `{}`}, "[steps 1 body]"},
		"what is not there":   {[]plan.ProposedStep{step("POST", "/n", "", "", `{"s":"${s1.body.v.w}"}`)}, []string{`{"w":"x"}`}, []string{`{}`, `"x"`}, "[steps 1 body]"},
		"a header":            {[]plan.ProposedStep{step("PUT", "/h", "", `{"X-Name":"`+v+`"}`, "")}, []string{`"a"`, `5`}, []string{`"ñ"`, `""`, `" a"`, `"a\nb"`, `null`, `{}`}, "[steps 1 headers X-Name]"},
		"a query":             {[]plan.ProposedStep{step("PUT", "/q", `{"i":"`+v+`"}`, "", "")}, []string{`5`, `"5"`}, []string{`"x"`, `" 5 "`}, "[steps 1 query i]"},
		"a text in a query":   {[]plan.ProposedStep{step("PUT", "/q", `{"a":"`+v+`"}`, "", "")}, []string{`5`, `true`, `"ñ"`}, []string{`null`, `[]`}, "[steps 1 query]"},
		"a path":              {[]plan.ProposedStep{step("PUT", "/i/"+v, "", "", "")}, []string{`5`, `"5"`}, []string{`"x"`, `" 5 "`}, "[steps 1 path n]"},
		"a form":              {[]plan.ProposedStep{step("POST", "/form", "", "", `{"s":"`+v+`"}`)}, []string{`5`, `"x"`, `true`}, []string{`null`}, "[steps 1 body s]"},
		"a number in a form":  {[]plan.ProposedStep{step("POST", "/form", "", "", `{"n":"`+v+`"}`)}, []string{`5`, `"5"`}, []string{`"x"`, `" 5 "`}, "[steps 1 body n]"},
		"an undo":             {[]plan.ProposedStep{undone}, []string{`"a"`}, []string{`"ñ"`}, "[steps 1 undo headers X-Name]"},
		"an undo, in part":    {[]plan.ProposedStep{undoneLater}, []string{`"a"`}, []string{`"ñ"`}, "[steps 1 undo headers X-Name]"},
		"a check":             {[]plan.ProposedStep{checked}, []string{`"a"`}, []string{`"ñ"`}, "[steps 1 verify headers X-Name]"},
		"beside what is not":  {later(step("PUT", "/p/x/${s2.body.id}", "", `{"X-Name":"`+v+`"}`, "")), []string{`"a"`, `"${x}"`}, []string{`"ñ"`}, "[steps 2 headers X-Name]"},
		"a path, in part":     {later(step("PUT", "/p/"+v+"/${s2.body.id}", "", "", "")), []string{`"a"`, `"${s9.body}"`, `"#1"`}, []string{`"a/b"`, `""`, `null`}, "[steps 2 path]"},
		"a query, in part":    {later(step("PUT", "/q", `{"a":"${s2.body.id}","i":"`+v+`"}`, "", "")), []string{`5`}, []string{`"x"`}, "[steps 2 query i]"},
		"a body, in part":     {later(step("POST", "/n", "", "", `{"s":"${s2.body.id}","n":"`+v+`"}`)), []string{`5`}, []string{`"x"`}, "[steps 2 body n]"},
		"elements":            {[]plan.ProposedStep{each(step("POST", "/n", "", "", `{"n":"${item}"}`))}, []string{`[]`, `[1,2]`}, []string{`[1,"x"]`}, "[steps 1 body n]"},
		"no list":             {[]plan.ProposedStep{each(step("POST", "/n", "", "", `{"n":"${item}"}`))}, nil, []string{`"x"`, `{}`, `[` + strings.Repeat("1,", plan.MaxEach) + `1]`}, "[steps 1 for_each]"},
		"where it is skipped": {[]plan.ProposedStep{when(step("POST", "/n", "", "", `{"n":"`+v+`"}`))}, []string{`null`, `5`}, []string{`"x"`}, "[steps 1 body n]"},
	} {
		w := newPreviewWorld(t)
		for _, value := range append(c.good, c.bad...) {
			wrong := tried(t, w, `{"v":`+value+`}`, c.steps...)
			if len(c.good) > 0 && len(wrong) > 0 && strings.Contains(strings.Join(c.good, " "), value) && !strings.Contains(strings.Join(c.bad, " "), value) {
				t.Errorf("%s: %s is refused: %+v", name, value, wrong)
				continue
			}
			bad := false
			for _, b := range c.bad {
				bad = bad || b == value
			}
			if (len(wrong) > 0) != bad {
				t.Errorf("%s: %s: %+v", name, value, wrong)
				continue
			}
			for _, f := range wrong {
				if loc := fmt.Sprint(f.Loc); !strings.HasPrefix(c.at, strings.TrimSuffix(loc, "]")) && !strings.HasPrefix(loc, strings.TrimSuffix(c.at, "]")) || f.Why == nil || strings.Contains(f.Msg, "zz") || strings.Contains(f.Msg+fmt.Sprint(f.Loc), "hidden") {
					t.Errorf("%s: %s is told at %s: %s", name, value, loc, f.Msg)
				}
			}
		}
	}
}

// TestATriedValueIsToldInTheReadersLanguage: with the reference, without the value, in one language.
func TestATriedValueIsToldInTheReadersLanguage(t *testing.T) {
	change := newStep("s2", "POST", "/n", `{"n":"${s1.body.v}"}`, "s1")
	wrong := tried(t, newPreviewWorld(t), `{"v":"x"}`, change)
	if len(wrong) != 1 {
		t.Fatal(wrong)
	}
	if got, want := locale.OfFault(wrong[0].Why).In(locale.Spanish), "con el valor de ${s1.body.v} no se puede enviar: debe ser un número entero, no un texto"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := wrong[0].Msg, "with the value of ${s1.body.v} it cannot be sent: must be an integer, not a string"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestARuleIsAskedWithKnownValues: what a rule denies with a value that is known is not proposed.
func TestARuleIsAskedWithKnownValues(t *testing.T) {
	w := newPreviewWorld(t)
	must(t, w.Store.Runs.SetRules(t.Context(), fixture.Account, 0, rule.Set{Rules: []rule.Rule{{ID: "r", Effect: rule.Deny, Path: "/p/caja/*", Reason: "No"}}}))
	change := newStep("s2", "PUT", "/p/${s1.body.v}/b", "", "s1")
	for value, denied := range map[string]bool{`"caja"`: true, `"sala"`: false} {
		if wrong := tried(t, w, `{"v":`+value+`}`, change); (len(wrong) == 1 && wrong[0].Type == "denied") != denied || !denied && len(wrong) > 0 {
			t.Errorf("%s: %+v", value, wrong)
		}
	}
}

// TestKnownListsAreCountedAtTheProposal: those that a preview read, and those of a look where the plan reads them again, also after a
// change, which seldom makes a list shorter.
func TestKnownListsAreCountedAtTheProposal(t *testing.T) {
	listOf := func(n int) string {
		return `{"v":[` + strings.TrimSuffix(strings.Repeat(`{"id":"a"},`, n), ",") + `]}`
	}
	src := newStep("s1", "GET", "/src", "")
	write := newStep("w", "POST", "/n", `{"n":1}`)
	remove := newStep("w", "DELETE", "/d/1", "")
	after := newStep("s1", "GET", "/src", "", "w")
	each := func(id, list string, needs ...string) plan.ProposedStep {
		s := newStep(id, "PUT", "/p/${item.id}/b", "", needs...)
		s.ForEach = list
		return s
	}
	several := func(n int, before ...plan.ProposedStep) []plan.ProposedStep {
		for i := range n {
			before = append(before, each(fmt.Sprintf("e%d", i), "${s1.body.v}", "s1"))
		}
		return before
	}
	results := func(n int) []plan.ProposedStep {
		steps := several(1, src)
		for i := range n {
			steps = append(steps, each(fmt.Sprintf("f%d", i), "${e0.body}", "e0"))
		}
		return steps
	}
	const most = plan.MaxEach
	for name, c := range map[string]struct {
		read, looked string
		steps        []plan.ProposedStep
		at           string // of the fault
		says         string
	}{
		"as many as fit, and other steps":    {read: listOf(most), steps: append(several(10, src), newStep("x", "POST", "/n", `{"n":1}`, "s1"))},
		"more":                               {read: listOf(most), steps: several(11, src), at: "[steps 11 for_each]", says: "550"},
		"results of a list":                  {read: listOf(most), steps: results(10), at: "[steps 11 for_each]", says: "550"},
		"a look":                             {looked: listOf(most + 1), steps: several(1, src), at: "[steps 1 for_each]", says: "51"},
		"a look, in all":                     {looked: listOf(most), steps: several(11, src), at: "[steps 11 for_each]", says: "550"},
		"a look that a preview read again":   {read: listOf(1), looked: listOf(most + 1), steps: several(1, src)},
		"a look before a change":             {looked: listOf(most), steps: several(11, write, after), at: "[steps 12 for_each]", says: "550"},
		"a look before a change, of one":     {looked: listOf(most + 1), steps: several(1, write, after), at: "[steps 2 for_each]", says: "51"},
		"a look before what destroys":        {looked: listOf(most + 1), steps: several(1, remove, after)},
		"a look at no list":                  {looked: `{"v":null}`, steps: several(1, src), at: "[steps 1 for_each]", says: "${s1.body.v}"},
		"a look at no list, before a change": {looked: `{"v":null}`, steps: several(1, write, after)},
		"a look at what does not fit":        {looked: `{"v":[{"id":"a/b"}]}`, steps: several(1, src), at: "[steps 1 path]"},
		"the same, before a change":          {looked: `{"v":[{"id":"a/b"}]}`, steps: several(1, write, after)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newPreviewWorld(t)
			looked := map[string]ref.Result{}
			if c.looked != "" {
				looked["s1"] = ref.Result{Status: 200, Body: json.RawMessage(c.looked)}
			}
			wrong := triedAfterLooks(t, w, c.read, looked, c.steps...)
			switch {
			case c.at == "" && len(wrong) > 0:
				t.Errorf("%+v", wrong)
			case c.at != "" && (len(wrong) != 1 || fmt.Sprint(wrong[0].Loc) != c.at || !strings.Contains(wrong[0].Msg, c.says)):
				t.Errorf("%+v, want %s %s", wrong, c.at, c.says)
			}
		})
	}
}
