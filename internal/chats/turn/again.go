package turn

import (
	"context"
	"errors"
	"slices"

	"piloto/internal/chats/consent"
	"piloto/internal/chats/history"
	"piloto/internal/chats/intent"
	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/runs/plan"
)

// Errors of a message that is to be replaced, or answered again.
var (
	ErrMessageNotFound = conversation.ErrMessageNotFound
	ErrNotLast         = fault.New(fault.Conflict, "message.not_last")
	ErrActed           = fault.New(fault.Conflict, "message.acted")
	ErrBeingAnswered   = fault.New(fault.Conflict, "message.being_answered")
)

// tail is the last message of a person in a chat, and the lines that answer it.
type tail struct {
	message conversation.Message
	answers []conversation.Message
	draft   *plan.Run              // that the answers propose, and that still waits
	dropped []conversation.Message // that name the draft which the new answer ended
}

// tailOf returns the tail of a chat whose newest messages are given. It returns ErrActed when something was decided or
// begun by the message: a plan that was confirmed, a job, or a yes or no that answers no question of the model.
func (s *Service) tailOf(ctx context.Context, account ids.Account, messages []conversation.Message) (tail, error) {
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
	meaning := intent.Classify(t.message.Content)
	_, answers := conversation.OpenQuestion(messages[:at])
	if t.message.JobID != "" || meaning == intent.Stop || meaning != intent.Other && !answers {
		return t, ErrActed
	}
	for _, m := range messages[at+1:] {
		if m.JobID != "" { // of a job that another message began
			continue
		}
		switch m.Kind {
		case conversation.KindText, conversation.KindPlan, conversation.KindNotice, conversation.KindBlocked:
		default: // of a run that another message proposed
			if m.RunID != "" && consent.MayAgree(t.message.Content) { // and that this one confirmed
				return t, ErrActed
			}
			continue
		}
		if m.Role == conversation.RoleSystem && m.RunID != "" { // it says that a draft was taken back, which no new answer changes
			continue
		}
		t.answers = append(t.answers, m)
		if m.RunID == "" || t.draft != nil && t.draft.ID == m.RunID {
			continue
		}
		r, err := s.Plans.Run(ctx, account, m.RunID)
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
	t.answers = bounded(t.answers)
	return t, nil
}

// mostNotices bounds the notices and blocks after a message that a new answer replaces: a transaction has few writes.
const mostNotices = 50

// bounded drops the oldest notices and blocks of a list, if there are very many.
func bounded(answers []conversation.Message) []conversation.Message {
	drop := -mostNotices
	isNotice := func(m conversation.Message) bool {
		return m.Kind == conversation.KindNotice || m.Kind == conversation.KindBlocked
	}
	for _, m := range answers {
		if isNotice(m) {
			drop++
		}
	}
	return slices.DeleteFunc(answers, func(m conversation.Message) bool {
		if !isNotice(m) {
			return false
		}
		drop--
		return drop >= 0
	})
}

// failed reports whether an answer has no result. A failed answer replaces only earlier failed ones.
func failed(m conversation.Message) bool {
	return m.Kind == conversation.KindBlocked || m.Status == conversation.Failed
}

// replacedBy returns the answers of a tail that a new one replaces.
func (t tail) replacedBy(answer conversation.Message) []conversation.Message {
	if !failed(answer) {
		return t.answers
	}
	return slices.DeleteFunc(slices.Clone(t.answers), func(m conversation.Message) bool { return !failed(m) })
}

// replaceLast stores the message of a request in place of the last one of its chat. Replaced messages stay stored. It
// returns the writers of the replaced message. A repeated request changes nothing.
func (s *Service) replaceLast(ctx context.Context, req Request, chat conversation.Chat) (conversation.Chat, []string, error) {
	account := req.Principal.Account
	all, _, err := s.Chats.Messages(ctx, chat.Key(account), "", history.PageMessages)
	if err != nil {
		return chat, nil, err
	}
	i := slices.IndexFunc(all, func(m conversation.Message) bool { return m.ID == req.Replaces && m.Role == conversation.RoleUser })
	switch {
	case i >= 0 && all[i].ReplacedBy == req.MessageID:
		return chat, all[i].Writers, nil
	case i >= 0 && all[i].ReplacedBy != "":
		return chat, nil, ErrNotLast
	}
	messages, err := s.history().Newest(ctx, chat.Key(account))
	if err != nil {
		return chat, nil, err
	}
	if !slices.ContainsFunc(messages, func(m conversation.Message) bool { return m.ID == req.Replaces && m.Role == conversation.RoleUser }) {
		return chat, nil, ErrMessageNotFound
	}
	t, err := s.tailOf(ctx, account, messages)
	switch {
	case t.message.ID != req.Replaces:
		return chat, nil, ErrNotLast
	case err != nil:
		return chat, nil, err
	case len(t.answers) == 0 && s.isBusy(t.message, chat, s.Now()):
		return chat, nil, ErrBeingAnswered
	}
	req.after = t.message.Writers
	chat, _, err = s.thread().replace(ctx, req, chat, t.draft, append([]conversation.Message{t.message}, t.answers...), s.thread().userMessage(req, s.Now()))
	return chat, req.after, err
}

// answerAgain answers the last message of a chat once more. The turn does not see the earlier answer, nor the draft that
// it proposes; both stay until the new answer replaces them, and when there is none.
func (s *Service) answerAgain(ctx context.Context, req Request, chat conversation.Chat) (Reply, error) {
	account := req.Principal.Account
	messages, err := s.history().Newest(ctx, chat.Key(account))
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
	req.Message, req.speaksFor, req.anew = t.message.Content, chat.UserID, &t
	seen := chat
	if t.draft != nil && seen.PendingRunID == t.draft.ID {
		seen.PendingRunID = ""
	}
	reply, err := s.respond(ctx, s.dialog(req, seen), t.message, func(conversation.Message) (conversation.Chat, error) { return seen, nil })
	if err == nil && failed(reply.Message) {
		reply.Chat.PendingRunID = chat.PendingRunID
	}
	reply.Before = append(t.dropped, reply.Before...)
	return reply, err
}
