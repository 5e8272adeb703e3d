package conversation

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/sweep"
)

// SweepStore reads and ends left leases.
type SweepStore interface {
	// LeftAnswers lists the leases that ended before a time, the oldest first.
	LeftAnswers(ctx context.Context, at time.Time, limit int) ([]sweep.Row[Answering], error)
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

// Sweep notifies every chat with a left lease.
func (s *Sweeper) Sweep(ctx context.Context) (Swept, error) {
	var swept Swept
	left := sweep.List[Answering]{Name: "answers", Due: s.Store.LeftAnswers, Most: maxSweep, Now: s.Now, Log: s.Log, Do: func(ctx context.Context, a Answering) error {
		notified, err := s.notify(ctx, a)
		if notified {
			swept.Notified++
		}
		return err
	}}
	_, err := left.Sweep(ctx)
	return swept, err
}

// notify adds a notice to the chat of a left lease, when its message is still the last of a user
// and has no answer.
func (s *Sweeper) notify(ctx context.Context, a Answering) (notified bool, err error) {
	messages, _, err := s.Store.Messages(ctx, a.Key, "", readMessages)
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
