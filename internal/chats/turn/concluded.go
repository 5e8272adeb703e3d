package turn

import (
	"context"
	"slices"
	"strings"
	"time"

	"piloto/internal/chats/brief"
	"piloto/internal/chats/claim"
	"piloto/internal/chats/consent"
	"piloto/internal/chats/evidence"
	"piloto/internal/chats/figures"
	"piloto/internal/chats/history"
	"piloto/internal/chats/intent"
	"piloto/internal/conversation"
	"piloto/internal/ground/clip"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

const (
	askedBytes     = 8 << 10 // of the person's messages
	concludeSource = 20      // results that a conclusion names
)

// read finds the person's messages from the question to the end of the run, the reads of the prompt, and the time of that end. A question that is further back than a turn reads is not found; then the plan's goal stands for it.
func (w *conclusion) read(past history.Past) {
	messages, older := past.Messages, past.Longer
	w.reads = past.Reads
	w.facts = evidence.Facts{Account: w.lease.Account, ChatID: w.chat.ID, Named: evidence.Named(messages), Longer: older, Message: conversation.Message{At: w.run.CreatedAt}}
	for _, m := range messages {
		for _, s := range m.Sources {
			w.facts.Read = append(w.facts.Read, s.Answer)
		}
	}
	at := slices.IndexFunc(messages, func(m conversation.Message) bool { return m.ID == w.run.Question })
	if at >= 0 {
		w.facts.Message.At = messages[at].At
	}
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

// question returns what the person asked for.
func (w *conclusion) question() string {
	if len(w.asked) == 0 {
		return w.run.Plan.Goal
	}
	return strings.Join(w.asked, "\n\n")
}

// message returns the conclusion with a model's text, and with notes where the record contradicts it.
func (w *conclusion) message(ctx context.Context, text string) (conversation.Message, error) {
	text = clip.Bytes(text, concludeBytes)
	m := w.newMessage(conversation.KindConclusion, locale.Verbatim(text))
	notes, err := w.notes(ctx, text)
	m.ID, m.By, m.Sources, m.Notes = conversation.ConclusionID(w.run.ID), writtenBy(&w.exchange), resultsOf(w.run), notes
	m.ReadFrom = union(w.run.DataFrom(), w.dataFrom)
	return m, err
}

// newMessage returns a message that stands after the final one, even if the clocks of the processes differ.
func (w *conclusion) newMessage(kind conversation.Kind, text locale.Phrase) conversation.Message {
	at := w.service.Now()
	if !at.After(w.ended) {
		at = w.ended.Add(time.Millisecond)
	}
	return run.Message(w.service.IDs, w.run, kind, at, w.req.Locale, text)
}

// notes compares a text with the record: its figures with the results, and its claims with the done steps.
func (w *conclusion) notes(ctx context.Context, text string) ([]conversation.Note, error) {
	var list []conversation.Note
	counts, record := recordOf(w.run, w.reads)
	record = append(record, brief.Now(w.service.Now(), w.zone))
	if missing := figures.Missing(text, counts, slices.Concat(record, w.asked, w.told)...); len(missing) > 0 {
		key := "note.not_in_results"
		if !isWhole(w.run) {
			key = "note.not_in_part"
		}
		list = append(list, w.req.note(conversation.NoteNotInResults, key, "list", strings.Join(missing, ", ")))
	}
	said := claim.Read(text)
	if said.Asks && w.chat.PendingRunID == "" {
		list = append(list, w.req.nothingPending())
	}
	if unsure := inDoubt(w.run); len(said.Acts) > 0 && len(unsure) > 0 {
		return append(list, w.req.note(conversation.NoteInDoubt, "note.in_doubt", "list", strings.Join(unsure, "; "))), nil
	}
	lacking, err := w.lacking(ctx, said.Acts)
	return append(list, w.req.notDone(lacking)...), err
}

// lacking returns those of some acts that neither the run did, nor the chat otherwise, as a turn compares them. The
// person's order counts as their message, because an earlier run did not carry it out.
func (w *conclusion) lacking(ctx context.Context, acts []claim.Act) ([]claim.Act, error) {
	known := claim.NewRecord()
	for _, st := range w.run.Steps {
		if st.Status == plan.StepDone {
			evidence.Add(known, w.run, st)
		}
	}
	for _, s := range w.reads {
		known.Read(s.Answer)
	}
	acts = slices.DeleteFunc(slices.Clone(acts), func(a claim.Act) bool { return !known.Lacks(a, false) })
	f := w.facts
	f.Message.Content = w.question()
	return w.service.evidence().Lacking(ctx, f, acts)
}

// inDoubt returns the titles of the steps of which nobody knows whether they took effect.
func inDoubt(r plan.Run) []string {
	var titles []string
	for _, id := range r.Doubts() {
		if step, ok := r.Plan.Step(id); ok && !id.Undo() && !slices.Contains(titles, step.Title) {
			titles = append(titles, step.Title)
		}
	}
	return titles
}

// resultsOf returns the sources of a conclusion: the requests that were answered, without their answers, because the run has them.
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
