package hook

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/sweep"
)

// Event is a kind of message.
type Event string

// Event types of a hook.
const (
	RunFinished  Event = "run.finished"  // a confirmed run ended: done, error, cancelled or in_doubt
	RunWaiting   Event = "run.waiting"   // steps of a run wait for an approval
	RunInDoubt   Event = "run.in_doubt"  // a run ended with steps of which nobody knows whether they took effect
	PlanProposed Event = "plan.proposed" // a draft waits for its confirmation

	AgentFailed   Event = "agent.failed"   // a customer's message got no answer of an agent, or a job failed
	BreakerOpened Event = "breaker.opened" // an agent failed so often that it is not called for a while
	BudgetLow     Event = "budget.low"     // little is left of the credits, or of the limit of a day or a month
)

// Events are all events, in the order in which they are shown.
var Events = []Event{PlanProposed, RunWaiting, RunFinished, RunInDoubt, AgentFailed, BreakerOpened, BudgetLow}

// Known reports whether there is such an event.
func (e Event) Known() bool { return slices.Contains(Events, e) }

// Message is a notification. Its JSON is the body of the request: at most 4 KB.
type Message struct {
	Type Event           `json:"type"`
	At   time.Time       `json:"timestamp"`
	Data json.RawMessage `json:"data"`
}

// RunData is the data of every event of a run or of a draft.
type RunData struct {
	RunID   string   `json:"run_id"`
	ChatID  string   `json:"chat_id"`
	Status  string   `json:"status" doc:"of the run"`
	Goal    string   `json:"goal"`
	Digest  string   `json:"digest"`
	User    string   `json:"user" doc:"who asked for it"`
	JobID   string   `json:"job_id,omitempty" doc:"of the job that proposed it"`
	Error   string   `json:"error,omitempty" doc:"the code of its failure"`
	StepIDs []string `json:"step_ids,omitempty" nullable:"false" doc:"the steps that wait, or are in doubt"`
	DueAt   string   `json:"due_at,omitempty" format:"date-time" doc:"until when a draft or an approval waits"`
	Path    string   `json:"path" doc:"of its chat on the page; of run.waiting, of the first approval there"`

	Approvals []ApprovalData `json:"approvals,omitempty" nullable:"false" doc:"of run.waiting: the request that each step would send"`
}

// ApprovalData names one request that waits for an approval.
type ApprovalData struct {
	StepID  string `json:"step_id"`
	Request string `json:"request_digest" doc:"SHA-256 of the request, which the decision must name"`
}

// AgentData is the data of agent.failed. It has a job, or the session of a customer.
type AgentData struct {
	Agent     string `json:"agent" doc:"its name"`
	Error     string `json:"error" doc:"the code of the failure, or why the job or the answer was ended"`
	ChatID    string `json:"chat_id"`
	JobID     string `json:"job_id,omitempty" doc:"of a job that failed"`
	SessionID string `json:"session_id,omitempty" doc:"of a customer who got no answer"`
	CompanyID int64  `json:"company_id,omitempty" doc:"id_empresa of the session"`
	User      string `json:"user" doc:"who asked, in the account"`
	Path      string `json:"path" doc:"of its chat on the page"`
}

// BreakerData is the data of breaker.opened.
type BreakerData struct {
	Agent    string `json:"agent" doc:"its name"`
	MCPID    string `json:"mcp_id" doc:"its service"`
	Failures int    `json:"failures" doc:"in a row"`
	RetryAt  string `json:"retry_at" format:"date-time" doc:"it is not called before"`
	Path     string `json:"path" doc:"of the services on the page"`
}

// BudgetData is the data of budget.low.
type BudgetData struct {
	Budget string `json:"budget" enum:"credits,day,month" doc:"the credits, or the limit of a day or of a month"`
	Period string `json:"period,omitempty" doc:"of a limit: 2026-03-01 or 2026-03, in UTC"`
	Left   int64  `json:"left" doc:"credits, or micro-USD; below zero when more was used than there was"`
	Of     int64  `json:"of" doc:"the credits after the last grant, or the limit"`
	Path   string `json:"path" doc:"of the credits on the page"`
}

// Paths of the page, under which a reader finds the subject of a message.
const (
	AgentsPath  = "/?view=servers"
	CreditsPath = "/?view=credits"
)

// ChatPath returns the path of a chat on the page.
func ChatPath(id string) string { return "/?chat=" + id }

// ApprovalPath returns the path of a step's approval on the page. The page says when another request waits by now.
func ApprovalPath(runID string, a ApprovalData) string {
	return "/?approve=" + url.QueryEscape(runID) + "&step=" + url.QueryEscape(a.StepID) + "&request_digest=" + url.QueryEscape(a.Request)
}

// NewMessage returns the message of an event at a time.
func NewMessage(e Event, at time.Time, data any) (Message, error) {
	raw, err := json.Marshal(data)
	return Message{Type: e, At: at.UTC(), Data: raw}, err
}

// Why a hook is off.
const (
	OffByPerson = "person"  // somebody switched it off
	OffGone     = "gone"    // its address answered 410
	OffFailing  = "failing" // every delivery failed, for mostFailing
)

// Hook is an address and the events that are sent to it. Its secret is stored apart.
type Hook struct {
	ID           string // "hk_" and a ULID
	Account      ids.Account
	URL          string
	Events       []Event
	Enabled      bool
	Off          string // why it is not enabled
	FailingSince time.Time
	By           string // the user who made it
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

// Wants reports whether an event is sent to a hook.
func (h Hook) Wants(e Event) bool { return h.Enabled && slices.Contains(h.Events, e) }

// Wanted returns the events that at least one of the hooks wants, in the order of Events.
func Wanted(hooks []Hook) []Event {
	var list []Event
	for _, e := range Events {
		if slices.ContainsFunc(hooks, func(h Hook) bool { return h.Wants(e) }) {
			list = append(list, e)
		}
	}
	return list
}

// State is how far a delivery has come.
type State string

// The states of a delivery.
const (
	Pending   State = "pending" // it will be sent, or sent again
	Delivered State = "delivered"
	Failed    State = "failed" // it is not sent again, unless somebody asks for it
)

// Attempt is one request of a delivery.
type Attempt struct {
	At     time.Time `json:"at"`
	Millis int64     `json:"ms"`
	Status int       `json:"status,omitempty"` // of the answer; 0: there was none
	Error  string    `json:"error,omitempty"`  // a word: target, dns, refused, tls, timeout, reset, protocol, status, or off

	wait time.Duration // the pause that the answer asks for
	gone bool          // the address itself says that nothing will be there again
}

// Delivery is one message to one hook, and its log.
type Delivery struct {
	ID        string // "msg_" and a ULID: the header webhook-id
	HookID    string
	Account   ids.Account
	Type      Event
	Body      []byte // as it is sent
	State     State
	Tries     int // since it was made, or was asked for again
	Attempts  []Attempt
	CreatedAt time.Time
	NextAt    time.Time // of the next attempt; zero unless it is pending
	Lease     string    // names who sends it now
}

// Bounds of hooks.
const (
	MaxHooks    = 20 // of an account
	mostLog     = 30 // attempts that a delivery keeps
	hookPrefix  = "hk_"
	idPrefix    = "msg_"
	kept        = 7 * 24 * time.Hour // the life of a delivery that ended
	mostFailing = 3 * 24 * time.Hour // after that a hook is switched off
)

// Valid reports whether id has the form of a hook's id.
func Valid(id string) bool {
	return len(id) > len(hookPrefix) && id[:len(hookPrefix)] == hookPrefix && ids.Valid(id[len(hookPrefix):])
}

// ValidDelivery reports whether id has the form of a delivery's id.
func ValidDelivery(id string) bool {
	return len(id) > len(idPrefix) && id[:len(idPrefix)] == idPrefix && ids.Valid(id[len(idPrefix):])
}

// Errors of hooks.
var (
	ErrNotFound         = fault.New(fault.NotFound, "hook.not_found")
	ErrDeliveryNotFound = fault.New(fault.NotFound, "hook.delivery_not_found")
	ErrTooMany          = fault.New(fault.Conflict, "hook.too_many")
	ErrSecret           = fault.New(fault.Invalid, "hook.secret")
	ErrOff              = fault.New(fault.Conflict, "hook.off")
)

// OutboxRow is a row of the outbox of an account, with one message or several.
type OutboxRow struct {
	Key      string // of its row
	Account  ids.Account
	Messages []Message
}

// Due is the key of a due delivery, or of a row of the outbox.
type Due struct {
	Account  ids.Account
	Outbox   string // the key of the row of the outbox; "": it is a delivery
	HookID   string
	Delivery string
	Seen     string // its queue key, which must be unchanged when it is leased
}

// Lister lists the hooks of an account, without their secrets.
type Lister interface {
	// Hooks lists an account's hooks, the oldest first.
	Hooks(ctx context.Context, account ids.Account) ([]Hook, error)
}

// Store keeps hooks, the outbox and the deliveries.
type Store interface {
	Lister
	// Hook returns a hook; ErrNotFound when the account has none of that id.
	Hook(ctx context.Context, account ids.Account, id string) (Hook, error)
	// Secret returns the secret of a hook; ErrNotFound.
	Secret(ctx context.Context, account ids.Account, id string) (string, error)
	// ChangeHooks reads the hooks of an account and makes the changes that change returns, in one transaction with
	// the events that the account wants. It reads again when they changed meanwhile.
	ChangeHooks(ctx context.Context, account ids.Account, change func([]Hook) (Change, error)) error
	// NoteHook sets, or ends, the time since which a hook fails, in a hook that is as it was read.
	NoteHook(ctx context.Context, h Hook, since time.Time) error

	// Deliveries lists the deliveries of a hook, the newest first, by pages.
	Deliveries(ctx context.Context, account ids.Account, hookID, cursor string, limit int) ([]Delivery, string, error)
	// Delivery returns one; ErrDeliveryNotFound.
	Delivery(ctx context.Context, account ids.Account, hookID, id string) (Delivery, error)
	// Resend makes a delivery due at a time.
	Resend(ctx context.Context, d Delivery, at time.Time) error

	// DueHooks lists the rows that are due by a time, the oldest first, at most limit.
	DueHooks(ctx context.Context, at time.Time, limit int) ([]sweep.Row[Due], error)
	// OutboxRow reads a row of the outbox; nil when another sweep has taken it.
	OutboxRow(ctx context.Context, account ids.Account, key string) (*OutboxRow, error)
	// Spread replaces a row of the outbox with deliveries. It reports whether this call did.
	Spread(ctx context.Context, t OutboxRow, list []Delivery) (bool, error)
	// Lease makes a delivery the caller's until a time; nil when another has it.
	Lease(ctx context.Context, d Due, owner string, until time.Time) (*Delivery, error)
	// DelayHook makes a delivery due at a time, unless somebody has taken it.
	DelayHook(ctx context.Context, d Due, at time.Time) error
	// Record stores a delivery after an attempt, when the caller still has it.
	Record(ctx context.Context, d Delivery) error
}

// Change is a change of the hooks of an account. Secret, when it is not empty, is that of Put.
type Change struct {
	Put    *Hook
	Secret string
	Delete string // the id of a hook
}
