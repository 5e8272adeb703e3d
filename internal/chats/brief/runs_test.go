package brief

import (
	"strings"
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
	if w := outcomeOf(r, until.Add(-time.Minute)).Waits; w == nil || w.Step != "s1" || w.Reason != "es caro" || w.Until != "2026-03-01T12:00:00Z" {
		t.Errorf("%+v", w)
	}
	stopped := r
	stopped.CancelAt = &until
	if late, over := outcomeOf(r, until).Waits, outcomeOf(stopped, until.Add(-time.Minute)).Waits; late != nil || over != nil {
		t.Errorf("late %+v, stopped %+v", late, over)
	}
}

// What a step read with HEAD are its headers. Those of other calls are not told.
func TestTheOutcomeOfAHeadHasItsHeaders(t *testing.T) {
	for method, want := range map[string]string{"HEAD": `"headers":{"Etag":"v7"}`, "DELETE": `"answer":200}`} {
		s := plan.Step{ID: plan.EffectOf("s1"), Method: method, Path: "/only"}
		r := plan.Run{Status: plan.Done, Plan: plan.Plan{Steps: []plan.Step{s}}, Steps: []plan.StepState{
			{StepID: s.ID, Status: plan.StepDone, Result: &plan.Result{Status: 200, Headers: map[string]string{"Etag": "v7"}}},
		}}
		if got, err := Runs([]plan.Run{r}, time.Now()); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %v, %s", method, err, got)
		}
	}
}
