package turn

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"piloto/internal/chats/history"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/retry"
	"piloto/internal/live/hook"
	"piloto/internal/models/eligibility"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// thread writes the messages of a turn into its chat.
type thread struct {
	Chats      Chats
	Drafts     Drafts
	Plans      Plans
	IDs        *ids.Source
	Now        func() time.Time
	Log        *slog.Logger
	AloneSince time.Time
}

func (s *Service) thread() thread {
	return thread{Chats: s.Chats, Drafts: s.Drafts, Plans: s.Plans, IDs: s.IDs, Now: s.Now, Log: s.Log, AloneSince: s.AloneSince}
}

// notice answers with a fixed system text.
func (t thread) notice(ctx context.Context, req Request, chat conversation.Chat, key string, args ...any) (Reply, error) {
	at := t.Now()
	message := t.userMessage(req, at) // created first, because the message sorts before its answer
	answer := withAnswerID(req, t.message(req, conversation.RoleAssistant, conversation.KindNotice, at, locale.Say(key, args...)))
	chat, err := t.add(ctx, req, chat, at, message, answer)
	return Reply{Kind: KindNotice, Message: answer, Chat: chat}, err
}

// storeBlock answers that the turn may not run, with the reason and the next step for the user.
func (t thread) storeBlock(ctx context.Context, req Request, chat conversation.Chat, b *eligibility.Block, sources ...conversation.Source) (Reply, error) {
	at := t.Now()
	answer := t.message(req, conversation.RoleSystem, conversation.KindBlocked, at, locale.Joined{Phrases: []locale.Phrase{locale.Verbatim("⚠️"), b.Message()}, Between: " "})
	answer.Code, answer.Action, answer.Sources = string(b.Reason), b.Action().In(req.Locale), sources
	answer.Status, answer.StopReason = conversation.Failed, conversation.StopBlocked
	chat, err := t.addAnswer(ctx, req, chat, at, answer)
	return Reply{Kind: KindBlocked, Message: answer, Chat: chat, Block: b}, err
}

// text stores and returns an answer that is text and not a plan.
func (t thread) text(ctx context.Context, req Request, chat conversation.Chat, kind conversation.Kind, text locale.Phrase, beside answerMeta) (Reply, error) {
	at := t.Now()
	answer := t.message(req, conversation.RoleAssistant, kind, at, text)
	answer.Notes, answer.Sources, answer.ReadFrom = beside.notes, beside.sources, beside.readFrom
	answer.Status, answer.StopReason = beside.ending.status, beside.ending.reason
	answer.Transcript = beside.transcript
	beside.question.mark(&answer)
	answer = withAnswerID(req, answer)
	reply := Reply{Kind: replyOf(kind), Message: answer, By: beside.by}
	if reply.Kind == KindMessage {
		reply.Message.By = beside.by
	}
	var err error
	if beside.failed.name == "" {
		reply.Chat, err = t.addAnswer(ctx, req, chat, at, reply.Message)
		return reply, err
	}
	what, err := hook.NewMessage(hook.AgentFailed, at, hook.AgentData{
		Agent: beside.failed.name, Error: beside.failed.code, ChatID: chat.ID, SessionID: chat.SessionID, CompanyID: chat.Company, User: req.Principal.User,
		Path: hook.ChatPath(chat.ID),
	})
	if err != nil {
		return reply, err
	}
	reply.Chat, err = t.adding(ctx, req, chat, at, true, func(title string) error {
		return t.Chats.AddNotified(ctx, chat.Key(req.Principal.Account), title, at, reply.Message, what)
	})
	return reply, err
}

// previousReply returns the reply of an earlier attempt, with the current state of its draft.
func (t thread) previousReply(ctx context.Context, req Request, chat conversation.Chat, known conversation.Message) (Reply, error) {
	reply := Reply{Kind: replyOf(known.Kind), Message: known, Chat: chat, By: known.By}
	if known.Kind != conversation.KindPlan {
		return reply, nil
	}
	r, err := t.Plans.Run(ctx, req.Principal.Account, known.RunID)
	reply.Kind, reply.Run = KindPlan, &r
	return reply, err
}

// mayBeRepeat reports whether the request may have been served before. Only then is an older answer read. Another
// process may have served a request that was received before this process started.
func (t thread) mayBeRepeat(req Request) bool {
	return req.MessageID != "" && (req.MessageAt.Before(t.AloneSince) || !t.Now().Before(req.MessageAt.Add(firstServingTime)))
}

// say appends the message of a turn to its chat. The turn's answer, which follows, moves the chat
// in the list. The first message of a chat also gives it its title.
func (t thread) say(ctx context.Context, req Request, chat conversation.Chat, message conversation.Message) (conversation.Chat, error) {
	switch {
	case req.said:
		return chat, nil
	case chat.Title == "":
		return t.add(ctx, req, chat, t.Now(), message)
	}
	return chat, t.Chats.Say(ctx, chat.Key(req.Principal.Account), message)
}

// expire has the message of a turn deleted when its chat was deleted before the answer.
func (t thread) expire(ctx context.Context, req Request, chat conversation.Chat, message conversation.Message) {
	if err := t.Chats.Expire(context.WithoutCancel(ctx), chat.Key(req.Principal.Account), message.Seq, t.Now()); err != nil {
		t.Log.ErrorContext(ctx, "turn.message_left", "chat_id", chat.ID, "error", err)
	}
}

// add appends messages to a chat and returns the updated chat.
func (t thread) add(ctx context.Context, req Request, chat conversation.Chat, at time.Time, list ...conversation.Message) (conversation.Chat, error) {
	return t.adding(ctx, req, chat, at, len(list) > 0, func(title string) error {
		return t.Chats.AddMessages(ctx, chat.Key(req.Principal.Account), title, at, list...)
	})
}

// adding makes a write that adds to a chat, and returns the updated chat. A chat without a title gets one, if it may.
func (t thread) adding(ctx context.Context, req Request, chat conversation.Chat, at time.Time, may bool, write func(title string) error) (conversation.Chat, error) {
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
func (t thread) userMessage(req Request, at time.Time) conversation.Message {
	m := t.message(req, conversation.RoleUser, conversation.KindText, at, locale.Verbatim(req.Message))
	m.Writers = req.writers()
	if req.MessageID != "" {
		m.ID, m.Seq, m.At = req.MessageID, req.MessageID, req.MessageAt
	}
	return m
}

func (t thread) message(req Request, role conversation.Role, kind conversation.Kind, at time.Time, text locale.Phrase) conversation.Message {
	id := t.IDs.New(at)
	return conversation.Message{ID: id, Seq: id, Role: role, Kind: kind, Content: text.In(req.Locale), At: at}
}

// addAnswer appends an answer to a chat. One that is given anew replaces the earlier one and ends its draft; until then both stay.
func (t thread) addAnswer(ctx context.Context, req Request, chat conversation.Chat, at time.Time, answer conversation.Message) (_ conversation.Chat, err error) {
	if req.anew == nil {
		return t.add(ctx, req, chat, at, answer)
	}
	draft := req.anew.draft
	if failed(answer) {
		draft = nil
	}
	chat, req.anew.dropped, err = t.replace(ctx, req, chat, draft, req.anew.replacedBy(answer), answer)
	return chat, err
}

// replace appends a message in place of others, and ends the draft that they propose; nil: none. A line before the
// message names that draft; it is returned. All or nothing is written. It returns ErrActed when the draft was confirmed
// meanwhile, and ErrNotLast when another message replaced them.
func (t thread) replace(ctx context.Context, req Request, chat conversation.Chat, draft *plan.Run, replaced []conversation.Message, m conversation.Message) (_ conversation.Chat, dropped []conversation.Message, err error) {
	account, at := req.Principal.Account, t.Now()
	moved := false
	err = retry.Do(ctx, func() error {
		if moved {
			if err := t.stillStand(ctx, account, chat.ID, replaced); err != nil {
				return err
			}
		}
		moved = true
		waits, err := t.stillDraft(ctx, account, draft)
		if err != nil {
			return err
		}
		if waits == nil {
			return t.Chats.Replace(ctx, chat.Key(account), at, replaced, m)
		}
		now, err := t.Chats.Chat(ctx, account, chat.ID)
		if err != nil {
			return err
		}
		dropped = []conversation.Message{t.droppedMessage(req, *waits, m)}
		_, err = t.Plans.Discard(ctx, *waits, now, plan.Superseded, run.Record{
			At: at, Type: plan.EventSuperseded, Data: map[string]any{"message": m.ID}, Messages: append(dropped, m), Replaced: replaced,
		})
		return err
	})
	if err != nil {
		return chat, nil, err
	}
	if chat.UpdatedAt = at; draft != nil && chat.PendingRunID == draft.ID {
		chat.PendingRunID = ""
	}
	return chat, dropped, nil
}

// droppedMessage returns the line that names a draft which ends with a message. It sorts before that.
func (t thread) droppedMessage(req Request, draft plan.Run, m conversation.Message) conversation.Message {
	return t.message(req, conversation.RoleSystem, conversation.KindNotice, m.At.Add(-time.Millisecond), locale.Say("turn.dropped", "goal", run.Quotable(draft.Plan.Goal)))
}

// stillDraft reads a draft again. It returns nil when it ended, and ErrActed when it was confirmed.
func (t thread) stillDraft(ctx context.Context, account ids.Account, draft *plan.Run) (*plan.Run, error) {
	if draft == nil {
		return nil, nil
	}
	r, err := t.Plans.Run(ctx, account, draft.ID)
	switch {
	case err != nil:
		return nil, err
	case r.Confirmer != "":
		return nil, ErrActed
	case r.Status != plan.Draft:
		return nil, nil
	}
	return &r, nil
}

// stillStand returns ErrNotLast when one of the messages, which are among the newest of a chat, was replaced.
func (t thread) stillStand(ctx context.Context, account ids.Account, chatID string, list []conversation.Message) error {
	if len(list) == 0 {
		return nil
	}
	now, err := history.Reader{Chats: t.Chats, Runs: t.Plans, Now: t.Now}.Newest(ctx, conversation.Key{Account: account, ChatID: chatID})
	if err != nil {
		return err
	}
	for _, m := range list {
		if !slices.ContainsFunc(now, func(other conversation.Message) bool { return other.ID == m.ID }) {
			return ErrNotLast
		}
	}
	return nil
}

// transientNotice returns a notice that is not stored, because the chat shows another turn's
// answer.
func (t thread) transientNotice(req Request, chat conversation.Chat, key string) Reply {
	answer := t.message(req, conversation.RoleAssistant, conversation.KindNotice, t.Now(), locale.Say(key))
	return Reply{Kind: KindNotice, Message: answer, Chat: chat}
}

// chat returns the chat of a request. It creates a chat that the client named and that is
// absent.
func (t thread) chat(ctx context.Context, req Request) (conversation.Chat, error) {
	account, at := req.Principal.Account, t.Now()
	switch {
	case req.Session != nil:
		return t.Chats.OpenSession(ctx, account, conversation.Chat{
			ID:        conversation.SessionChat(account, req.ChatID),
			SessionID: req.ChatID, UserID: req.Session.UserID, Summary: req.Session.Summary, Metadata: req.Session.Metadata,
			CreatedAt: at, UpdatedAt: at,
		})
	case req.Route != nil:
		id := conversation.RouterChat(account, req.Route.Persona.Company, req.ChatID)
		chat, err := t.Chats.Chat(ctx, account, id)
		if !errors.Is(err, conversation.ErrChatNotFound) {
			return chat, err
		}
		return t.Chats.OpenSession(ctx, account, conversation.Chat{
			ID: id, SessionID: req.ChatID, Company: req.Route.Persona.Company, CreatedAt: at, UpdatedAt: at,
			Title: conversation.Title(req.ChatID + ": " + req.Message), // many users begin with the same words
		})
	}
	return t.Chats.Chat(ctx, account, req.ChatID)
}
