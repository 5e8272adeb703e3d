package tool

import "context"

// Errors says what it means that a server answers an error of its own (500, 502, 504, or 503 without a time) to a call
// that must not be repeated. Only a person can know it: the answer may come from a gateway, or from a server that
// failed after it did what it was asked for. The zero value is ErrorsDoubt.
type Errors string

// The meanings of errors.
const (
	ErrorsDoubt    Errors = "doubt"    // it may have been done: a check or a person finds out
	ErrorsRejected Errors = "rejected" // it was not done
)

// ErrorsReject reports whether an error of the server means that a call was not done.
func (s Server) ErrorsReject() bool { return s.Errors == ErrorsRejected }

// SetErrors sets what an error of a server means.
func (r Registry) SetErrors(ctx context.Context, account, id string, want Errors) (Server, error) {
	return r.Store.SetServerErrors(ctx, account, id, want)
}
