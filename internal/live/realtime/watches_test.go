package realtime

import (
	"testing"

	"piloto/internal/runs/plan"
)

func TestWatchesWakeWhoWaitsForTheRun(t *testing.T) {
	var w Watches
	hub := w.Over(Nobody)
	next, stop := w.Watch("acme", "r1")
	other, stopOther := w.Watch("globex", "r1")
	first, theirs := next(), other()
	now := func(run string, status plan.Status) Event {
		return Run(plan.Run{ChatID: "c", ID: run}, plan.Event{After: status})
	}
	hub.Notify(t.Context(), "acme", now("r2", plan.Running), Event{ChatID: "c"})
	select {
	case <-first:
		t.Fatal("woken by another run")
	default:
	}
	hub.Notify(t.Context(), "acme", now("r1", plan.Running))
	<-first
	second := next()
	hub.Notify(t.Context(), "acme", now("r1", plan.Running)) // a step ended
	select {
	case <-second:
		t.Fatal("woken before the second event")
	case <-theirs:
		t.Fatal("woken by another account")
	default:
	}
	hub.Notify(t.Context(), "acme", now("r1", plan.Done))
	<-second
	stop()
	stopOther()
	if len(w.runs) != 0 {
		t.Errorf("%d runs are watched by nobody", len(w.runs))
	}
}

func TestNilWatchesWakeNobody(t *testing.T) {
	var w *Watches
	if w.Over(Nobody) != Notifier(Nobody) {
		t.Error("the notifier changed")
	}
	next, stop := w.Watch("acme", "r1")
	defer stop()
	if next() != nil {
		t.Error("a channel that nobody closes")
	}
}
