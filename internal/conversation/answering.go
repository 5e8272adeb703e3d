package conversation

import (
	"errors"
	"slices"
	"time"
)

// Answering is the lease of a process that answers a message. A lease that is not ended by Until
// is left: its holder has died.
type Answering struct {
	Key
	MessageID string
	Until     time.Time
	Asked     bool   // by a request for the answer, and not by the turn of the message
	Locale    string // of the notice, when nobody answers
}

// ErrAnswering is the error for a message whose lease another process holds.
var ErrAnswering = errors.New("conversation: it is being answered")

// ErrAsked is the error for a message for which an agent was called before, by a process that
// died before it recorded the outcome.
var ErrAsked = errors.New("conversation: an agent was asked, and nobody knows what came of it")

// Unanswered returns the last message of a user, when no answer and no plan follows it, and no job has it.
func Unanswered(messages []Message) (Message, bool) {
	for _, m := range slices.Backward(messages) {
		switch {
		case m.Role == RoleUser:
			return m, m.JobID == ""
		case m.Kind == KindText || m.Kind == KindPlan || m.Kind == KindFinal:
			return m, false
		}
	}
	return Message{}, false
}
