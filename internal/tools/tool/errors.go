package tool

import (
	"context"

	"piloto/internal/ground/ids"
)

// Errors is the meaning of a server's own error (500, 502, 504, or 503 without a time) for a call that must not be
// repeated. Only a person can know it: the answer may come from a gateway, or from a server that failed after it applied
// the call. The zero value is ErrorsDoubt.
type Errors string

// The meanings of errors.
const (
	ErrorsDoubt    Errors = "doubt"    // it may have been done: a check or a person finds out
	ErrorsRejected Errors = "rejected" // it was not done
)

// ErrorsReject reports whether an error of the server means that a call was not done.
func (s Server) ErrorsReject() bool { return s.Errors == ErrorsRejected }

// SetErrors sets the meaning of an error of a server.
func (r Registry) SetErrors(ctx context.Context, account ids.Account, id string, want Errors) (Server, error) {
	return r.Store.SetServerErrors(ctx, account, id, want)
}
