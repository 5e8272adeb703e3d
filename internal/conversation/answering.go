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

// Answering is that a message is somebody's to answer, until a time. One that is not
// ended by then is left: whoever was to answer it has died.
type Answering struct {
	Account   string
	ChatID    string
	MessageID string
	Until     time.Time
	Asked     bool   // by a request of its own, and not by the turn that the message came with
	Locale    string // in which the chat is told that nobody answered
}

// ErrAnswering is a message that is somebody else's to answer.
var ErrAnswering = errors.New("conversation: it is being answered")

// ErrAsked is a message that an agent was asked already, by one who died before they said
// what came of it.
var ErrAsked = errors.New("conversation: an agent was asked, and nobody knows what came of it")

// Unanswered is the last message of a person, when neither an answer nor a plan came
// after it.
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

// LeftStore is what a Sweeper reads and writes.
type LeftStore interface {
	// LeftAnswers lists what was not ended by a time, the oldest first.
	LeftAnswers(ctx context.Context, at time.Time, limit int) ([]Answering, error)
	// EndAnswer ends what the caller had, or was left, and adds what is said of it to the
	// chat: both or neither. It returns ErrAnswering when it is another's by now, and
	// ErrChatNotFound.
	EndAnswer(ctx context.Context, a Answering, at time.Time, said ...Message) error
	Messages(ctx context.Context, account, chatID, cursor string, limit int) ([]Message, string, error)
}

// Sweeper tells chats of messages that nobody answered because whoever was to do it died.
type Sweeper struct {
	Store LeftStore
	Say   func(locale string) Message // what a chat is told; its id and its time are the sweeper's
	IDs   *ids.Source
	Now   func() time.Time
	Log   *slog.Logger
}

// Swept counts what one sweep did.
type Swept struct {
	Told int `json:"told"` // chats
}

const (
	sweepMost  = 1000 // of one sweep; what is left is due at the next one
	leftBehind = 50   // messages of a chat that are read: what comes after a message nobody answers is little
)

// Sweep tells every chat in which a message was left. One that cannot be told keeps no
// other from it; the errors are joined.
func (s *Sweeper) Sweep(ctx context.Context) (Swept, error) {
	var swept Swept
	list, err := s.Store.LeftAnswers(ctx, s.Now(), sweepMost)
	problems := []error{err}
	for _, a := range list {
		if ctx.Err() != nil {
			break
		}
		told, err := s.tell(ctx, a)
		if err != nil {
			problems = append(problems, fmt.Errorf("chat %s: %w", a.ChatID, err))
		}
		if told {
			swept.Told++
		}
	}
	return swept, errors.Join(problems...)
}

// tell says in a chat that a message was left, while it is the last that a person said and
// nothing answered it.
func (s *Sweeper) tell(ctx context.Context, a Answering) (told bool, err error) {
	messages, _, err := s.Store.Messages(ctx, a.Account, a.ChatID, "", leftBehind)
	if err != nil {
		return false, err
	}
	at := s.Now()
	var said []Message
	if m, open := Unanswered(messages); open && m.ID == a.MessageID {
		told := s.Say(a.Locale)
		told.ID, told.At = s.IDs.New(at), at
		told.Seq = told.ID
		said = []Message{told}
		s.Log.WarnContext(ctx, "chat.left", "account", a.Account, "chat_id", a.ChatID, "message_id", a.MessageID)
	}
	err = s.Store.EndAnswer(ctx, a, at, said...)
	switch {
	case errors.Is(err, ErrAnswering):
		return false, nil
	case fault.KindOf(err) == fault.NotFound: // the chat is gone, and what was left in it with it
		return false, nil
	}
	return err == nil && len(said) > 0, err
}
