package auth

import (
	"context"

	"piloto/internal/ground/fault"
)

type refusalKey struct{}

// WithRefusal returns a context with the reason why there is no principal. It grants nothing: a
// request without a principal is refused with or without a reason.
func WithRefusal(ctx context.Context, why *fault.Error) context.Context {
	return context.WithValue(ctx, refusalKey{}, why)
}

// Refusal returns the reason of WithRefusal, else ErrRequired.
func Refusal(ctx context.Context) *fault.Error {
	if why, ok := ctx.Value(refusalKey{}).(*fault.Error); ok && why != nil {
		return why
	}
	return ErrRequired
}
