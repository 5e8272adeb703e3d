package turn

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"piloto/internal/chats/history"
	"piloto/internal/chats/job"
	"piloto/internal/chats/reads"
	"piloto/internal/chats/setup"
	"piloto/internal/chats/usage"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/retry"
	"piloto/internal/live/hook"
	"piloto/internal/live/realtime"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/paid"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/tools/tool"
	"piloto/internal/workspace/files"
)

// Store reads and writes the data of a turn.
type Store interface {
	conversation.ChatReader
	conversation.MessageReader
	tool.AllowlistReader
	tool.OperationReader
	plan.Reader
	plan.BareReader
	plan.StatusReader
	// Setup returns what an account has set, as of a time that is not before the call.
	Setup(ctx context.Context, of setup.Of) (setup.Setup, error)
	OpenSession(ctx context.Context, account string, c conversation.Chat) (conversation.Chat, error)
	AddMessages(ctx context.Context, account, chatID, title string, at time.Time, list ...conversation.Message) error
	// AddTold is AddMessages of one message, with what the hooks of the account are told of it.
	AddTold(ctx context.Context, account, chatID, title string, at time.Time, m conversation.Message, what hook.Message) error
	// Say appends a message of a person to a chat that was read. It does not move the chat in the
	// list. Expire has a message deleted whose chat was deleted meanwhile.
	Say(ctx context.Context, account, chatID string, m conversation.Message) error
	Expire(ctx context.Context, account, chatID, seq string, at time.Time) error
	// Replace appends messages, the last of which takes the place of others: both or neither. It returns fault.ErrMoved
	// when another message took their place meanwhile.
	Replace(ctx context.Context, account, chatID string, at time.Time, replaced []conversation.Message, list ...conversation.Message) error
	run.Proposer
	// Discard ends a draft, and posts and replaces messages with it. It returns fault.ErrMoved when it is a draft no longer.
	Discard(ctx context.Context, r plan.Run, chat conversation.Chat, to plan.Status, rec run.Record) (plan.Run, error)
	// Revise replaces a draft's plan while the chat still waits for the draft that was read.
	// Otherwise it returns fault.ErrMoved.
	Revise(ctx context.Context, r plan.Run, chat conversation.Chat, rev plan.Revision, rec run.Record) (plan.Run, error)
	// Retake replaces the values of a draft's plan that were read, after they were read again, with the event that tells
	// it. It returns fault.ErrMoved when the draft is not as it was read.
	Retake(ctx context.Context, r plan.Run, taken []plan.Taken, rec run.Record) (plan.Run, error)
	// Show records that a viewer is shown a draft, and adds messages with it, while the chat
	// waits for that draft. Otherwise it returns fault.ErrMoved. Shown returns the plan that the
	// viewer was shown last, at a time; the zero Sight after that record expired.
	Show(ctx context.Context, draft plan.Run, s plan.Sight, messages ...conversation.Message) error
	Shown(ctx context.Context, account, chatID, viewer string, at time.Time) (plan.Sight, error)
	// Refused returns the refusals in a chat that some requests (plan.Plan.EachRequest) meet: of which they have all, or one that
	// was refused in three plans.
	Refused(ctx context.Context, account, chatID string, requests []string) ([]plan.Refusal, error)
	// DropAgent takes away the agent that a chat chose, and adds the message that says so, while it still is that
	// agent. Otherwise it returns fault.ErrMoved.
	DropAgent(ctx context.Context, account, chatID, name string, at time.Time, m conversation.Message) error
	// AskStop records a request to stop the chat's answer. StopAsked returns the time of that
	// request; the zero time when there is none.
	AskStop(ctx context.Context, account, chatID string, at time.Time) error
	StopAsked(ctx context.Context, account, chatID string) (time.Time, error)
	// TakeAnswer takes the lease to answer a message, when no other holder has it at a time.
	// Otherwise it returns conversation.ErrAnswering. EndAnswer releases the lease.
	TakeAnswer(ctx context.Context, a conversation.Answering, at time.Time) error
	EndAnswer(ctx context.Context, a conversation.Answering, at time.Time, messages ...conversation.Message) error
	// SetAsking changes the job that asks in a chat; "" is none. It returns fault.ErrMoved when it was not before.
	SetAsking(ctx context.Context, account, chatID, before, now string) error
	// Summary returns the summary of a chat, at a time; the zero Summary when there is none.
	Summary(ctx context.Context, account, chatID string, at time.Time) (conversation.Summary, error)
	PutSummary(ctx context.Context, account, chatID string, s conversation.Summary) error
	// NoteAsked records that an agent is about to be called for a message. It returns
	// conversation.ErrAsked when that was recorded before. EndAsked deletes the record, so that
	// an agent can be called again.
	NoteAsked(ctx context.Context, account, chatID, messageID string, at time.Time) error
	EndAsked(ctx context.Context, account, chatID, messageID string, at time.Time) error
}

// Listeners notifies the clients that have an account's chats open.
type Listeners interface {
	realtime.Notifier
	// Watched reports whether any client listens.
	Watched(ctx context.Context, account string) bool
}

// UsageCounters counts turns. A failure to count never fails a turn.
type UsageCounters interface {
	Turn(ctx context.Context, account string, t usage.Turn)
}

// Deciders decides about drafts and runs. *run.Service implements it.
type Deciders interface {
	run.Decider
	run.Withdrawer
}

// Service answers messages.
type Service struct {
	Store     Store
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
	chat, err := s.chat(ctx, req)
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
	if reply, decided, err := s.decide(ctx, req, chat); decided {
		s.count(ctx, req, began, reply, err)
		return reply, err
	}
	if reply, taken, err := s.replyToJob(ctx, req, chat); taken || err != nil {
		s.count(ctx, req, began, reply, err)
		return reply, err
	}
	return s.answer(ctx, req, chat)
}

// chat returns the chat of a request. It creates a chat that the client named and that is
// absent.
func (s *Service) chat(ctx context.Context, req Request) (conversation.Chat, error) {
	account, at := req.Principal.Account, s.Now()
	switch {
	case req.Session != nil:
		return s.Store.OpenSession(ctx, account, conversation.Chat{
			ID:        conversation.SessionChat(account, req.ChatID),
			SessionID: req.ChatID, UserID: req.Session.UserID, Summary: req.Session.Summary, Metadata: req.Session.Metadata,
			CreatedAt: at, UpdatedAt: at,
		})
	case req.Route != nil:
		id := conversation.RouterChat(account, req.Route.Persona.Company, req.ChatID)
		chat, err := s.Store.Chat(ctx, account, id)
		if !errors.Is(err, conversation.ErrChatNotFound) {
			return chat, err
		}
		return s.Store.OpenSession(ctx, account, conversation.Chat{
			ID: id, SessionID: req.ChatID, Company: req.Route.Persona.Company, CreatedAt: at, UpdatedAt: at,
			Title: conversation.Title(req.ChatID + ": " + req.Message), // many users begin with the same words
		})
	}
	return s.Store.Chat(ctx, account, req.ChatID)
}

// notice answers with a fixed system text.
func (s *Service) notice(ctx context.Context, req Request, chat conversation.Chat, key string, args ...any) (Reply, error) {
	at := s.Now()
	message := s.userMessage(req, at) // created first, because the message sorts before its answer
	answer := withAnswerID(req, s.message(req, conversation.RoleAssistant, conversation.KindNotice, at, locale.Say(key, args...)))
	chat, err := s.add(ctx, req, chat, at, message, answer)
	return Reply{Kind: KindNotice, Message: answer, Chat: chat}, err
}

// storeBlock answers that the turn may not run, with the reason and the next step for the user.
func (s *Service) storeBlock(ctx context.Context, req Request, chat conversation.Chat, b *eligibility.Block, sources ...conversation.Source) (Reply, error) {
	at := s.Now()
	answer := s.message(req, conversation.RoleSystem, conversation.KindBlocked, at, locale.Joined{Phrases: []locale.Phrase{locale.Verbatim("⚠️"), b.Message()}, Between: " "})
	answer.Code, answer.Action, answer.Sources = string(b.Reason), b.Action().In(req.Locale), sources
	answer.Status, answer.StopReason = conversation.Failed, conversation.StopBlocked
	chat, err := s.addAnswer(ctx, req, chat, at, answer)
	return Reply{Kind: KindBlocked, Message: answer, Chat: chat, Block: b}, err
}

// told is what stands beside an answer: the model of the turn, when one was asked, the notes under the text, the reads
// that were made for it, the ids of the services whose data it may have, how it ended when it was no success, the agent that
// was asked and failed, and the question that it asks; nil: none.
type told struct {
	by       *conversation.By
	notes    []conversation.Note
	sources  []conversation.Source
	readFrom []string
	ending   ending
	failed   failedAgent
	question *inquiry
}

// failedAgent is an agent that gave a customer no answer, and the code of its failure; the zero failedAgent is none.
type failedAgent struct{ name, code string }

// ending is how an answer ended; the zero ending is a success.
type ending struct {
	status conversation.Status
	reason conversation.StopReason
}

// text stores and returns an answer that is text and not a plan.
func (s *Service) text(ctx context.Context, req Request, chat conversation.Chat, kind conversation.Kind, text locale.Phrase, beside told) (Reply, error) {
	at := s.Now()
	answer := s.message(req, conversation.RoleAssistant, kind, at, text)
	answer.Notes, answer.Sources, answer.ReadFrom = beside.notes, beside.sources, beside.readFrom
	answer.Status, answer.StopReason = beside.ending.status, beside.ending.reason
	beside.question.mark(&answer)
	answer = withAnswerID(req, answer)
	reply := Reply{Kind: replyOf(kind), Message: answer, By: beside.by}
	if reply.Kind == KindMessage {
		reply.Message.By = beside.by
	}
	var err error
	if beside.failed.name == "" {
		reply.Chat, err = s.addAnswer(ctx, req, chat, at, reply.Message)
		return reply, err
	}
	what, err := hook.NewMessage(hook.AgentFailed, at, hook.AgentData{
		Agent: beside.failed.name, Error: beside.failed.code, ChatID: chat.ID, SessionID: chat.SessionID, CompanyID: chat.Company, User: req.Principal.User,
		Path: hook.ChatPath(chat.ID),
	})
	if err != nil {
		return reply, err
	}
	reply.Chat, err = s.adding(ctx, req, chat, at, true, func(title string) error {
		return s.Store.AddTold(ctx, req.Principal.Account, chat.ID, title, at, reply.Message, what)
	})
	return reply, err
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
func (s *Service) history() history.Reader { return history.Reader{Store: s.Store, Now: s.Now} }

// history says which history the answer to a message needs.
func (r Request) history(chat conversation.Chat, message conversation.Message) history.Of {
	return history.Of{Account: r.Principal.Account, Chat: chat, Message: message, RequestID: r.MessageID, Again: r.Again, Locale: r.Locale}
}

// previousReply returns the reply of an earlier attempt, with the current state of its draft.
func (s *Service) previousReply(ctx context.Context, req Request, chat conversation.Chat, known conversation.Message) (Reply, error) {
	reply := Reply{Kind: replyOf(known.Kind), Message: known, Chat: chat, By: known.By}
	if known.Kind != conversation.KindPlan {
		return reply, nil
	}
	r, err := s.Store.Run(ctx, req.Principal.Account, known.RunID)
	reply.Kind, reply.Run = KindPlan, &r
	return reply, err
}

// firstServingTime bounds the age of a request that is usually served for the first time.
const firstServingTime = time.Second

// mayBeRepeat reports whether the request may have been served before. Only then is an older
// answer looked up. Another process may have served a request that was received before this
// process started.
func (s *Service) mayBeRepeat(req Request) bool {
	return req.MessageID != "" && (req.MessageAt.Before(s.AloneSince) || !s.Now().Before(req.MessageAt.Add(firstServingTime)))
}

// replyOf returns the reply's kind for an assistant message.
func replyOf(kind conversation.Kind) Kind {
	if kind == conversation.KindText {
		return KindMessage
	}
	return KindNotice
}

// say appends the message of a turn to its chat. The turn's answer, which follows, moves the chat
// in the list. The first message of a chat also gives it its title.
func (s *Service) say(ctx context.Context, req Request, chat conversation.Chat, message conversation.Message) (conversation.Chat, error) {
	switch {
	case req.said:
		return chat, nil
	case chat.Title == "":
		return s.add(ctx, req, chat, s.Now(), message)
	}
	return chat, s.Store.Say(ctx, req.Principal.Account, chat.ID, message)
}

// expire has the message of a turn deleted when its chat was deleted before the answer.
func (s *Service) expire(ctx context.Context, req Request, chat conversation.Chat, message conversation.Message) {
	if err := s.Store.Expire(context.WithoutCancel(ctx), req.Principal.Account, chat.ID, message.Seq, s.Now()); err != nil {
		s.Log.ErrorContext(ctx, "turn.message_left", "chat_id", chat.ID, "error", err)
	}
}

// add appends messages to a chat and returns the updated chat.
func (s *Service) add(ctx context.Context, req Request, chat conversation.Chat, at time.Time, list ...conversation.Message) (conversation.Chat, error) {
	return s.adding(ctx, req, chat, at, len(list) > 0, func(title string) error {
		return s.Store.AddMessages(ctx, req.Principal.Account, chat.ID, title, at, list...)
	})
}

// adding makes a write that adds to a chat, and returns the updated chat. A chat without a title gets one, if it may.
func (s *Service) adding(ctx context.Context, req Request, chat conversation.Chat, at time.Time, may bool, write func(title string) error) (conversation.Chat, error) {
	title := conversation.Title(req.Message)
	if chat.Title != "" || !may {
		title = ""
	}
	if err := retry.Do(ctx, func() error { return write(title) }); err != nil { // another turn of the chat may be writing
		return chat, err
	}
	chat.UpdatedAt = at
	if title != "" {
		chat.Title = title
	}
	return chat, nil
}

// userMessage returns the user's message. For a request that may be retried, it is the same
// message at each attempt.
func (s *Service) userMessage(req Request, at time.Time) conversation.Message {
	m := s.message(req, conversation.RoleUser, conversation.KindText, at, locale.Verbatim(req.Message))
	m.Writers = req.writers()
	if req.MessageID != "" {
		m.ID, m.Seq, m.At = req.MessageID, req.MessageID, req.MessageAt
	}
	return m
}

func (s *Service) message(req Request, role conversation.Role, kind conversation.Kind, at time.Time, text locale.Phrase) conversation.Message {
	id := s.IDs.New(at)
	return conversation.Message{ID: id, Seq: id, Role: role, Kind: kind, Content: text.In(req.Locale), At: at}
}
