package conversation

import (
	"context"
	"strings"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
)

// Errors of one message, and of a chat that is not copied because its messages are those of a customer.
var (
	ErrNotBranched     = fault.New(fault.Conflict, "chat.not_branched")
	ErrMessageNotFound = fault.New(fault.NotFound, "message.not_found")
	ErrNotAnAnswer     = fault.New(fault.Conflict, "message.not_an_answer")
)

// Origin is the message of another chat up to which a chat was copied.
type Origin struct {
	ChatID    string `json:"chat_id"`
	MessageID string `json:"message_id"`
	Shortened bool   `json:"shortened,omitempty" doc:"the chat was long: its oldest messages are only there"`
}

// Branch is the order to copy a chat up to and with one of its messages.
type Branch struct {
	From      string // the chat
	MessageID string
	To        Chat   // the new chat; its BranchedFrom is set by the copy
	PlanNote  string // first line of a plan that is copied

	// Takes is called with the bytes of the copy before it is written. Its error refuses the copy. nil: all are taken.
	Takes func(bytes int) error
}

// Copied returns the copy of a message for the new chat. It returns false for a message that is not copied: one that
// was replaced, the progress of a plan, and a block. The copy has no run and no job, so a decision about it is not
// possible. seq is the position of the row that has the message.
func (b Branch) Copied(m Message, seq string) (Message, bool) {
	if m.ReplacedBy != "" || m.Kind == KindProgress || m.Kind == KindBlocked {
		return m, false
	}
	at, ok := ids.Time(seq)
	if !ok {
		return m, false
	}
	m.ID = ids.DeriveAt(at, "branch", b.To.ID, m.ID)
	if m.RunID != "" {
		m.FromRunID = m.RunID
	}
	if m.Kind == KindPlan {
		m.Content = strings.TrimSpace(b.PlanNote + "\n" + m.Steps())
	}
	m.RunID, m.JobID, m.Feedback = "", "", nil
	return m, true
}

// Steps returns the steps in the text of a plan. The text above them explains how to confirm it.
func (m Message) Steps() string {
	_, steps, found := strings.Cut(m.Content, "\n1. ")
	if !found {
		return ""
	}
	return "1. " + steps
}

// Brancher copies chats. The copy has the newest messages up to the chosen one, of which there are at most some. A branch
// that exists is returned as it is.
//
// It returns ErrMessageNotFound when the chat has no such message, or another one replaced it.
type Brancher interface {
	Branch(ctx context.Context, account ids.Account, b Branch) (Chat, error)
}

// Rating is a person's opinion of an answer.
type Rating string

// The ratings.
const (
	Up   Rating = "up"
	Down Rating = "down"
)

// Feedback is a person's comment on an answer.
type Feedback struct {
	Rating Rating    `json:"rating" enum:"up,down"`
	Note   string    `json:"note,omitempty"`
	By     string    `json:"by,omitempty" doc:"the user"`
	At     time.Time `json:"at"`
}

// Rater notes feedback on messages.
type Rater interface {
	// ChatOfMessage returns the chat that has a message. It reads the 1,000 chats that changed last, and returns
	// ErrMessageNotFound when none of them has it.
	ChatOfMessage(ctx context.Context, account ids.Account, messageID string) (string, error)
	// Rate stores a feedback on a message of the assistant and replaces an earlier one; nil: none. It returns the
	// message, ErrMessageNotFound, or ErrNotAnAnswer.
	Rate(ctx context.Context, key Key, messageID string, f *Feedback) (Message, error)
}
