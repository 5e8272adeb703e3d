package turn

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"piloto/internal/chats/intent"
	"piloto/internal/chats/usage"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/live/realtime"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/runs/run"
	"piloto/internal/tools/tool"
)

// Store is what a turn reads and writes.
type Store interface {
	Chat(ctx context.Context, account, id string) (conversation.Chat, error)
	OpenSession(ctx context.Context, account string, c conversation.Chat) (conversation.Chat, error)
	AddMessages(ctx context.Context, account, chatID, title string, at time.Time, list ...conversation.Message) error
	Messages(ctx context.Context, account, chatID, cursor string, limit int) ([]conversation.Message, string, error)
	Project(ctx context.Context, account, id string) (conversation.Project, error)
	Servers(ctx context.Context, account string) ([]tool.Server, error)
	Entries(ctx context.Context, account string, s tool.Server) ([]tool.Entry, error)
	Operation(ctx context.Context, account string, s tool.Server, e tool.Entry) (tool.Operation, error)
	Run(ctx context.Context, account, id string) (plan.Run, error)
	// Propose writes a draft, makes it the chat's pending run and posts its
	// message; an older draft becomes superseded in the same transaction. It
	// returns plan.ErrMoved when the chat or the older draft moved.
	Propose(ctx context.Context, r plan.Run, chat conversation.Chat, old *plan.Run, rec run.Record) (plan.Run, error)
	// Revise gives a draft another plan, when the chat still waits for it as it was
	// read; plan.ErrMoved.
	Revise(ctx context.Context, r plan.Run, chat conversation.Chat, rev plan.Revision, rec run.Record) (plan.Run, error)
	Rules(ctx context.Context, account string) (rule.Set, error)
	// Show notes that a viewer is shown a draft, and adds what is said with it, while the
	// chat waits for that draft; plan.ErrMoved. Shown returns which plan they were shown
	// last, at a time; none when that expired.
	Show(ctx context.Context, draft plan.Run, s plan.Sight, said ...conversation.Message) error
	Shown(ctx context.Context, account, chatID, viewer string, at time.Time) (plan.Sight, error)
	// AskStop notes that somebody wants the chat's answer to end, and StopAsked
	// when that was; the zero time: never.
	AskStop(ctx context.Context, account, chatID string, at time.Time) error
	StopAsked(ctx context.Context, account, chatID string) (time.Time, error)
	// TakeAnswer makes answering a message the caller's, when it is nobody's at a time;
	// conversation.ErrAnswering. EndAnswer gives it back.
	TakeAnswer(ctx context.Context, a conversation.Answering, at time.Time) error
	EndAnswer(ctx context.Context, a conversation.Answering, at time.Time, said ...conversation.Message) error
	// NoteAsked notes that an agent is about to be asked for a message, conversation.ErrAsked
	// when one was; EndAsked lets one be asked again.
	NoteAsked(ctx context.Context, account, chatID, messageID string, at time.Time) error
	EndAsked(ctx context.Context, account, chatID, messageID string, at time.Time) error
}

// Runs decides over drafts.
type Runs interface {
	Confirm(ctx context.Context, c run.Confirmation) (run.Decision, error)
	Cancel(ctx context.Context, c run.Cancellation) (run.Decision, error)
}

// Listeners are whoever has an account's chats open.
type Listeners interface {
	realtime.Notifier
	// Watched reports whether anybody listens at all.
	Watched(ctx context.Context, account string) bool
}

// Tally counts turns, and never fails one.
type Tally interface {
	Turn(ctx context.Context, account string, t usage.Turn)
}

// Service answers messages.
type Service struct {
	Store       Store
	Runs        Runs
	Schemas     tool.Compiler // judges the arguments of calls
	Eligibility *eligibility.Service
	Credit      *credit.Service
	Models      eligibility.Models
	Retry       llm.Retry
	Tell        Listeners // of an answer while it is written
	Tally       Tally
	Previews    Previewer // nil: nothing is looked at before it is confirmed

	Router Router
	Limits Limits

	// AloneSince is when the only process that serves began; zero: others may serve.
	AloneSince time.Time

	DraftLife time.Duration
	ShowTime  time.Duration // how long whoever is shown a card again waits for it
	IDs       *ids.Source
	Now       func() time.Time
	Log       *slog.Logger
}

// Send answers one message.
//
// It returns conversation.ErrChatNotFound, what run.Confirm and run.Cancel refuse with,
// and Moved for a typed yes to a plan that is another by now; every other outcome, a blocked turn among them, is a Reply.
func (s *Service) Send(ctx context.Context, req Request) (Reply, error) {
	began := s.Now()
	chat, err := s.chat(ctx, req)
	if err != nil {
		return Reply{}, err
	}
	if req.Session != nil {
		req.speaksFor = cmp.Or(req.Session.UserID, chat.UserID)
	}
	said := intent.Classify(req.Message)
	if said != intent.Other {
		if reply, decided, err := s.decide(ctx, req, chat, said); decided {
			s.count(ctx, req, began, reply, err)
			return reply, err
		}
	}
	return s.answer(ctx, req, chat)
}

// chat returns the chat of a request. One that a client names is made when absent.
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
			Title: conversation.Title(req.ChatID + ": " + req.Message), // people begin alike
		})
	}
	return s.Store.Chat(ctx, account, req.ChatID)
}

// notice answers with a sentence of the system's own.
func (s *Service) notice(ctx context.Context, req Request, chat conversation.Chat, key string, args ...string) (Reply, error) {
	at := s.Now()
	said := s.said(req, at) // first: what is said stands before what answers it
	answer := answering(req, s.message(conversation.RoleAssistant, conversation.KindNotice, at, locale.Text(req.Locale, key, args...)))
	chat, err := s.add(ctx, req, chat, at, said, answer)
	return Reply{Kind: KindNotice, Message: answer, Chat: chat}, err
}

// blocked answers that the turn may not run, why, and what to do.
func (s *Service) blocked(ctx context.Context, req Request, chat conversation.Chat, b *eligibility.Block) (Reply, error) {
	at := s.Now()
	answer := s.message(conversation.RoleSystem, conversation.KindBlocked, at, "⚠️ "+b.Message)
	answer.Code, answer.Action = string(b.Reason), b.Action
	chat, err := s.add(ctx, req, chat, at, answer)
	return Reply{Kind: KindBlocked, Message: answer, Chat: chat, Block: b}, err
}

// text answers with words that were not, and could not become, a plan. by is the
// model of the turn, when one was asked; notes are what stands under its words.
func (s *Service) text(ctx context.Context, req Request, chat conversation.Chat, kind conversation.Kind, text string, by *conversation.By, notes ...conversation.Note) (Reply, error) {
	at := s.Now()
	answer := s.message(conversation.RoleAssistant, kind, at, text)
	answer.Notes = notes
	answer = answering(req, answer)
	reply := Reply{Kind: replyOf(kind), Message: answer, By: by}
	if reply.Kind == KindMessage {
		reply.Message.By = by
	}
	var err error
	reply.Chat, err = s.add(ctx, req, chat, at, reply.Message)
	return reply, err
}

// answering names a message for the one that it answers, when that may come again.
func answering(req Request, m conversation.Message) conversation.Message {
	if req.MessageID != "" {
		m.ID = conversation.AnswerID(req.MessageID)
	}
	return m
}

// answerTo is what answered a request that came again, none when nothing did: whoever
// served it may have ended between saying so in the chat and to whoever asked.
func answerTo(messages []conversation.Message, req Request) conversation.Message {
	for _, m := range messages {
		if req.MessageID != "" && m.ID == conversation.AnswerID(req.MessageID) {
			return m
		}
	}
	return conversation.Message{}
}

// again is the reply that was given before, with the draft as it is now.
func (s *Service) again(ctx context.Context, req Request, chat conversation.Chat, known conversation.Message) (Reply, error) {
	reply := Reply{Kind: replyOf(known.Kind), Message: known, Chat: chat, By: known.By}
	if known.Kind != conversation.KindPlan {
		return reply, nil
	}
	r, err := s.Store.Run(ctx, req.Principal.Account, known.RunID)
	reply.Kind, reply.Run = KindPlan, &r
	return reply, err
}

// justNow is how old a request is at most that is served for the first time, usually.
const justNow = time.Second

// mayBeAgain reports a request that may have been served before: only of such ones is
// an older answer looked for. One that came before this process began was served by
// another, as much as it was.
func (s *Service) mayBeAgain(req Request) bool {
	return req.MessageID != "" && (req.MessageAt.Before(s.AloneSince) || !s.Now().Before(req.MessageAt.Add(justNow)))
}

// replyOf is the kind of reply that a message of the assistant makes.
func replyOf(kind conversation.Kind) Kind {
	if kind == conversation.KindText {
		return KindMessage
	}
	return KindNotice
}

// add appends messages to a chat and returns the chat as that left it.
func (s *Service) add(ctx context.Context, req Request, chat conversation.Chat, at time.Time, list ...conversation.Message) (conversation.Chat, error) {
	title := conversation.Title(req.Message)
	if chat.Title != "" || len(list) == 0 {
		title = ""
	}
	err := run.Retry(ctx, func() error { // another turn of the chat may be writing
		return s.Store.AddMessages(ctx, req.Principal.Account, chat.ID, title, at, list...)
	})
	if err != nil {
		return chat, err
	}
	chat.UpdatedAt = at
	if title != "" {
		chat.Title = title
	}
	return chat, nil
}

// said is the message of the person. Of a request that may come again it is the
// same message each time.
func (s *Service) said(req Request, at time.Time) conversation.Message {
	m := s.message(conversation.RoleUser, conversation.KindText, at, req.Message)
	if req.MessageID != "" {
		m.ID, m.Seq, m.At = req.MessageID, req.MessageID, req.MessageAt
	}
	return m
}

func (s *Service) message(role conversation.Role, kind conversation.Kind, at time.Time, text string) conversation.Message {
	id := s.IDs.New(at)
	return conversation.Message{ID: id, Seq: id, Role: role, Kind: kind, Content: text, At: at}
}
