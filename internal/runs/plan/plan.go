package plan

import (
	"encoding/json"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ref"
	"piloto/internal/tools/tool"
)

// Limits of a plan.
const (
	MaxSteps    = 50
	MaxParallel = 8
	MaxGoal     = 500
	MaxTitle    = 200
	MaxPlanSize = 128 << 10 // bytes of JSON, so that a run fits an item with room to spare
)

// The failures that callers can distinguish.
var (
	ErrRunNotFound    = fault.New(fault.NotFound, "run.not_found")
	ErrStale          = fault.New(fault.Conflict, "plan.stale")
	ErrAlreadyRunning = fault.New(fault.Conflict, "plan.already_running")
	ErrNotPending     = fault.New(fault.Conflict, "plan.not_pending")
	ErrExpired        = fault.New(fault.Gone, "plan.expired")
	ErrInvalid        = fault.New(fault.Invalid, "plan.invalid") // Fields lists the faulty fields
	ErrNotWaiting     = fault.New(fault.Conflict, "approval.not_waiting")
	ErrOtherRequest   = fault.New(fault.Conflict, "approval.stale")
	ErrApprovalOver   = fault.New(fault.Gone, "approval.expired")
	ErrSelfApproval   = fault.New(fault.Forbidden, "approval.self")
	ErrNotInDoubt     = fault.New(fault.Conflict, "step.not_in_doubt")
	ErrNothingToRetry = fault.New(fault.Conflict, "run.nothing_to_retry")
	ErrStepNotFound   = fault.New(fault.NotFound, "step.not_found")
)

// Risk classifies the effect of a step on the service that it calls.
type Risk string

// The risks. The method alone decides: a GET reads, a DELETE destroys. A tool without a method
// writes, and destroys when its server declares so. A declaration of a server can raise the risk of
// a tool and never lowers it.
const (
	Read        Risk = "read"
	Write       Risk = "write"
	Destructive Risk = "destructive"
)

// RiskOf returns the risk of a method.
func RiskOf(method string) Risk {
	switch {
	case tool.IsSafe(method):
		return Read
	case method == "DELETE":
		return Destructive
	}
	return Write
}

// Raised returns Destructive if destructive is set, else r.
func (r Risk) Raised(destructive bool) Risk {
	if destructive {
		return Destructive
	}
	return r
}

// Idempotent reports whether a request with this method may be repeated after its response was lost
// (RFC 9110 §9.2.2).
func Idempotent(method string) bool {
	return tool.IsSafe(method) || method == "PUT" || method == "DELETE"
}

// Step is one proposed call: a method and a path, or, for a server that speaks the Model Context
// Protocol, the name of a Tool, whose arguments are the Body. Path, Query and Headers (JSON objects) and Body
// (any JSON value) are concrete, except for references to the results of earlier steps, such as
// "/reservations/${s2.body.id}". Path is written as it is sent. Needs lists every step that must be done first. In a plan, ID is
// always that of a step as a whole.
type Step struct {
	ID     EffectID        `json:"id"`
	Title  string          `json:"title"`
	MCPID  string          `json:"mcp_id"`
	Tool   string          `json:"tool,omitempty"`
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Query  json.RawMessage `json:"query,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`
	Needs  []string        `json:"needs"`
	Risk   Risk            `json:"risk"`

	Headers json.RawMessage `json:"headers,omitempty"` // that the document asks for: an object of texts by their names

	When    *ref.Condition `json:"when,omitempty"`     // the step is skipped when the condition is false
	ForEach string         `json:"for_each,omitempty"` // one reference to a list: the step is done for each element, ${item}
	Undo    *Undo          `json:"undo,omitempty"`
	NoUndo  bool           `json:"no_undo,omitempty"` // the effect is meant to stay, so no undo is suggested
	Verify  *Check         `json:"verify,omitempty"`
	Ask     *Ask           `json:"ask,omitempty"`     // the approval that the step will wait for, as far as it is known
	Targets []Target       `json:"targets,omitempty"` // the values that its references name, where they were read

	Unanswered *Doubt `json:"unanswered,omitempty"` // the same request may have been done, as it was known when the plan was shown
}

// Call returns the call of the step itself, as it was written.
func (s Step) Call() Call {
	return Call{MCPID: s.MCPID, Tool: s.Tool, Method: s.Method, Path: s.Path, Query: s.Query, Headers: s.Headers, Body: s.Body}
}

// Arguments returns the arguments of its call.
func (s Step) Arguments() tool.Arguments {
	return tool.Arguments{Method: s.Method, Path: s.Path, Query: s.Query, Headers: s.Headers, Body: s.Body}
}

// Called returns the name of the step's call: "METHOD /path", or the tool.
func (s Step) Called() string {
	if s.Tool != "" {
		return s.Tool
	}
	return s.Method + " " + s.Path
}

// Binding records the server and the tool that a step was proposed for. Execution refuses a step
// whose server or tool no longer matches its binding. StepID is "s2", "undo:s2" or "check:s2".
type Binding struct {
	StepID      EffectID `json:"step_id"`
	MCPID       string   `json:"mcp_id"`
	ServerName  string   `json:"server_name"`
	BaseURL     string   `json:"base_url"`
	Template    string   `json:"template"` // the path as it stands in the OpenAPI document
	Fingerprint string   `json:"fingerprint"`
	Auth        string   `json:"auth,omitempty"` // where the server's key is sent; empty: the server has no key
	// Media is the type in which the body is sent, where it is not plain JSON: a form, for example. The fingerprint has the rest
	// of how it is written.
	Media string `json:"media,omitempty"`
	// Query is the query of the request as it is sent, without its "?". As in the path of the step, a value that is not known
	// yet stands there as its reference, and all that is around a reference is final.
	Query string `json:"query,omitempty"`
	// Summary is the summary of the call in the server's document, as it was when the plan was made; "" when there is
	// none. The title of a step may be the model's; this is not.
	Summary string `json:"summary,omitempty"`
	// About is the description of a tool with a name, by its server; "" when Summary says the same.
	About string `json:"about,omitempty"`
	// Names are the parameters and the members of the body that the document describes, in its order, as it stood when the
	// plan was made; of those that the call has.
	Names []ref.Named `json:"names,omitempty"`
	// AnswerNames are the members of the answer that the document gives a title, as it stood when the plan was made.
	AnswerNames []ref.Named `json:"answer_names,omitempty"`
}

// Plan is a proposed goal and its steps. It does not change after a user saw it: an edit is a new
// revision with a new digest.
type Plan struct {
	ID        string    `json:"plan_id"`
	Revision  int       `json:"revision"`
	Goal      string    `json:"goal"`
	Steps     []Step    `json:"steps"`
	Bindings  []Binding `json:"bindings"`
	ExpiresAt time.Time `json:"expires_at"` // whole seconds, UTC

	// Ceiling is the greatest number of model tokens that the run may use, in order to replace a
	// command that failed. Zero: the run uses no model.
	Ceiling int `json:"ceiling,omitempty"`
	// Replaces is the digest of the revision before this one.
	Replaces Digest `json:"replaces,omitempty"`
	// Reuse names the earlier run that this plan continues, and the steps whose results are taken
	// from it.
	Reuse *Reuse `json:"reuse,omitempty"`
	// Undoes names the run whose effects all steps undo, as its own plan declared. An edit makes it another plan.
	Undoes string `json:"undoes,omitempty"`
}

// Reuse lists the steps whose results a plan takes from an earlier run.
type Reuse struct {
	RunID string     `json:"run_id"`
	Steps []EffectID `json:"steps"`
}

// Revision is one version of a draft's plan.
type Revision struct {
	Plan   Plan      `json:"plan"`
	Digest Digest    `json:"digest"`
	By     string    `json:"by"`              // the user who edited it; for the first revision, the user who asked for the plan
	For    string    `json:"for,omitempty"`   // the person for whom a chat client's session edited it
	Model  string    `json:"model,omitempty"` // the model that wrote it, if one did
	At     time.Time `json:"at"`
	Taken  []Taken   `json:"taken,omitempty"` // the plan's values that were read; of the plan that stands, as they were read last
}
