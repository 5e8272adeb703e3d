package turn

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"piloto/internal/chats/window"
	"piloto/internal/conversation"
	"piloto/internal/ground/failpoint"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
)

// modelCaller makes the model calls of one turn: it chooses the model, holds the cost and falls
// back to another provider.
type modelCaller struct {
	models   eligibility.Models
	retry    llm.Retry
	standing credit.StandingReader
	health   func(ctx context.Context, account, provider string, err error) // records a result of a provider
	now      func() time.Time
	log      *slog.Logger

	req   Request
	chat  conversation.Chat
	began time.Time
	meter *meter
	use   *eligibility.Selection
	first *eligibility.Block // block of the preferred provider, after the fallback to another

	sources     []conversation.Source // the reads that were made for the answer
	messages    []llm.Message
	answered    int // index of the message that is answered: what stands before it may be dropped
	tools       []llm.Tool
	format      *llm.Format   // of the answer; nil: text and tool calls
	least       int           // tokens that the answer may have at least, whatever the assistant's are
	temperature *float64      // nil: the assistant's
	writing     *answerStream // nil: the answer is not streamed
	seam        *seam         // of an answer that goes on; nil: none does

	closes    bool // a closing call is held beside each call
	closeHeld bool // it is held now
	closeFor  int  // size of its prompt, in tokens
}

func (s *Service) modelCaller(req Request, chat conversation.Chat) modelCaller {
	return modelCaller{
		models: s.Models, retry: s.Retry, standing: s.Credit, health: s.Eligibility.RecordHealth, now: s.Now, log: s.Log,
		req: req, chat: chat,
	}
}

// resolve chooses the model, or returns the block that keeps the turn from running.
func (q *modelCaller) resolve(snapshot eligibility.Snapshot) *eligibility.Block {
	snapshot.Need.Input = q.request().Estimate()
	plan, block := eligibility.Resolve(snapshot)
	if q.use = plan; plan != nil && plan.Swap != nil {
		q.first = eligibility.Refuse(plan.Swap.Reason, plan.Swap.Preferred)
	}
	return block
}

// request builds one call of the chosen model.
func (q *modelCaller) request() llm.Request {
	r := llm.Request{Messages: q.messages, Tools: q.tools, Format: q.format}
	if q.use != nil {
		r.Model, r.Temperature = q.use.Model, q.use.Assistant.Temperature
		r.MaxTokens = max(q.use.Estimate.Output, min(q.least, q.use.Window/2))
	}
	if q.temperature != nil {
		r.Temperature = *q.temperature
	}
	return r
}

// errContextFull is the error of a call that is too large for the model, although all was dropped that may be.
var errContextFull = errors.New("turn: the request is too large for the model")

// fit drops from a request what the model has no room for.
func (q *modelCaller) fit(ctx context.Context, r *llm.Request) error {
	kept, fits := window.Fit(*r, q.use.Window, q.answered)
	if dropped := len(r.Messages) - len(kept); dropped > 0 {
		q.log.InfoContext(ctx, "turn.window", "turn_id", q.meter.Turn.ID, "model", q.use.Model, "window", q.use.Window, "dropped", dropped, "fits", fits)
	}
	r.Messages = kept
	if !fits {
		return errContextFull
	}
	return nil
}

// errBlocked is the error of a call that may not be made. block holds the reason.
type errBlocked struct{ block *eligibility.Block }

func (e errBlocked) Error() string { return "turn: blocked: " + string(e.block.Reason) }

// ask calls the model of the plan. An answer that was cut at its token limit is continued once. Its calls have ids that no
// other call of the conversation has.
func (q *modelCaller) ask(ctx context.Context) (llm.Reply, error) {
	answer, err := q.askOnce(ctx)
	if err == nil && answer.Length && q.format == nil {
		answer, err = q.goOn(ctx, answer)
	}
	answer.Calls = llm.Distinct(answer.Calls, q.messages)
	return answer, err
}

// askOnce calls the model of the plan. When the provider fails, it calls the next models that the
// assistant lists. It holds the cost before each call.
func (q *modelCaller) askOnce(ctx context.Context) (llm.Reply, error) {
	for {
		r := q.request()
		if err := q.fit(ctx, &r); err != nil {
			return llm.Reply{}, err
		}
		why, err := q.cover(ctx, r)
		if err != nil {
			return llm.Reply{}, err
		}
		refused := false
		if why == "" {
			answer, err := q.call(ctx, r)
			if err == nil && q.use.Rejected {
				q.health(ctx, q.req.Principal.Account, q.use.Provider, nil)
			}
			if err == nil || endedByUs(ctx) {
				return answer, err
			}
			known := false
			if why, known = eligibility.ReasonOf(err); !known {
				return llm.Reply{}, err
			}
			refused = true
			q.log.WarnContext(ctx, "model.failed", "provider", q.use.Provider, "model", q.use.Model, "reason", why, "error", err)
			q.health(ctx, q.req.Principal.Account, q.use.Provider, err)
		}
		if q.first == nil { // when every provider fails, the block names the preferred one
			q.first = q.blockFor(ctx, why, refused)
		}
		next, ok := q.use.Next(why)
		if !ok {
			return llm.Reply{}, errBlocked{q.first}
		}
		q.log.WarnContext(ctx, "turn.fallback", "turn_id", q.meter.Turn.ID, "preferred", q.use.Provider, "reason", why, "provider", next.Provider, "model", next.Model)
		q.use = next
	}
}

// endedByUs reports whether a call ended because a person stopped it, or because the time of the agent is over: the
// provider did not fail.
func endedByUs(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, errStopped) || errors.Is(cause, errAgentTime)
}

// call makes one call, with its retries. While other providers remain, one provider gets only
// part of the time.
func (q *modelCaller) call(ctx context.Context, r llm.Request) (llm.Reply, error) {
	if deadline, ok := ctx.Deadline(); ok && len(q.use.Rest) > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, deadline.Sub(q.now())*3/5)
		defer cancel()
	}
	model, err := q.models.Model(ctx, q.req.Principal.Account, q.use.Candidate)
	if err != nil {
		return llm.Reply{}, err
	}
	if q.writing != nil && q.writing.shown {
		q.writing.Reset()
		if r.Sink = q.writing; q.seam != nil {
			q.seam.held, q.seam.passing = "", false
			r.Sink = q.seam
		}
	}
	failpoint.Here("turn.model.before")
	watch, cut := q.meter.Watch(q.use), false
	answer, err := q.retry.Complete(ctx, model, r, func(a llm.Attempt) { cut = a.Outcome == llm.ErrStopped.Code; watch(a) })
	failpoint.Here("turn.model.after")
	if cut && answer.Text == "" { // the model has read the prompt, although nothing of its answer is known
		answer.Usage = llm.Usage{Input: r.Estimate(), Estimated: true}
	}
	if err == nil || cut || answer.Text != "" {
		q.meter.Count(q.use, answer)
	}
	if err == nil {
		q.log.InfoContext(ctx, "model.answered", "turn_id", q.meter.Turn.ID, "provider", q.use.Provider, "model", answer.Model,
			"tokens_in", answer.Usage.Input, "tokens_out", answer.Usage.Output, "estimated", answer.Usage.Estimated,
			"cost_micros", q.meter.Turn.Micros, "tool_calls", len(answer.Calls), "preferred", q.by().Preferred, "because", q.by().Reason)
	}
	return answer, err
}

// blockFor returns the block for a reason that came up during the turn. refused reports that the
// provider gave the reason.
func (q *modelCaller) blockFor(ctx context.Context, why eligibility.Reason, refused bool) *eligibility.Block {
	if refused {
		return eligibility.RefusedBy(why, q.use.Provider)
	}
	block := eligibility.Refuse(why, q.use.Provider)
	if why == eligibility.InsufficientCredits {
		if standing, err := q.standing.Standing(ctx, q.req.Principal.Account, q.now()); err == nil {
			block.CreditBalance, block.Missing = &standing.Balance, q.use.Policy.Missing(standing.Balance, q.meter.Short)
		}
	}
	return block
}

// blockedReply returns the reply of a turn in which no model answered: it is blocked, or an
// internal error occurred.
func (s *Service) blockedReply(ctx context.Context, q *modelCaller, err error) (Reply, error) {
	ctx = context.WithoutCancel(ctx)
	if blocked, ok := errors.AsType[errBlocked](err); ok {
		return s.storeBlock(ctx, q.req, q.chat, blocked.block, q.sources...)
	}
	s.Log.ErrorContext(ctx, "turn.failed", "chat_id", q.chat.ID, "error", err)
	return s.storeBlock(ctx, q.req, q.chat, eligibility.Refuse(eligibility.InternalError, ""), q.sources...)
}

// by returns the model that answers.
func (q *modelCaller) by() *conversation.By {
	by := &conversation.By{Agent: q.chat.Agent, Provider: q.use.Provider, Model: q.use.Model}
	if swap := q.use.Swap; swap != nil {
		by.Preferred, by.Reason = swap.Preferred, string(swap.Reason)
	}
	return by
}
