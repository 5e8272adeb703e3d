package run_test

import (
	"context"
	"slices"
	"time"

	"pgregory.net/rapid"

	"piloto/infra/local/fixture"
	"piloto/internal/runs/plan"
)

// listed returns what the list of the chat shows now, in pages of two: "kind run step".
func (m *model) listed(t *rapid.T) []string {
	var list []string
	var last time.Time
	for cursor, more := "", true; more; more = cursor != "" {
		page, next, err := m.Store.Runs.Waiting(context.Background(), fixture.Account, m.Chat.ID, m.Clock(), cursor, 2)
		if err != nil || len(page) > 2 {
			t.Fatal(len(page), err)
		}
		for _, w := range page {
			if w.At().Before(last) {
				t.Fatalf("what is due at %s follows what is due at %s", w.At(), last)
			}
			last = w.At()
			list = append(list, string(w.Kind)+" "+w.Run.ID+" "+w.StepID.String())
		}
		cursor = next
	}
	return list
}

// waits returns what the model says that waits for a person now.
func (l *life) waits(now time.Time) []string {
	var list []string
	if l.status == plan.Draft && now.Before(l.expires) {
		list = append(list, "draft "+l.id+" ")
	}
	for id, e := range l.effects {
		switch {
		case l.status == plan.Waiting && !l.cancel && !l.undoing && e.status == plan.StepWaiting && now.Before(e.until):
			list = append(list, "approval "+l.id+" "+id)
		case l.status.Terminal() && e.status == plan.StepInDoubt && e.resolved == "":
			list = append(list, "doubt "+l.id+" "+id)
		}
	}
	return list
}

// checkLists compares the lists of what waits, and of runs, with the model.
func (m *model) checkLists(t *rapid.T) {
	var want []string
	for _, l := range m.runs {
		want = append(want, l.waits(m.Clock())...)
	}
	got := m.listed(t)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("the list has %q, and %q wait", got, want)
	}
	heads, _, err := m.Store.Runs.Runs(context.Background(), fixture.Account, plan.Filter{ChatID: m.Chat.ID}, "", 200)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(heads)
	if len(heads) > len(m.runs) || len(m.runs) <= 200 && len(heads) != len(m.runs) {
		t.Fatalf("%d runs are listed of %d", len(heads), len(m.runs))
	}
	for i, h := range heads {
		l := m.runs[len(m.runs)-len(heads)+i]
		done := 0
		for _, id := range stepIDs {
			if l.effects[id].status == plan.StepDone {
				done++
			}
		}
		if h.ID != l.id || h.Status != l.status || h.Done != done || h.EndedAt.IsZero() == l.status.Terminal() || len(h.Plan.Steps) != len(stepIDs) {
			t.Fatalf("the list has run %s, %s, %d steps done, ended at %s; want %s, %s, %d", h.ID, h.Status, h.Done, h.EndedAt, l.id, l.status, done)
		}
	}
}
