package webui

import (
	"testing"

	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
)

// TestACardRequestsLaterEvents: a card is built from two reads. An event between them is missing in the run, so the
// page must request it.
func TestACardRequestsLaterEvents(t *testing.T) {
	run := plan.Run{ID: "r", Status: plan.Running, EventSeq: 3, Plan: plan.Plan{Goal: "g", Steps: []plan.Step{{ID: plan.EffectOf("s1"), Method: "GET", Path: "/x"}}}}
	events := []plan.Event{{Seq: 1}, {Seq: 2}, {Seq: 3}, {Seq: 4, Type: plan.EventStepStart, StepID: plan.EffectOf("s1")}}
	if c := newCard(run, events, locale.Spanish, run.CreatedAt); c.Seq != 3 {
		t.Errorf("it would ask for events after %d", c.Seq)
	}
}

func TestAPlanThatWasChangedHasOneCard(t *testing.T) {
	say := func(run string) line {
		return line{Message: conversation.Message{Kind: conversation.KindPlan, RunID: run}, Card: &card{}}
	}
	lines := []line{say("a"), say("b"), say("a"), {}, say("a")}
	keepNewestCard(lines)
	for i, want := range []struct{ card, earlier bool }{{false, true}, {true, false}, {false, true}, {false, false}, {true, false}} {
		if (lines[i].Card != nil) != want.card || lines[i].Earlier != want.earlier {
			t.Errorf("line %d: card %v, earlier %v", i, lines[i].Card != nil, lines[i].Earlier)
		}
	}
}
