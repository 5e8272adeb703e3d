package webui

import (
	"testing"

	"piloto/internal/locale"
	"piloto/internal/plan"
)

// A card is made of two reads. An event that came between them is not shown by
// the first, so the page must still be told of it.
func TestACardAsksForWhatItsRunDidNotHaveYet(t *testing.T) {
	run := plan.Run{ID: "r", Status: plan.Running, EventSeq: 3, Plan: plan.Plan{Goal: "g", Steps: []plan.Step{{ID: "s1", Method: "GET", Path: "/x"}}}}
	events := []plan.Event{{Seq: 1}, {Seq: 2}, {Seq: 3}, {Seq: 4, Type: plan.EventStepStart, StepID: "s1"}}
	if c := newCard(run, events, locale.Spanish, run.CreatedAt); c.Seq != 3 {
		t.Errorf("it would ask for events after %d", c.Seq)
	}
}
