package paid

import (
	"context"
	"errors"

	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
)

// cover extends the hold by one more call, with the reserve beside it. While the reserve was not held yet, a call that is
// affordable alone is made without it. cover returns the reason when the call cannot be paid, else "".
func (c *Calls) cover(ctx context.Context, r llm.Request) (eligibility.Reason, error) {
	why, err := c.extend(ctx, r, c.Reserve)
	switch {
	case err != nil || c.Reserve == (Reserve{}):
	case why == "":
		c.Reserved = true
	case why.Unpaid() && !c.Reserved:
		return c.extend(ctx, r, Reserve{})
	}
	return why, err
}

// extend extends the hold until it covers one more call and a reserve.
func (c *Calls) extend(ctx context.Context, r llm.Request, reserve Reserve) (eligibility.Reason, error) {
	p := c.Use
	if l := p.Limits; !p.RequiresCredits && c.Alone == nil && l.Day == 0 && l.Month == 0 && l.Run == 0 && p.Budget == 0 {
		return "", nil
	}
	input, output := r.Estimate()+reserve.Input, r.MaxTokens+reserve.Output
	cost := p.Price.MostOf(llm.Usage{Input: input, Output: output})
	spent := c.Turn.Micros + c.Beside
	c.needed = cost
	switch {
	case p.Limits.Run > 0 && spent+cost > p.Limits.Run:
		return eligibility.BudgetExceeded, nil
	case p.Budget > 0 && spent+cost > p.Budget:
		return eligibility.AgentBudget, nil
	}
	need := credit.Need{Policy: p.Policy, Limits: p.Limits, Worst: p.Estimate.Micros, Actor: c.Turn.User, Reason: c.Session}
	if p.RequiresCredits {
		need.Tokens, need.Session = max(0, c.Turn.Charged+input+output-c.Hold.Tokens()), p.SessionID
	}
	if p.RequiresCredits || p.Limits.Day > 0 || p.Limits.Month > 0 {
		need.Micros = max(0, c.Turn.Micros+cost-c.Hold.Micros)
	}
	if need.Tokens == 0 && need.Micros == 0 && (c.Alone == nil || !c.Hold.At.IsZero()) {
		return "", nil
	}
	var err error
	c.Hold, err = c.service.Credit.Cover(ctx, c.Hold, need) // kept also with an error: it records that a write was tried
	switch {
	case errors.Is(err, credit.ErrInsufficient):
		c.short = need.Tokens
		return eligibility.InsufficientCredits, nil
	case errors.Is(err, credit.ErrBudget):
		return eligibility.BudgetExceeded, nil
	case errors.Is(err, credit.ErrBusy):
		return eligibility.Busy, nil
	}
	return "", err
}

// refuse returns the block of a call that cannot be paid.
func (c *Calls) refuse(ctx context.Context, why eligibility.Reason) *eligibility.Block {
	block, spent := eligibility.Refuse(why, c.Use.Provider), c.Turn.Micros+c.Beside
	if why == eligibility.AgentBudget {
		block.Passed = eligibility.Passed{Of: eligibility.BoundAgent, Limit: c.Use.Budget, Spent: spent, Needed: c.needed}
	}
	if why != eligibility.InsufficientCredits && why != eligibility.BudgetExceeded {
		return block
	}
	standing, err := c.service.Credit.Standing(ctx, c.account, c.service.Retry.Now())
	switch {
	case err != nil:
	case why == eligibility.InsufficientCredits:
		block.CreditBalance, block.Missing = &standing.Balance, c.Use.Policy.Missing(standing.Balance, c.short)
	default:
		unused := c.Hold.Micros - c.Turn.Micros // the hold of this turn is no spending beside the call
		standing.Day, standing.Month = standing.Day-unused, standing.Month-unused
		block.Passed, _ = eligibility.Exceeded(c.Use.Limits, standing, spent, c.needed)
	}
	return block
}
