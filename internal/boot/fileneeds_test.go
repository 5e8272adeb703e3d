package boot

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"piloto/internal/chats/job"
	"piloto/internal/ground/ids"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// lists has a run or a job on each page.
type lists struct {
	plan.Lister
	runs  []plan.Run
	jobs  []job.Job
	asked []plan.Filter
}

func (l *lists) Runs(_ context.Context, _ ids.Account, f plan.Filter, cursor string, _ int) ([]plan.Head, string, error) {
	l.asked = append(l.asked, f)
	at := len(cursor)
	if at >= len(l.runs) {
		return nil, "", nil
	}
	var page []plan.Head
	if r := l.runs[at]; slices.Contains(f.Statuses, r.Status) {
		page = []plan.Head{{Run: r, EndedAt: r.UpdatedAt}}
	}
	return page, cursor + "x", nil
}

func (l *lists) Jobs(_ context.Context, _ ids.Account, cursor string, _ int) ([]job.Job, string, error) {
	at := len(cursor)
	if at >= len(l.jobs) {
		return nil, "", nil
	}
	return []job.Job{l.jobs[at]}, cursor + "x", nil
}

func TestSetsOfDraftsRunsAndJobsAreOpen(t *testing.T) {
	since := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	young, made := since.Add(time.Hour), since.Add(90*time.Minute)
	applies := func(set string, in plan.Status, confirmer string, ended time.Time) plan.Run {
		body, err := json.Marshal(plan.ChangesBody{Set: set})
		if err != nil {
			t.Fatal(err)
		}
		return plan.Run{Status: in, Confirmer: confirmer, UpdatedAt: ended, Plan: plan.Plan{Steps: []plan.Step{{Method: "GET"}, {MCPID: tool.FilesID, Body: body}}}}
	}
	l := &lists{
		runs: []plan.Run{
			applies("draft", plan.Draft, "", time.Time{}), applies("run", plan.Running, "ana", time.Time{}),
			applies("draft", plan.Superseded, "", made.Add(1)),
			applies("rejected", plan.Cancelled, "", made.Add(1)), applies("expired", plan.Expired, "", made.Add(1)), applies("replaced", plan.Superseded, "", made.Add(1)),
			applies("again", plan.Cancelled, "", made.Add(-1)), applies("stopped", plan.Cancelled, "ana", made.Add(1)), applies("failed", plan.Failed, "ana", made.Add(1)),
		},
		jobs: []job.Job{
			{Status: job.Success, Changes: job.Changes{Set: "ended"}},
			{Status: job.Waiting, Changes: job.Changes{Set: "set", Proposed: "proposed", Rest: "rest"}},
		},
	}
	open, err := FileNeeds{Runs: l, Jobs: l}.Open(t.Context(), "a", since, young)
	if err != nil {
		t.Fatal(err)
	}
	for set, want := range map[string]bool{"draft": true, "run": true, "set": true, "proposed": true, "rest": true, "ended": false, "other": false} {
		if open(set, since) != want {
			t.Errorf("%s: open: %v", set, !want)
		}
	}
	for set, want := range map[string]bool{
		"draft": true, "other": true, "again": true, "stopped": true, "failed": true, "rejected": false, "expired": false, "replaced": false,
	} {
		if open(set, made) != want {
			t.Errorf("%s, made now: open: %v", set, !want)
		}
	}
	going := l.asked[0]
	if !going.From.Before(since.Add(-168*time.Hour)) || len(going.Statuses) != 4 {
		t.Errorf("asked for %+v", going)
	}
	for _, s := range plan.Statuses() {
		if found := slices.Contains(going.Statuses, s); found == s.Terminal() {
			t.Errorf("%s is asked for: %v", s, found)
		}
	}
}
