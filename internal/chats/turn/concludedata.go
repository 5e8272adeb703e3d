package turn

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"piloto/internal/chats/brief"
	"piloto/internal/conversation"
	"piloto/internal/ground/clip"
	"piloto/internal/ground/redact"
	"piloto/internal/runs/plan"
)

// Bounds of the data for a conclusion.
const (
	requestBytes  = 2 << 10 // of each request
	requestsBytes = 16 << 10
	tookBytes     = 12 << 10 // of the reads for the plan
	tookEach      = 6 << 10  // of each answer of it
	wholeBytes    = 4 << 20  // of the results that are stored apart
)

// readWhole reads the results of the run that are stored apart. One that cannot be read stays as it begins.
func (w *conclusion) readWhole(ctx context.Context) {
	w.run.Steps = slices.Clone(w.run.Steps)
	left := wholeBytes
	for i, st := range w.run.Steps {
		if st.Result == nil || st.Result.Apart == 0 || st.Result.Bytes > left {
			continue
		}
		left -= st.Result.Bytes
		res, err := w.results.Whole(ctx, w.run, st.StepID, *st.Result)
		if err != nil {
			w.service.Log.WarnContext(ctx, "conclude.result_unread", "run_id", w.run.ID, "step_id", st.StepID.String(), "error", err)
			continue
		}
		w.run.Steps[i].Result = &res
	}
}

// isWhole reports whether the results of a run are the whole answers of its services.
func isWhole(r plan.Run) bool {
	return !slices.ContainsFunc(r.Steps, func(st plan.StepState) bool { return st.Result != nil && (st.Result.Truncated || st.Result.Apart > 0) })
}

// requestsOf returns the requests of a run as they were sent, a JSON line each, in which no character can end a tag.
func requestsOf(r plan.Run) string {
	var lines []string
	size := 0
	for _, st := range r.Steps {
		step, ok := r.Plan.Step(st.StepID)
		if !ok || st.Attempts == 0 || len(st.Last.Body) == 0 || string(st.Last.Body) == "null" {
			continue
		}
		body := plan.Result{Body: st.Last.Body}.Shortened(requestBytes).Body
		line, err := json.Marshal(map[string]any{"id": st.StepID.String(), "tool": step.Tool, "method": step.Method, "url": st.Last.URL, "body": body})
		if size += len(line); err != nil || size > requestsBytes {
			break
		}
		lines = append(lines, redact.Text(string(line)))
	}
	return strings.Join(lines, "\n")
}

// readsFor returns the reads in messages that the model had made when it wrote the plan of a run: for the same answer, and
// those before it that values of the plan were taken from.
func readsFor(r plan.Run, messages []conversation.Message) []conversation.Source {
	var list []conversation.Source
	for _, m := range messages {
		if m.Kind == conversation.KindConclusion {
			continue
		}
		for _, s := range m.Sources {
			from := func(t plan.Taken) bool { return t.MCPID == s.MCPID && t.Called == s.Called() }
			if s.Answer != "" && (m.RunID == r.ID || slices.ContainsFunc(r.Taken, from)) {
				list = append(list, s)
			}
		}
	}
	return list
}

// tookLine has the known facts of the thing that a value of the plan identifies.
type tookLine struct {
	Step  string                     `json:"step"`
	Where string                     `json:"where"`
	Value string                     `json:"value"`
	Name  string                     `json:"name,omitempty"`
	About map[string]json.RawMessage `json:"about,omitempty"`
	Gone  bool                       `json:"gone,omitempty"`
}

// readLine is a read, and the part of its answer that there is room for.
type readLine struct {
	Service string `json:"service"`
	Called  string `json:"called"`
	At      string `json:"at"`
	Answer  string `json:"answer"`
}

// took returns the model's reads for the plan of a run, a JSON line each, in which no character can end a tag: the
// things that the plan names, and then the reads, the newest first.
func took(r plan.Run, reads []conversation.Source) string {
	var all []any
	for _, t := range r.Taken {
		if t.Label == "" && len(t.About) == 0 {
			continue
		}
		line := tookLine{Step: t.StepID.String(), Where: t.Where, Value: t.Value, Name: t.Label, Gone: t.Gone, About: map[string]json.RawMessage{}}
		for _, f := range t.About {
			line.About[f.Name] = f.Value
		}
		all = append(all, line)
	}
	for _, s := range slices.Backward(reads) {
		all = append(all, readLine{s.Service, s.Called(), s.At.UTC().Format(time.RFC3339), clip.Bytes(s.Answer, tookEach)})
	}
	var lines []string
	size := 0
	for _, one := range all {
		line, err := json.Marshal(one)
		if size += len(line); err != nil || size > tookBytes {
			break
		}
		lines = append(lines, redact.Text(string(line)))
	}
	return strings.Join(lines, "\n")
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
