package turn

import (
	"slices"
	"testing"
	"time"

	"piloto/internal/runs/plan"
)

// TestAModelIsToldOfAnApprovalThatCanBeGiven: not of one whose time is over, nor of one of a run that is stopped.
func TestAModelIsToldOfAnApprovalThatCanBeGiven(t *testing.T) {
	until := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s1 := plan.EffectOf("s1")
	r := plan.Run{
		Status: plan.Waiting, Plan: plan.Plan{Steps: []plan.Step{{ID: s1, Method: "POST", Risk: plan.Write}}},
		Steps: []plan.StepState{{StepID: s1, Status: plan.StepWaiting, Approval: &plan.Approval{Ask: plan.Ask{Reason: "es caro"}, ExpiresAt: until}}},
	}
	if w := outcomeOf(r, until.Add(-time.Minute), 0).Waits; w == nil || w.Step != "s1" || w.Reason != "es caro" || w.Until != "2026-03-01T12:00:00Z" {
		t.Errorf("%+v", w)
	}
	stopped := r
	stopped.CancelAt = &until
	if late, over := outcomeOf(r, until, 0).Waits, outcomeOf(stopped, until.Add(-time.Minute), 0).Waits; late != nil || over != nil {
		t.Errorf("late %+v, stopped %+v", late, over)
	}
}

// TestADoubtOfAListIsOfItsElements: the step itself stays in doubt when a person said of each what became of it.
func TestADoubtOfAListIsOfItsElements(t *testing.T) {
	s1 := plan.EffectOf("s1")
	one := plan.StepState{StepID: plan.ItemOf(s1, 0), Status: plan.StepInDoubt}
	r := plan.Run{
		Status: plan.InDoubt, Plan: plan.Plan{Steps: []plan.Step{{ID: s1, Title: "Avisar", Method: "POST", Risk: plan.Write, ForEach: "${s0.body}"}}},
		Steps: []plan.StepState{{StepID: s1, Status: plan.StepInDoubt, Expanded: true, Items: 1}, one},
	}
	if got := inDoubt(r); !slices.Equal(got, []string{"Avisar (1)"}) {
		t.Errorf("%q", got)
	}
	one.Resolved = &plan.Resolution{Outcome: plan.OutcomeNotDone}
	if got := inDoubt(r.With(one)); got != nil {
		t.Errorf("resolved: %q", got)
	}
}
