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

// Header fields of the rate limits (draft-ietf-httpapi-ratelimit-headers-10). A policy is named after its class. A
// refusal also has Retry-After.
const (
	headerPolicy = "RateLimit-Policy" // "turns";q=120;w=60
	headerLeft   = "RateLimit"        // "turns";r=119;t=1
	headerAfter  = "Retry-After"
)

const minute = "60"

// classOf returns the default class of an operation.
func classOf(method string) rate.Class {
	if method == http.MethodGet {
		return rate.Requests
	}
	return rate.Writes
}

// checkRate returns the error of a request that exceeds its limit. Decisions have a quota of their own, because a
// person must be able to stop a run after any number of other requests.
func checkRate(ctx context.Context, to *route) error {
	_, known := auth.FromContext(ctx)
	if known && to != nil && to.class == rate.Decisions {
		return nil
	}
	return rate.Exceeded(ctx)
}

// take counts one request of a class, for the webhook that signed it or else for its user, and writes the remaining
// quota into the response header. A turn that is served after its request was counted with that request.
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
		setRateHeaders(requestInfoFrom(ctx).header, class, got.Limit, got.Left, strconv.Itoa(got.Reset))
	}
	return err
}

// takeBytes counts bytes of files, of the copy of a chat, or of the allowlist of a service, before they are stored. Its
// fields stand beside those of the write.
func (c Config) takeBytes(ctx context.Context, bytes int) error {
	who := rate.User(caller(ctx).Account, caller(ctx).User)
	got, err := c.Meter.TakeMany(ctx, rate.FileBytes, who, (bytes+1023)/1024, c.Now())
	if err == nil && got.Limit > 0 {
		addRateHeaders(requestInfoFrom(ctx).header, rate.FileBytes, got.Limit, got.Left, strconv.Itoa(got.Reset))
	}
	return err
}

// setRateHeaders writes the fields of a policy.
func setRateHeaders(h http.Header, class rate.Class, limit, left int, reset string) {
	h.Del(headerPolicy)
	h.Del(headerLeft)
	addRateHeaders(h, class, limit, left, reset)
}

// addRateHeaders writes the fields of one policy more. Bytes are written as such.
func addRateHeaders(h http.Header, class rate.Class, limit, left int, reset string) {
	name, unit := strconv.Quote(string(class)), ""
	if class == rate.FileBytes {
		limit, left, unit = limit<<10, left<<10, `;qu="content-bytes"`
	}
	h.Add(headerPolicy, name+";q="+strconv.Itoa(limit)+";w="+minute+unit)
	h.Add(headerLeft, name+";r="+strconv.Itoa(left)+";t="+reset)
}

// setRetryAfter writes Retry-After, if the failure has a time to retry.
func setRetryAfter(h http.Header, f *fault.Error) {
	after := f.Args["retry_after"]
	if after == "" || h == nil {
		return
	}
	h.Set(headerAfter, after)
	if limit, err := strconv.Atoi(f.Args["limit"]); err == nil && errors.Is(f, rate.ErrTooMany) {
		class := rate.Class(f.Args["reason"])
		if class == rate.FileBytes {
			limit <<= 10
		}
		setRateHeaders(h, class, limit, 0, after)
	}
}
