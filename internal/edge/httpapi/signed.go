package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"piloto/internal/access/auth"
	"piloto/internal/access/rate"
	"piloto/internal/access/replay"
)

// Header fields of a signed request: those of Standard Webhooks, and X-Piloto-Webhook with the id of the webhook.
const (
	headerWebhook   = "X-Piloto-Webhook"
	headerDelivery  = "Webhook-Id"
	headerTimestamp = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"
	headerKey       = "Idempotency-Key"
)

// signature is the document's security scheme of signed requests.
var signature = &huma.SecurityScheme{
	Type: "apiKey", In: "header", Name: headerSignature,
	Description: "Standard Webhooks 1.0: X-Piloto-Webhook is the webhook_id, webhook-id names the delivery (1 to 255 visible ASCII " +
		"characters, no dot), webhook-timestamp is in seconds (five minutes to either side), and webhook-signature is \"v1,\" and the base64 " +
		"of HMAC-SHA256 over \"webhook-id.webhook-timestamp.body\" with the bytes of the secret behind whsec_. A delivery that is sent again " +
		"is answered as before. A bearer token, when there is one, decides instead.",
}

type deliveryKey struct{}

// delivery identifies a delivery of a webhook.
type delivery struct{ webhook, id string }

// authenticateSigned sets the principal of a signed request without one. A token decides instead, whether it is
// valid or not, and so does a refusal by the gateway; then no signature is checked. The signature covers the body
// as it arrived, before it is decoded.
func (c Config) authenticateSigned(w http.ResponseWriter, r *http.Request) (*http.Request, error) {
	_, known := auth.FromContext(r.Context())
	refused := !errors.Is(auth.Refusal(r.Context()), auth.ErrRequired)
	token := isPresent(r.Header, "Authorization") || isPresent(r.Header, "X-Vx11-Token")
	if known || refused || token || c.Webhooks == nil || !isPresent(r.Header, headerSignature) {
		return r, nil
	}
	body, err := readBody(w, r, MaxBody)
	if err != nil {
		return nil, err
	}
	d := auth.Delivery{
		Webhook: single(r.Header, headerWebhook), ID: single(r.Header, headerDelivery),
		Timestamp: single(r.Header, headerTimestamp), Signature: single(r.Header, headerSignature), Body: body,
	}
	p, err := c.signer(r.Context(), rate.Address(r.RemoteAddr), d)
	if err != nil {
		return nil, err
	}
	r = r.WithContext(context.WithValue(auth.NewContext(r.Context(), p), deliveryKey{}, delivery{d.Webhook, d.ID}))
	receive(r, body)
	return r, nil
}

// signer returns the principal of a delivery. A bad signature counts as a bad token of the address.
func (c Config) signer(ctx context.Context, from rate.Subject, d auth.Delivery) (auth.Principal, error) {
	p, err := c.Webhooks.Authenticate(ctx, d)
	if errors.Is(err, auth.ErrRequired) {
		if many := c.Meter.Bad(ctx, from, c.Now()); many != nil {
			return p, many
		}
	}
	return p, err
}

func isPresent(h http.Header, name string) bool { return len(h.Values(name)) > 0 }

// single returns a field that occurs exactly once; else "".
func single(h http.Header, name string) string {
	if values := h.Values(name); len(values) == 1 {
		return values[0]
	}
	return ""
}

type identityKey struct{}

// requestIdentity is the part of a request by which a repetition is recognised.
type requestIdentity struct {
	route   string // "POST /api/agent/chat"
	address string // with the query
	body    []byte
	key     string // the Idempotency-Key; "": there is none
}

// withIdentity stores the identity of a request in its context, for serveOnce.
func withIdentity(r *http.Request, to *route, body []byte) *http.Request {
	s := requestIdentity{to.method + " " + to.pattern, r.URL.EscapedPath() + "?" + r.URL.RawQuery, body, r.Header.Get(headerKey)}
	return r.WithContext(context.WithValue(r.Context(), identityKey{}, s))
}

// fingerprint returns a hash that is the same for the same request and no other.
func (s requestIdentity) fingerprint() string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s\n%s\n", s.route, s.address)
	_, _ = h.Write(s.body)
	return hex.EncodeToString(h.Sum(nil))
}

// maxKey is the longest Idempotency-Key, in bytes.
const maxKey = 255

// replayKey returns the idempotency key of a request and its header field: the delivery's id for a signed request,
// which is signed too, else the Idempotency-Key. The zero Key means that there is none. A key belongs to its
// sender: a webhook or a user.
func replayKey(ctx context.Context) (replay.Key, string) {
	s, _ := ctx.Value(identityKey{}).(requestIdentity)
	if d, ok := ctx.Value(deliveryKey{}).(delivery); ok {
		return replay.Key{Scope: s.route + " of webhook " + d.webhook, Value: d.id}, headerDelivery
	}
	if s.key == "" {
		return replay.Key{}, ""
	}
	return replay.Key{Scope: s.route + " of user " + caller(ctx).User, Value: s.key}, headerKey
}

// isKey reports whether the values of the header are one key: 1 to 255 printable ASCII characters, not spaces alone.
func isKey(values []string) bool {
	if len(values) != 1 {
		return false
	}
	key := values[0]
	return strings.Trim(key, " ") != "" && len(key) <= maxKey && !strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' })
}

// Keyed is the key of a request that serveOnce serves.
type Keyed struct {
	Key string `header:"Idempotency-Key" doc:"1 to 255 printable ASCII characters, not spaces alone. Under a key, a request is served once; sent again within 24 hours, it is answered as it was. A signed request has its webhook-id instead"`
}

// ticket is the id and time that all attempts at one request share.
type ticket = replay.Ticket

// mostUnderway is the longest time between the gateway and this function.
const mostUnderway = 30 * time.Second

// arrivedAt returns the latest possible arrival time of a request: with a key, that of its first attempt; otherwise
// that at the gateway, which may be before the function was started. It returns the zero time when it is unknown.
func (c Config) arrivedAt(ctx context.Context, t ticket) time.Time {
	if c.ArrivedAt == nil {
		return time.Time{}
	}
	if async, ok := ticketOf(ctx); ok {
		return async.At
	}
	if at := c.ArrivedAt(ctx); at.Before(t.At) && t.At.Sub(at) <= mostUnderway {
		return at
	}
	return t.At
}

// mayBeRetried reports whether a request is served again when its process dies: it has a key, or is served
// asynchronously.
func mayBeRetried(ctx context.Context) bool {
	key, _ := replayKey(ctx)
	_, async := ticketOf(ctx)
	return async || key != replay.Key{}
}

// replayed is a response that is replayed, byte for byte, to a repeated request. Its body is a T.
type replayed[T any] struct {
	Replayed string `header:"Idempotency-Replayed" doc:"true: it was answered before, and this is that answer"`
	Body     verbatim[T]
}

// verbatim is the JSON of a T, unchanged.
type verbatim[T any] struct{ raw json.RawMessage }

// MarshalJSON implements json.Marshaler.
func (v verbatim[T]) MarshalJSON() ([]byte, error) { return v.raw, nil }

// Schema implements huma.SchemaProvider with the schema of T.
func (verbatim[T]) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[T](), true, "")
}

// errNotKept is an error of the wiring: the handler needs a store of answers.
var errNotKept = errors.New("httpapi: a request has a key, and nothing keeps answers")

// serveTurn is serveOnce for a turn: a call of f counts as one.
func serveTurn[T any](ctx context.Context, c Config, f func(context.Context, ticket) (T, error)) (*replayed[T], error) {
	return serveOnce(ctx, c, func(ctx context.Context, t ticket) (none T, err error) {
		if err := c.take(ctx, rate.Turns); err != nil {
			return none, err
		}
		return f(ctx, t)
	})
}

// serveOnce serves a request with f. A request with a key is served once; a signed request always has a key. The
// answer of f is stored, unless f fails or returns replay.ErrNothingDone. Effects that use the ticket as their key
// happen once, also when the process dies meanwhile.
func serveOnce[T any](ctx context.Context, c Config, f func(context.Context, ticket) (T, error)) (*replayed[T], error) {
	serve := func(ctx context.Context, t ticket) ([]byte, error) {
		out, err := f(ctx, t)
		if err != nil && !errors.Is(err, replay.ErrNothingDone) {
			return nil, err
		}
		var raw bytes.Buffer // encoded like every other response
		if wrong := format.Marshal(&raw, out); wrong != nil {
			return nil, wrong
		}
		return bytes.TrimSpace(raw.Bytes()), err
	}
	key, where := replayKey(ctx)
	switch {
	case key == replay.Key{}:
		at := c.Now()
		t, async := ticketOf(ctx)
		if !async {
			t = ticket{ID: c.NewID(at), At: at}
		}
		raw, err := serve(ctx, t)
		if errors.Is(err, replay.ErrNothingDone) {
			err = nil
		}
		return &replayed[T]{Body: verbatim[T]{raw}}, err
	case c.Once == nil:
		return nil, errNotKept
	}
	s, _ := ctx.Value(identityKey{}).(requestIdentity)
	raw, again, err := c.Once.Do(ctx, caller(ctx).Account, key, s.fingerprint(), serve)
	if errors.Is(err, replay.ErrReused) {
		return nil, replay.ErrReused.At(field("value_error", "header", where))
	}
	out := &replayed[T]{Body: verbatim[T]{raw}}
	if again {
		out.Replayed = "true"
	}
	return out, err
}
