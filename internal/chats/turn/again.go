package turn

import (
	"context"
	"errors"
	"slices"

	"piloto/internal/chats/intent"
	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// Errors of a message that is to be replaced, or answered again.
var (
	ErrMessageNotFound = fault.New(fault.NotFound, "message.not_found")
	ErrNotLast         = fault.New(fault.Conflict, "message.not_last")
	ErrActed           = fault.New(fault.Conflict, "message.acted")
	ErrBeingAnswered   = fault.New(fault.Conflict, "message.being_answered")
)

// tail is the last message of a person in a chat, and the lines that answer it.
type tail struct {
	message conversation.Message
	answers []conversation.Message
	draft   *plan.Run // that the answers propose, and that still waits
}

// tailOf returns the tail of a chat whose newest messages are given. It returns ErrActed when something was decided or
// begun by the message: a plan that was confirmed, a job, or a yes or no.
func (s *Service) tailOf(ctx context.Context, account string, messages []conversation.Message) (tail, error) {
	at := -1
	for i, m := range messages {
		if m.Role == conversation.RoleUser {
			at = i
		}
	}
	if at < 0 {
		return tail{}, ErrMessageNotFound
	}
	t := tail{message: messages[at]}
	if t.message.JobID != "" || intent.Classify(t.message.Content) != intent.Other {
		return t, ErrActed
	}
	for _, m := range messages[at+1:] {
		if m.JobID != "" { // of a job that another message began
			continue
		}
		switch m.Kind {
		case conversation.KindText, conversation.KindPlan, conversation.KindNotice, conversation.KindBlocked:
		default: // of a run that another message proposed
			continue
		}
		t.answers = append(t.answers, m)
		if m.RunID == "" || t.draft != nil && t.draft.ID == m.RunID {
			continue
		}
		r, err := s.Store.Run(ctx, account, m.RunID)
		switch {
		case errors.Is(err, plan.ErrRunNotFound):
		case err != nil:
			return t, err
		case r.Confirmer != "":
			return t, ErrActed
		case r.Status == plan.Draft:
			t.draft = &r
		}
	}
	return t, nil
}

// supersede ends the draft of a tail, because the message that it answers is answered anew. by is the id of the message
// that takes the place.
func (s *Service) supersede(ctx context.Context, t tail, chat conversation.Chat, by string) (conversation.Chat, error) {
	if t.draft == nil {
		return chat, nil
	}
	rec := run.Record{At: s.Now(), Type: plan.EventSuperseded, Data: map[string]any{"message": by}}
	if _, err := s.Store.Discard(ctx, *t.draft, chat, plan.Superseded, rec); err != nil {
		if errors.Is(err, fault.ErrMoved) { // it was confirmed meanwhile
			return chat, ErrActed
		}
		return chat, err
	}
	if chat.PendingRunID == t.draft.ID {
		chat.PendingRunID = ""
	}
	return chat, nil
}

// replace puts the message of a request in the place of the last one of its chat. Those that are replaced stay stored.
// A repeated request changes nothing.
func (s *Service) replace(ctx context.Context, req Request, chat conversation.Chat) (conversation.Chat, error) {
	account := req.Principal.Account
	all, _, err := s.Store.Messages(ctx, account, chat.ID, "", historyMessages)
	if err != nil {
		return chat, err
	}
	i := slices.IndexFunc(all, func(m conversation.Message) bool { return m.ID == req.Replaces && m.Role == conversation.RoleUser })
	switch {
	case i >= 0 && req.MessageID != "" && all[i].ReplacedBy == req.MessageID:
		return chat, nil
	case i >= 0 && all[i].ReplacedBy != "":
		return chat, ErrNotLast
	}
	messages, err := s.newestMessages(ctx, account, chat.ID)
	if err != nil {
		return chat, err
	}
	if !slices.ContainsFunc(messages, func(m conversation.Message) bool { return m.ID == req.Replaces && m.Role == conversation.RoleUser }) {
		return chat, ErrMessageNotFound
	}
	t, err := s.tailOf(ctx, account, messages)
	switch {
	case t.message.ID != req.Replaces:
		return chat, ErrNotLast
	case err != nil:
		return chat, err
	case len(t.answers) == 0 && s.isBusy(t.message, chat, s.Now()):
		return chat, ErrBeingAnswered
	}
	if chat, err = s.supersede(ctx, t, chat, req.MessageID); err != nil {
		return chat, err
	}
	return chat, s.Store.Replace(ctx, account, chat.ID, req.MessageID, append([]conversation.Message{t.message}, t.answers...)...)
}

// answerAgain answers the last message of a chat once more. The earlier answer is replaced when there is a new one; a
// turn that may not run leaves it.
func (s *Service) answerAgain(ctx context.Context, req Request, chat conversation.Chat) (Reply, error) {
	account := req.Principal.Account
	messages, err := s.newestMessages(ctx, account, chat.ID)
	if err != nil {
		return Reply{}, err
	}
	t, err := s.tailOf(ctx, account, messages)
	if err != nil {
		return Reply{}, err
	}
	if len(t.answers) == 0 && s.isBusy(t.message, chat, s.Now()) {
		return Reply{}, ErrBeingAnswered
	}
	held, err := s.takeAnswer(ctx, req, chat.ID, t.message.ID)
	if errors.Is(err, conversation.ErrAnswering) {
		return Reply{}, ErrBeingAnswered
	}
	if err != nil {
		return Reply{}, err
	}
	defer func() { s.endAnswer(ctx, held) }()
	if chat, err = s.supersede(ctx, t, chat, t.message.ID); err != nil {
		return Reply{}, err
	}
	req.Message, req.speaksFor = t.message.Content, chat.UserID
	reply, err := s.respond(ctx, s.dialog(req, chat), t.message, func(conversation.Message) (conversation.Chat, error) { return chat, nil })
	if err != nil || reply.Kind == KindBlocked {
		return reply, err
	}
	return reply, s.Store.Replace(context.WithoutCancel(ctx), account, chat.ID, reply.Message.ID, t.answers...)
}
