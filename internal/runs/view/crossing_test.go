package view

import (
	"encoding/json"
	"slices"
	"testing"

	"piloto/internal/runs/plan"
)

// TestCrossingsAreOfEveryCall (guarantee I31): a step, its undo and its check, of an element too, and each part of them.
func TestCrossingsAreOfEveryCall(t *testing.T) {
	const ours, theirs = "https://a.example/v1", "https://b.example"
	body := func(text string) json.RawMessage { return json.RawMessage(`{"x":["` + text + `"]}`) }
	for name, c := range map[string]struct {
		base    string // of each binding of s2
		forEach string
		call    plan.Call
		crosses bool
	}{
		"path":              {theirs, "", plan.Call{Path: "/x/${s1.body.id}"}, true},
		"query":             {theirs, "", plan.Call{Query: body("${s1.body.id}")}, true},
		"headers":           {theirs, "", plan.Call{Headers: body("a ${s1.body.id}")}, true},
		"body":              {theirs, "", plan.Call{Body: body("${s1.status}")}, true},
		"escaped":           {theirs, "", plan.Call{Body: body(`\u0024{s1.body}`)}, true},
		"element":           {theirs, "${s1.body.items}", plan.Call{Body: body("${item.id}")}, true},
		"list alone":        {theirs, "${s1.body.items}", plan.Call{Body: body("x")}, false},
		"twice":             {theirs, "", plan.Call{Path: "/${s1.body.a}", Body: body("${s1.body.b} ${s0.body.c}")}, true},
		"other scheme":      {"http://a.example/v1", "", plan.Call{Body: body("${s1.body.id}")}, true},
		"other port":        {"https://a.example:8443", "", plan.Call{Body: body("${s1.body.id}")}, true},
		"other path":        {"https://A.example/v2", "", plan.Call{Body: body("${s1.body.id}")}, false},
		"nothing":           {theirs, "", plan.Call{Path: "/x", Body: body("$ {s1}")}, false},
		"what is no step":   {theirs, "", plan.Call{Body: body("${s9.body}")}, false},
		"its own at theirs": {theirs, "", plan.Call{Body: body("${s2.body.id}")}, false},
	} {
		quiet := plan.Call{Path: "/y"}
		for _, id := range []plan.EffectID{plan.EffectOf("s2"), plan.UndoOf(plan.EffectOf("s2")), plan.CheckOf(plan.EffectOf("s2"))} {
			of := func(other plan.EffectID) plan.Call {
				if other == id {
					return c.call
				}
				return quiet
			}
			s2 := plan.EffectOf("s2")
			own := of(s2)
			p := plan.Plan{
				Steps: []plan.Step{{ID: plan.EffectOf("s0")}, {ID: plan.EffectOf("s1")}, {
					ID: s2, Path: own.Path, Query: own.Query, Headers: own.Headers, Body: own.Body, ForEach: c.forEach,
					Undo: &plan.Undo{Call: of(plan.UndoOf(s2))}, Verify: &plan.Check{Call: of(plan.CheckOf(s2))},
				}},
				Bindings: []plan.Binding{
					{StepID: plan.EffectOf("s0"), BaseURL: ours},
					{StepID: plan.EffectOf("s1"), BaseURL: ours},
					{StepID: s2, BaseURL: c.base},
					{StepID: plan.UndoOf(s2), BaseURL: c.base},
					{StepID: plan.CheckOf(s2), BaseURL: c.base},
				},
			}
			var want []Crossing
			if c.crosses {
				want = []Crossing{{ours, c.base}}
			}
			for _, other := range []plan.EffectID{s2, plan.UndoOf(s2), plan.CheckOf(s2)} {
				if got := Crossings(p, other); other == id && !slices.Equal(got, want) || other != id && got != nil {
					t.Errorf("%s: %s of %s: %v, not %v", name, other, id, got, want)
				}
			}
		}
	}
}

// TestAnUndoElsewhereSendsTheDataOfItsStep: the answer of the step itself leaves its service.
func TestAnUndoElsewhereSendsTheDataOfItsStep(t *testing.T) {
	s1 := plan.EffectOf("s1")
	p := plan.Plan{
		Steps: []plan.Step{{ID: s1, Undo: &plan.Undo{Call: plan.Call{Path: "/x/${s1.body.id}"}}}},
		Bindings: []plan.Binding{
			{StepID: s1, BaseURL: "https://a.example"}, {StepID: plan.UndoOf(s1), BaseURL: "https://b.example"},
		},
	}
	if got := Crossings(p, plan.UndoOf(s1)); !slices.Equal(got, []Crossing{{"https://a.example", "https://b.example"}}) {
		t.Error(got)
	}
	p.Bindings[0].BaseURL, p.Bindings[1].BaseURL = "files:", "files:" // no origin, and the same service
	if got := Crossings(p, plan.UndoOf(s1)); got != nil {
		t.Error(got)
	}
}
