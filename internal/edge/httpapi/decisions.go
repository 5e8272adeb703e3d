package httpapi

import (
	"context"
	"net/http"

	"golang.org/x/sync/errgroup"

	"piloto/internal/access/auth"
	"piloto/internal/ground/ids"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// DecisionsRequest is the body of several decisions. They are made in no order, except those about one run.
type DecisionsRequest struct {
	Items []DecisionItem `json:"items" minItems:"1" maxItems:"50" nullable:"false"`
}

// DecisionItem is one decision: about a draft (confirm, reject), or about a step that waits for an approval (approve, refuse).
type DecisionItem struct {
	RunID    string      `json:"run_id" minLength:"1" maxLength:"64"`
	Digest   plan.Digest `json:"digest" pattern:"^[0-9a-f]{64}$" doc:"of the plan as it was shown"`
	Decision string      `json:"decision" enum:"confirm,reject,approve,refuse"`
	StepID   string      `json:"step_id,omitempty" maxLength:"64" doc:"of an approval or a refusal; may be absent while only one step of the run waits"`
	Request  plan.Digest `json:"request_digest,omitempty" pattern:"^[0-9a-f]{64}$" doc:"of an approval or a refusal, which must have it: the request as it was shown"`
	Note     string      `json:"note,omitempty" maxLength:"500" doc:"of a rejection it is the reason, which the model is told"`
}

// DecisionsAnswer has one answer for each item, in their order.
type DecisionsAnswer struct {
	Items []DecisionAnswer `json:"items" nullable:"false"`
}

// DecisionAnswer is the outcome of one decision. A problem says why it was not made; the others were.
type DecisionAnswer struct {
	RunID     string      `json:"run_id"`
	StepID    string      `json:"step_id,omitempty"`
	Decision  string      `json:"decision" enum:"confirm,reject,approve,refuse"`
	Status    int         `json:"status" doc:"as the route of the single decision answers it, such as 202 or 409"`
	RunStatus plan.Status `json:"run_status,omitempty" enum:"draft,queued,running,waiting,done,error,in_doubt,cancelled,expired,superseded" doc:"of the run afterwards"`
	Problem   *Problem    `json:"problem,omitempty"`
}

// decisionsAtOnce is the number of runs that are decided at the same time.
const decisionsAtOnce = 8

func (d runHandler) decideMany(ctx context.Context, in *struct {
	Idempotency
	Body DecisionsRequest
},
) (*reply[DecisionsAnswer], error) {
	items := in.Body.Items
	decided, failed := make([]run.Decision, len(items)), make([]error, len(items))
	byRun := map[string][]int{}
	for i, item := range items {
		byRun[item.RunID] = append(byRun[item.RunID], i)
	}
	var runs errgroup.Group
	runs.SetLimit(decisionsAtOnce)
	for _, own := range byRun {
		runs.Go(func() error {
			for _, i := range own {
				decided[i], failed[i] = d.decideOne(ctx, items[i], in.Key)
			}
			return nil
		})
	}
	_ = runs.Wait() // each item has its own error
	v := DecisionsAnswer{Items: make([]DecisionAnswer, len(items))}
	for i, item := range items {
		one := DecisionAnswer{RunID: item.RunID, StepID: item.StepID, Decision: item.Decision, Status: http.StatusOK}
		switch {
		case failed[i] != nil:
			one.Problem = problem(ctx, failed[i])
			one.Status = one.Problem.Status
		case item.Decision == "confirm":
			one.Status = http.StatusAccepted
		}
		if failed[i] == nil {
			one.RunStatus = decided[i].Run.Status
		}
		v.Items[i] = one
	}
	return answer(v), nil
}

// decideOne makes one decision, as the route for it alone does.
func (d runHandler) decideOne(ctx context.Context, item DecisionItem, key string) (run.Decision, error) {
	if !ids.Valid(item.RunID) {
		return run.Decision{}, plan.ErrRunNotFound
	}
	who, info := caller(ctx), requestInfoFrom(ctx)
	if drafts := item.Decision == "confirm" || item.Decision == "reject"; drafts && !who.Allows(auth.ScopeChat) {
		return run.Decision{}, auth.ErrScope
	}
	switch item.Decision {
	case "confirm":
		return d.runs.Confirm(ctx, run.Confirmation{
			Account: who.Account, User: who.User, RunID: item.RunID, Digest: item.Digest, Key: key, Locale: info.lang, TraceID: d.config.Trace(ctx),
		})
	case "reject":
		return d.runs.Cancel(ctx, run.Cancellation{
			Account: who.Account, User: who.User, RunID: item.RunID, Digest: item.Digest, Reason: item.Note, DraftOnly: true, Locale: info.lang,
		})
	}
	return d.runs.Approve(ctx, run.Approval{
		Account: who.Account, User: who.User, MayApprove: who.Allows(auth.ScopeApprove), RunID: item.RunID, StepID: plan.ParseEffect(item.StepID),
		Digest: item.Digest, Request: string(item.Request), Refuse: item.Decision == "refuse", Note: item.Note,
	})
}
