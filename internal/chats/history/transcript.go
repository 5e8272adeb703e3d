package history

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"piloto/internal/chats/brief"
	"piloto/internal/chats/reads"
	"piloto/internal/conversation"
	"piloto/internal/ground/clip"
	"piloto/internal/ground/locale"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// A transcript is what happened in a chat, as its model met it: calls are calls, their results are results, and each stands
// where it was. The prompt of the next answer begins as the one before, so that a provider finds it in its cache. What no
// model did is an event: the end of a plan, and what an agent read for an answer of its own.

// writer writes a transcript.
type writer struct {
	now       time.Time
	jobID     string
	runs      []plan.Run
	copied    []plan.Run // of the chat from which this one was copied
	list      []llm.Message
	exchanges []Exchange
	told      []string // ids of the runs whose end stands in it
	settled   []string // steps of these whose doubt a person settled
	seen      []string // ids of the runs that it has met
	shown     []string // ids of the runs whose card it has met
	edited    []string // ids of the runs whose plan a person changed
	called    []string // ids of the runs whose card has the call that proposed it, and the text beside it
	posed     bool     // the text beside the card that follows posed as more than a text
}

// write writes messages, the oldest first, and the one to answer.
func (w *writer) write(messages []conversation.Message, last conversation.Message) error {
	list := inOrder(messages)
	for _, m := range list {
		if m.Kind == conversation.KindPlan && m.Transcript != nil {
			w.called = append(w.called, planOf(m))
		}
	}
	for i, m := range list {
		if m.Role == conversation.RoleUser || len(w.exchanges) == 0 {
			w.exchanges = append(w.exchanges, Exchange{At: len(w.list)})
		}
		w.exchanges[len(w.exchanges)-1].Until = max(w.exchanges[len(w.exchanges)-1].Until, m.Seq)
		if m.Role == conversation.RoleUser { // in the order of its prompt
			if err := w.endedBy(m.At); err != nil {
				return err
			}
			w.state(list[i+1:])
		}
		if err := w.message(m); err != nil {
			return err
		}
		if i > 0 && list[i-1].Role == conversation.RoleUser {
			w.answeredFor(m)
		}
	}
	if last.ID == "" {
		return nil
	}
	err := w.endedBy(last.At)
	w.list = append(w.list, llm.Message{Role: llm.User, Content: last.Content})
	return err
}

// inOrder returns messages as a model met them: the answer to a message follows it, although something else happened
// while it was written.
func inOrder(messages []conversation.Message) []conversation.Message {
	var list, later []conversation.Message
	answered := true
	for i, m := range messages {
		switch {
		case m.Role == conversation.RoleUser:
			list = append(append(list, later...), m)
			later, answered = nil, !isAnswered(messages[i+1:])
		case answered:
			list = append(list, m)
		case isAnswer(m):
			list = append(list, m)
			answered = m.Kind != conversation.KindText || planOf(m) == "" // the card follows its text
		default:
			later = append(later, m)
		}
		if answered {
			list, later = append(list, later...), nil
		}
	}
	return append(list, later...)
}

// isAnswered reports whether an answer follows before the next message of a person.
func isAnswered(messages []conversation.Message) bool {
	for _, m := range messages {
		if m.Role == conversation.RoleUser {
			return false
		}
		if isAnswer(m) {
			return true
		}
	}
	return false
}

// isAnswer reports whether a model wrote a message in its turn.
func isAnswer(m conversation.Message) bool {
	return m.JobID == "" && (m.Transcript != nil || m.Kind == conversation.KindText && m.Role == conversation.RoleAssistant)
}

// message writes one message.
func (w *writer) message(m conversation.Message) error {
	id := planOf(m)
	if id != "" && !slices.Contains(w.seen, id) {
		w.seen = append(w.seen, id)
	}
	if m.Kind == conversation.KindPlan && id != "" {
		w.card(m, id)
	}
	if !isAnswer(m) { // nobody ended a plan between a message and its answer
		if err := w.endedBy(m.At); err != nil {
			return err
		}
	}
	switch {
	case m.Role == conversation.RoleUser:
		w.list = append(w.list, llm.Message{Role: llm.User, Content: m.Content})
	case m.Transcript != nil:
		w.answer(m)
	case m.Kind == conversation.KindText && !slices.Contains(w.called, id), m.Kind == conversation.KindConclusion:
		w.read(m)
		w.said(m, m.Content)
	case m.Kind == conversation.KindText:
		w.posed = posed(m)
	case m.Kind == conversation.KindPlan:
		w.absent(m)
	case m.Kind == conversation.KindFinal:
		return w.ended(id)
	}
	return nil
}

// planOf returns the id of the run of a message, of this chat or of the one from which it was copied; "" without one.
func planOf(m conversation.Message) string { return cmp.Or(m.RunID, m.FromRunID) }

// answeredFor writes what a person was told when no model answered their message: that it did not confirm the plan, or else.
func (w *writer) answeredFor(m conversation.Message) {
	switch {
	case m.Transcript != nil:
	case wasNoYes(m):
		w.event(map[string]any{"not_confirmed": clip.Runes(m.Notes[0].Text, mostTold), "run_id": planOf(m)}) // the card was shown again
	case m.Kind == conversation.KindNotice && planOf(m) == "":
		w.event(map[string]any{"told_the_person": clip.Runes(m.Content, mostTold)})
	}
}

// mostTold is the most characters of a notice in a prompt.
const mostTold = 600

// wasNoYes reports whether a message is a card that was shown again, because the words before it did not confirm it.
func wasNoYes(m conversation.Message) bool {
	return slices.ContainsFunc(m.Notes, func(n conversation.Note) bool { return n.Code == conversation.NoteNotConfirmed })
}

// card takes the card of a plan. A further one that no model wrote is a person's change, unless it was only shown again.
func (w *writer) card(m conversation.Message, id string) {
	if slices.Contains(w.shown, id) && m.By == nil && !wasNoYes(m) {
		w.edited = append(w.edited, id)
	}
	w.shown = append(w.shown, id)
}

// state writes the state with which a message of a person was answered. It stands before that message, as in its prompt.
func (w *writer) state(after []conversation.Message) {
	for _, m := range after {
		switch {
		case m.Role == conversation.RoleUser:
			return
		case m.Transcript != nil && m.Transcript.Now != "":
			w.list = append(w.list, llm.Message{Role: llm.System, Content: m.Transcript.Now})
			return
		}
	}
}

// answer writes an answer with the calls that led to it. Its text is what its last reply added to those before.
func (w *writer) answer(m conversation.Message) {
	rest := m.Content
	for _, r := range m.Transcript.Rounds {
		w.list = append(w.list, Round(r, m.Sources)...)
		rest = strings.TrimSpace(strings.TrimPrefix(rest, strings.TrimSpace(r.Text)))
	}
	if w.posed {
		w.system("prompt.only_words")
		w.posed = false
	}
	switch {
	case m.Kind == conversation.KindNotice:
		w.event(map[string]any{"answer": "ended without a text of yours", "told_the_person": rest})
	case m.Kind == conversation.KindText && !m.Asks && rest != "":
		w.said(m, rest)
	case m.RunID != "" || m.FromRunID != "":
		w.absent(m)
	}
}

// absent says that the plan of a card does not wait here, because it is of another chat, or was deleted.
func (w *writer) absent(m conversation.Message) {
	const copied = "it is of the conversation from which this one was copied: here it does not wait, and nothing here decides on it"
	id := planOf(m)
	_, there := w.run(id)
	switch first := slices.Index(w.shown, id); {
	case first >= 0 && slices.Contains(w.shown[first+1:], id): // it was said beside its first card
	case m.FromRunID != "" && there:
		w.event(map[string]any{"plan": copied + ". Another event tells what came of it there, when it has ended"})
	case m.FromRunID != "":
		w.event(map[string]any{"plan": copied + ". It was deleted there, so what came of it is not known"})
	case !there:
		w.event(map[string]any{"plan": "it was deleted"})
	}
}

// run returns a run that stands in the transcript, and whether it is there. One of another chat is copied.
func (w *writer) run(id string) (r plan.Run, there bool) {
	for _, r := range slices.Concat(w.runs, w.copied) {
		if r.ID == id {
			return r, true
		}
	}
	return r, false
}

// said writes a text of the model, and that it was only text, where it posed as more.
func (w *writer) said(m conversation.Message, text string) {
	w.list = append(w.list, llm.Message{Role: llm.Assistant, Content: text})
	if posed(m) {
		w.system("prompt.only_text")
	}
}

// posed reports whether a text claimed an act or a plan that was not there.
func posed(m conversation.Message) bool {
	return slices.ContainsFunc(m.Notes, func(n conversation.Note) bool {
		return n.Code == conversation.NoteNothingPending || n.Code == conversation.NoteNothingDone
	})
}

// system writes what the system says of a text of the model.
func (w *writer) system(key string) {
	w.list = append(w.list, llm.Message{Role: llm.System, Content: locale.ModelText(key)})
}

// Round returns a reply of a model and the results of its calls, as its prompt had them. sources are the reads of its answer.
func Round(r conversation.Round, sources []conversation.Source) []llm.Message {
	reply := llm.Message{Role: llm.Assistant, Content: r.Text, Thought: r.Thought, Extra: r.Extra, From: r.From}
	var results []llm.Message
	for i, c := range r.Calls {
		reply.Calls = append(reply.Calls, llm.Call{ID: c.ID, Name: c.Name, Arguments: c.Arguments, Extra: c.Extra})
		result := c.Result
		if at := slices.IndexFunc(sources, func(s conversation.Source) bool { return s.ID == c.Source }); c.Source != "" && at >= 0 {
			result = reads.Text(sources[at])
			if sources[at].MCPID == tool.FilesID {
				result = sources[at].Answer
			}
		}
		if i == len(r.Calls)-1 {
			result = WithLeft(result, r.Left)
		}
		results = append(results, llm.Message{Role: llm.ToolRole, CallID: c.ID, Content: result})
	}
	return append([]llm.Message{reply}, results...)
}

// WithLeft adds to a result how many replies with calls the model has left; 0 adds nothing.
func WithLeft(result string, left int) string {
	n := strconv.Itoa(left)
	switch object := strings.TrimSuffix(result, "}"); {
	case left <= 0:
		return result
	case !strings.HasPrefix(result, "{") || object == result:
		return result + "\n[calls_left: " + n + "]"
	case object == "{":
		return `{"calls_left":` + n + "}"
	default:
		return object + `,"calls_left":` + n + "}"
	}
}

// read writes what was read for an answer whose calls are not here.
func (w *writer) read(m conversation.Message) {
	var list []reads.Told
	for _, s := range m.Sources {
		if s.Answer != "" && m.Kind != conversation.KindConclusion {
			list = append(list, reads.TellOf(s))
		}
	}
	if len(list) > 0 {
		w.event(map[string]any{"an_agent_read": list})
	}
}

// event writes what happened, as the system knows it.
func (w *writer) event(what map[string]any) { w.list = append(w.list, brief.Event(what)) }

// endedBy writes the ends of the plans that no message tells, and that ended before a time, and what was settled of those that are told.
func (w *writer) endedBy(at time.Time) error {
	for _, r := range slices.Concat(w.runs, w.copied) {
		for _, st := range r.Steps {
			key := r.ID + " " + st.StepID.String()
			if st.Resolved != nil && st.Resolved.At.Before(at) && slices.Contains(w.told, r.ID) && !slices.Contains(w.settled, key) {
				w.settled, w.list = append(w.settled, key), append(w.list, brief.Settled(r, st))
			}
		}
		end := r.UpdatedAt
		if r.Status == plan.Draft {
			end = r.Plan.ExpiresAt
		}
		untold := r.StatusAt(w.now).Terminal() && (r.Confirmer == "" || w.isCopied(r.ID)) // the end of a copied one may be after the copy
		if untold && slices.Contains(w.seen, r.ID) && end.Before(at) {
			if err := w.ended(r.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *writer) isCopied(id string) bool {
	return slices.ContainsFunc(w.copied, func(r plan.Run) bool { return r.ID == id })
}

// ended writes the end of a plan, once.
func (w *writer) ended(runID string) error {
	r, there := w.run(runID)
	if !there || slices.Contains(w.told, runID) || !r.StatusAt(w.now).Terminal() || w.jobID != "" && r.JobID == w.jobID {
		return nil
	}
	w.told = append(w.told, runID)
	m, err := brief.End(r, brief.Ended{Edited: slices.Contains(w.edited, runID), Copied: w.isCopied(runID)}, w.now)
	w.list = append(w.list, m)
	return err
}
