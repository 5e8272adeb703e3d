// Package receipt owns the account of one run that can be checked without us: every
// plan it had, who confirmed which of them and when, what was sent and what came of
// it, and all of its events, each bound to the one before it by its hash.
//
// A receipt holds (Verify finds nothing) when its events are a gap-free chain from
// the first to its head; every plan has the digest it is said to have and replaces
// the one before it; the digest that was confirmed is that of the last one; nothing
// was sent before that, nor what that plan does not have, nor where it could not
// lead, nor without the approval that it waited for; and its summary says what its
// events say. The receipt of a run that still goes on holds too: of what there is.
//
// That a receipt holds does not prove who wrote it: whoever counts every hash and digest
// again makes another that holds. So what a run came to is a Link of the chain of its
// account, which names the link before it by its hash, and is signed (Sealer). All of a
// receipt follows from its events and plans to the letter, and its link names the last
// event by its hash: with the public key (SignedBy) nothing of it can be another, and with
// the chain (VerifyChain) none can be missing, doubled or moved. Of links that were cut
// off at the end only a head that somebody kept tells (Pinned).
//
// It does not prove that a service did what it answered, nor who a user's name belongs
// to, nor that whoever could write the table before it was signed did not.
package receipt

import (
	"time"

	"piloto/internal/runs/plan"
)

// Version names the form of a receipt.
const Version = "piloto.receipt/2"

// Receipt is the account of a run.
type Receipt struct {
	Version   string        `json:"version"`
	Account   string        `json:"account"`
	RunID     string        `json:"run_id"`
	PlanID    string        `json:"plan_id"`
	ChatID    string        `json:"chat_id"`
	Status    plan.Status   `json:"status"`
	Digest    plan.Digest   `json:"digest"` // of the plan as it stands, or stood at the end
	Revisions []Revision    `json:"revisions"`
	Confirmed *Confirmation `json:"confirmed,omitempty"`
	Steps     []Step        `json:"steps"` // of the plan in its order, then elements and undos that there are events of
	Events    []plan.Event  `json:"events"`
	Head      string        `json:"head"`                                        // the hash of the last event
	Unsigned  string        `json:"unsigned,omitempty" enum:"not_ended,pending"` // why it has no signature
	Chain     *Place        `json:"chain,omitempty"`                             // where it stands among the account's receipts
	Signature *Signature    `json:"signature,omitempty"`                         // of that place, and so of all of it
}

// Revision is a plan as it stood for a time.
type Revision struct {
	Revision int         `json:"revision"`
	Digest   plan.Digest `json:"digest"`
	By       string      `json:"by"`
	Model    string      `json:"model,omitempty"` // what wrote it, when a model did
	At       time.Time   `json:"at"`
	Plan     plan.Plan   `json:"plan"`
}

// Confirmation is who confirmed which plan, and when.
type Confirmation struct {
	By     string      `json:"by"`
	At     time.Time   `json:"at"`
	Digest plan.Digest `json:"digest"`
}

// Step is what became of one effect: a step, an element of one, or an undo.
type Step struct {
	ID       string          `json:"id"`
	Title    string          `json:"title"`
	Called   string          `json:"called"` // as it was proposed
	Status   plan.StepStatus `json:"status"`
	Sent     *Sent           `json:"sent,omitempty"`
	Result   *Result         `json:"result,omitempty"`
	Error    string          `json:"error,omitempty"` // the code of what went wrong last
	Approval *Approval       `json:"approval,omitempty"`
	Settled  *Settled        `json:"settled,omitempty"`
	Command  *Command        `json:"command,omitempty"`
	Reused   string          `json:"reused,omitempty"` // the run whose result it has
}

// Sent is the last request that was sent, and how many there were.
type Sent struct {
	Method   string    `json:"method"`
	URL      string    `json:"url"`
	Request  string    `json:"request"` // hex SHA-256 of method, URL and body, each but the last ended by a newline
	Attempts int       `json:"attempts"`
	At       time.Time `json:"at"`
}

// Result is what was answered: its HTTP status, and its body in bytes and as the hex
// SHA-256 of them.
type Result struct {
	Status int    `json:"status"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256,omitempty"`
}

// Approval is what a step waited for, and what somebody said.
type Approval struct {
	Reason    string        `json:"reason"`
	Rule      string        `json:"rule,omitempty"`
	Another   bool          `json:"another,omitempty"`
	Request   string        `json:"request"` // what was approved, as Sent has it
	AskedAt   time.Time     `json:"asked_at"`
	ExpiresAt time.Time     `json:"expires_at"`
	Decision  plan.Decision `json:"decision,omitempty"`
	By        string        `json:"by,omitempty"`
	Note      string        `json:"note,omitempty"`
	At        *time.Time    `json:"at,omitempty"`
}

// Settled is what a person said of a step in doubt.
type Settled struct {
	Outcome plan.Outcome `json:"outcome"`
	By      string       `json:"by"`
	Note    string       `json:"note,omitempty"`
	At      time.Time    `json:"at"`
}

// Command is the command that took the place of one that failed.
type Command struct {
	Was     string `json:"was"`
	Now     string `json:"now"`
	Because string `json:"because"`
}

// New writes the receipt of a run: of all its revisions, the oldest first, and all of
// its events. What became of its steps is what the events say, but for their status,
// which is the run's own word for Verify to compare.
func New(r plan.Run, revisions []plan.Revision, events []plan.Event) Receipt {
	out := Receipt{
		Version: Version, Account: r.Account, RunID: r.ID, PlanID: r.Plan.ID, ChatID: r.ChatID, Status: r.Status, Digest: r.Digest,
		Revisions: []Revision{}, Events: append([]plan.Event{}, events...), Head: r.Chain,
	}
	for _, v := range revisions {
		out.Revisions = append(out.Revisions, Revision{
			Revision: v.Plan.Revision, Digest: v.Digest, By: v.By, Model: v.Model, At: v.At.UTC().Truncate(time.Millisecond), Plan: v.Plan,
		})
	}
	if out.Unsigned = NotEnded; r.Status.Terminal() {
		out.Unsigned = Pending
	}
	account := told(r.Plan, events)
	out.Confirmed = account.confirmed
	for _, e := range account.effects {
		s := e.Step
		s.Status = r.State(s.ID).Status
		out.Steps = append(out.Steps, s)
	}
	return out
}
