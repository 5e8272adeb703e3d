package auth

import (
	"context"

	"piloto/internal/ground/fault"
)

type refusalKey struct{}

// WithRefusal returns a context that carries why nobody was identified. It grants
// nothing: a request without a principal is refused with or without a reason.
func WithRefusal(ctx context.Context, why *fault.Error) context.Context {
	return context.WithValue(ctx, refusalKey{}, why)
}

// Refusal returns why nobody was identified: what Refuse said, else ErrRequired.
func Refusal(ctx context.Context) *fault.Error {
	if why, ok := ctx.Value(refusalKey{}).(*fault.Error); ok && why != nil {
		return why
	}
	return ErrRequired
}
