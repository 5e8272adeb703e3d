package httpapi

import (
	"context"
	"net/http"

	"piloto/internal/access/rate"
	"piloto/internal/ground/ids"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// Confirm serves the routes by which a person decides about a run, all of them POST: confirm, cancel, approve,
// settle and retry, below /api/runs/{id}.
func Confirm(c Config, runs Runs) http.Handler {
	a := newAPI(c)
	a.confirm(runs)
	return a.handler()
}

func (a *api) confirm(runs Runs) {
	a.function = FunctionConfirm
	d := runHandler{a.config, runs}
	register(a, operation{
		method: http.MethodPost, path: "/api/runs/{id}/confirm", id: "confirmRun", access: withChat, class: rate.Decisions, status: http.StatusAccepted,
		summary:  "Confirm the plan that was shown, once; it then runs",
		failures: []int{404, 409, 410, 413, 415, 422},
	}, d.confirm)
	register(a, operation{
		method: http.MethodPost, path: "/api/runs/{id}/cancel", id: "cancelRun", access: withChat, optionalBody: true, class: rate.Decisions,
		summary:  "Drop a draft, or stop a run between two steps; what was done is undone where that was confirmed",
		failures: []int{404, 409, 410, 413, 415, 422},
	}, d.cancel)
	a.decisions(d)
}

// ConfirmRequest is the body of a confirmation.
type ConfirmRequest struct {
	Digest plan.Digest `json:"digest" pattern:"^[0-9a-f]{64}$" doc:"of the plan as it was shown"`
}

// CancelRequest is the body of a cancellation.
type CancelRequest struct {
	Digest plan.Digest `json:"digest,omitempty" pattern:"^[0-9a-f]{64}$" doc:"refuses when the draft is another one by now"`
	Reason string      `json:"reason,omitempty" maxLength:"500" doc:"why a draft is rejected; the model is told"`
}

type confirmInput struct {
	ID string `path:"id"`
	Idempotency
	Body ConfirmRequest
}

// Idempotency is the idempotency key of a request.
type Idempotency struct {
	Key string `header:"Idempotency-Key" doc:"1 to 255 printable ASCII characters, not spaces alone; the same key gets the same answer"`
}

type runHandler struct {
	config Config
	runs   Runs
}

func (d runHandler) confirm(ctx context.Context, in *confirmInput) (*reply[RunAnswer], error) {
	if !ids.Valid(in.ID) {
		return nil, plan.ErrRunNotFound
	}
	who := caller(ctx)
	decided, err := d.runs.Confirm(ctx, run.Confirmation{
		Account: who.Account, User: who.User, RunID: in.ID, Digest: in.Body.Digest, Key: in.Key,
		Locale: requestInfoFrom(ctx).lang, TraceID: d.config.Trace(ctx),
	})
	if err != nil {
		return nil, err
	}
	return answer(RunAnswer{showRun(decided.Run)}), nil
}

func (d runHandler) cancel(ctx context.Context, in *struct {
	ID   string `path:"id"`
	Body CancelRequest
},
) (*reply[RunAnswer], error) {
	if !ids.Valid(in.ID) {
		return nil, plan.ErrRunNotFound
	}
	who := caller(ctx)
	decided, err := d.runs.Cancel(ctx, run.Cancellation{
		Account: who.Account, User: who.User, RunID: in.ID, Digest: in.Body.Digest, Reason: in.Body.Reason,
		Locale: requestInfoFrom(ctx).lang,
	})
	if err != nil {
		return nil, err
	}
	return answer(RunAnswer{showRun(decided.Run)}), nil
}
