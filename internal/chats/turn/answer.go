package turn

import (
	"cmp"
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"piloto/internal/access/auth"
	"piloto/internal/chats/setup"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/models/eligibility"
	"piloto/internal/runs/plan"
)

// Limits bounds the duration of a turn.
type Limits struct {
	// Model bounds all model calls together, with the delay before them; 25 s when zero.
	Model time.Duration
	// Route bounds the time until the response, because the route times out soon after it. Zero
	// means no bound.
	Route time.Duration
}

// defaultModelTime leaves time to respond before an HTTP API times out, after 30 s.
const defaultModelTime = 25 * time.Second

// modelTime returns the bound of all model calls together.
func (s *Service) modelTime() time.Duration { return cmp.Or(s.Limits.Model, defaultModelTime) }

// answerTime returns the duration of an answer's lease.
func (s *Service) answerTime() time.Duration { return s.modelTime() + 5*time.Second }

// withDeadline bounds a context by the route's limit, counted from the start of the turn.
func (l Limits) withDeadline(ctx context.Context, began, now time.Time) (context.Context, context.CancelFunc) {
	if l.Route == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, l.Route-now.Sub(began))
}

// answer stores the message and answers it.
func (s *Service) answer(ctx context.Context, req Request, chat conversation.Chat) (Reply, error) {
	at := s.Now()
	d := s.dialog(req, chat)
	defer func() { s.endAnswer(ctx, d.held) }()
	return s.respond(ctx, d, s.thread().userMessage(req, at), func(message conversation.Message) (conversation.Chat, error) {
		return s.thread().say(ctx, req, chat, message)
	})
}

// takeAnswer takes the lease to answer a message of a chat. When the holder dies, the sweep
// notifies the chat after the lease. It returns conversation.ErrAnswering when another holder
// has the lease.
func (s *Service) takeAnswer(ctx context.Context, req Request, chatID, messageID string) (conversation.Answering, error) {
	at := s.Now()
	a := conversation.Answering{
		Key: conversation.Key{Account: req.Principal.Account, ChatID: chatID}, MessageID: messageID,
		Until: at.Add(s.answerTime()), Asked: req.asked, Locale: string(req.Locale),
	}
	if err := s.Answers.TakeAnswer(ctx, a, at); err != nil {
		return conversation.Answering{}, err
	}
	return a, nil
}

// endAnswer releases the lease, if one was taken.
func (s *Service) endAnswer(ctx context.Context, a conversation.Answering) {
	if a.MessageID == "" {
		return
	}
	ctx = context.WithoutCancel(ctx)
	if err := s.Answers.EndAnswer(ctx, a, s.Now()); err != nil {
		s.Log.WarnContext(ctx, "turn.answer_kept", "chat_id", a.ChatID, "error", err) // the lease ends by itself
	}
}

// Answer answers the last unanswered message of a chat: in a chat that is answered on request,
// or after a blocked turn. With Again it answers the last message once more.
//
// It returns conversation.ErrChatNotFound, and with Again ErrMessageNotFound, ErrActed and
// ErrBeingAnswered.
func (s *Service) Answer(ctx context.Context, req Request) (Reply, error) {
	chat, err := s.thread().chat(ctx, req)
	if err != nil {
		return Reply{}, err
	}
	if chat.Company != 0 { // no client of the router would receive the answer
		return s.thread().transientNotice(req, chat, "turn.routed"), nil
	}
	account, at := req.Principal.Account, s.Now()
	req.asked = true
	if req.Again {
		return s.answerAgain(ctx, req, chat)
	}
	var held conversation.Answering
	message, busy, err := s.unansweredMessage(ctx, account, chat, at)
	if err == nil && message.ID != "" && !busy {
		held, err = s.takeAnswer(ctx, req, chat.ID, message.ID)
		busy = errors.Is(err, conversation.ErrAnswering)
	}
	switch {
	case busy:
		return s.thread().transientNotice(req, chat, "turn.being_answered"), nil
	case err != nil:
		return Reply{}, err
	case message.ID == "":
		return s.thread().text(ctx, req, chat, conversation.KindNotice, locale.Say("turn.nothing_to_answer"), answerMeta{})
	}
	defer func() { s.endAnswer(ctx, held) }()
	// Another holder may have answered the message since it was read.
	if again, _, err := s.unansweredMessage(ctx, account, chat, at); err != nil || again.ID != message.ID {
		return s.thread().transientNotice(req, chat, "turn.nothing_to_answer"), err
	}
	req.Message, req.speaksFor = message.Content, chat.UserID
	return s.respond(ctx, s.dialog(req, chat), message, func(conversation.Message) (conversation.Chat, error) { return chat, nil })
}

// unansweredMessage returns the chat's message that has no answer, or the zero Message. busy
// reports that its own turn may still be answering it.
func (s *Service) unansweredMessage(ctx context.Context, account ids.Account, chat conversation.Chat, at time.Time) (message conversation.Message, busy bool, err error) {
	messages, err := s.history().Newest(ctx, chat.Key(account))
	message, ok := conversation.Unanswered(messages)
	if err != nil || !ok {
		return conversation.Message{}, false, err
	}
	last := messages[len(messages)-1].ID == message.ID
	return message, last && s.isBusy(message, chat, at), nil
}

// isBusy reports whether the turn of a message without an answer may still be answering it.
func (s *Service) isBusy(message conversation.Message, chat conversation.Chat, at time.Time) bool {
	return at.Before(message.At.Add(s.answerTime())) && chat.Automation != string(eligibility.Manual)
}

// Stop ends the answer that is being written in a chat, if there is one. The text so far is
// kept.
//
// It returns conversation.ErrChatNotFound.
func (s *Service) Stop(ctx context.Context, p auth.Principal, chatID string) error {
	if _, err := s.Chats.Chat(ctx, p.Account, chatID); err != nil {
		return err
	}
	return s.Answers.AskStop(ctx, conversation.Key{Account: p.Account, ChatID: chatID}, s.Now())
}

// strategy produces the answer of an allowed turn: by a conversation (dialog), or by routing.
// Only take calls its methods, in this order.
type strategy interface {
	// state returns the state that the turn and its calls of a model share.
	state() *exchange
	// loaders returns the functions that read the data of the turn, besides the account's settings. They run in parallel.
	loaders(ctx context.Context, message conversation.Message) []func() error
	// equip takes the account's settings, in parallel to the loaders.
	equip(ctx context.Context, set setup.Setup) error
	// prepare writes the prompt.
	prepare(snapshot eligibility.Snapshot) error
	// endEarly reports whether the turn ends without a model call, and returns its reply. When it waited, it loads the turn
	// again.
	endEarly(ctx context.Context, message conversation.Message) (over bool, reply Reply, err error)
	// converse answers; asking bounds the model calls.
	converse(ctx, asking context.Context) (Reply, error)
}

// respond answers a message with the strategy. A text has beside it the plan that waits in the chat, so that its reader can
// confirm that from there.
func (s *Service) respond(ctx context.Context, w strategy, message conversation.Message, store storeMessage) (Reply, error) {
	reply, err := s.take(ctx, w, message, store)
	if err != nil || reply.Kind != KindMessage && reply.Kind != KindNotice || reply.Chat.PendingRunID == "" {
		return reply, err
	}
	r, err := s.Plans.Run(ctx, w.state().req.Principal.Account, reply.Chat.PendingRunID)
	switch {
	case err != nil:
		s.Log.WarnContext(ctx, "turn.waiting_unread", "chat_id", reply.Chat.ID, "error", err) // the answer is stored all the same
	case r.StatusAt(s.Now()) == plan.Draft:
		reply.Pending = &r
	}
	return reply, nil
}

// storeMessage stores the message of a turn, and returns its chat as it is afterwards.
type storeMessage func(conversation.Message) (conversation.Chat, error)

// take reads the data of a turn, checks that the turn may run, and answers the message.
func (s *Service) take(ctx context.Context, w strategy, message conversation.Message, store storeMessage) (reply Reply, err error) {
	x := w.state()
	req := x.req
	x.began = s.Now()
	asking, cancel := context.WithTimeout(ctx, s.modelTime())
	defer cancel()
	defer func() {
		if errors.Is(err, conversation.ErrChatNotFound) {
			s.thread().expire(ctx, req, x.chat, message)
		}
	}()
	var load errgroup.Group // without a context: a failed read does not cancel the write of the message
	load.Go(func() error { return s.load(ctx, w, message) })
	updated, err := store(message)
	loadErr := load.Wait()
	if err != nil {
		s.count(ctx, req, x.began, Reply{}, err)
		return Reply{}, err
	}
	if x.chat = updated; loadErr == nil {
		over, early, err := w.endEarly(asking, message)
		if over || err != nil {
			s.count(ctx, req, x.began, early, err)
			return early, err
		}
	}
	x.calls.Begin(s.record(req, x.chat, ""))
	x.count = func(ctx context.Context, reply Reply, err error) { s.count(ctx, req, x.began, reply, err) }
	defer func() { s.settle(ctx, x.calls, x.count, reply, err) }()
	if loadErr != nil {
		s.Log.ErrorContext(ctx, "turn.gather_failed", "chat_id", x.chat.ID, "error", loadErr)
		return s.thread().storeBlock(ctx, req, x.chat, eligibility.Refuse(eligibility.InternalError, ""))
	}
	if x.block != nil {
		return s.thread().storeBlock(ctx, req, x.chat, x.block)
	}
	if reply, err = w.converse(ctx, asking); err == nil || errors.Is(err, ErrActed) || errors.Is(err, ErrNotLast) {
		return reply, err
	}
	s.Log.ErrorContext(ctx, "turn.failed", "chat_id", x.chat.ID, "error", err)
	blocked, blockErr := s.thread().storeBlock(context.WithoutCancel(ctx), req, x.chat, eligibility.Refuse(eligibility.InternalError, ""), x.sources...)
	if blockErr != nil { // the store refuses writes: only the caller gets the error
		return Reply{}, err
	}
	return blocked, nil
}

// load reads the data of a turn, writes its prompt and chooses its model. It changes nothing that is stored: it runs while the
// message is written.
func (s *Service) load(ctx context.Context, w strategy, message conversation.Message) error {
	x := w.state()
	var snapshot eligibility.Snapshot
	var reads errgroup.Group
	reads.Go(func() (err error) { snapshot, err = s.equip(ctx, x.req, x.chat, nil, w.equip); return })
	for _, load := range w.loaders(ctx, message) {
		reads.Go(load)
	}
	if err := reads.Wait(); err != nil {
		return err
	}
	if err := w.prepare(snapshot); err != nil {
		return err
	}
	x.automation, x.block = snapshot.Automation(), x.query.Resolve(x.calls, snapshot)
	return nil
}

// equip reads the account's settings, and hands them to take. The agent of a job works; nil: the one that the chat chose.
func (s *Service) equip(ctx context.Context, req Request, chat conversation.Chat, working *actor,
	take func(context.Context, setup.Setup) error,
) (eligibility.Snapshot, error) {
	account, of := req.Principal.Account, setup.Of{Account: req.Principal.Account, ProjectID: chat.ProjectID, Agent: chat.Agent}
	if req.Route != nil {
		of.Routed, of.Company = true, req.Route.Persona.Company
	}
	set, err := s.Setups.Setup(ctx, of)
	if err != nil {
		return eligibility.Snapshot{}, err
	}
	acting, err := actorOf(chat, set.Agent)
	if err != nil {
		return eligibility.Snapshot{}, err
	}
	if working != nil {
		acting = *working
	}
	asked := acting.Asked(question(account, chat))
	var snapshot eligibility.Snapshot
	var reads errgroup.Group
	reads.Go(func() (err error) {
		snapshot, err = s.Paid.Eligibility.Snapshot(ctx, asked, set.AI)
		return err
	})
	reads.Go(func() error { return take(ctx, set) })
	return snapshot, reads.Wait()
}

func question(account ids.Account, chat conversation.Chat) eligibility.Question {
	return eligibility.Question{Account: account, ProjectID: chat.ProjectID, Mode: eligibility.Mode(chat.Automation)}
}
