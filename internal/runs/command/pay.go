package command

import (
	"context"
	"strconv"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// ask calls the selected model, and if its provider fails, the further models that the assistant
// lists. The greatest cost of each call is held before it.
func (a *reasoning) ask(ctx context.Context, use *eligibility.Selection, r llm.Request) (llm.Reply, *eligibility.Block, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var first *eligibility.Block
	for {
		r.Model, r.Temperature = use.Model, use.Assistant.Temperature
		a.Turn.Provider, a.Turn.Model, a.Turn.Priced = use.Provider, use.Model, string(use.Estimate.Priced)
		if swap := use.Swap; swap != nil {
			a.Turn.Preferred, a.Turn.Because = swap.Preferred, string(swap.Reason)
		}
		block, err := a.cover(ctx, use, r)
		if err != nil {
			return llm.Reply{}, nil, err
		}
		if block == nil {
			answer, err := a.call(ctx, use, r)
			if err == nil {
				return answer, nil, nil
			}
			why, known := eligibility.ReasonOf(err)
			if !known {
				return llm.Reply{}, nil, err
			}
			a.service.Log.WarnContext(ctx, "model.failed", "provider", use.Provider, "model", use.Model, "reason", why, "error", err)
			a.service.Eligibility.RecordHealth(context.WithoutCancel(ctx), a.run.Account, use.Provider, err)
			block = eligibility.RefusedBy(why, use.Provider)
		}
		if first == nil { // when no model responds, the message names the preferred one
			first = block
		}
		next, ok := use.Next(block.Reason)
		if !ok {
			return llm.Reply{}, first, nil
		}
		use = next
	}
}

// call makes one call, with its retries, and records its usage.
func (a *reasoning) call(ctx context.Context, use *eligibility.Selection, r llm.Request) (llm.Reply, error) {
	model, err := a.service.Models.Model(ctx, a.run.Account, use.Candidate)
	if err != nil {
		return llm.Reply{}, err
	}
	answer, err := a.service.Retry.Complete(ctx, model, r, a.Watch(use))
	if err == nil || answer.Text != "" {
		a.Count(use, answer)
	}
	return answer, err
}

// cover makes the hold cover one call. A free call needs it too, because the hold ensures that
// there is only one call. cover returns the block if the account cannot pay, credit.ErrAlreadyWritten when
// another invocation has the hold, and any internal error.
func (a *reasoning) cover(ctx context.Context, use *eligibility.Selection, r llm.Request) (*eligibility.Block, error) {
	first := a.Hold.At.IsZero()
	why, err := a.Cover(ctx, use, r, locale.Text(a.tag, "command.session"))
	switch {
	case err != nil:
		return nil, err
	case why != "":
		return eligibility.Refuse(why, use.Provider), nil
	case !first:
		return nil, nil
	}
	// A previous holder may already have finished.
	now, err := a.service.Store.Run(ctx, a.run.Account, a.run.ID)
	if err == nil && !isDue(now, a.step.ID) {
		err = errReasoned
	}
	return nil, err
}

// settle ends the hold and writes the usage record, once. The sweep releases a hold that cannot be
// settled.
func (a *reasoning) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	if err := a.Credit.Settle(ctx, a.Hold, a.Turn); err != nil {
		a.service.Log.ErrorContext(ctx, "command.unsettled", "turn_id", a.Turn.ID, "micros", a.Turn.Micros, "tokens", a.Turn.Charged, "error", err)
	}
}

// release releases the hold for a call that was not made.
func (a *reasoning) release(ctx context.Context) {
	if !a.Hold.Asked {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	if err := a.Credit.Drop(ctx, a.Hold); err != nil {
		a.service.Log.WarnContext(ctx, "command.unreleased", "turn_id", a.Turn.ID, "error", err)
	}
}

// messages returns the chat's message about the step.
func (a *reasoning) messages(r plan.Run, key string, at time.Time, more ...any) []conversation.Message {
	args := append([]any{"at", position(r.Plan, a.step.ID), "n", len(r.Plan.Steps), "title", a.step.Title}, more...)
	return []conversation.Message{run.Message(a.service.IDs, r, conversation.KindProgress, at, a.tag, locale.Say(key, args...))}
}

func itoa(n int) string { return strconv.Itoa(n) }
