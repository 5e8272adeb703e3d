package turn

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"piloto/internal/chats/history"
	"piloto/internal/chats/job"
	"piloto/internal/chats/reads"
	"piloto/internal/chats/setup"
	"piloto/internal/chats/usage"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/live/hook"
	"piloto/internal/live/realtime"
	"piloto/internal/models/paid"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/tools/tool"
	"piloto/internal/workspace/files"
)

// Chats reads and writes chats and their messages.
type Chats interface {
	conversation.ChatReader
	conversation.MessageReader
	OpenSession(ctx context.Context, account ids.Account, c conversation.Chat) (conversation.Chat, error)
	AddMessages(ctx context.Context, key conversation.Key, title string, at time.Time, list ...conversation.Message) error
	// AddNotified is AddMessages of one message, with the notification for the hooks of the account.
	AddNotified(ctx context.Context, key conversation.Key, title string, at time.Time, m conversation.Message, what hook.Message) error
	// Say appends a message of a person to a chat that was read. It does not move the chat in the
	// list. Expire has a message deleted whose chat was deleted meanwhile.
	Say(ctx context.Context, key conversation.Key, m conversation.Message) error
	Expire(ctx context.Context, key conversation.Key, seq string, at time.Time) error
	// Replace appends messages, the last of which supersedes others: both or neither. It returns fault.ErrMoved when
	// another message superseded them meanwhile.
	Replace(ctx context.Context, key conversation.Key, at time.Time, replaced []conversation.Message, list ...conversation.Message) error
	// DropAgent takes away the agent that a chat chose, and adds the message that says so, while it still is that
	// agent. Otherwise it returns fault.ErrMoved.
	DropAgent(ctx context.Context, key conversation.Key, name string, at time.Time, m conversation.Message) error
	// SetAsking changes the job that asks in a chat; "" is none. It returns fault.ErrMoved when it was not before.
	SetAsking(ctx context.Context, key conversation.Key, before, now string) error
	// Summary returns the summary of a chat, at a time; the zero Summary when there is none.
	Summary(ctx context.Context, key conversation.Key, at time.Time) (conversation.Summary, error)
	PutSummary(ctx context.Context, key conversation.Key, s conversation.Summary) error
}

// Answers holds the leases of the answers that are being written.
type Answers interface {
	// TakeAnswer takes the lease to answer a message, when no other holder has it at a time.
	// Otherwise it returns conversation.ErrAnswering. EndAnswer releases the lease.
	TakeAnswer(ctx context.Context, a conversation.Answering, at time.Time) error
	EndAnswer(ctx context.Context, a conversation.Answering, at time.Time, messages ...conversation.Message) error
	// AskStop records a request to stop the chat's answer. StopAsked returns the time of that
	// request; the zero time when there is none.
	AskStop(ctx context.Context, key conversation.Key, at time.Time) error
	StopAsked(ctx context.Context, key conversation.Key) (time.Time, error)
	// NoteAsked records that an agent is about to be called for a message. It returns
	// conversation.ErrAsked when that was recorded before. EndAsked deletes the record, so that
	// an agent can be called again.
	NoteAsked(ctx context.Context, key conversation.Key, messageID string, at time.Time) error
	EndAsked(ctx context.Context, key conversation.Key, messageID string, at time.Time) error
}

// Drafts remembers the drafts that the viewers of a chat were shown, and the refusals in it.
type Drafts interface {
	// Show records that a viewer is shown a draft, and adds messages with it, while the chat
	// waits for that draft. Otherwise it returns fault.ErrMoved. Shown returns the plan that the
	// viewer was shown last, at a time; the zero Sight after that record expired.
	Show(ctx context.Context, draft plan.Run, s plan.Sight, messages ...conversation.Message) error
	Shown(ctx context.Context, key conversation.Key, viewer string, at time.Time) (plan.Sight, error)
	// Refused returns the refusals in a chat that some requests (plan.Plan.EachRequest) meet: of which they have all, or one that
	// was refused in three plans. It calls requests if the chat has refusals.
	Refused(ctx context.Context, chat conversation.Key, requests func() ([]string, error)) ([]plan.Refusal, error)
}

// Plans reads runs, and writes those that are drafts.
type Plans interface {
	plan.Reader
	plan.BareReader
	plan.ResultReader
	plan.StatusReader
	run.Proposer
	// Discard ends a draft, and posts and replaces messages with it. It returns fault.ErrMoved when it is a draft no longer.
	Discard(ctx context.Context, r plan.Run, chat conversation.Chat, to plan.Status, rec run.Record) (plan.Run, error)
	// Revise replaces a draft's plan while the chat still waits for the draft that was read.
	// Otherwise it returns fault.ErrMoved.
	Revise(ctx context.Context, r plan.Run, chat conversation.Chat, rev plan.Revision, rec run.Record) (plan.Run, error)
	// Retake replaces the values of a draft's plan that were read, after they were read again, with the event of it. It
	// returns fault.ErrMoved when the draft is not as it was read.
	Retake(ctx context.Context, r plan.Run, taken []plan.Taken, rec run.Record) (plan.Run, error)
}

// Servers reads the operations of an account's servers.
type Servers interface {
	tool.AllowlistReader
	tool.OperationReader
}

// Setups reads the settings of accounts.
type Setups interface {
	// Setup returns the settings of an account, as of a time that is not before the call.
	Setup(ctx context.Context, of setup.Of) (setup.Setup, error)
}

// Listeners notifies the clients that have an account's chats open.
type Listeners interface {
	realtime.Notifier
	// Watched reports whether any client listens.
	Watched(ctx context.Context, account ids.Account) bool
}

// UsageCounters counts turns. A failure to count never fails a turn.
type UsageCounters interface {
	Turn(ctx context.Context, account ids.Account, t usage.Turn)
}

// Deciders decides about drafts and runs. *run.Service implements it.
type Deciders interface {
	run.Decider
	run.Withdrawer
}

// Service answers messages.
type Service struct {
	Chats     Chats
	Answers   Answers
	Drafts    Drafts
	Plans     Plans
	Servers   Servers
	Setups    Setups
	Runs      Deciders
	Schemas   tool.Compiler   // judges the arguments of calls
	Paid      *paid.Service   // calls models
	Tell      Listeners       // notified of an answer while it is written
	Usage     UsageCounters   // counts each turn
	Previews  Previewer       // nil: drafts have no preview
	Reads     reads.Reader    // nil: a turn reads nothing
	Jobs      job.Store       // nil: it makes no rounds of jobs
	Files     files.Workspace // nil: chats have no files
	Questions Questions       // nil: no job asks

	Router Router
	Limits Limits

	// AloneSince is the start time of the process when it is the only server. Zero means that
	// other processes may serve.
	AloneSince time.Time

	DraftLife time.Duration
	ShowTime  time.Duration // how long a viewer waits for a card that is shown again
	IDs       *ids.Source
	Now       func() time.Time
	Log       *slog.Logger
}

// Send answers one message.
//
// It returns conversation.ErrChatNotFound, the errors of run.Confirm and run.Cancel, Moved for a
// typed yes to a plan that has changed, and for a message that replaces another ErrMessageNotFound,
// ErrNotLast, ErrActed and ErrBeingAnswered. Every other outcome is a Reply, also a blocked
// turn.
func (s *Service) Send(ctx context.Context, req Request) (Reply, error) {
	began := s.Now()
	chat, err := s.thread().chat(ctx, req)
	if err != nil {
		return Reply{}, err
	}
	if req.Session != nil {
		req.speaksFor = cmp.Or(req.Session.UserID, chat.UserID)
	}
	if req.Replaces != "" {
		if req.MessageID == "" {
			req.MessageID, req.MessageAt = s.IDs.New(began), began
		}
		if chat, req.after, err = s.replaceLast(ctx, req, chat); err != nil {
			return Reply{}, err
		}
		req.said = true
	}
	if reply, decided, err := s.decider().decide(ctx, req, chat); decided {
		s.count(ctx, req, began, reply, err)
		return reply, err
	}
	if reply, taken, err := s.replyToJob(ctx, req, chat); taken || err != nil {
		s.count(ctx, req, began, reply, err)
		return reply, err
	}
	return s.answer(ctx, req, chat)
}

// answerMeta is the metadata of an answer: the model of the turn, when one was asked, the notes under the text, the
// reads that were made for it, the ids of the services whose data it may have, how it ended when it was no success, the
// agent that was asked and failed, and the question that it asks; nil: none.
type answerMeta struct {
	by       *conversation.By
	notes    []conversation.Note
	sources  []conversation.Source
	readFrom []string
	ending   ending
	failed   failedAgent
	question *inquiry

	transcript *conversation.Transcript
}

// failedAgent is an agent that gave a customer no answer, and the code of its failure; the zero failedAgent is none.
type failedAgent struct{ name, code string }

// ending is how an answer ended; the zero ending is a success.
type ending struct {
	status conversation.Status
	reason conversation.StopReason
}

// withAnswerID gives the answer to a request that may be retried an ID that follows from the
// request's message.
func withAnswerID(req Request, m conversation.Message) conversation.Message {
	if req.MessageID != "" {
		m.ID = conversation.AnswerID(req.MessageID)
	}
	return m
}

// history reads the histories of chats.
func (s *Service) history() history.Reader {
	return history.Reader{Chats: s.Chats, Runs: s.Plans, Now: s.Now}
}

// history says which history the answer to a message needs.
func (r Request) history(chat conversation.Chat, message conversation.Message) history.Of {
	return history.Of{Account: r.Principal.Account, Chat: chat, Message: message, RequestID: r.MessageID, Again: r.Again}
}

// firstServingTime bounds the age of a request that is usually served for the first time.
const firstServingTime = time.Second

// replyOf returns the reply's kind for an assistant message.
func replyOf(kind conversation.Kind) Kind {
	if kind == conversation.KindText {
		return KindMessage
	}
	return KindNotice
}
