package plan

import (
	"errors"

	"piloto/internal/ground/ids"
)

// Bound is a call with the operation that it is bound to, and for whom it is made.
type Bound struct {
	Account            ids.Account
	ProjectID, TraceID string
	Key                string // idempotency key of a call of a tool with a name
	Step               Step
	Binding            Binding // the zero Binding: there is none
}

// Bound returns a call of the run's plan with its binding.
func (r Run) Bound(s Step) Bound {
	b, _ := r.Plan.Binding(s.ID)
	return Bound{Account: r.Account, ProjectID: r.ProjectID, TraceID: r.TraceID, Key: r.ID + ":" + s.ID.String(), Step: s, Binding: b}
}

// The reasons why a read is not made without a confirmation. Nothing was sent.
var (
	ErrReadAsks   = errors.New("a person has to confirm the read")
	ErrReadDenied = errors.New("a rule of the account denies the read")
)

// ReadDenied is an ErrReadDenied with the rule that denies the read.
type ReadDenied struct{ Rule, Reason string }

// Error implements error.
func (e *ReadDenied) Error() string { return ErrReadDenied.Error() + ": " + e.Rule }

// Unwrap returns ErrReadDenied.
func (e *ReadDenied) Unwrap() error { return ErrReadDenied }

// ReadAnswer is the result of a read that was made without a confirmation. Result is nil when no answer came.
type ReadAnswer struct {
	URL    string // as sent, without the server's key
	Hash   string // RequestHash
	Result *Result
	Failed bool // of a tool: its answer describes an error
}

// Status is the status of the answer, or 0.
func (a ReadAnswer) Status() int {
	if a.Result == nil {
		return 0
	}
	return a.Result.Status
}
