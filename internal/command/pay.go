package command

import (
	"context"
	"errors"
	"strconv"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/credit"
	"piloto/internal/eligibility"
	"piloto/internal/llm"
	"piloto/internal/locale"
	"piloto/internal/plan"
	"piloto/internal/run"
)

// ask calls the model that was chosen, and while that fails at the provider the next
// ones that the assistant lists. What a call may cost is held before it.
func (a *asking) ask(ctx context.Context, use *eligibility.Plan, r llm.Request) (llm.Reply, *eligibility.Block, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var first *eligibility.Block
	for {
		r.Model, r.Temperature = use.Model, use.Assistant.Temperature
		a.turn.Provider, a.turn.Model, a.turn.Priced = use.Provider, use.Model, string(use.Estimate.Priced)
		if swap := use.Swap; swap != nil {
			a.turn.Preferred, a.turn.Because = swap.Preferred, string(swap.Reason)
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
	answer, err := a.Retry.Complete(ctx, model, r, func(at llm.Attempt) {
		if at.Provider == "" {
			at.Provider = use.Provider
		}
		a.turn.Attempts = append(a.turn.Attempts, at)
	})
	if err == nil || answer.Text != "" {
		in, out := max(0, answer.Usage.Input), max(0, answer.Usage.Output)
		a.turn.Input, a.turn.Output = a.turn.Input+in, a.turn.Output+out
		a.turn.Estimated = a.turn.Estimated || answer.Usage.Estimated
		a.turn.Micros += use.Price.Cost(in, out)
		if use.RequiresCredits {
			a.turn.Charged += in + out
		}
	}
	return answer, err
}

// cover makes the hold cover one call, also one that costs nothing: the hold is what
// makes the call one. It returns why it cannot, credit.ErrMoved when another
// invocation has it, and any other error that is ours.
func (a *asking) cover(ctx context.Context, use *eligibility.Plan, r llm.Request) (*eligibility.Block, error) {
	input, output := r.Estimate(), r.MaxTokens
	cost := use.Price.Cost(input, output)
	if use.Limits.Run > 0 && a.turn.Micros+cost > use.Limits.Run {
		return eligibility.Refuse(eligibility.BudgetExceeded, use.Provider, a.tag), nil
	}
	need := credit.Need{Policy: use.Policy, Limits: use.Limits, Actor: a.run.User, Reason: locale.Text(a.tag, "command.session")}
	if use.RequiresCredits {
		need.Tokens = max(0, a.turn.Charged+input+output-a.hold.Tokens())
	}
	if use.RequiresCredits || use.Limits.Day > 0 || use.Limits.Month > 0 {
		need.Micros = max(0, a.turn.Micros+cost-a.hold.Micros)
	}
	if !a.hold.At.IsZero() && need.Tokens == 0 && need.Micros == 0 {
		return nil, nil
	}
	first := a.hold.At.IsZero()
	var err error
	a.hold, err = a.Credit.Cover(ctx, a.hold, need)
	if err == nil && first { // whoever held it before may have been done by then
		r, err := a.Store.Run(ctx, a.run.Account, a.run.ID)
		if err == nil && !due(r, a.step.ID) {
			err = errThought
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case errors.Is(err, credit.ErrInsufficient):
		return eligibility.Refuse(eligibility.InsufficientCredits, use.Provider, a.tag), nil
	case errors.Is(err, credit.ErrBudget):
		return eligibility.Refuse(eligibility.BudgetExceeded, use.Provider, a.tag), nil
	}
	return nil, err
}

// settle ends the hold and writes the record of what was used, once. What cannot be
// settled the sweep gives back.
func (a *asking) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	if err := a.Credit.Settle(ctx, a.hold, a.turn); err != nil {
		a.Log.ErrorContext(ctx, "command.unsettled", "turn_id", a.turn.ID, "micros", a.turn.Micros, "tokens", a.turn.Charged, "error", err)
	}
}

// release gives back what was held for a call that was not made.
func (a *asking) release(ctx context.Context) {
	if !a.hold.Asked {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	kept, err := a.Credit.Store.Hold(ctx, a.run.Account, a.hold.ID)
	if err == nil {
		err = a.Credit.Store.Release(ctx, kept, kept.Deadline)
	}
	if err != nil && !errors.Is(err, credit.ErrSettled) {
		a.Log.WarnContext(ctx, "command.unreleased", "turn_id", a.turn.ID, "error", err)
	}
}

// say makes the chat's message about the step.
func (a *asking) say(r plan.Run, key string, at time.Time, more ...string) []conversation.Message {
	args := append([]string{"at", place(r.Plan, a.step.ID), "n", itoa(len(r.Plan.Steps)), "title", a.step.Title}, more...)
	return []conversation.Message{run.Message(a.IDs, r, conversation.KindProgress, at, locale.Text(a.tag, key, args...))}
}

func itoa(n int) string { return strconv.Itoa(n) }
