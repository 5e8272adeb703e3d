package webui

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"piloto/infra/local/fixture/reach"
	"piloto/infra/local/fixture/reach/planned"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// TestEveryMemberOfAStepIsOnItsCard: nothing that is confirmed is left out.
func TestEveryMemberOfAStepIsOnItsCard(t *testing.T) {
	planned.Step().Check(t, reach.Reader[plan.Step]{
		Name: "the card of a plan (addDetails in internal/edge/webui/effects.go, template/card.html)",
		Read: func(s plan.Step) any { return string(renderCard(t, planned.Run(s), nil, locale.Spanish)) },
		Without: map[string]string{
			"NoUndo":              "no undo is shown then",
			"Ask.Rule":            "its reason is shown",
			"Targets.About.Value": "the name among them is the label",
			"Unanswered.StepID":   "the run is named, where all of it can be read",
		},
	})
}

// TestEveryMemberOfAStepIsInItsForm: the form that is sent back has every member.
func TestEveryMemberOfAStepIsInItsForm(t *testing.T) {
	views := loadViews(loadAssets(), at(noon))
	worked := "it is worked out again for each revision"
	planned.Step().Check(t, reach.Reader[plan.Step]{
		Name: "the form of a plan (newEdit and restOf in internal/edge/webui/edit.go; an input also needs template/edit.html and asset/edit.js)",
		Read: func(s plan.Step) any {
			view, err := newEdit(planned.Run(s), func(plan.Step) (tool.Operation, bool) { return tool.Operation{}, false })
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if err := views.render(&b, locale.Spanish, "edit", view); err != nil {
				t.Fatal(err)
			}
			return b.String()
		},
		Without: map[string]string{"Risk": worked, "Ask": worked, "Targets": worked, "Unanswered": worked},
	})
}

// TestAStepIsInATableOnlyIfTheTableSaysAllOfIt: of three steps that are alike, the one in the middle has one member more.
func TestAStepIsInATableOnlyIfTheTableSaysAllOfIt(t *testing.T) {
	rightly := map[string]string{"NoUndo": "no undo is shown then"}
	card := func(change func(*plan.Step)) string {
		var p plan.Plan
		for _, id := range []string{"s1", "s2", "s3"} {
			s := plan.Step{ID: plan.EffectOf(id), Title: "Avisar", MCPID: "m", Method: "POST", Path: "/mails", Body: raw(`{"to":"` + id + `"}`), Needs: []string{}, Risk: plan.Write}
			if id == "s2" {
				change(&s)
			}
			p.Steps = append(p.Steps, s)
			for _, of := range []plan.EffectID{s.ID, plan.UndoOf(s.ID), plan.CheckOf(s.ID)} {
				p.Bindings = append(p.Bindings, plan.Binding{StepID: of, MCPID: "m", ServerName: "Correo", BaseURL: mailURL, Template: "/mails"})
			}
		}
		r := draft(p)
		r.Digest = "d" // it is another one with each member
		return string(renderCard(t, r, nil, locale.Spanish))
	}
	plain := card(func(*plan.Step) {})
	if !strings.Contains(plain, "<table") {
		t.Fatal("three steps that are alike are no table")
	}
	s := planned.Step().Full()
	s.Tool, s.Method, s.Risk = "tool", "PATCH", plan.Destructive
	full := reflect.ValueOf(s)
	for f := range reflect.TypeFor[plan.Step]().Fields() {
		if f.Name == "ID" {
			continue
		}
		shown := card(func(s *plan.Step) { reflect.ValueOf(s).Elem().FieldByName(f.Name).Set(full.FieldByName(f.Name)) }) != plain
		if shown == (rightly[f.Name] != "") {
			t.Errorf("%s of plan.Step: a table of steps tells of it: %v; a reason not to: %q. Let alike in internal/edge/webui/group.go keep such a step out of a table", f.Name, shown, rightly[f.Name])
		}
	}
}
