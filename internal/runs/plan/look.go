package plan

import "errors"

// The reasons why a read is not made without a confirmation. Nothing was sent.
var (
	ErrLookAsks   = errors.New("a person has to confirm the read")
	ErrLookDenied = errors.New("a rule of the account denies the read")
)

// LookDenied is an ErrLookDenied with the rule that denies the read.
type LookDenied struct{ Rule, Reason string }

// Error implements error.
func (e *LookDenied) Error() string { return ErrLookDenied.Error() + ": " + e.Rule }

// Unwrap returns ErrLookDenied.
func (e *LookDenied) Unwrap() error { return ErrLookDenied }

// Look is a read that was made without a confirmation. Result is nil when no answer came.
type Look struct {
	URL    string // as sent, without the server's key
	Hash   string // RequestHash
	Result *Result
	Failed bool // of a tool: its answer describes an error
}

// Status is the status of the answer, or 0.
func (l Look) Status() int {
	if l.Result == nil {
		return 0
	}
	return l.Result.Status
}
