package proposal

import (
	"context"

	"piloto/internal/chats/toolcall"
	"piloto/internal/ground/fault"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
)

// maxAbout bounds a service's text about an operation in a plan, in characters.
const maxAbout = 400

// Read binds a call that is to be made without a confirmation, as Draft binds a step. The Ask of its step says that a rule wants one.
// It returns every error at a location of the call, such as ["path"].
func (d Drafter) Read(ctx context.Context, c plan.Call) (plan.Bound, []fault.Field, error) {
	wrong := normalizeCall(&c)
	if len(wrong) > 0 {
		return plan.Bound{}, wrong, nil
	}
	var to boundCall
	wrong, err := d.bind(ctx, &c, &to)
	if err != nil {
		return plan.Bound{}, nil, err
	}
	s, shape := plan.ArrangeCall(c)
	if wrong = append(wrong, shape...); len(wrong) > 0 {
		return plan.Bound{}, unique(wrong), nil
	}
	to.binding.StepID = s.ID
	ask, denied := d.Rules.AskFor(s, rule.CallOf(s, to.binding.ServerName), "")
	if denied != nil {
		if d.Denied != nil {
			d.Denied(*denied, s)
		}
		return plan.Bound{}, []fault.Field{{Type: toolcall.Denied, Msg: "denied: " + denied.Reason}}, nil
	}
	s.Ask = ask
	return plan.Bound{Account: d.Account, Step: s, Binding: to.binding}, nil, nil
}
