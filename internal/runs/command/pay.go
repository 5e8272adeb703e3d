package command

import (
	"context"
	"errors"
	"strconv"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// ask calls the model that was chosen, and while that fails at the provider the next
// ones that the assistant lists. What a call may cost is held before it.
func (a *asking) ask(ctx context.Context, use *eligibility.Plan, r llm.Request) (llm.Reply, *eligibility.Block, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
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
			why, known := eligibility.Because(err)
			if !known {
				return llm.Reply{}, nil, err
			}
			a.Log.WarnContext(ctx, "model.failed", "provider", use.Provider, "model", use.Model, "reason", why, "error", err)
			a.Eligibility.Met(context.WithoutCancel(ctx), a.run.Account, use.Provider, err)
			block = eligibility.RefusedBy(why, use.Provider, a.tag)
		}
		if first == nil { // when nobody answers, it is the preferred one that is spoken of
			first = block
		}
		next, ok := use.Next(block.Reason, a.tag)
		if !ok {
			return llm.Reply{}, first, nil
		}
		use = next
	}
}

// call makes one call, with its retries, and counts what it used.
func (a *asking) call(ctx context.Context, use *eligibility.Plan, r llm.Request) (llm.Reply, error) {
	model, err := a.Models.Model(ctx, a.run.Account, use.Candidate)
	if err != nil {
		return llm.Reply{}, err
	}
	answer, err := a.Retry.Complete(ctx, model, r, a.Watch(use))
	if err == nil || answer.Text != "" {
		a.Used(use, answer)
	}
	return answer, err
}

// cover makes the hold cover one call, also one that costs nothing: the hold is what
// makes the call one. It returns why it cannot, credit.ErrMoved when another
// invocation has it, and any other error that is ours.
func (a *asking) cover(ctx context.Context, use *eligibility.Plan, r llm.Request) (*eligibility.Block, error) {
	first := a.Hold.At.IsZero()
	why, err := a.Cover(ctx, use, r, locale.Text(a.tag, "command.session"))
	switch {
	case err != nil:
		return nil, err
	case why != "":
		return eligibility.Refuse(why, use.Provider, a.tag), nil
	case !first:
		return nil, nil
	}
	// Whoever held it before may have been done by then.
	now, err := a.Store.Run(ctx, a.run.Account, a.run.ID)
	if err == nil && !due(now, a.step.ID) {
		err = errThought
	}
	return nil, err
}

// settle ends the hold and writes the record of what was used, once. What cannot be
// settled the sweep gives back.
func (a *asking) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	if err := a.Service.Credit.Settle(ctx, a.Hold, a.Turn); err != nil {
		a.Log.ErrorContext(ctx, "command.unsettled", "turn_id", a.Turn.ID, "micros", a.Turn.Micros, "tokens", a.Turn.Charged, "error", err)
	}
}

// release gives back what was held for a call that was not made.
func (a *asking) release(ctx context.Context) {
	if !a.Hold.Asked {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	kept, err := a.Service.Credit.Store.Hold(ctx, a.run.Account, a.Hold.ID)
	if err == nil {
		err = a.Service.Credit.Store.Release(ctx, kept, kept.Deadline)
	}
	if err != nil && !errors.Is(err, credit.ErrSettled) {
		a.Log.WarnContext(ctx, "command.unreleased", "turn_id", a.Turn.ID, "error", err)
	}
}

// say makes the chat's message about the step.
func (a *asking) say(r plan.Run, key string, at time.Time, more ...string) []conversation.Message {
	args := append([]string{"at", place(r.Plan, a.step.ID), "n", itoa(len(r.Plan.Steps)), "title", a.step.Title}, more...)
	return []conversation.Message{run.Message(a.IDs, r, conversation.KindProgress, at, locale.Text(a.tag, key, args...))}
}

func itoa(n int) string { return strconv.Itoa(n) }
