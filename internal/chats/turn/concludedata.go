package turn

import (
	"encoding/json"
	"slices"
	"time"

	"piloto/internal/chats/brief"
	"piloto/internal/conversation"
	"piloto/internal/runs/plan"
)

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
