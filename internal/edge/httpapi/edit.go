package httpapi

import (
	"context"
	"encoding/json"
	"net/http"

	"piloto/internal/access/rate"
	"piloto/internal/chats/turn"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
)

// Editor changes drafts.
type Editor interface {
	// Revise replaces the steps of a draft by those that a person wrote; plan.ErrInvalid names all faults.
	Revise(ctx context.Context, e turn.Edit) (plan.Run, error)
	// ReadAgain repeats the reads from which the values of a draft were taken.
	ReadAgain(ctx context.Context, e turn.Edit) (plan.Run, error)
}

func (a *api) edits(e Editor) {
	register(a, operation{
		method: http.MethodPatch, path: "/api/runs/{id}/plan", id: "revisePlan", access: withChat,
		summary:  "Change a draft: a new revision with a new digest; the one before can be confirmed no more",
		failures: []int{404, 409, 410, 413, 415, 422},
	}, planHandler{a.config, e}.revise)
	register(a, operation{
		method: http.MethodPost, path: "/api/runs/{id}/look", id: "lookAgain", access: withChat, class: rate.Decisions,
		summary:  "Read again what the values of a draft were taken from; the draft and its digest stay as they are",
		failures: []int{404, 409, 410, 413, 415, 422, 502},
	}, planHandler{a.config, e}.readAgain)
}

// LookAgainRequest is the body of POST /api/runs/{id}/look.
type LookAgainRequest struct {
	Digest plan.Digest `json:"digest" pattern:"^[0-9a-f]{64}$" doc:"of the plan as it was shown"`
}

// EditRequest is the body of an edit: all steps of the new plan.
type EditRequest struct {
	Digest plan.Digest   `json:"digest" pattern:"^[0-9a-f]{64}$" doc:"of the plan as it was shown"`
	Goal   string        `json:"goal,omitempty" maxLength:"500" doc:"as it is when absent"`
	Steps  []StepRequest `json:"steps" nullable:"false" minItems:"1" maxItems:"50"`
}

// StepRequest is a step that a person wrote.
type StepRequest struct {
	ID      string          `json:"id,omitempty" doc:"s1, s2 … by place when absent"`
	Title   string          `json:"title,omitempty"`
	MCPID   string          `json:"mcp_id" doc:"the service"`
	Tool    string          `json:"tool,omitempty" doc:"of a service with tools, in the place of a method and a path"`
	Method  string          `json:"method,omitempty"`
	Path    string          `json:"path,omitempty" doc:"concrete, but for references such as ${s1.body.id}"`
	Query   json.RawMessage `json:"query,omitempty"`
	Headers json.RawMessage `json:"headers,omitempty" doc:"texts by their names; what the document fixes is filled in"`
	Body    json.RawMessage `json:"body,omitempty"`
	Needs   *[]string       `json:"needs,omitempty" maxItems:"50" doc:"the step before when absent"`
	When    *ref.Condition  `json:"when,omitempty"`
	ForEach string          `json:"for_each,omitempty"`
	Undo    *CallRequest    `json:"undo,omitempty"`
	NoUndo  bool            `json:"no_undo,omitempty" doc:"what it does is to stay: no undo is suggested"`
	Verify  *CheckRequest   `json:"verify,omitempty"`
}

// CallRequest is an undo that a person wrote.
type CallRequest struct {
	MCPID  string          `json:"mcp_id,omitempty" doc:"the step's service when absent"`
	Tool   string          `json:"tool,omitempty"`
	Method string          `json:"method,omitempty"`
	Path   string          `json:"path,omitempty"`
	Query  json.RawMessage `json:"query,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`

	Headers json.RawMessage `json:"headers,omitempty"`
}

// CheckRequest is a check that a person wrote.
type CheckRequest struct {
	CallRequest
	Expect ref.Condition `json:"expect" doc:"over ${check.status} and ${check.body…}"`
}

func (r StepRequest) toPlan() plan.ProposedStep {
	s := plan.ProposedStep{
		ID: r.ID, Title: r.Title, MCPID: r.MCPID, Tool: r.Tool, Method: r.Method, Path: r.Path, Query: r.Query, Headers: r.Headers, Body: r.Body,
		Needs: r.Needs, When: r.When, ForEach: r.ForEach, NoUndo: r.NoUndo,
	}
	if r.Undo != nil {
		undo := plan.Call(*r.Undo)
		s.Undo = &undo
	}
	if r.Verify != nil {
		s.Verify = &plan.Check{Call: plan.Call(r.Verify.CallRequest), Expect: r.Verify.Expect}
	}
	return s
}

type planHandler struct {
	config Config
	editor Editor
}

func (e planHandler) revise(ctx context.Context, in *struct {
	ID   string `path:"id"`
	Body EditRequest
},
) (*reply[Run], error) {
	if !ids.Valid(in.ID) {
		return nil, plan.ErrRunNotFound
	}
	steps := make([]plan.ProposedStep, len(in.Body.Steps))
	for i, s := range in.Body.Steps {
		steps[i] = s.toPlan()
	}
	revised, err := e.editor.Revise(ctx, turn.Edit{
		Principal: caller(ctx), RunID: in.ID, Digest: in.Body.Digest, Goal: in.Body.Goal, Steps: steps,
		Locale: requestInfoFrom(ctx).lang, TraceID: e.config.Trace(ctx),
	})
	if err != nil {
		return nil, err
	}
	return answer(showRun(revised)), nil
}

func (e planHandler) readAgain(ctx context.Context, in *struct {
	ID   string `path:"id"`
	Body LookAgainRequest
},
) (*reply[Run], error) {
	if !ids.Valid(in.ID) {
		return nil, plan.ErrRunNotFound
	}
	read, err := e.editor.ReadAgain(ctx, turn.Edit{
		Principal: caller(ctx), RunID: in.ID, Digest: in.Body.Digest, Locale: requestInfoFrom(ctx).lang, TraceID: e.config.Trace(ctx),
	})
	if err != nil {
		return nil, err
	}
	return answer(showRun(read)), nil
}
