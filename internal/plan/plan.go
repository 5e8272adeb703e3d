package plan

import (
	"encoding/json"
	"strings"
	"time"

	"piloto/internal/fault"
)

// Limits of a plan.
const (
	MaxSteps    = 50
	MaxParallel = 8
	MaxGoal     = 500
	MaxTitle    = 200
	MaxPlanSize = 128 << 10 // bytes of JSON, so that a run fits an item with room to spare
)

// What a caller may notice.
var (
	ErrRunNotFound    = fault.New(fault.NotFound, "run.not_found")
	ErrStale          = fault.New(fault.Conflict, "plan.stale")
	ErrAlreadyRunning = fault.New(fault.Conflict, "plan.already_running")
	ErrNotPending     = fault.New(fault.Conflict, "plan.not_pending")
	ErrExpired        = fault.New(fault.Gone, "plan.expired")

	// ErrMoved means that the run, or its chat, changed after it was read: read
	// it again and decide again. Only a caller that gave up lets it out.
	ErrMoved = fault.New(fault.Conflict, "plan.moved")
)

// Risk says what a step can do to the world.
type Risk string

// The risks, from the method alone: a GET reads, a DELETE destroys. A tool without
// a method writes, and destroys when its server says so: what a server says of a
// tool raises its risk and never lowers it.
const (
	Read        Risk = "read"
	Write       Risk = "write"
	Destructive Risk = "destructive"
)

// RiskOf returns the risk of a method.
func RiskOf(method string) Risk {
	switch method {
	case "GET", "HEAD", "OPTIONS":
		return Read
	case "DELETE":
		return Destructive
	}
	return Write
}

// Raised is the risk of what is also destructive, if it is.
func (r Risk) Raised(destructive bool) Risk {
	if destructive {
		return Destructive
	}
	return r
}

// Idempotent reports whether a method may be repeated when its answer was lost
// (RFC 9110 §9.2.2).
func Idempotent(method string) bool {
	switch method {
	case "GET", "HEAD", "OPTIONS", "PUT", "DELETE":
		return true
	}
	return false
}

// Step is one effect, as proposed: a method and a path, or (of a server that
// speaks the Model Context Protocol) the name of a Tool, whose arguments are the
// Body. Path is concrete but for references to the results of earlier steps, such
// as "/reservations/${s2.body.id}"; so are Query (a JSON object) and Body (any JSON
// value). Needs names every step that must be done first.
type Step struct {
	ID     string          `json:"id"`
	Title  string          `json:"title"`
	MCPID  string          `json:"mcp_id"`
	Tool   string          `json:"tool,omitempty"`
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Query  json.RawMessage `json:"query,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`
	Needs  []string        `json:"needs"`
	Risk   Risk            `json:"risk"`
}

// Called names what a step calls: "METHOD /path", or the tool.
func (s Step) Called() string {
	if s.Tool != "" {
		return s.Tool
	}
	return s.Method + " " + s.Path
}

// Binding is what a step meant when it was proposed: the server and the tool,
// as they were. Execution refuses a step whose binding no longer holds.
type Binding struct {
	StepID      string `json:"step_id"`
	MCPID       string `json:"mcp_id"`
	ServerName  string `json:"server_name"`
	BaseURL     string `json:"base_url"`
	Template    string `json:"template"` // the path as the document has it
	Fingerprint string `json:"fingerprint"`
}

// Plan is what is proposed. Nothing in it changes after it was shown; an edit
// is a new revision with a new digest.
type Plan struct {
	ID        string    `json:"plan_id"`
	Revision  int       `json:"revision"`
	Goal      string    `json:"goal"`
	Steps     []Step    `json:"steps"`
	Bindings  []Binding `json:"bindings"`
	ExpiresAt time.Time `json:"expires_at"` // whole seconds, UTC
}

// Binding returns what a step is bound to.
func (p Plan) Binding(stepID string) (Binding, bool) {
	for _, b := range p.Bindings {
		if b.StepID == stepID {
			return b, true
		}
	}
	return Binding{}, false
}

// Step returns the step with an id.
func (p Plan) Step(id string) (Step, bool) {
	for _, s := range p.Steps {
		if s.ID == id {
			return s, true
		}
	}
	return Step{}, false
}

// Failure says what went wrong, for a program (Code), and for a person in the
// language of the run (Message).
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Result is what a step's call answered. Body is JSON when JSON is true, else
// text as a JSON string. Truncated means that Body holds only the beginning of
// Bytes bytes.
type Result struct {
	Status    int               `json:"status"`
	Headers   map[string]string `json:"headers,omitempty"`
	Body      json.RawMessage   `json:"body,omitempty"`
	Bytes     int               `json:"bytes"`
	Truncated bool              `json:"truncated,omitempty"`
}

// Shortened is the result with at most about n bytes of its body: a longer one is
// the beginning of it, as a JSON string.
func (r Result) Shortened(n int) Result {
	if len(r.Body) <= n {
		return r
	}
	var text string
	if json.Unmarshal(r.Body, &text) != nil {
		text = string(r.Body)
	}
	r.Body, _ = json.Marshal(strings.ToValidUTF8(text[:min(n, len(text))], ""))
	r.Truncated = true
	return r
}

// Attempt is an intent: one call about to be made. It is written before the
// call and ends with a result; one without a result is in doubt.
type Attempt struct {
	Number int
	URL    string // as sent, without the key
	Body   json.RawMessage
	SentAt time.Time
	Open   bool // no result is known
}

// StepState is what became of one step.
type StepState struct {
	StepID    string
	Status    StepStatus
	Attempts  int
	Last      Attempt
	Result    *Result
	Error     *Failure
	NotBefore time.Time // the server asked us to wait until then; zero when it did not
	UpdatedAt time.Time
}

// Run is one execution of one plan.
type Run struct {
	ID        string
	Account   string
	User      string
	ChatID    string
	ProjectID string
	Locale    string // of the messages it posts
	TraceID   string
	Plan      Plan
	Digest    Digest
	Status    Status
	Steps     []StepState // in the plan's order
	Error     *Failure
	EventSeq  int // of the last event
	CancelAt  *time.Time
	ConfirmBy string // Idempotency-Key of the confirm that won, if it had one
	CreatedAt time.Time
	UpdatedAt time.Time
	DueAt     time.Time // when the sweep should look again; zero when terminal
}

// State returns the state of a step.
func (r Run) State(stepID string) StepState {
	for _, s := range r.Steps {
		if s.StepID == stepID {
			return s
		}
	}
	return StepState{StepID: stepID, Status: StepPending}
}

// Event is one transition of a run. Seq counts from 1 without gaps.
type Event struct {
	Seq    int             `json:"seq"`
	At     time.Time       `json:"at"`
	Type   string          `json:"type"`
	StepID string          `json:"step_id,omitempty"`
	Data   json.RawMessage `json:"data"`
}

// The types of event.
const (
	EventProposed   = "run.proposed"
	EventConfirmed  = "run.confirmed"
	EventCancelled  = "run.cancelled"
	EventExpired    = "run.expired"
	EventSuperseded = "run.superseded"
	EventStarted    = "run.started"
	EventStopping   = "run.cancel_requested"
	EventFinished   = "run.finished"
	EventStepStart  = "step.started"
	EventStepRetry  = "step.retried"
	EventStepWait   = "step.waiting" // it will be tried again
	EventStepDone   = "step.done"
	EventStepFailed = "step.failed"
	EventStepDoubt  = "step.in_doubt"
)
