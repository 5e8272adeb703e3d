package webui

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/render"
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

// TestCardOffersToLookAgain: when what its values come from was read long ago, and can be read again.
func TestCardOffersToLookAgain(t *testing.T) {
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	run := plan.Run{Status: plan.Draft, Plan: plan.Plan{ExpiresAt: at.Add(time.Hour), Steps: []plan.Step{{ID: plan.EffectOf("s1")}}}}
	one := plan.Taken{StepID: plan.EffectOf("s1"), Value: "e1\u202e", Service: "Salas", At: at, Call: json.RawMessage(`{}`), Gone: true}
	run.Taken = []plan.Taken{one, one}
	for after, old := range map[time.Duration]bool{0: false, plan.TakenLife - 1: false, plan.TakenLife: true} {
		c := newCard(run, nil, locale.Spanish, at.Add(after))
		if v := c.Steps[0].Taken; !c.Rereads || c.ReadOld != old || len(v) != 1 || !v[0].Gone || len(v[0].Values) != 2 {
			t.Errorf("after %v: %v, %+v", after, c.ReadOld, v)
		}
		var b bytes.Buffer
		if err := loadViews(loadAssets(), func() time.Time { return at }).render(&b, locale.Spanish, "card", c); err != nil {
			t.Fatal(err)
		}
		shown := b.String()
		offers := strings.Contains(shown, `data-from="2026-03-02T09:10:00Z">`)
		if offers != old || !strings.Contains(shown, `data-action="look-again"`) || strings.Count(shown, "<code>e1") != 2 || strings.Contains(shown, "\u202e") {
			t.Errorf("after %v the card is\n%s", after, shown)
		}
	}
	run.Taken[0].Call, run.Taken[1].Call = nil, nil
	if c := newCard(run, nil, locale.Spanish, at.Add(time.Hour-1)); c.Rereads {
		t.Error("it offers to look where nothing can be read")
	}
}

// TestASentenceEscapesAValueOnce: between tags and in an attribute, whether the value is text or HTML.
func TestASentenceEscapesAValueOnce(t *testing.T) {
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	w := words{tag: locale.Spanish, now: func() time.Time { return at }}
	for value, want := range map[any]any{
		"<a> & b":                         "leído en <a> & b a las", // the template escapes it
		render.HTML("&lt;a&gt; <i>b</i>"): render.HTML("leído en &lt;a&gt; <i>b</i> a las"),
		3:                                 "leído en 3 a las",
	} {
		if got, err := w.text("page.step.taken.of", "service", value); err != nil || got != want {
			t.Errorf("%v: %#v, want %#v, %v", value, got, want, err)
		}
	}
	run := plan.Run{Status: plan.Draft, Plan: plan.Plan{ExpiresAt: at.Add(time.Hour), Steps: []plan.Step{{ID: plan.EffectOf("s1"), Title: "<t> & \"u\""}}}}
	for _, gone := range []bool{false, true} {
		run.Taken = append(run.Taken, plan.Taken{StepID: plan.EffectOf("s1"), Value: "<v> & w", Service: "<b>Salas</b> & \"más\"", Called: "<c>", At: at, Gone: gone})
	}
	for _, tag := range locale.Tags() {
		var b bytes.Buffer
		if err := loadViews(loadAssets(), func() time.Time { return at }).render(&b, tag, "card", newCard(run, nil, tag, at)); err != nil {
			t.Fatal(err)
		}
		shown := b.String()
		if strings.Contains(shown, "&amp;lt;") || strings.Contains(shown, "&amp;amp;") || strings.Contains(shown, "&amp;#") || strings.Contains(shown, "<b>Salas") || strings.Count(shown, "&lt;b&gt;Salas&lt;/b&gt; &amp; ") != 2 {
			t.Errorf("%s: the card is\n%s", tag, shown)
		}
	}
}

// TestASkippedStepIsNotSaidToBeDone: the line below a run counts as its card does.
func TestASkippedStepIsNotSaidToBeDone(t *testing.T) {
	run := plan.Run{ID: "r", Status: plan.Done}
	for i, status := range []plan.StepStatus{plan.StepDone, plan.StepSkipped, plan.StepDone} {
		id := plan.ReversalStep(i)
		run.Plan.Steps = append(run.Plan.Steps, plan.Step{ID: id, Method: "GET", Risk: plan.Read})
		run.Steps = append(run.Steps, plan.StepState{StepID: id, Status: status, Attempts: 1})
	}
	c := newCard(run, nil, locale.Spanish, noon)
	l, _ := newLine(conversation.Message{Kind: conversation.KindFinal, RunID: "r"}, map[string]*card{"r": c}, "", locale.Spanish)
	if c.Done != 2 || c.Completed != 3 || !strings.Contains(string(l.Text), "2 de 3") {
		t.Errorf("%d done, %d completed: %s", c.Done, c.Completed, l.Text)
	}
}
