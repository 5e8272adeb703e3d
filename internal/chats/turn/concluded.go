package turn

import (
	"slices"
	"strings"
	"time"

	"piloto/internal/chats/claim"
	"piloto/internal/chats/consent"
	"piloto/internal/chats/figures"
	"piloto/internal/chats/intent"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

const (
	askedBytes     = 8 << 10 // of the person's messages
	concludeSource = 20      // results that a conclusion names
)

// read finds the person's messages from the question to the end of the run, what the model had read for the plan, and the
// time of that end. A question that is further back than a turn reads is not found; then the plan's goal stands for it.
func (w *conclusion) read(messages []conversation.Message) {
	w.reads = readsFor(w.run, messages)
	at := slices.IndexFunc(messages, func(m conversation.Message) bool { return m.ID == w.run.Question })
	size, card := 0, cardOf(w.run)
	for i, m := range messages {
		if m.ID == conversation.FinalID(w.run.ID) {
			w.ended = m.At
			return
		}
		if at < 0 || i < at || m.Role != conversation.RoleUser || i > at && consent.Read(m.Content, card).Meaning != intent.Other {
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

// message returns the conclusion with a model's text, and with notes where it says what the record does not.
func (w *conclusion) message(text string) conversation.Message {
	if len(text) > concludeBytes {
		text = strings.ToValidUTF8(text[:concludeBytes], "") + "…"
	}
	m := w.newMessage(conversation.KindConclusion, locale.Verbatim(text))
	m.ID, m.By, m.Sources, m.Notes = conversation.ConclusionID(w.run.ID), w.by(), resultsOf(w.run), w.notes(text)
	m.ReadFrom = union(w.run.DataFrom(), nil)
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
	counts, record := recordOf(w.run, w.reads)
	record = append(record, today(w.req.Locale, w.now()))
	if missing := figures.Missing(text, counts, append(record, w.asked...)...); len(missing) > 0 {
		key := "note.not_in_results"
		if !isWhole(w.run) {
			key = "note.not_in_part"
		}
		list = append(list, w.req.note(conversation.NoteNotInResults, key, "list", strings.Join(missing, ", ")))
	}
	said := claim.Read(text)
	if said.Asks && w.chat.PendingRunID == "" {
		list = append(list, w.req.note(conversation.NoteNothingPending, "note.nothing_pending"))
	}
	if unsure := inDoubt(w.run); len(said.Acts) > 0 && len(unsure) > 0 {
		return append(list, w.req.note(conversation.NoteInDoubt, "note.in_doubt", "list", strings.Join(unsure, "; ")))
	}
	return append(list, w.req.notDone(w.lacking(said.Acts))...)
}

// lacking returns those of some acts that the record of the run lacks.
func (w *conclusion) lacking(acts []claim.Act) []claim.Act {
	known := claim.NewRecord()
	for _, st := range w.run.Steps {
		if st.Status == plan.StepDone {
			record(known, w.run, st)
		}
	}
	for _, s := range w.reads {
		known.Read(s.Answer)
	}
	return slices.DeleteFunc(slices.Clone(acts), func(a claim.Act) bool { return !known.Lacks(a, false) })
}

// inDoubt returns the titles of the steps of which nobody knows whether they took effect.
func inDoubt(r plan.Run) []string {
	var titles []string
	for _, st := range r.Steps {
		if step, ok := r.Plan.Step(st.StepID); ok && !st.StepID.Undo() && st.Status == plan.StepInDoubt && st.Resolved == nil && !slices.Contains(titles, step.Title) {
			titles = append(titles, step.Title)
		}
	}
	return titles
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
			s.RequestHash = step.RequestOf(st.Last)
		}
		list = append(list, s)
	}
	return list
}
