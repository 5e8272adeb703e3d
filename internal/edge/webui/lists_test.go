package webui

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"piloto/internal/chats/job"
	"piloto/internal/ground/ids"
	"piloto/internal/runs/plan"
)

// Runs implements plan.Lister, in one page.
func (m *memory) Runs(_ context.Context, _ ids.Account, f plan.Filter, _ string, _ int) ([]plan.Head, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []plan.Head
	for _, r := range m.runs {
		within := !r.CreatedAt.Before(f.From) && (f.To.IsZero() || r.CreatedAt.Before(f.To))
		if within && (len(f.Statuses) == 0 || slices.Contains(f.Statuses, r.Status)) {
			list = append(list, headOf(r))
		}
	}
	slices.SortFunc(list, func(a, b plan.Head) int { return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(b.ID, a.ID)) })
	return list, "", nil
}

func headOf(r plan.Run) plan.Head {
	h := plan.Head{Run: r, Done: r.DoneSteps(), Open: r.Waits()}
	if r.Status.Terminal() {
		h.EndedAt, h.Micros = r.CreatedAt.Add(90*time.Second), 12_300
	}
	return h
}

// Waiting implements plan.Lister, in one page.
func (m *memory) Waiting(_ context.Context, _ ids.Account, _ string, at time.Time, _ string, _ int) ([]plan.ListedWait, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []plan.ListedWait
	for _, r := range m.runs {
		for _, w := range r.Waits() {
			if w.Open(at) {
				list = append(list, plan.ListedWait{Wait: w, Run: headOf(r)})
			}
		}
	}
	for _, j := range m.jobs {
		if j.Status == job.Waiting {
			list = append(list, plan.ListedWait{Wait: plan.Wait{Kind: plan.WaitJob, Asked: m.now(), Due: m.now().Add(time.Hour)}, Job: plan.JobWait{
				ID: j.ID, Agent: j.Agent, ChatID: j.ChatID, Title: j.Prompt,
			}})
		}
	}
	slices.SortFunc(list, func(a, b plan.ListedWait) int { return a.At().Compare(b.At()) })
	return list, "", nil
}

// listRoutes is POST /api/decisions, as far as the page needs it.
func (w *world) listRoutes(locked func(string, func(http.ResponseWriter, *http.Request, map[string]any))) {
	locked("POST /api/decisions", func(rw http.ResponseWriter, _ *http.Request, body map[string]any) {
		asked, _ := body["items"].([]any)
		var answers []map[string]any
		for _, one := range asked {
			item, _ := one.(map[string]any)
			w.decisions = append(w.decisions, item)
			run := w.runs[item["run_id"].(string)]
			if item["digest"] != string(run.Digest) || run.Status != plan.Draft {
				answers = append(answers, map[string]any{"status": 409, "problem": map[string]any{"title": "Conflicto", "detail": "El plan ha cambiado."}})
				continue
			}
			run.Status = plan.Cancelled
			if item["decision"] == "confirm" {
				run.Status = plan.Queued
			}
			w.runs[run.ID] = run
			answers = append(answers, map[string]any{"status": 202, "run_status": run.Status})
		}
		tell(rw, 200, map[string]any{"items": answers})
	})
}
