package view_test

import (
	"testing"

	"piloto/infra/local/fixture/reach"
	"piloto/infra/local/fixture/reach/planned"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/view"
)

// TestEveryReferenceOfAStepIsACrossing (guarantee I31), in whichever call it stands.
func TestEveryReferenceOfAStepIsACrossing(t *testing.T) {
	steps, without := planned.Referring()
	without["When"], without["ForEach"] = "it sends nothing", "it sends nothing: a reference to its element does"
	steps.Check(t, reach.Reader[plan.Step]{
		Name: "the data that goes to another service (Crossings in internal/runs/view/crossing.go)", Without: without,
		Read: func(s plan.Step) any {
			s.ID = plan.EffectOf("s2")
			p := plan.Plan{Steps: []plan.Step{{ID: plan.EffectOf("s9")}, s}, Bindings: []plan.Binding{{StepID: plan.EffectOf("s9"), BaseURL: "https://a.example"}}}
			crossings := 0
			for _, id := range []plan.EffectID{s.ID, plan.UndoOf(s.ID), plan.CheckOf(s.ID)} {
				p.Bindings = append(p.Bindings, plan.Binding{StepID: id, BaseURL: "https://b.example"})
			}
			for _, id := range []plan.EffectID{s.ID, plan.UndoOf(s.ID), plan.CheckOf(s.ID)} {
				crossings += len(view.Crossings(p, id))
			}
			return crossings
		},
	})
}
