package gateway

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"piloto/internal/access/auth"
	"piloto/internal/access/rate"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
)

// Handler serves API Gateway's HTTP events, payload format 2.0, with h. It puts the principal of the authorizer
// into h's context.
func (edge Edge) Handler(h http.Handler) func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	return func(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		ctx = WithArrival(ctx, time.UnixMilli(e.RequestContext.TimeEpoch))
		r, err := edge.request(withAuthorizer(ctx, e.RequestContext.Authorizer), e)
		if err != nil { // API Gateway encodes the base64, so a client cannot cause this
			return events.APIGatewayV2HTTPResponse{}, err
		}
		w := &recorder{header: http.Header{}}
		h.ServeHTTP(w, r)
		return w.answer(r.Method), nil
	}
}

type arrivalKey struct{}

// WithArrival returns a context with the arrival time of a request.
func WithArrival(ctx context.Context, at time.Time) context.Context {
	return context.WithValue(ctx, arrivalKey{}, at)
}

// ArrivedAt returns the time at which the request arrived at the gateway. That may be before the function was
// started. It returns the zero time when it is unknown.
func ArrivedAt(ctx context.Context) time.Time {
	at, _ := ctx.Value(arrivalKey{}).(time.Time)
	return at
}

// withAuthorizer returns ctx with the result of the authorizer.
func withAuthorizer(ctx context.Context, a *events.APIGatewayV2HTTPRequestContextAuthorizerDescription) context.Context {
	if a == nil || len(a.Lambda) == 0 {
		return ctx
	}
	text := func(name string) string {
		s, _ := a.Lambda[name].(string)
		return s
	}
	refusal, ok := refusals[text("refused")]
	if text("refused") != "" && !ok {
		refusal = auth.ErrRequired
	}
	for name := range a.Lambda {
		if of, ok := strings.CutPrefix(name, "refused_"); ok && refusal != nil {
			refusal = refusal.With(of, text(name))
		}
	}
	if refusal != nil && refusal.Code != rate.ErrTooMany.Code {
		return WithIdentity(ctx, auth.Principal{}, refusal)
	}
	p := auth.Principal{Account: ids.Account(text("account")), User: text("user"), TokenID: text("token_id")}
	for _, scope := range strings.Fields(text("scopes")) {
		p.Scopes = append(p.Scopes, auth.Scope(scope))
	}
	return WithIdentity(ctx, p, refusal)
}

// refusals are the refusals of an authorizer, by code.
var refusals = map[string]*fault.Error{
	auth.ErrRequired.Code:    auth.ErrRequired,
	auth.ErrCrossOrigin.Code: auth.ErrCrossOrigin,
	auth.ErrUndecided.Code:   auth.ErrUndecided,
	rate.ErrTooMany.Code:     rate.ErrTooMany,
}
