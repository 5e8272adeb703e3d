package plan

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ref"
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
	ErrInvalid        = fault.New(fault.Invalid, "plan.invalid") // Fields says where
	ErrNotWaiting     = fault.New(fault.Conflict, "approval.not_waiting")
	ErrApprovalOver   = fault.New(fault.Gone, "approval.expired")
	ErrSelfApproval   = fault.New(fault.Forbidden, "approval.self")
	ErrNotInDoubt     = fault.New(fault.Conflict, "step.not_in_doubt")
	ErrNothingToRetry = fault.New(fault.Conflict, "run.nothing_to_retry")
	ErrStepNotFound   = fault.New(fault.NotFound, "step.not_found")

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

	When    *ref.Condition `json:"when,omitempty"`     // skipped when it does not hold
	ForEach string         `json:"for_each,omitempty"` // one reference to a list: done for each element, ${item}
	Undo    *Undo          `json:"undo,omitempty"`
	NoUndo  bool           `json:"no_undo,omitempty"` // none is suggested: what it does is to stay
	Verify  *Check         `json:"verify,omitempty"`
	Ask     *Ask           `json:"ask,omitempty"`     // the approval it will wait for, as far as known
	Targets []Target       `json:"targets,omitempty"` // what its references name, where that was looked up
}

// Called names what a step calls: "METHOD /path", or the tool.
func (s Step) Called() string {
	if s.Tool != "" {
		return s.Tool
	}
	return s.Method + " " + s.Path
}

// Binding is what a step meant when it was proposed: the server and the tool,
// as they were. Execution refuses a step whose binding no longer holds. StepID is
// "s2", "undo:s2" or "check:s2".
type Binding struct {
	StepID      string `json:"step_id"`
	MCPID       string `json:"mcp_id"`
	ServerName  string `json:"server_name"`
	BaseURL     string `json:"base_url"`
	Template    string `json:"template"` // the path as the document has it
	Fingerprint string `json:"fingerprint"`
	Auth        string `json:"auth,omitempty"` // where the server's key goes; empty: it has none
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

	// Ceiling is how many tokens of models the run may use at most: what another
	// command is reasoned with when one failed. Zero: none.
	Ceiling int `json:"ceiling,omitempty"`
	// Replaces is the digest of the revision before this one.
	Replaces Digest `json:"replaces,omitempty"`
	// Reuse names the run that this plan goes on from, and the steps whose results
	// are those of that run.
	Reuse *Reuse `json:"reuse,omitempty"`
}

// Reuse is what a plan takes from an earlier run of it.
type Reuse struct {
	RunID string   `json:"run_id"`
	Steps []string `json:"steps"`
}

// Revision is a plan as it stood for a time.
type Revision struct {
	Plan   Plan      `json:"plan"`
	Digest Digest    `json:"digest"`
	By     string    `json:"by"`              // the user who edited it; of the first, who asked for it
	For    string    `json:"for,omitempty"`   // whom a session spoke for that edited it
	Model  string    `json:"model,omitempty"` // what wrote it, when a model did
	At     time.Time `json:"at"`
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
	Apart     int               `json:"apart,omitempty"`  // Body is the beginning; the whole is stored apart, in so many pieces
	SHA256    string            `json:"sha256,omitempty"` // of the body as it was answered, hex
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

// StepState is what became of one effect: a step, an element of one, or an undo.
type StepState struct {
	StepID    string
	Status    StepStatus
	Attempts  int
	Last      Attempt
	Lost      bool `json:",omitempty"` // the answer of an attempt was lost: it may have been applied, whatever became of later ones
	Result    *Result
	Error     *Failure
	NotBefore time.Time // the server asked us to wait until then; zero when it did not
	UpdatedAt time.Time
	Approval  *Approval   `json:",omitempty"`
	Settled   *Settlement `json:",omitempty"`
	Command   *Command    `json:",omitempty"`
	Items     int         `json:",omitempty"` // of a step that is done for each element: how many there are
	Expanded  bool        `json:",omitempty"` // Items is known
	Checks    int         `json:",omitempty"` // how often its check was asked
	Reused    string      `json:",omitempty"` // the run whose result it has
}

// Approval is a step's wait for somebody's approval, and what came of it.
type Approval struct {
	Ask
	Method    string          // what would be sent
	URL       string          // the whole of it
	Body      json.RawMessage `json:",omitempty"`
	Request   string          // SHA-256 of the three, hex: what is approved is what is sent
	Token     string          // by which the execution goes on
	AskedAt   time.Time
	ExpiresAt time.Time
	Decision  Decision `json:",omitempty"`
	By        string   `json:",omitempty"`
	Note      string   `json:",omitempty"`
	At        time.Time
}

// Decision is what somebody said to a step that waited.
type Decision string

// The decisions.
const (
	Approved Decision = "approved"
	Refused  Decision = "refused"
)

// Open reports whether nobody has decided, and somebody still may.
func (a *Approval) Open(at time.Time) bool {
	return a != nil && a.Decision == "" && at.Before(a.ExpiresAt)
}

// Settlement is what a person said of a step in doubt.
type Settlement struct {
	Outcome Outcome   `json:"outcome"`
	By      string    `json:"by"`
	Note    string    `json:"note,omitempty"`
	At      time.Time `json:"at"`
}

// Outcome is what became of a step in doubt.
type Outcome string

// The outcomes.
const (
	OutcomeDone    Outcome = "done"
	OutcomeNotDone Outcome = "not_done"
	OutcomeRetry   Outcome = "retry" // it was not done, and is to be: a new draft goes on from it
)

// Command is another command that a model proposes in the place of one that failed. It
// wrote it after it read what the service had answered.
type Command struct {
	Was     string `json:"was"`
	Now     string `json:"now"`
	Because string `json:"because"`
	Tokens  int    `json:"tokens"`
	Asked   bool   `json:"asked"`          // the model was asked; it is asked once
	Asks    bool   `json:"asks,omitempty"` // it is run only when a person approves it
}

// Replaces reports whether it is another command indeed: when none can be used, the one
// that failed stands in both places.
func (c *Command) Replaces() bool { return c != nil && c.Now != "" && c.Now != c.Was }

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
	ConfirmBy string     // Idempotency-Key of the confirm that won, if it had one
	Confirmer string     // the user who confirmed
	Reason    string     // why somebody rejected the draft, in their words
	Retries   string     // the run that this one goes on from
	Besides   []string   // who else's own it is: whose own that run was, and whom a session spoke for
	Next      string     // the run that was last proposed to go on from this one
	UndoAt    *time.Time // since when what was done is being undone
	Chain     string     // hash of the last event
	Link      int        // the place of that in the chain of its account; 0 while it has none
	CreatedAt time.Time
	UpdatedAt time.Time
	DueAt     time.Time // when the sweep should look again; zero when terminal
	Event     Event     // the last event, in a run that a transition returned; zero in one that was read
}

// OtherRunning is ErrAlreadyRunning because of a run that goes on, which it names. what is
// what is refused: "other", a plan of the same chat, or "chat", to delete it.
func OtherRunning(what string, active Run) *fault.Error {
	return ErrAlreadyRunning.With("case", what).With("running", active.Plan.Goal).With("run_id", active.ID)
}

// Owners are the users whose own a run is, each once: who asked for it, changed its draft
// or confirmed it, for whom a session did, and whose own the run was that it goes on from.
func (r Run) Owners(revisions []Revision) []string {
	users := append([]string{r.User, r.Confirmer}, r.Besides...)
	for _, rev := range revisions {
		users = append(users, rev.By)
		if rev.For != "" {
			users = append(users, rev.For)
		}
	}
	slices.Sort(users)
	return slices.Compact(users)
}

// Own reports whether a run is a user's own: what another person must approve is not
// theirs to approve.
func (r Run) Own(user string, revisions []Revision) bool {
	return slices.Contains(r.Owners(revisions), user)
}

// State returns the state of a step.
func (r Run) State(stepID string) StepState {
	for i := range r.Steps { // a state is large: none is copied that was not asked for
		if r.Steps[i].StepID == stepID {
			return r.Steps[i]
		}
	}
	return StepState{StepID: stepID, Status: StepPending}
}

// With returns the run with another state of a step.
func (r Run) With(st StepState) Run {
	r.Steps = slices.Clone(r.Steps)
	at := slices.IndexFunc(r.Steps, func(s StepState) bool { return s.StepID == st.StepID })
	if at < 0 {
		r.Steps = append(r.Steps, st)
	} else {
		r.Steps[at] = st
	}
	return r
}

// WaitsUntil is, of a run that does nothing but wait for approvals, when the first of them
// is over. It is false while a step of the wave may go on by itself.
func (r Run) WaitsUntil(at time.Time) (time.Time, bool) {
	var until time.Time
	waves, err := Waves(r.Plan.Steps)
	if err != nil || r.CancelAt != nil || r.UndoAt != nil {
		return until, false
	}
	for _, wave := range waves {
		for _, id := range wave {
			st := r.State(id)
			switch {
			case st.Status.Terminal():
			case st.Status != StepWaiting || !st.Approval.Open(at) || st.Approval.Token == "":
				return time.Time{}, false
			case until.IsZero() || st.Approval.ExpiresAt.Before(until):
				until = st.Approval.ExpiresAt
			}
		}
		if !until.IsZero() {
			return until, true
		}
	}
	return until, false
}

// Event is one transition of a run. Seq counts from 1 without gaps.
type Event struct {
	Seq    int             `json:"seq"`
	At     time.Time       `json:"at"`
	Type   string          `json:"type"`
	StepID string          `json:"step_id,omitempty"`
	Data   json.RawMessage `json:"data"`
	Hash   string          `json:"hash"` // see Chained
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

	EventRevised      = "run.revised"
	EventUndoing      = "run.undoing"
	EventRetried      = "run.retried" // another run goes on from this one
	EventStepSkipped  = "step.skipped"
	EventStepExpanded = "step.expanded"
	EventStepAsked    = "step.approval_asked"
	EventStepApproved = "step.approved"
	EventStepRefused  = "step.refused"
	EventStepChecked  = "step.checked"
	EventStepSettled  = "step.settled"
	EventStepReasoned = "step.command_changed"
)
