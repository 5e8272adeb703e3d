package plan

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"piloto/internal/conversation/wire"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/meaning"
)

// Failure describes an error: Code for programs, and Message for people, in the language of the
// run.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Failure returns a failure in the language of the run.
func (r Run) Failure(code string, message locale.Phrase) *Failure {
	return &Failure{Code: code, Message: r.Text(message)}
}

// Text returns a phrase in the language of the run.
func (r Run) Text(p locale.Phrase) string { return p.In(locale.Tag(r.Locale)) }

// Result is the response to a step's call. Body is JSON when JSON is true, else text as a JSON
// string. Truncated means that Body holds only the beginning of Bytes bytes.
type Result struct {
	Status    int               `json:"status"`
	Headers   map[string]string `json:"headers,omitempty"`
	Body      json.RawMessage   `json:"body,omitempty"`
	Bytes     int               `json:"bytes"`
	Truncated bool              `json:"truncated,omitempty"`
	Apart     int               `json:"apart,omitempty"`              // number of pieces in which the whole body is stored; Body is then its beginning
	Near      bool              `json:"near,omitempty" hidden:"true"` // it is stored apart, and small enough to be read with its run
	SHA256    string            `json:"sha256,omitempty"`             // of the body as it was received, hex
}

// Answer returns the content of the response to a call with a method: the body, or the headers of a HEAD, which has no body.
// It is nil when there is none.
func (r Result) Answer(method string) json.RawMessage {
	if method != "HEAD" || len(r.Body) > 0 || len(r.Headers) == 0 {
		return r.Body
	}
	raw, _ := json.Marshal(r.Headers) // a map of texts
	return raw
}

// OfRouter reports whether a router, a gateway or a page answered, surely, and not the operation.
func (r Result) OfRouter() bool {
	body, text := []byte(r.Body), ""
	if json.Unmarshal(body, &text) == nil {
		body = []byte(text)
	}
	return meaning.OfRouter(r.Headers["Content-Type"], body)
}

// Shortened returns the result with at most about n bytes of its body. A longer body is cut, and
// becomes a JSON string.
func (r Result) Shortened(n int) Result {
	if len(r.Body) <= n {
		return r
	}
	var text string
	if r.Body[0] != '"' || json.Unmarshal(r.Body, &text) != nil { // another kind of JSON is not read, only cut
		text = string(r.Body[:n])
	}
	r.Body, _ = json.Marshal(strings.ToValidUTF8(text[:min(n, len(text))], ""))
	r.Truncated = true
	return r
}

// Attempt records one call. It is written before the call is sent, and completed with the result.
// An attempt without a result is in doubt.
type Attempt struct {
	Number int             `json:"number"`
	URL    string          `json:"url"` // as sent, without the server's key
	Body   json.RawMessage `json:"body,omitempty"`
	Key    string          `json:"key,omitempty"` // the Idempotency-Key that it was sent with
	SentAt time.Time       `json:"sent_at"`
	Open   bool            `json:"open"` // no result is known

	// Lasts is how long its invocation may be in the call, and write its result, in seconds from SentAt. Until then, nobody
	// else decides about the attempt.
	Lasts   int             `json:"lasts,omitempty"`
	Headers json.RawMessage `json:"headers,omitempty"` // of the plan, as sent
}

// Until returns when nobody can be in the call any more.
func (a Attempt) Until() time.Time { return a.SentAt.Add(time.Duration(a.Lasts) * time.Second) }

// StepState is the state of one effect: a step, one element of a step, or an undo.
type StepState struct {
	StepID    EffectID    `json:"step_id"`
	Status    StepStatus  `json:"status"`
	Attempts  int         `json:"attempts"`
	Last      Attempt     `json:"last"`
	Lost      bool        `json:"lost,omitempty"` // the response to an attempt was lost: the call may have been applied, even if later attempts failed
	Result    *Result     `json:"result"`
	Error     *Failure    `json:"error"`
	NotBefore time.Time   `json:"not_before"` // the server asked us to wait until then; zero when it did not ask
	UpdatedAt time.Time   `json:"updated_at"`
	Approval  *Approval   `json:"approval,omitempty"`
	Resolved  *Resolution `json:"resolved,omitempty"`
	Command   *Command    `json:"command,omitempty"`
	Items     int         `json:"items,omitempty"`    // number of elements, for a step that is done for each element
	Expanded  bool        `json:"expanded,omitempty"` // Items is set
	Checks    int         `json:"checks,omitempty"`   // how many times its check was sent
	Reused    string      `json:"reused,omitempty"`   // the run that the result is taken from

	// Handed is the id of the last write to the state since the effect was dispatched to an invocation of its own,
	// which writes no other row; empty: it is not dispatched. Loose are its unsequenced events since then.
	Handed string       `json:"-"`
	Loose  []LooseEvent `json:"loose,omitempty"`
}

// LooseEvent is an unsequenced event, with the messages that its run posts when the event gets its number.
type LooseEvent struct {
	At       time.Time      `json:"at"`
	Type     string         `json:"type"`
	Data     map[string]any `json:"data"`
	Messages []wire.Message `json:"messages,omitempty"`
}

// Approval is a step's request for an approval, and the decision on it.
type Approval struct {
	Ask
	Method    string          `json:"method"`            // of the request that will be sent
	URL       string          `json:"url"`               // with its query
	Headers   json.RawMessage `json:"headers,omitempty"` // that the plan has
	Body      json.RawMessage `json:"body,omitempty"`
	Request   string          `json:"request"` // RequestHash of Method, URL, Headers and Body: the request that is sent must be the one that was approved
	Token     string          `json:"token"`   // the token that resumes the execution
	AskedAt   time.Time       `json:"asked_at"`
	ExpiresAt time.Time       `json:"expires_at"`
	Decision  Decision        `json:"decision,omitempty"`
	By        string          `json:"by,omitempty"`
	Note      string          `json:"note,omitempty"`
	At        time.Time       `json:"at"`
}

// Decision is a person's answer to an approval request.
type Decision string

// The decisions.
const (
	Approved Decision = "approved"
	Refused  Decision = "refused"
)

// Open reports whether the approval is neither decided nor expired.
func (a *Approval) Open(at time.Time) bool {
	return a != nil && a.Decision == "" && at.Before(a.ExpiresAt)
}

// Resolution is the verdict of a person on a step in doubt.
type Resolution struct {
	Outcome Outcome   `json:"outcome"`
	By      string    `json:"by"`
	Note    string    `json:"note,omitempty"`
	At      time.Time `json:"at"`
}

// Outcome is the verdict on a step in doubt.
type Outcome string

// The outcomes.
const (
	OutcomeDone    Outcome = "done"
	OutcomeNotDone Outcome = "not_done"
	OutcomeRetry   Outcome = "retry" // it was not done and must be: a new draft continues the run
)

// Command is a shell command that a model proposes after one failed. The model read the response of
// the service to the failed command, Was.
type Command struct {
	Was     string `json:"was"`
	Now     string `json:"now"`
	Because string `json:"because"`
	Tokens  int    `json:"tokens"`
	Asked   bool   `json:"asked"`          // the model was asked; it is asked at most once
	Asks    bool   `json:"asks,omitempty"` // the command runs only after a person approves it
}

// Replaces reports whether the model proposed a different command. When no other command can be
// used, Now is equal to Was.
func (c *Command) Replaces() bool { return c != nil && c.Now != "" && c.Now != c.Was }

// Run is one execution of one plan.
type Run struct {
	ID         string
	Account    ids.Account
	User       string
	ChatID     string
	ProjectID  string
	Locale     string // of the messages that the run posts
	TraceID    string
	Plan       Plan
	Digest     Digest
	Status     Status
	Steps      []StepState // in the plan's order
	Error      *Failure
	EventSeq   int // of the last event
	CancelAt   *time.Time
	ConfirmBy  string       // id of the confirmation: the user, and the Idempotency-Key or a new id
	Confirmer  string       // the user who confirmed
	Reason     string       // the user's reason for rejecting the draft
	Withdrawn  *Withdrawal  `json:",omitempty"` // the model took the draft back; nil: it did not
	Dropped    *Dropped     `json:",omitempty"` // the draft that this one superseded; nil: none waited
	Retries    string       // the run that this one continues
	JobID      string       `json:"-"` // the job that proposed it and waits for its end
	Taken      []Taken      `json:"-"` // the values of its plan that were read
	ReadFrom   []string     `json:"-"` // ids of the services whose data its plan may have: a model that had read it wrote the plan, or its values are their answers. An edit keeps them
	Besides    []string     // further owners: those of the run that this one continues or repeats, who wrote the message that its plan answers, and people for whom a session acted
	Next       string       // the run that was last proposed to continue this one
	Unanswered []Unanswered `json:"-"` // requests of its chat whose keys it sends again; set when it is confirmed
	UndoAt     *time.Time   // when the undo of its effects began
	Question   string       `json:",omitempty"` // id of the message for which the plan was proposed; "": none is known
	Conclude   Conclude     `json:",omitempty"` // whether the model writes its conclusion
	Chain      string       // hash of the last event
	Link       int          // the number of its link in the account's chain; 0 while it has none
	Handouts   int          `json:"-"` // how often effects were dispatched or reclaimed without an event
	CreatedAt  time.Time
	UpdatedAt  time.Time
	DueAt      time.Time // when the sweep checks it again; zero when terminal
	Events     []Event   `json:"-"` // those of the transition that returned the run; none in one that was read
}

// OtherRunning returns ErrAlreadyRunning with the goal and the id of the active run. refused is the refused
// request: "other" for another plan of the same chat, or "chat" for the deletion of the chat.
func OtherRunning(refused string, active Run) *fault.Error {
	return ErrAlreadyRunning.With("case", refused).With("running", active.Plan.Goal).With("run_id", active.ID)
}

// DataFrom returns the ids of the services whose data a run has, in its plan or in its outcome. An error has words of the
// service, too.
func (r Run) DataFrom() []string {
	list := slices.Clone(r.ReadFrom)
	for _, st := range r.Steps {
		if s, ok := r.Plan.Step(st.StepID); ok && (st.Result != nil || st.Error != nil) {
			list = append(list, s.MCPID)
		}
	}
	return list
}

// State returns the state of an effect.
func (r Run) State(id EffectID) StepState {
	for i := range r.Steps { // a state is large: only the one that was asked for is copied
		if r.Steps[i].StepID == id {
			return r.Steps[i]
		}
	}
	return StepState{StepID: id, Status: StepPending}
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

// HandedOut reports whether effects of the run are dispatched.
func (r Run) HandedOut() bool {
	return slices.ContainsFunc(r.Steps, func(s StepState) bool { return s.Handed != "" })
}

// EndedWell reports whether each step is done or skipped, and the run is not being undone.
func (r Run) EndedWell() bool {
	return r.UndoAt == nil && !slices.ContainsFunc(r.Plan.Steps, func(s Step) bool {
		status := r.State(s.ID).Status
		return status != StepDone && status != StepSkipped
	})
}

// Refused reports whether a person refused the run and it changed nothing: its draft, or a step at its approval. The withdrawal
// of a draft by a model does not count.
func (r Run) Refused() bool {
	if r.Confirmer == "" {
		return r.Status == Cancelled && r.Withdrawn == nil
	}
	refused := func(st StepState) bool { return st.Approval != nil && st.Approval.Decision == Refused }
	return !MayHaveChanged(r) && slices.ContainsFunc(r.Steps, refused)
}

// MayHaveChanged reports whether a step or an undo of a run that changes something was done, or is in doubt.
func MayHaveChanged(r Run) bool {
	return slices.ContainsFunc(r.Steps, func(st StepState) bool {
		s, ok := r.Plan.Step(st.StepID)
		return ok && s.Risk != Read && (st.Status == StepDone || st.Status == StepInDoubt)
	})
}

// WaitsUntil returns the time at which the first open approval of a run expires, if every step that
// could run now waits for an approval. Otherwise it returns false.
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
	StepID EffectID        `json:"step_id,omitzero"`
	Data   json.RawMessage `json:"data"`
	Hash   string          `json:"hash"` // see Chained
	After  Status          `json:"-"`    // the status of the run after it, in a run that a transition returned
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
	EventStepWait   = "step.waiting" // the call is tried again later
	EventStepDone   = "step.done"
	EventStepFailed = "step.failed"
	EventStepDoubt  = "step.in_doubt"

	EventRevised      = "run.revised"
	EventRead         = "run.looked" // the reads of a draft were made again
	EventUndoing      = "run.undoing"
	EventRetried      = "run.retried"  // another run continues this one
	EventReversed     = "run.reversed" // another run was proposed that undoes effects of this one
	EventStepSkipped  = "step.skipped"
	EventStepExpanded = "step.expanded"
	EventStepAsked    = "step.approval_asked"
	EventStepApproved = "step.approved"
	EventStepRefused  = "step.refused"
	EventStepChecked  = "step.checked"
	EventStepResolved = "step.settled"
	EventStepReasoned = "step.command_changed"
)
