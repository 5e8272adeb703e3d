package turn

import (
	"context"
	"errors"
	"slices"
	"time"

	"piloto/internal/auth"
	"piloto/internal/conversation"
	"piloto/internal/eligibility"
	"piloto/internal/llm"
	"piloto/internal/locale"
	"piloto/internal/parallel"
)

// modelTime is what all calls of the model, and the delay before them, may take
// together: an HTTP API gives up after 30 s, and the person must be told before
// that.
const modelTime = 25 * time.Second

// answerTime is how long a message is somebody's to answer.
const answerTime = modelTime + 5*time.Second

// ErrTaken is a message that somebody else is answering.
var ErrTaken = errors.New("turn: it is being answered")

// answer stores the message and has it answered.
func (s *Service) answer(ctx context.Context, req Request, chat conversation.Chat) (Reply, error) {
	at := s.Now()
	return s.respond(ctx, req, chat, s.said(req, at), func(said conversation.Message) (conversation.Chat, error) {
		return s.add(ctx, req, chat, at, said)
	})
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
	account, at := req.Principal.Account, s.Now()
	said, busy, err := s.open(ctx, account, chat, at)
	if err == nil && said.ID != "" && !busy {
		err = s.Store.TakeAnswer(ctx, account, chat.ID, said.ID, at, at.Add(answerTime))
		busy = errors.Is(err, ErrTaken)
	}
	switch {
	case busy:
		return s.aside(req, chat, "turn.being_answered"), nil
	case err != nil:
		return Reply{}, err
	case said.ID == "":
		return s.text(ctx, req, chat, conversation.KindNotice, locale.Text(req.Locale, "turn.nothing_to_answer"), nil)
	}
	defer func() {
		over := context.WithoutCancel(ctx)
		if err := s.Store.TakeAnswer(over, account, chat.ID, said.ID, at.Add(answerTime), s.Now()); err != nil {
			s.Log.WarnContext(over, "turn.answer_kept", "chat_id", chat.ID, "error", err) // until its time is over
		}
	}()
	// Whoever had it before may have answered it since it was read.
	if again, _, err := s.open(ctx, account, chat, at); err != nil || again.ID != said.ID {
		return s.aside(req, chat, "turn.nothing_to_answer"), err
	}
	req.Message, req.asked = said.Content, true
	return s.respond(ctx, req, chat, said, func(conversation.Message) (conversation.Chat, error) { return chat, nil })
}

// open is the message of a chat that nothing answered, none when there is none;
// busy says that the turn it came with is still at it.
func (s *Service) open(ctx context.Context, account string, chat conversation.Chat, at time.Time) (said conversation.Message, busy bool, err error) {
	messages, err := s.newest(ctx, account, chat.ID)
	said, ok := unanswered(messages)
	if err != nil || !ok {
		return conversation.Message{}, false, err
	}
	last := messages[len(messages)-1].ID == said.ID
	return said, last && at.Before(said.At.Add(answerTime)) && chat.Automation != string(eligibility.Manual), nil
}

// unanswered is the last message of a person, when neither an answer nor a plan
// came after it.
func unanswered(messages []conversation.Message) (conversation.Message, bool) {
	for _, m := range slices.Backward(messages) {
		switch {
		case m.Role == conversation.RoleUser:
			return m, true
		case m.Kind == conversation.KindText || m.Kind == conversation.KindPlan || m.Kind == conversation.KindFinal:
			return m, false
		}
	}
	return conversation.Message{}, false
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

// respond gathers what the model needs, decides whether it may be asked, and lets
// it answer what was said.
func (s *Service) respond(ctx context.Context, req Request, chat conversation.Chat, said conversation.Message,
	store func(conversation.Message) (conversation.Chat, error),
) (reply Reply, err error) {
	account, began := req.Principal.Account, s.Now()
	asking, cancel := context.WithTimeout(ctx, modelTime)
	defer cancel()
	var g gathered
	var snapshot eligibility.Snapshot
	var stored error
	var told conversation.Chat
	failed := parallel.Do(
		func() error { told, stored = store(said); return stored },
		func() (err error) { g.talk, err = s.loadTalk(ctx, req, chat, said); return },
		func() (err error) { g.project, err = s.loadProject(ctx, req, chat); return },
		func() (err error) { g.listed, err = s.loadCatalogue(ctx, req); return },
		func() (err error) { snapshot, err = s.Eligibility.Read(ctx, question(account, chat)); return },
		func() error { g.watched = s.Tell.Watched(ctx, account); return nil },
	)
	if stored != nil {
		return Reply{}, stored
	}
	if chat = told; failed == nil {
		over, joined, err := s.automate(asking, req, chat, said, began, snapshot, &g)
		if over || err != nil {
			return joined, err
		}
	}
	m := s.meter(req, chat, s.Now())
	defer func() { m.settle(ctx, reply, err) }()
	if failed != nil {
		s.Log.ErrorContext(ctx, "turn.gather_failed", "chat_id", chat.ID, "error", failed)
		return s.blocked(ctx, req, chat, eligibility.Refuse(eligibility.InternalError, "", req.Locale))
	}
	g.listed = allowed(g.listed, g.project)
	d := dialog{Service: s, req: req, chat: chat, gathered: g, meter: m, began: began}
	block, err := d.prepare(snapshot)
	switch {
	case err != nil:
		return Reply{}, err
	case block != nil:
		return s.blocked(ctx, req, chat, block)
	}
	if reply, err = d.converse(ctx, asking); err == nil {
		return reply, nil
	}
	s.Log.ErrorContext(ctx, "turn.failed", "chat_id", chat.ID, "error", err)
	blocked, untold := s.blocked(context.WithoutCancel(ctx), req, chat, eligibility.Refuse(eligibility.InternalError, "", req.Locale))
	if untold != nil { // the store takes nothing: whoever asked is told, and nobody else can be
		return Reply{}, err
	}
	return blocked, nil
}

func question(account string, chat conversation.Chat) eligibility.Question {
	return eligibility.Question{Account: account, ProjectID: chat.ProjectID, Mode: eligibility.Mode(chat.Automation)}
}

// automate holds a chat to when it is answered: not before somebody asks, or
// after the delay, and then the last of the messages that came within it.
func (s *Service) automate(ctx context.Context, req Request, chat conversation.Chat, said conversation.Message,
	began time.Time, snapshot eligibility.Snapshot, g *gathered,
) (over bool, reply Reply, err error) {
	automation := snapshot.Automation()
	if req.asked {
		return false, Reply{}, nil
	}
	if automation.Mode == eligibility.Manual {
		reply, err = s.text(ctx, req, chat, conversation.KindNotice, locale.Text(req.Locale, "turn.manual"), nil)
		return true, reply, err
	}
	delay := time.Duration(automation.DelayMS) * time.Millisecond
	if automation.Mode != eligibility.Automatic || delay <= 0 {
		return false, Reply{}, nil
	}
	select {
	case <-ctx.Done():
		return true, Reply{}, ctx.Err()
	case <-time.After(min(delay, eligibility.MaxDelay)):
	}
	if stop, err := s.Store.StopAsked(ctx, req.Principal.Account, chat.ID); err == nil && !stop.Before(began.Truncate(time.Millisecond)) {
		reply, err = s.text(ctx, req, chat, conversation.KindNotice, locale.Text(req.Locale, "turn.stopped"), nil)
		return true, reply, err
	}
	if g.talk, err = s.loadTalk(ctx, req, chat, said); err != nil {
		return true, Reply{}, err
	}
	if !g.later {
		return false, Reply{}, nil
	}
	return true, s.aside(req, chat, "turn.joined"), nil // the other message's turn answers both
}

// aside answers whoever asked with a sentence that is not stored: another turn's
// answer is what there is to read in the chat.
func (s *Service) aside(req Request, chat conversation.Chat, key string) Reply {
	answer := s.message(conversation.RoleAssistant, conversation.KindNotice, s.Now(), locale.Text(req.Locale, key))
	return Reply{Kind: KindNotice, Message: answer, Chat: chat}
}

// prepare writes the prompt and decides who answers it.
func (d *dialog) prepare(snapshot eligibility.Snapshot) (*eligibility.Block, error) {
	if snapshot.Assistant != nil {
		d.persona = snapshot.Assistant.Persona
	}
	system, err := d.prompt()
	if err != nil {
		return nil, err
	}
	d.messages = append([]llm.Message{{Role: llm.System, Content: system}}, d.history...)
	snapshot.Need.Input = llm.Request{Messages: d.messages, Tools: offered}.Estimate()
	plan, block := eligibility.Resolve(snapshot, d.req.Locale)
	if d.use = plan; plan != nil && plan.Swap != nil {
		d.first = eligibility.Refuse(plan.Swap.Reason, plan.Swap.Preferred, d.req.Locale)
	}
	return block, nil
}

// errBlocked is a call that may not be made; Block says why.
type errBlocked struct{ block *eligibility.Block }

func (e errBlocked) Error() string { return "turn: blocked: " + string(e.block.Reason) }

// ask calls the model that the plan names, and while that fails at the provider
// the next ones that the assistant lists. What a call may cost is held before it.
func (d *dialog) ask(ctx context.Context, force bool) (llm.Reply, error) {
	for {
		r := llm.Request{
			Model: d.use.Model, Messages: d.messages, Tools: offered, Force: force,
			Temperature: d.use.Assistant.Temperature, MaxTokens: d.use.Estimate.Output,
		}
		why, err := d.meter.cover(ctx, d.use, r)
		if err != nil {
			return llm.Reply{}, err
		}
		refused := false
		if why == "" {
			answer, err := d.call(ctx, r)
			if err == nil || errors.Is(context.Cause(ctx), errStopped) {
				return answer, err
			}
			known := false
			if why, known = eligibility.Because(err); !known {
				return llm.Reply{}, err
			}
			refused = true
			d.Log.WarnContext(ctx, "model.failed", "provider", d.use.Provider, "model", d.use.Model, "reason", why, "error", err)
			d.Eligibility.Met(ctx, d.req.Principal.Account, d.use.Provider, err)
		}
		if d.first == nil { // when nobody answers, it is the preferred one that is spoken of
			d.first = d.refuse(ctx, why, refused)
		}
		next, ok := d.use.Next(why, d.req.Locale)
		if !ok {
			return llm.Reply{}, errBlocked{d.first}
		}
		d.Log.WarnContext(ctx, "turn.fallback", "turn_id", d.meter.turn.ID, "preferred", d.use.Provider, "reason", why, "provider", next.Provider, "model", next.Model)
		d.use = next
	}
}

// call makes one call, with its retries. While others may stand in, one provider
// does not take all the time there is.
func (d *dialog) call(ctx context.Context, r llm.Request) (llm.Reply, error) {
	if deadline, ok := ctx.Deadline(); ok && len(d.use.Rest) > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, deadline.Sub(d.Now())*3/5)
		defer cancel()
	}
	model, err := d.Models.Model(ctx, d.req.Principal.Account, d.use.Candidate)
	if err != nil {
		return llm.Reply{}, err
	}
	if d.writing.shown {
		d.writing.Reset()
		r.Sink = d.writing
	}
	answer, err := d.Retry.Complete(ctx, model, r, d.meter.watch(d.use))
	if err == nil || answer.Text != "" {
		d.meter.used(d.use, answer)
	}
	if err == nil {
		d.Log.InfoContext(ctx, "model.answered", "turn_id", d.meter.turn.ID, "provider", d.use.Provider, "model", answer.Model,
			"tokens_in", answer.Usage.Input, "tokens_out", answer.Usage.Output, "estimated", answer.Usage.Estimated,
			"cost_micros", d.meter.turn.Micros, "tool_calls", len(answer.Calls), "preferred", d.by().Preferred, "because", d.by().Reason)
	}
	return answer, err
}

// refuse is the block for a reason that came up on the way; refused says that the
// provider gave it.
func (d *dialog) refuse(ctx context.Context, why eligibility.Reason, refused bool) *eligibility.Block {
	if refused {
		return eligibility.RefusedBy(why, d.use.Provider, d.req.Locale)
	}
	block := eligibility.Refuse(why, d.use.Provider, d.req.Locale)
	if why == eligibility.InsufficientCredits {
		if standing, err := d.Credit.Store.Standing(ctx, d.req.Principal.Account, d.Now()); err == nil {
			block.CreditBalance = &standing.Balance
		}
	}
	return block
}

// by says who answers.
func (d *dialog) by() *conversation.By {
	by := &conversation.By{Provider: d.use.Provider, Model: d.use.Model}
	if swap := d.use.Swap; swap != nil {
		by.Preferred, by.Reason = swap.Preferred, string(swap.Reason)
	}
	return by
}
