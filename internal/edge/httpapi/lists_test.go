package httpapi

import (
	"context"
	"slices"
	"testing"
	"time"

	"piloto/internal/ground/ids"
	"piloto/internal/runs/plan"
)

func (w *world) Runs(_ context.Context, account ids.Account, f plan.Filter, cursor string, limit int) ([]plan.Head, string, error) {
	if err := w.list(account, cursor, limit); err != nil || account != "a" {
		return nil, "", err
	}
	w.narrow(f)
	return []plan.Head{{Run: w.run_, Done: 1, EndedAt: noon, Open: w.waits()}}, "next", nil
}

func (w *world) Waiting(_ context.Context, account ids.Account, chatID string, _ time.Time, cursor string, limit int) ([]plan.ListedWait, string, error) {
	if err := w.list(account, cursor, limit); err != nil || account != "a" {
		return nil, "", err
	}
	w.narrow(plan.Filter{ChatID: chatID})
	var list []plan.ListedWait
	for _, wait := range w.waits() {
		list = append(list, plan.ListedWait{Wait: wait, Run: plan.Head{Run: w.run_}})
	}
	return list, "next", nil
}

func (w *world) narrow(f plan.Filter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.filter = f
}

func (w *world) waits() []plan.Wait {
	return []plan.Wait{
		{Kind: plan.WaitDoubt, StepID: plan.EffectOf(w.run_.Plan.Steps[0].ID.Step()), Asked: noon},
		{Kind: plan.WaitDraft, Asked: noon, Due: noon.Add(time.Hour)},
	}
}

// TestListsNarrow: what the query names reaches the store, and what it does not understand does not.
func TestListsNarrow(t *testing.T) {
	for _, c := range []struct {
		path   string
		status int
		want   plan.Filter
	}{
		{"/api/runs", 200, plan.Filter{}},
		{"/api/runs?status=draft,in_doubt", 200, plan.Filter{Statuses: []plan.Status{plan.Draft, plan.InDoubt}}},
		{"/api/runs?status=done&chat_id=" + chatID, 200, plan.Filter{ChatID: chatID, Statuses: []plan.Status{plan.Done}}},
		{"/api/runs?status=draft&status=done", 200, plan.Filter{Statuses: []plan.Status{plan.Draft, plan.Done}}},
		{"/api/runs?status=draft&status=finished", 422, plan.Filter{}},
		{"/api/runs?status=", 200, plan.Filter{}}, // as if it were absent
		{"/api/runs?status=finished", 422, plan.Filter{}},
		{"/api/runs?status=done,", 422, plan.Filter{}},
		{"/api/runs?from=2026-03-01&to=2026-03-02", 200, plan.Filter{From: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 3, 3, 0, 0, 0, 0, time.UTC)}},
		{"/api/runs?from=2026-03-01T10:00:00%2B01:00", 200, plan.Filter{From: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}},
		{"/api/runs?from=yesterday", 422, plan.Filter{}},
		{"/api/runs?limit=0", 422, plan.Filter{}},
		{"/api/runs?limit=201", 422, plan.Filter{}},
		{"/api/runs?chat_id=x", 404, plan.Filter{}},
		{"/api/waiting", 200, plan.Filter{}},
		{"/api/waiting?chat_id=" + chatID, 200, plan.Filter{ChatID: chatID}},
		{"/api/waiting?limit=-1", 422, plan.Filter{}},
	} {
		s := newSite()
		w := s.do(ask(talker, "GET", c.path, ""))
		if w.Code != c.status || s.world.filter.ChatID != c.want.ChatID || !slices.Equal(s.world.filter.Statuses, c.want.Statuses) ||
			!s.world.filter.From.Equal(c.want.From) || !s.world.filter.To.Equal(c.want.To) {
			t.Errorf("%s: %d %s, and the store was asked for %+v", c.path, w.Code, w.Body, s.world.filter)
		}
	}
}

// TestWaitNamesWhatItIsAbout: a draft has the goal of its plan and every service, a step its own title and service.
func TestWaitNamesWhatItIsAbout(t *testing.T) {
	p := plan.Plan{
		Goal:  "Reservar",
		Steps: []plan.Step{{ID: plan.EffectOf("s1"), Title: "Buscar"}, {ID: plan.EffectOf("s2"), Title: "Apuntar", Undo: &plan.Undo{}}},
		Bindings: []plan.Binding{
			{StepID: plan.EffectOf("s1"), ServerName: "Salas"},
			{StepID: plan.EffectOf("s2"), ServerName: "Agenda"},
			{StepID: plan.UndoOf(plan.EffectOf("s2")), ServerName: "Papelera"},
			{StepID: plan.CheckOf(plan.EffectOf("s2")), ServerName: "Lector"},
		},
	}
	s2 := plan.EffectOf("s2")
	for _, c := range []struct {
		wait     plan.Wait
		title    string
		services []string
	}{
		{plan.Wait{Kind: plan.WaitDraft}, "Reservar", []string{"Salas", "Agenda"}},
		{plan.Wait{Kind: plan.WaitApproval, StepID: s2}, "Apuntar", []string{"Agenda"}},
		{plan.Wait{Kind: plan.WaitDoubt, StepID: plan.UndoOf(s2)}, "Apuntar", []string{"Papelera"}},
	} {
		got := showListedWait(plan.ListedWait{Wait: c.wait, Run: plan.Head{Run: plan.Run{Plan: p}}})
		if got.Title != c.title || !slices.Equal(got.Services, c.services) || got.Goal != "Reservar" {
			t.Errorf("%s %s: %q %q", c.wait.Kind, c.wait.StepID, got.Title, got.Services)
		}
	}
	job := plan.JobWait{ID: "j", Agent: "build", ChatID: "c", Title: "Reserva", RunID: "r"}
	got := showListedWait(plan.ListedWait{Wait: plan.Wait{Kind: plan.WaitJob, Asked: noon, Due: noon}, Job: job})
	if got.Kind != plan.WaitJob || got.JobID != "j" || got.Agent != "build" || got.ChatID != "c" || got.Title != "Reserva" || got.RunID != "r" || !got.DueAt.Equal(noon) {
		t.Errorf("%+v", got)
	}
	if got := showListedWait(plan.ListedWait{Wait: plan.Wait{Kind: plan.WaitDraft}, Run: plan.Head{Run: plan.Run{JobID: "j"}}}); got.JobID != "j" {
		t.Errorf("a draft of a job: %+v", got)
	}
}
