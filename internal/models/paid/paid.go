// Package paid calls language models, and pays for the calls. It is the one way to a provider: it holds the highest cost of
// a call before the call, makes it, and counts its usage. When a provider fails, or a call of it cannot be paid, it goes on
// with the next one that the assistant lists for that reason. At the end it settles the hold with the record of the usage.
//
// Invariants: no call is made before its cost is held, where it costs credits or a limit is set. A hold is settled at most
// once. The hold of a process that died has the id of its record: settling that record again charges nothing twice, and
// the sweep of credit releases a hold that nobody settles.
package paid

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"piloto/internal/ground/failpoint"
	"piloto/internal/ground/ids"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
)

// SettleTime bounds the time to settle or to release a hold.
const SettleTime = 3 * time.Second

// mostKept is the largest number of attempts in a record.
const mostKept = 40

// Service has the dependencies of calls.
type Service struct {
	Eligibility *eligibility.Service
	Credit      *credit.Service
	Models      eligibility.Models
	Retry       llm.Retry
	Log         *slog.Logger
	Learns      bool // what the calls show of a model is stored for other processes

	ratios llm.Ratios // by model and address, as the usage of this process showed them
}

// Calls are the calls of one model for one purpose: they have one hold and one record. They are for one goroutine.
type Calls struct {
	Use   *eligibility.Selection // the model, which Ask replaces; nil before Resolve
	First *eligibility.Block     // of the preferred provider, once it was replaced

	Hold credit.Hold
	Turn credit.Turn // the record of the usage; its ID is also the id of the hold

	Reserve  Reserve // held beside each call
	Reserved bool    // it was held
	Beside   int64   // millionths of a US dollar that other calls cost, and that count in the limit of these

	// Alone, if not nil, makes the calls exclusive: the hold is taken although the call costs nothing. It is called once the
	// hold is taken, and its error keeps the call from being made.
	Alone func(ctx context.Context) error

	Session string // the ledger's reason for a credit session that is bought for a call

	service *Service
	account ids.Account
	short   int   // tokens for which no credits were found last
	needed  int64 // micro-USD that the last call may have cost
	open    bool  // a record was begun, and is not settled
}

// Reserve is the size of a further call that is held together with another one, so that it can be made when nothing else
// can.
type Reserve struct {
	Input, Output int // tokens
}

// Blocked is the error of a call that may not be made, or that no provider answered.
type Blocked struct{ Block *eligibility.Block }

// Error implements error.
func (b Blocked) Error() string { return "paid: blocked: " + string(b.Block.Reason) }

// New returns calls of an account, without a record.
func (s *Service) New(account ids.Account) *Calls { return &Calls{service: s, account: account} }

// Left returns the calls of a process that died, which the caller is to settle.
func (s *Service) Left(account ids.Account, turn credit.Turn) *Calls {
	c := s.New(account)
	c.Begin(turn)
	c.Hold.Asked = true
	return c
}

// Apart returns calls of the same model that have a hold and a record of their own.
func (c *Calls) Apart(turn credit.Turn) *Calls {
	other := c.service.New(c.account)
	other.Session = c.Session
	other.Use, other.First = c.Use, c.First
	other.Begin(turn)
	return other
}

// Begin begins a record, and a hold with its id.
func (c *Calls) Begin(turn credit.Turn) {
	c.Turn, c.Hold, c.open = turn, credit.Hold{ID: turn.ID, Account: c.account, For: turn}, true
}

// Begun reports whether a record was begun.
func (c *Calls) Begun() bool { return c.Turn.ID != "" }

// IsOpen reports whether a record was begun and is not settled.
func (c *Calls) IsOpen() bool { return c.open }

// Block notes in the record that a block ended the calls. The provider whose usage was counted stays: the block may name
// another one.
func (c *Calls) Block(b *eligibility.Block) {
	c.Turn.Outcome, c.Turn.Reason, c.Turn.Provider = credit.OutcomeBlocked, string(b.Reason), cmp.Or(c.Turn.Provider, b.Provider)
}

// Resolve chooses the model, or returns the block that keeps the calls from being made.
func (c *Calls) Resolve(snapshot eligibility.Snapshot) *eligibility.Block {
	use, block := eligibility.Resolve(snapshot)
	if c.Use, c.First = use, nil; use != nil && use.Swap != nil {
		c.First = eligibility.Refuse(use.Swap.Reason, use.Swap.Preferred)
	}
	return block
}

// Narrow takes the window that the provider has named for the chosen model, if it is smaller than was assumed.
func (c *Calls) Narrow(ctx context.Context) {
	model, err := c.service.Models.Model(ctx, c.account, c.Use.Candidate)
	if err != nil {
		return // the call has the same error
	}
	if known, ok := model.(llm.Windowed); ok {
		c.Use.Narrow(known.Window(c.Use.Model))
	}
}

// Ask makes one call of the chosen model. When its provider fails, or the call cannot be paid, it calls the next models that
// the assistant lists. build returns the request for the model that is chosen then (Use). The error is one of build or of
// Alone, a Blocked that names the preferred provider, one with the cause llm.TooLong, after which a smaller window is known, or internal. When the caller ended ctx for a cause of its own, no
// other model is called, and the reply holds the text up to then.
func (c *Calls) Ask(ctx context.Context, build func() (llm.Request, error)) (llm.Reply, error) {
	for {
		c.Narrow(ctx)
		r, err := build()
		if err != nil {
			return llm.Reply{}, err
		}
		answer, err := c.Once(ctx, r)
		if err == nil && c.Use.Rejected {
			c.service.Eligibility.RecordHealth(ctx, c.account, c.Use.Provider, nil)
		}
		blocked, unpaid := errors.AsType[Blocked](err)
		if err == nil || !unpaid && !errors.Is(context.Cause(ctx), ctx.Err()) {
			return answer, err
		}
		if !unpaid {
			why, known := eligibility.ReasonOf(err)
			if !known || llm.CauseOf(err) == llm.TooLong {
				return llm.Reply{}, err
			}
			c.service.Log.WarnContext(ctx, "model.failed", "provider", c.Use.Provider, "model", c.Use.Model, "reason", why, "error", err)
			blocked.Block = eligibility.RefusedBy(why, c.Use.Provider).For(err)
			if cause := blocked.Block.Cause; cause != llm.Filtered && cause != llm.CutShort { // these are of one request
				c.service.Eligibility.RecordHealth(ctx, c.account, c.Use.Provider, err)
			}
		}
		c.First = cmp.Or(c.First, blocked.Block) // when every provider fails, the block names the preferred one
		next, ok := c.Use.Next(blocked.Block.Reason)
		if !ok {
			return llm.Reply{}, Blocked{c.First}
		}
		c.service.Log.WarnContext(ctx, "turn.fallback", "turn_id", c.Turn.ID, "preferred", c.Use.Provider, "reason", blocked.Block.Reason, "provider", next.Provider, "model", next.Model)
		c.Use = next
	}
}

// Once holds the cost of one call of the chosen model, and makes it. It calls no other model. It returns a Blocked when the
// call cannot be paid; then it was not made.
func (c *Calls) Once(ctx context.Context, r llm.Request) (llm.Reply, error) {
	first := c.Hold.At.IsZero()
	why, err := c.cover(ctx, r)
	if err == nil && why != "" {
		err = Blocked{c.refuse(ctx, why)}
	}
	if err == nil && first && c.Alone != nil {
		err = c.Alone(ctx)
	}
	if err != nil {
		return llm.Reply{}, err
	}
	return c.call(ctx, r)
}

// call makes one call, with its retries. While other providers remain, one provider gets only part of the time.
func (c *Calls) call(ctx context.Context, r llm.Request) (llm.Reply, error) {
	if deadline, ok := ctx.Deadline(); ok && len(c.Use.Rest) > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, deadline.Sub(c.service.Retry.Now())*3/5)
		defer cancel()
	}
	model, err := c.service.Models.Model(ctx, c.account, c.Use.Candidate)
	if err != nil {
		return llm.Reply{}, err
	}
	if r.Sink != nil {
		r.Sink.Reset()
	}
	cut := false
	failpoint.Here("turn.model.before")
	answer, err := c.service.Retry.Complete(ctx, model, r, func(a llm.Attempt) {
		cut = a.Outcome == llm.ErrStopped.Code
		if a.Provider = cmp.Or(a.Provider, c.Use.Provider); len(c.Turn.Attempts) < mostKept {
			c.Turn.Attempts = append(c.Turn.Attempts, a)
		}
	})
	failpoint.Here("turn.model.after")
	c.learn(ctx, model)
	if cut && answer.Text == "" { // the model has read the prompt, although nothing of its answer is known
		answer.Usage = llm.Usage{Input: r.Estimate(), Estimated: true}
	}
	if err == nil || cut || answer.Text != "" {
		c.Count(answer.Usage)
	}
	if err == nil {
		c.service.ratios.Learn(c.measured(), r, answer.Usage)
		c.service.Log.InfoContext(ctx, "model.answered", "turn_id", c.Turn.ID, "provider", c.Use.Provider, "model", answer.Model,
			"tokens_in", answer.Usage.Input, "tokens_out", answer.Usage.Output, "estimated", answer.Usage.Estimated,
			"cost_micros", c.Turn.Micros, "tool_calls", len(answer.Calls), "preferred", c.Turn.Preferred, "because", c.Turn.Because)
	}
	return answer, err
}

// learn stores what the client has learned of the chosen model, if it is new. Without it another process asks in vain again.
func (c *Calls) learn(ctx context.Context, model llm.Model) {
	client, ok := model.(llm.Learner)
	if !ok || !c.service.Learns {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), SettleTime)
	defer cancel()
	known, err := c.service.Eligibility.Learn(ctx, c.account, c.Use.Candidate, client.Learned(c.Use.Model))
	if err != nil {
		c.service.Log.WarnContext(ctx, "model.lesson_lost", "provider", c.Use.Provider, "model", c.Use.Model, "error", err)
		return
	}
	c.Use.Known = known
}

// CharsPerToken returns how many characters of a request make one token of the chosen model, as its usage showed; 3.5
// before its first answer. It is for the size of a part of a prompt: holds count by Estimate, which is never too low.
func (c *Calls) CharsPerToken() float64 {
	if c.Use == nil {
		return llm.FirstRatio
	}
	return c.service.ratios.Of(c.measured())
}

// measured returns the name under which the ratio of the chosen model is kept.
func (c *Calls) measured() string { return c.Use.BaseURL + " " + c.Use.Model }

// Count adds the usage of a call to the record. Negative numbers of the provider count as 0. Tokens that the provider read
// from its cache are charged at its price; tokens of a session count in full.
func (c *Calls) Count(u llm.Usage) {
	u.Input, u.Output = max(0, u.Input), max(0, u.Output)
	u.Cached = min(max(0, u.Cached), u.Input)
	t := &c.Turn
	t.Provider, t.Model, t.Priced = c.Use.Provider, c.Use.Model, string(c.Use.Estimate.Priced)
	swap := cmp.Or(c.Use.Swap, &eligibility.Swap{})
	t.Preferred, t.Because = swap.Preferred, string(swap.Reason)
	t.Input, t.Cached, t.Output, t.Estimated = t.Input+u.Input, t.Cached+u.Cached, t.Output+u.Output, t.Estimated || u.Estimated
	t.Micros += c.Use.Price.CostOf(u)
	if c.Use.RequiresCredits {
		t.Charged += u.Input + u.Output
	}
}

// Settle ends the hold and writes the record, once. When that fails, the sweep releases the hold.
func (c *Calls) Settle(ctx context.Context) error {
	if !c.open {
		return nil
	}
	c.open = false
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), SettleTime)
	defer cancel()
	return c.service.Credit.Settle(ctx, c.Hold, c.Turn)
}

// Release gives back the hold of a call that was not made.
func (c *Calls) Release(ctx context.Context) error {
	if !c.Hold.Asked {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), SettleTime)
	defer cancel()
	return c.service.Credit.Drop(ctx, c.Hold)
}
