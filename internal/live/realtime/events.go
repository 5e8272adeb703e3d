package realtime

import (
	"piloto/internal/conversation"
	"piloto/internal/runs/plan"
)

// The types of what is pushed.
const (
	TypeMessage   = "message"              // {conversationId, message}
	TypeRun       = "run"                  // {conversationId, run_id, status, event}
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
	CodeAction   = "realtime.action"   // what was asked is nothing that a client may ask
	CodeReplaced = "realtime.replaced" // there are newer connections, and too many: it is closed
	CodeEnded    = "auth_required"     // the token it was opened with is no longer good: it is closed
	CodeUnknown  = "realtime.unknown"  // nobody knows of this connection any more: it is closed
	CodeTooMany  = "request.too_many"  // the client says too much: it is closed
)

// fields are the members of an event's data.
type fields = map[string]any

// Message says that a message stands in a chat, as GET shows it.
func Message(chatID string, m conversation.Message) Event {
	return Event{
		Type: TypeMessage, ChatID: chatID, RunID: m.RunID, Data: fields{"message": m}, hint: fields{"message_id": m.ID},
	}
}

// Run says that a run went one event further, and the status it is in now.
func Run(chatID, runID string, status plan.Status, e plan.Event) Event {
	return Event{
		Type: TypeRun, ChatID: chatID, RunID: runID, Data: fields{"status": status, "event": e},
		hint: fields{"status": status, "event_seq": e.Seq},
	}
}

// Blocked says that a turn could not run: why, in words, and what to do.
func Blocked(chatID, reason, message, action string) Event {
	return Event{
		Type: TypeBlocked, ChatID: chatID, Data: fields{"reason": reason, "message": message, "action": action},
		hint: fields{"reason": reason},
	}
}

// Text is a piece of an answer that is being written: turn names the answer and
// offset, in bytes, where the piece stands in it. It is sent once, and may be lost.
func Text(chatID, turn string, offset int, text string) Event {
	return Event{
		Type: TypeText, ChatID: chatID, Data: fields{"turn": turn, "offset": offset, "text": text}, hint: fields{"turn": turn},
	}
}

// TextReset says that what was written of an answer is void: it begins anew.
func TextReset(chatID, turn string) Event {
	return Event{Type: TypeTextReset, ChatID: chatID, Data: fields{"turn": turn}}
}

// TextEnd says that nothing more is written of an answer.
func TextEnd(chatID, turn string) Event {
	return Event{Type: TypeTextEnd, ChatID: chatID, Data: fields{"turn": turn}}
}

// Said are the events of messages that were stored: each as it is, and what
// blocked a turn as that, too.
func Said(chatID string, list ...conversation.Message) []Event {
	var events []Event
	for _, m := range list {
		events = append(events, Message(chatID, m))
		if m.Kind == conversation.KindBlocked && m.Code != "" {
			events = append(events, Blocked(chatID, m.Code, m.Content, m.Action))
		}
	}
	return events
}

// ephemeral reports whether the event is sent once, without a number.
func (e Event) ephemeral() bool {
	return e.Type == TypeText || e.Type == TypeTextReset || e.Type == TypeTextEnd
}
