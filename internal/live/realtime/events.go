package realtime

import (
	"piloto/internal/conversation"
	"piloto/internal/conversation/wire"
	"piloto/internal/runs/plan"
)

// The types of a frame.
const (
	TypeMessage   = "message"              // {conversationId, message}
	TypeRun       = "run"                  // {conversationId, run_id, status, event}; without event: something happened that has no number yet
	TypeJob       = "job"                  // {conversationId, job_id, status, rounds}
	TypeChat      = "chat"                 // {conversationId}, to who has another chat open
	TypeBlocked   = "ai:execution_blocked" // {reason, conversationId, message, action}
	TypeText      = "ai:text"              // {conversationId, turn, offset, text}
	TypeTextReset = "ai:text_reset"        // {conversationId, turn}
	TypeTextEnd   = "ai:text_end"          // {conversationId, turn}
	TypeHello     = "hello"                // {ping_seconds, ends_at}
	TypePong      = "pong"                 // {}
	TypeError     = "error"                // {code}
)

// The codes of an error frame.
const (
	CodeAction   = "realtime.action"   // the client's request is unknown
	CodeReplaced = "realtime.replaced" // closed, because there are too many newer connections
	CodeEnded    = "auth_required"     // closed, because its token is no longer valid
	CodeUnknown  = "realtime.unknown"  // closed, because the connection is not stored any more
	CodeTooMany  = "request.too_many"  // closed, because the client sends too many messages
)

// fields are the members of an event's data.
type fields = map[string]any

// Message returns the event of a new message, in the form of GET.
func Message(chatID string, m conversation.Message) Event {
	return Event{
		Type: TypeMessage, ChatID: chatID, RunID: m.RunID, Data: fields{"message": wire.Message(m)}, hint: fields{"message_id": m.ID},
	}
}

// Run returns the event of a run's next event, with the run's status after it.
func Run(r plan.Run, e plan.Event) Event {
	return Event{
		Type: TypeRun, ChatID: r.ChatID, RunID: r.ID, Data: fields{"status": e.After, "event": e},
		hint: fields{"status": e.After, "event_seq": e.Seq},
	}
}

// Moved returns the event of a run in which something happened that has no number yet. Its numbered event follows.
func Moved(r plan.Run) Event {
	data := fields{"status": r.Status}
	return Event{Type: TypeRun, ChatID: r.ChatID, RunID: r.ID, Data: data, hint: data}
}

// Job is a job in which something happened: its status (job.Status) and its rounds after it.
type Job struct {
	ChatID, ID, Status string
	Rounds             int
}

// Event returns the event of it.
func (j Job) Event() Event {
	data := fields{"job_id": j.ID, "status": j.Status, "rounds": j.Rounds}
	return Event{Type: TypeJob, ChatID: j.ChatID, Data: data, hint: data}
}

// Changed returns the event of a chat in which something happened, for clients that have another one open.
func Changed(chatID string) Event { return Event{Type: TypeChat, ChatID: chatID} }

// blocked returns the event of a turn that could not run, with its reason and the next step for
// the user.
func blocked(chatID string, m conversation.Message) Event {
	return Event{
		Type: TypeBlocked, ChatID: chatID, Data: fields{"reason": m.Code, "message": m.Content, "action": m.Action},
		hint: fields{"reason": m.Code},
	}
}

// Answer is an answer whose text is being written. Its turn identifies it.
type Answer struct{ ChatID, Turn string }

// Text returns the event of a piece of it. offset is the piece's position in it, in bytes. The event is sent once, and
// may be lost.
func (a Answer) Text(offset int, text string) Event {
	return Event{
		Type: TypeText, ChatID: a.ChatID, Data: fields{"turn": a.Turn, "offset": offset, "text": text}, hint: fields{"turn": a.Turn},
	}
}

// Reset returns the event that voids its pushed text: it begins again.
func (a Answer) Reset() Event {
	return Event{Type: TypeTextReset, ChatID: a.ChatID, Data: fields{"turn": a.Turn}}
}

// End returns the event for its end.
func (a Answer) End() Event {
	return Event{Type: TypeTextEnd, ChatID: a.ChatID, Data: fields{"turn": a.Turn}}
}

// Said returns the events of stored messages: one for each message, and one more for each block.
func Said(chatID string, list ...conversation.Message) []Event {
	var events []Event
	for _, m := range list {
		events = append(events, Message(chatID, m))
		if m.Kind == conversation.KindBlocked && m.Code != "" {
			events = append(events, blocked(chatID, m))
		}
	}
	return events
}

// isEphemeral reports whether the event is sent once, without a number.
func (e Event) isEphemeral() bool {
	return e.Type == TypeText || e.Type == TypeTextReset || e.Type == TypeTextEnd
}
