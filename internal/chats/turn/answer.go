package turn

import (
	"cmp"
	"context"
	"errors"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/parallel"
	"piloto/internal/models/eligibility"
)

// Limits are how long a turn may take.
type Limits struct {
	// Model is of all calls of the model, and of the delay before them; 25 s when zero.
	Model time.Duration
	// Route is until whoever asked must have their answer, because the route gives up
	// soon after it; zero: it waits for as long as the answer takes.
	Route time.Duration
}

// usualModelTime leaves time to answer before an HTTP API gives up, after 30 s.
const usualModelTime = 25 * time.Second

// modelTime is what all calls of the model may take together.
func (s *Service) modelTime() time.Duration { return cmp.Or(s.Limits.Model, usualModelTime) }

// answerTime is how long a message is somebody's to answer.
func (s *Service) answerTime() time.Duration { return s.modelTime() + 5*time.Second }

// until bounds what the route waits for of a turn that began at a time.
func (l Limits) until(ctx context.Context, began, now time.Time) (context.Context, context.CancelFunc) {
	if l.Route == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, l.Route-now.Sub(began))
}

// answer stores the message and has it answered.
func (s *Service) answer(ctx context.Context, req Request, chat conversation.Chat) (Reply, error) {
	at := s.Now()
	d := s.dialog(req, chat)
	defer func() { s.endAnswer(ctx, d.held) }()
	return s.respond(ctx, d, s.said(req, at), func(said conversation.Message) (conversation.Chat, error) {
		return s.add(ctx, req, chat, at, said)
	})
}

// takeAnswer makes a message of a chat the caller's to answer, for as long as that may
// take: should the caller die, the sweep tells the chat. It returns conversation.ErrAnswering.
func (s *Service) takeAnswer(ctx context.Context, req Request, chatID, messageID string) (conversation.Answering, error) {
	at := s.Now()
	a := conversation.Answering{
		Account: req.Principal.Account, ChatID: chatID, MessageID: messageID,
		Until: at.Add(s.answerTime()), Asked: req.asked, Locale: string(req.Locale),
	}
	if err := s.Store.TakeAnswer(ctx, a, at); err != nil {
		return conversation.Answering{}, err
	}
	return a, nil
}

// endAnswer ends what was taken, if anything was.
func (s *Service) endAnswer(ctx context.Context, a conversation.Answering) {
	if a.MessageID == "" {
		return
	}
	ctx = context.WithoutCancel(ctx)
	if err := s.Store.EndAnswer(ctx, a, s.Now()); err != nil {
		s.Log.WarnContext(ctx, "turn.answer_kept", "chat_id", a.ChatID, "error", err) // until its time is over
	}
}

// Answer has what was last said in a chat answered, when nothing answered it: in
// a chat that is answered when somebody asks, or after a turn that was blocked.
//
// It returns conversation.ErrChatNotFound.
func (s *Service) Answer(ctx context.Context, req Request) (Reply, error) {
	chat, err := s.chat(ctx, req)
	if err != nil {
		return Reply{}, err
	}
	if chat.Company != 0 { // nobody would bring the answer to who asked
		return s.aside(req, chat, "turn.routed"), nil
	}
	account, at := req.Principal.Account, s.Now()
	req.asked = true
	var held conversation.Answering
	said, busy, err := s.open(ctx, account, chat, at)
	if err == nil && said.ID != "" && !busy {
		held, err = s.takeAnswer(ctx, req, chat.ID, said.ID)
		busy = errors.Is(err, conversation.ErrAnswering)
	}
	switch {
	case busy:
		return s.aside(req, chat, "turn.being_answered"), nil
	case err != nil:
		return Reply{}, err
	case said.ID == "":
		return s.text(ctx, req, chat, conversation.KindNotice, locale.Text(req.Locale, "turn.nothing_to_answer"), nil)
	}
	defer func() { s.endAnswer(ctx, held) }()
	// Whoever had it before may have answered it since it was read.
	if again, _, err := s.open(ctx, account, chat, at); err != nil || again.ID != said.ID {
		return s.aside(req, chat, "turn.nothing_to_answer"), err
	}
	req.Message, req.speaksFor = said.Content, chat.UserID
	return s.respond(ctx, s.dialog(req, chat), said, func(conversation.Message) (conversation.Chat, error) { return chat, nil })
}

// open is the message of a chat that nothing answered, none when there is none;
// busy says that the turn it came with is still at it.
func (s *Service) open(ctx context.Context, account string, chat conversation.Chat, at time.Time) (said conversation.Message, busy bool, err error) {
	messages, err := s.newest(ctx, account, chat.ID)
	said, ok := conversation.Unanswered(messages)
	if err != nil || !ok {
		return conversation.Message{}, false, err
	}
	last := messages[len(messages)-1].ID == said.ID
	return said, last && at.Before(said.At.Add(s.answerTime())) && chat.Automation != string(eligibility.Manual), nil
}

// Stop ends the answer that is being written in a chat, if there is one. What
// was written so far stays.
//
// It returns conversation.ErrChatNotFound.
func (s *Service) Stop(ctx context.Context, p auth.Principal, chatID string) error {
	if _, err := s.Store.Chat(ctx, p.Account, chatID); err != nil {
		return err
	}
	return s.Store.AskStop(ctx, p.Account, chatID, s.Now())
}

// way is how a turn comes to its answer once it may: by conversing (dialog), or by
// routing. Its methods are called in this order, by respond alone.
type way interface {
	// asks is what the turn asks of models.
	asks() *inquiry
	// reads is what must be known first, besides the settings: all of it is read at
	// once.
	reads(ctx context.Context, said conversation.Message) []func() error
	// due says whether the message is to be answered now, and else what is said in
	// the place of an answer.
	due(ctx context.Context, said conversation.Message, snapshot eligibility.Snapshot) (over bool, reply Reply, err error)
	// prepare writes the prompt.
	prepare(snapshot eligibility.Snapshot) error
	// converse answers, within asking.
	converse(ctx, asking context.Context) (Reply, error)
}

// respond gathers what the model needs, decides whether it may be asked, and has
// what was said answered the way that was chosen.
func (s *Service) respond(ctx context.Context, w way, said conversation.Message,
	store func(conversation.Message) (conversation.Chat, error),
) (reply Reply, err error) {
	q := w.asks()
	req, account := q.req, q.req.Principal.Account
	q.began = s.Now()
	asking, cancel := context.WithTimeout(ctx, s.modelTime())
	defer cancel()
	var snapshot eligibility.Snapshot
	var stored error
	var told conversation.Chat
	failed := parallel.Do(append([]func() error{
		func() error { told, stored = store(said); return stored },
		func() (err error) { snapshot, err = s.Eligibility.Read(ctx, question(account, q.chat)); return },
	}, w.reads(ctx, said)...)...)
	if stored != nil {
		s.count(ctx, req, q.began, Reply{}, stored)
		return Reply{}, stored
	}
	if q.chat = told; failed == nil {
		over, joined, err := w.due(asking, said, snapshot)
		if over || err != nil {
			s.count(ctx, req, q.began, joined, err)
			return joined, err
		}
	}
	q.meter = s.meter(req, q.chat, q.began)
	defer func() { q.meter.settle(ctx, reply, err) }()
	if failed != nil {
		s.Log.ErrorContext(ctx, "turn.gather_failed", "chat_id", q.chat.ID, "error", failed)
		return s.blocked(ctx, req, q.chat, eligibility.Refuse(eligibility.InternalError, "", req.Locale))
	}
	if err := w.prepare(snapshot); err != nil {
		return Reply{}, err
	}
	if block := q.resolve(snapshot); block != nil {
		return s.blocked(ctx, req, q.chat, block)
	}
	if reply, err = w.converse(ctx, asking); err == nil {
		return reply, nil
	}
	s.Log.ErrorContext(ctx, "turn.failed", "chat_id", q.chat.ID, "error", err)
	blocked, untold := s.blocked(context.WithoutCancel(ctx), req, q.chat, eligibility.Refuse(eligibility.InternalError, "", req.Locale))
	if untold != nil { // the store takes nothing: whoever asked is told, and nobody else can be
		return Reply{}, err
	}
	return blocked, nil
}

func question(account string, chat conversation.Chat) eligibility.Question {
	return eligibility.Question{Account: account, ProjectID: chat.ProjectID, Mode: eligibility.Mode(chat.Automation)}
}

// aside answers whoever asked with a sentence that is not stored: another turn's
// answer is what there is to read in the chat.
func (s *Service) aside(req Request, chat conversation.Chat, key string) Reply {
	answer := s.message(conversation.RoleAssistant, conversation.KindNotice, s.Now(), locale.Text(req.Locale, key))
	return Reply{Kind: KindNotice, Message: answer, Chat: chat}
}
