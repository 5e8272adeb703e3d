package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"piloto/internal/access/auth"
	"piloto/internal/access/rate"
	"piloto/internal/ground/fault"
)

// The fields that say how often one may ask (draft-ietf-httpapi-ratelimit-headers-10). A
// policy is named after its class; a refusal has Retry-After as well.
const (
	headerPolicy = "RateLimit-Policy" // "turns";q=120;w=60
	headerLeft   = "RateLimit"        // "turns";r=119;t=1
	headerAfter  = "Retry-After"
)

const minute = "60"

// classOf is what an operation counts as when it does not say.
func classOf(method string) rate.Class {
	if method == http.MethodGet {
		return rate.Requests
	}
	return rate.Writes
}

// unhurried refuses a request that came too often. A decision has a quota of its own, because
// a person must be able to stop a run whatever else they sent.
func unhurried(ctx context.Context, to *route) error {
	_, known := auth.FromContext(ctx)
	if known && to != nil && to.class == rate.Decisions {
		return nil
	}
	return rate.Exceeded(ctx)
}

// take counts one request of a class for the webhook that signed it, else for its user. The
// header of the answer says what is left. A turn that is served apart from its request was
// counted with that.
func (c Config) take(ctx context.Context, class rate.Class) error {
	if _, counted := ticketOf(ctx); counted {
		return nil
	}
	who := rate.User(caller(ctx).Account, caller(ctx).User)
	if d, ok := ctx.Value(deliveryKey{}).(delivery); ok {
		who = rate.Webhook(caller(ctx).Account, d.webhook)
	}
	got, err := c.Meter.Take(ctx, class, who, c.Now())
	if err == nil && got.Limit > 0 {
		tell(askedFrom(ctx).header, class, got.Limit, got.Left, strconv.Itoa(got.Reset))
	}
	return err
}

// tell writes the fields of a policy.
func tell(h http.Header, class rate.Class, limit, left int, reset string) {
	name := strconv.Quote(string(class))
	h.Set(headerPolicy, name+";q="+strconv.Itoa(limit)+";w="+minute)
	h.Set(headerLeft, name+";r="+strconv.Itoa(left)+";t="+reset)
}

// tellWhen writes Retry-After, if the failure says when to ask again.
func tellWhen(h http.Header, f *fault.Error) {
	after := f.Args["retry_after"]
	if after == "" || h == nil {
		return
	}
	h.Set(headerAfter, after)
	if limit, err := strconv.Atoi(f.Args["limit"]); err == nil && errors.Is(f, rate.ErrTooMany) {
		tell(h, rate.Class(f.Args["reason"]), limit, 0, after)
	}
}
