package httpapi

import (
	"context"
	"net/http"

	"piloto/internal/access/auth"
	"piloto/internal/access/rate"
	"piloto/internal/chats/turn"
	"piloto/internal/ground/ids"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// decisions adds the routes by which a person decides about a confirmed plan.
func (a *api) decisions(d runHandler) {
	register(a, operation{
		method: http.MethodPost, path: "/api/runs/{id}/approve", id: "approveStep", access: withApprove, class: rate.Decisions,
		summary:  "Approve or refuse a step that waits, once; only POST does",
		failures: []int{404, 409, 410, 413, 415, 422},
	}, d.approve)
	register(a, operation{
		method: http.MethodPost, path: "/api/decisions", id: "decideMany", access: withApprove, class: rate.Decisions,
		summary:  "Decide about several plans and steps, each by its own digest; each has an answer of its own",
		failures: []int{413, 415, 422},
	}, d.decideMany)
}

// drafts adds the routes by which a person asks for a draft that comes after a run. It is tried as every proposal, so that they are
// served where plans are proposed.
func (a *api) drafts(d runHandler) {
	a.function = FunctionChat
	// The code says resolve. The path, the operation's id, names of schemas and JSON fields, the event step.settled and the
	// code run.unsettled say settle, because clients and stored rows have them.
	register(a, operation{
		method: http.MethodPost, path: "/api/runs/{id}/settle", id: "settleStep", access: withChat, class: rate.Decisions,
		summary:  "Say what became of a step in doubt; retry makes a draft that goes on from it",
		failures: []int{404, 409, 413, 415, 422},
	}, d.resolve)
	register(a, operation{
		method: http.MethodPost, path: "/api/runs/{id}/retry", id: "retryRun", access: withChat, optionalBody: true, status: http.StatusCreated,
		summary:  "Make a draft of what a run did not do; it keeps the results of what it did",
		failures: []int{404, 409, 413, 415, 422},
	}, d.again(Runs.Retry))
	register(a, operation{
		method: http.MethodPost, path: "/api/runs/{id}/undo", id: "undoRun", access: withChat, optionalBody: true, status: http.StatusCreated,
		summary:  "Make a draft that undoes what a run did, where its plan declares how; the newest change first",
		failures: []int{404, 409, 413, 415, 422},
	}, d.again(Runs.Reverse))
	register(a, operation{
		method: http.MethodPost, path: "/api/runs/{id}/repeat", id: "repeatRun", access: withChat, optionalBody: true, status: http.StatusCreated,
		summary:  "Make a draft of the same plan once more",
		failures: []int{404, 409, 413, 415, 422},
	}, d.again(Runs.Repeat))
}

// ApproveRequest is the body of an approval or a refusal.
type ApproveRequest struct {
	StepID   string      `json:"step_id,omitempty" maxLength:"64" doc:"may be absent while only one step of the run waits, or ever waited"`
	Decision string      `json:"decision,omitempty" enum:"approve,refuse" doc:"approve when absent"`
	Request  plan.Digest `json:"request_digest" pattern:"^[0-9a-f]{64}$" doc:"of the request as it was shown: the request_digest of the step's approval"`
	Digest   plan.Digest `json:"digest,omitempty" pattern:"^[0-9a-f]{64}$" doc:"refuses when the plan is another one"`
	Note     string      `json:"note,omitempty" maxLength:"500"`
}

// ResolveRequest is the body that resolves a step in doubt.
type ResolveRequest struct {
	StepID  string       `json:"step_id" minLength:"1" maxLength:"64" doc:"also of an element (s2[3]) or an undo (undo:s2)"`
	Outcome plan.Outcome `json:"outcome" enum:"done,not_done,retry"`
	Note    string       `json:"note,omitempty" maxLength:"500"`
}

// ResolveAnswer is the run after its step was resolved. With the outcome retry it is the new draft that continues
// the run, with the id of the resolved run.
type ResolveAnswer struct {
	Run      Run    `json:"run"`
	Resolved string `json:"settled,omitempty" doc:"with retry: the run whose step was settled"`
}

func (d runHandler) approve(ctx context.Context, in *struct {
	ID   string `path:"id"`
	Body ApproveRequest
},
) (*reply[RunAnswer], error) {
	if !ids.Valid(in.ID) {
		return nil, plan.ErrRunNotFound
	}
	who := caller(ctx)
	decided, err := d.runs.Approve(ctx, run.Approval{
		Account: who.Account, User: who.User, MayApprove: who.Allows(auth.ScopeApprove), RunID: in.ID, StepID: plan.ParseEffect(in.Body.StepID),
		Digest: in.Body.Digest, Request: string(in.Body.Request), Refuse: in.Body.Decision == "refuse", Note: in.Body.Note,
	})
	if err != nil {
		return nil, err
	}
	return answer(RunAnswer{showRun(decided.Run)}), nil
}

func (d runHandler) resolve(ctx context.Context, in *struct {
	ID   string `path:"id"`
	Body ResolveRequest
},
) (*reply[ResolveAnswer], error) {
	if !ids.Valid(in.ID) {
		return nil, plan.ErrRunNotFound
	}
	who := caller(ctx)
	decided, err := d.runs.Resolve(ctx, run.Resolution{
		Account: who.Account, User: who.User, RunID: in.ID, StepID: plan.ParseEffect(in.Body.StepID), Outcome: in.Body.Outcome, Note: in.Body.Note,
		Locale: requestInfoFrom(ctx).lang, TraceID: d.config.Trace(ctx),
	})
	if err != nil {
		return nil, err
	}
	v := ResolveAnswer{Run: showRun(decided.Run)}
	if decided.Run.ID != in.ID {
		v.Resolved = in.ID
	}
	return answer(v), nil
}

// AgainRequest is the body of a request for a draft that comes after a run. It has no members.
type AgainRequest struct{}

type againInput struct {
	ID   string `path:"id"`
	Body AgainRequest
}

// again returns the handler of a draft that comes after a run.
func (d runHandler) again(propose func(Runs, context.Context, run.Again) (run.Decision, error)) func(context.Context, *againInput) (*reply[RunAnswer], error) {
	return func(ctx context.Context, in *againInput) (*reply[RunAnswer], error) {
		if !ids.Valid(in.ID) {
			return nil, plan.ErrRunNotFound
		}
		who := caller(ctx)
		decided, err := propose(d.runs, ctx, run.Again{
			Account: who.Account, User: who.User, RunID: in.ID, Viewer: turn.Request{Principal: who}.Viewer(), Locale: requestInfoFrom(ctx).lang, TraceID: d.config.Trace(ctx),
		})
		if err != nil {
			return nil, err
		}
		return answer(RunAnswer{showRun(decided.Run)}), nil
	}
}
