// Package receipt builds the receipt of a run, which anyone can verify without Piloto. It holds
// every plan of the run, who confirmed which of them and when, all requests and their results, and
// all events, each bound to the previous one by its hash.
//
// A receipt is valid (Verify finds nothing) when its events are a chain without gaps from the first
// to its head; every plan has its stated digest and replaces the previous one; the confirmed digest
// is that of the last plan; no request was sent before the confirmation, outside of that plan, to a
// URL that the plan cannot lead to, or without the approval that it waited for; and the summary
// agrees with the events. The receipt of an active run is valid too, as far as the run has come.
//
// Validity does not prove the author: a forger who recomputes every hash and digest gets a valid
// receipt. Therefore the end of each run becomes a Link of its account's chain, which holds the
// hash of the previous link and is signed (Sealer). All of a receipt follows exactly from its
// events and plans, and its link holds the hash of the last event. The public key (SignedBy)
// detects every change in it, and the chain (VerifyChain) detects missing, duplicate or moved
// receipts. Links that were cut off at the end are detected only by a head that the user stored
// (Pinned).
//
// A receipt does not prove that a service did the work that it reported, nor who a user's name
// belongs to, nor that the table was unchanged before the signature.
package receipt

import (
	"time"

	"piloto/internal/ground/ids"
	"piloto/internal/runs/plan"
)

// Version is the version of the receipt format.
const Version = "piloto.receipt/2"

// Receipt is the verifiable history of a run.
type Receipt struct {
	Version   string        `json:"version"`
	Account   ids.Account   `json:"account"`
	RunID     string        `json:"run_id"`
	PlanID    string        `json:"plan_id"`
	ChatID    string        `json:"chat_id"`
	Status    plan.Status   `json:"status"`
	Digest    plan.Digest   `json:"digest"` // of the current plan, or of the last one
	Revisions []Revision    `json:"revisions"`
	Confirmed *Confirmation `json:"confirmed,omitempty"`
	Steps     []Step        `json:"steps"` // the steps of the plan in order, then the elements and undos that have events
	Events    []plan.Event  `json:"events"`
	Head      string        `json:"head"`                                        // the hash of the last event
	Unsigned  string        `json:"unsigned,omitempty" enum:"not_ended,pending"` // the reason why it has no signature
	Chain     *Place        `json:"chain,omitempty"`                             // its position in the chain of the account
	Signature *Signature    `json:"signature,omitempty"`                         // of the chain's head, and therefore of the whole receipt
}

// Revision is one version of the plan.
type Revision struct {
	Revision int         `json:"revision"`
	Digest   plan.Digest `json:"digest"`
	By       string      `json:"by"`
	Model    string      `json:"model,omitempty"` // the model that wrote it, if one did
	At       time.Time   `json:"at"`
	Plan     plan.Plan   `json:"plan"`
}

// Confirmation records who confirmed which plan, and when.
type Confirmation struct {
	By     string      `json:"by"`
	At     time.Time   `json:"at"`
	Digest plan.Digest `json:"digest"`
}

// Step is the state of one effect: a step, an element of one, or an undo.
type Step struct {
	ID       plan.EffectID   `json:"id"`
	Title    string          `json:"title"`
	Called   string          `json:"called"` // the name of its call, as proposed
	Status   plan.StepStatus `json:"status"`
	Sent     *Sent           `json:"sent,omitempty"`
	Result   *Result         `json:"result,omitempty"`
	Error    string          `json:"error,omitempty"` // the code of the last failure
	Approval *Approval       `json:"approval,omitempty"`
	Resolved *Resolution     `json:"settled,omitempty"`
	Command  *Command        `json:"command,omitempty"`
	Reused   string          `json:"reused,omitempty"` // the run that its result is taken from
}

// Sent is the last request that was sent, with the number of attempts.
type Sent struct {
	Method   string    `json:"method"`
	URL      string    `json:"url"`
	Request  string    `json:"request"` // hex SHA-256 of method, URL and body, the first two each ended by a newline
	Attempts int       `json:"attempts"`
	At       time.Time `json:"at"`
}

// Result is the response: its HTTP status, and the size in bytes and the hex SHA-256 of its body.
type Result struct {
	Status int    `json:"status"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256,omitempty"`
}

// Approval is the approval request of a step, and the decision on it.
type Approval struct {
	Reason    string        `json:"reason"`
	Rule      string        `json:"rule,omitempty"`
	Another   bool          `json:"another,omitempty"`
	Request   string        `json:"request"` // the approved request, in the form of Sent.Request
	AskedAt   time.Time     `json:"asked_at"`
	ExpiresAt time.Time     `json:"expires_at"`
	Decision  plan.Decision `json:"decision,omitempty"`
	By        string        `json:"by,omitempty"`
	Note      string        `json:"note,omitempty"`
	At        *time.Time    `json:"at,omitempty"`
}

// Resolution is the verdict of a person on a step in doubt.
type Resolution struct {
	Outcome plan.Outcome `json:"outcome"`
	By      string       `json:"by"`
	Note    string       `json:"note,omitempty"`
	At      time.Time    `json:"at"`
}

// Command is the command that replaced a failed one.
type Command struct {
	Was     string `json:"was"`
	Now     string `json:"now"`
	Because string `json:"because"`
}

// New builds the receipt of a run from all its revisions, the oldest first, and all its events. The state of its steps comes
// from the events. Only their status comes from the run, so that Verify can compare it. The status of a dispatched effect is
// that of its last numbered event, because later events are unsequenced.
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
	account := newAccount(r.Plan, events)
	out.Confirmed = account.confirmed
	for _, e := range account.effects {
		s := e.Step
		if st := r.State(s.ID); st.Handed == "" {
			s.Status = st.Status
		} else {
			s.Status = e.expectedStatus(account)
		}
		out.Steps = append(out.Steps, s)
	}
	return out
}
