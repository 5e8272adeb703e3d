package turn

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"piloto/internal/chats/brief"
	"piloto/internal/conversation"
	"piloto/internal/runs/plan"
)

// Bounds of the data for a conclusion.
const (
	wholeBytes = 4 << 20 // of the results that are stored apart
)

// whole returns the run with its results that are stored apart, and keeps it. One that cannot be read stays as it begins.
func (w *conclusion) whole(ctx context.Context, r plan.Run) plan.Run {
	r.Steps = slices.Clone(r.Steps)
	left := wholeBytes
	for i, st := range r.Steps {
		if st.Result == nil || st.Result.Apart == 0 || st.Result.Bytes > left {
			continue
		}
		left -= st.Result.Bytes
		res, err := w.results.Whole(ctx, r, st.StepID, *st.Result)
		if err != nil {
			w.service.Log.WarnContext(ctx, "conclude.result_unread", "run_id", r.ID, "step_id", st.StepID.String(), "error", err)
			continue
		}
		r.Steps[i].Result = &res
	}
	w.run = r
	return r
}

// isWhole reports whether the results of a run are the whole answers of its services.
func isWhole(r plan.Run) bool {
	return !slices.ContainsFunc(r.Steps, func(st plan.StepState) bool { return st.Result != nil && (st.Result.Truncated || st.Result.Apart > 0) })
}

// recordOf returns the sources of the figures in a conclusion: the counts, and the texts of the plan, its requests, its
// results, and the reads for it.
func recordOf(r plan.Run, reads []conversation.Source) (counts []int, texts []string) {
	texts = []string{r.Plan.Goal}
	if r.Error != nil {
		texts = append(texts, r.Error.Message)
	}
	counts = []int{len(r.Plan.Steps)}
	for _, step := range r.Plan.Steps {
		texts = append(texts, step.Title, step.Path, string(step.Query), string(step.Headers), string(step.Body))
	}
	for _, st := range r.Steps {
		texts = append(texts, st.Last.URL, string(st.Last.Headers), string(st.Last.Body), st.UpdatedAt.UTC().Format(time.RFC3339))
		counts = append(counts, st.Items)
		if st.Error != nil {
			texts = append(texts, st.Error.Message)
		}
		if st.Result != nil {
			texts = append(texts, string(st.Result.Body))
			counts = append(counts, brief.Longest(st.Result.Body))
		}
	}
	for _, t := range r.Taken {
		texts = append(texts, t.Value, t.Label)
		for _, f := range t.About {
			texts = append(texts, string(f.Value))
		}
	}
	for _, s := range reads {
		texts, counts = append(texts, s.Answer), append(counts, brief.Longest(json.RawMessage(s.Answer)))
	}
	return counts, texts
}
