package conversation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
)

// Answering is the lease of a process that answers a message. A lease that is not ended by Until
// is left: its holder has died.
type Answering struct {
	Account   string
	ChatID    string
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

// Unanswered returns the last message of a user, when no answer and no plan follows it.
func Unanswered(messages []Message) (Message, bool) {
	for _, m := range slices.Backward(messages) {
		switch {
		case m.Role == RoleUser:
			return m, true
		case m.Kind == KindText || m.Kind == KindPlan || m.Kind == KindFinal:
			return m, false
		}
	}
	return Message{}, false
}

// SweepStore reads and ends left leases.
type SweepStore interface {
	// LeftAnswers lists the leases that ended before a time, the oldest first.
	LeftAnswers(ctx context.Context, at time.Time, limit int) ([]Answering, error)
	// EndAnswer ends a lease, also a left one, and adds messages to the chat: both or neither.
	// It returns ErrAnswering when another process has the lease by now, and ErrChatNotFound.
	EndAnswer(ctx context.Context, a Answering, at time.Time, messages ...Message) error
	MessageReader
}

// Sweeper adds a notice to chats whose message has no answer because the process that had its
// lease died.
type Sweeper struct {
	Store  SweepStore
	Notice func(locale string) Message // the message without ID and time
	IDs    *ids.Source
	Now    func() time.Time
	Log    *slog.Logger
}

// Swept counts the changes of one sweep.
type Swept struct {
	Notified int `json:"told"` // chats
}

const (
	maxSweep     = 1000 // leases per sweep; the others are due at the next one
	readMessages = 50   // messages of a chat that are read: few follow an unanswered one
)

// Sweep notifies every chat with a left lease. A failure in one chat does not prevent the
// others; the errors are joined.
func (s *Sweeper) Sweep(ctx context.Context) (Swept, error) {
	var swept Swept
	list, err := s.Store.LeftAnswers(ctx, s.Now(), maxSweep)
	problems := []error{err}
	for _, a := range list {
		if ctx.Err() != nil {
			break
		}
		notified, err := s.notify(ctx, a)
		if err != nil {
			problems = append(problems, fmt.Errorf("chat %s: %w", a.ChatID, err))
		}
		if notified {
			swept.Notified++
		}
	}
	return swept, errors.Join(problems...)
}

// notify adds a notice to the chat of a left lease, when its message is still the last of a user
// and has no answer.
func (s *Sweeper) notify(ctx context.Context, a Answering) (notified bool, err error) {
	messages, _, err := s.Store.Messages(ctx, a.Account, a.ChatID, "", readMessages)
	if err != nil {
		return false, err
	}
	at := s.Now()
	var notices []Message
	if m, open := Unanswered(messages); open && m.ID == a.MessageID {
		notified := s.Notice(a.Locale)
		notified.ID, notified.At = s.IDs.New(at), at
		notified.Seq = notified.ID
		notices = []Message{notified}
		s.Log.WarnContext(ctx, "chat.left", "account", a.Account, "chat_id", a.ChatID, "message_id", a.MessageID)
	}
	err = s.Store.EndAnswer(ctx, a, at, notices...)
	switch {
	case errors.Is(err, ErrAnswering):
		return false, nil
	case fault.KindOf(err) == fault.NotFound: // the chat was deleted, and its leases with it
		return false, nil
	}
	return err == nil && len(notices) > 0, err
}
