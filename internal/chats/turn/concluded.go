package turn

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"piloto/internal/chats/figures"
	"piloto/internal/chats/intent"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/redact"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// Bounds of what a conclusion is written from, and of what stands beside it.
const (
	askedBytes     = 8 << 10 // of the person's messages
	requestBytes   = 2 << 10 // of each request
	requestsBytes  = 16 << 10
	concludeSource = 20 // results that a conclusion names
)

// read finds the person's messages from the question to the end of the run, and the time of that end. A question that is
// further back than a turn reads is not found; then the plan's goal stands for it.
func (w *conclusion) read(messages []conversation.Message) {
	at := slices.IndexFunc(messages, func(m conversation.Message) bool { return m.ID == w.run.Question })
	size := 0
	for i, m := range messages {
		if m.ID == conversation.FinalID(w.run.ID) {
			w.ended = m.At
			return
		}
		if at < 0 || i < at || m.Role != conversation.RoleUser || i > at && intent.Classify(m.Content) != intent.Other {
			continue
		}
		if size += len(m.Content); size <= askedBytes {
			w.asked = append(w.asked, m.Content)
		}
	}
}

// question returns what the model answers.
func (w *conclusion) question() string {
	if len(w.asked) == 0 {
		return w.run.Plan.Goal
	}
	return strings.Join(w.asked, "\n\n")
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

// message returns the conclusion with a model's text, and with notes where it says what the record does not.
func (w *conclusion) message(text string) conversation.Message {
	if len(text) > concludeBytes {
		text = strings.ToValidUTF8(text[:concludeBytes], "") + "…"
	}
	m := w.newMessage(conversation.KindConclusion, locale.Verbatim(text))
	m.ID, m.By, m.Sources, m.Notes = conversation.ConclusionID(w.run.ID), w.by(), resultsOf(w.run), w.notes(text)
	m.ReadFrom = union(dataOf(w.run), nil)
	return m
}

// newMessage returns a message that stands after the final one, whatever the clocks of the processes say.
func (w *conclusion) newMessage(kind conversation.Kind, text locale.Phrase) conversation.Message {
	at := w.now()
	if !at.After(w.ended) {
		at = w.ended.Add(time.Millisecond)
	}
	return run.Message(w.service.IDs, w.run, kind, at, w.req.Locale, text)
}

// notes compares a text with the record: its figures with the results, and its claims with what was done.
func (w *conclusion) notes(text string) []conversation.Note {
	var list []conversation.Note
	counts, record := recordOf(w.run)
	record = append(record, today(w.req.Locale, w.now()))
	if missing := figures.Missing(text, counts, append(record, w.asked...)...); len(missing) > 0 {
		list = append(list, w.req.note(conversation.NoteNotInResults, "note.not_in_results", "list", strings.Join(missing, ", ")))
	}
	pose := intent.Poses(text)
	if pose.Pending && w.chat.PendingRunID == "" {
		list = append(list, w.req.note(conversation.NoteNothingPending, "note.nothing_pending"))
	}
	did := slices.ContainsFunc(w.run.Steps, func(st plan.StepState) bool { return st.Status == plan.StepDone })
	if pose.Done && !did {
		list = append(list, w.req.note(conversation.NoteNothingDone, "note.nothing_done"))
	}
	return list
}

// recordOf returns what a conclusion may say figures of: how many there are of something, and the texts of the plan, its
// requests and its results.
func recordOf(r plan.Run) (counts []int, texts []string) {
	texts = []string{r.Plan.Goal}
	if r.Error != nil {
		texts = append(texts, r.Error.Message)
	}
	counts = []int{len(r.Plan.Steps)}
	for _, step := range r.Plan.Steps {
		texts = append(texts, step.Title, step.Path, string(step.Query), string(step.Body))
	}
	for _, st := range r.Steps {
		texts = append(texts, st.Last.URL, string(st.Last.Body), st.UpdatedAt.UTC().Format(time.RFC3339))
		counts = append(counts, st.Items)
		if st.Error != nil {
			texts = append(texts, st.Error.Message)
		}
		if st.Result != nil {
			texts = append(texts, string(st.Result.Body))
			var body any
			if json.Unmarshal(st.Result.Body, &body) == nil {
				counts = append(counts, longest(body))
			}
		}
	}
	return counts, texts
}

// longest returns the length of the longest list in a value.
func longest(value any) int {
	most := 0
	switch value := value.(type) {
	case []any:
		most = len(value)
		for _, v := range value {
			most = max(most, longest(v))
		}
	case map[string]any:
		for _, v := range value {
			most = max(most, longest(v))
		}
	}
	return most
}

// resultsOf returns what a conclusion rests on: the requests that were answered, without their answers, because the run
// has them.
func resultsOf(r plan.Run) []conversation.Source {
	var list []conversation.Source
	for _, st := range r.Steps {
		step, ok := r.Plan.Step(st.StepID)
		if !ok || st.Result == nil || len(list) == concludeSource {
			continue
		}
		b, _ := r.Plan.Binding(step.ID)
		s := conversation.Source{
			ID: st.StepID.String(), MCPID: step.MCPID, Service: b.ServerName, Tool: step.Tool, Method: step.Method, URL: st.Last.URL, Status: st.Result.Status,
			At: st.UpdatedAt.UTC(), AnswerHash: st.Result.SHA256, Bytes: st.Result.Bytes,
		}
		if step.Tool == "" {
			s.RequestHash = plan.RequestHash(step.Method, st.Last.URL, st.Last.Body)
		}
		list = append(list, s)
	}
	return list
}
