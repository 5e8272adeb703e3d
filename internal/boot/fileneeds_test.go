package boot

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"piloto/internal/chats/job"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// lists has a run or a job on each page.
type lists struct {
	plan.Lister
	runs    []plan.Run
	jobs    []job.Job
	partial bool
	asked   plan.Filter
}

func (l *lists) Complete(context.Context) (bool, error) { return !l.partial, nil }

func (l *lists) Runs(_ context.Context, _ string, f plan.Filter, cursor string, _ int) ([]plan.Head, string, error) {
	l.asked = f
	at := len(cursor)
	if at >= len(l.runs) {
		return nil, "", nil
	}
	return []plan.Head{{Run: l.runs[at]}}, cursor + "x", nil
}

func (l *lists) Jobs(_ context.Context, _, cursor string, _ int) ([]job.Job, string, error) {
	at := len(cursor)
	if at >= len(l.jobs) {
		return nil, "", nil
	}
	return []job.Job{l.jobs[at]}, cursor + "x", nil
}

func TestSetsOfDraftsRunsAndJobsAreOpen(t *testing.T) {
	applies := func(set string) plan.Run {
		body, err := json.Marshal(plan.ChangesBody{Set: set})
		if err != nil {
			t.Fatal(err)
		}
		return plan.Run{Plan: plan.Plan{Steps: []plan.Step{{Method: "GET"}, {MCPID: tool.FilesID, Body: body}}}}
	}
	l := &lists{
		runs: []plan.Run{applies("draft"), applies("run")},
		jobs: []job.Job{
			{Status: job.Success, Changes: job.Changes{Set: "ended"}},
			{Status: job.Waiting, Changes: job.Changes{Set: "set", Proposed: "proposed", Rest: "rest"}},
		},
	}
	since := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	open, err := FileNeeds{Runs: l, Jobs: l}.Open(t.Context(), "a", since)
	if err != nil {
		t.Fatal(err)
	}
	for set, want := range map[string]bool{"draft": true, "run": true, "set": true, "proposed": true, "rest": true, "ended": false, "other": false} {
		if open(set) != want {
			t.Errorf("%s: open: %v", set, !want)
		}
	}
	if !l.asked.From.Before(since.Add(-168*time.Hour)) || len(l.asked.Statuses) != 4 {
		t.Errorf("asked for %+v", l.asked)
	}
	for _, s := range plan.Statuses() {
		if found := slices.Contains(l.asked.Statuses, s); found == s.Terminal() {
			t.Errorf("%s is asked for: %v", s, found)
		}
	}
	l.partial = true
	if open, err = (FileNeeds{Runs: l, Jobs: l}).Open(t.Context(), "a", since); err != nil || !open("other") {
		t.Errorf("while the lists are partial: %v", err)
	}
}
