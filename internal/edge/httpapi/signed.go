package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"piloto/internal/access/auth"
	"piloto/internal/access/rate"
	"piloto/internal/access/replay"
)

// The header fields of a signed request: those of Standard Webhooks, and ours, which
// says who is said to have signed.
const (
	headerWebhook   = "X-Piloto-Webhook"
	headerDelivery  = "Webhook-Id"
	headerTimestamp = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"
	headerKey       = "Idempotency-Key"
)

// signature is what the document says of signed requests.
var signature = &huma.SecurityScheme{
	Type: "apiKey", In: "header", Name: headerSignature,
	Description: "Standard Webhooks 1.0: X-Piloto-Webhook is the webhook_id, webhook-id names the delivery (1 to 255 visible ASCII " +
		"characters, no dot), webhook-timestamp is in seconds (five minutes to either side), and webhook-signature is \"v1,\" and the base64 " +
		"of HMAC-SHA256 over \"webhook-id.webhook-timestamp.body\" with the bytes of the secret behind whsec_. A delivery that is sent again " +
		"is answered as before. A bearer token, when there is one, decides instead.",
}

type deliveryKey struct{}

// delivery is which delivery of which webhook a request is.
type delivery struct{ webhook, id string }

// signed says who a request is from that has no principal and is signed. A token
// that is presented decides, whether it is good or not, and so does a refusal of
// the gateway's; no signature is looked at then. What is signed is the body as it
// came, before anything of it is read.
func (c Config) signed(w http.ResponseWriter, r *http.Request) (*http.Request, error) {
	_, known := auth.FromContext(r.Context())
	refused := !errors.Is(auth.Refusal(r.Context()), auth.ErrRequired)
	token := present(r.Header, "Authorization") || present(r.Header, "X-Vx11-Token")
	if known || refused || token || c.Webhooks == nil || !present(r.Header, headerSignature) {
		return r, nil
	}
	body, err := readBody(w, r)
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
	r.Body = io.NopCloser(bytes.NewReader(body))
	return r, nil
}

// signer returns who sent a delivery. A bad signature counts as a bad token of the address.
func (c Config) signer(ctx context.Context, from rate.Subject, d auth.Delivery) (auth.Principal, error) {
	p, err := c.Webhooks.Authenticate(ctx, d)
	if errors.Is(err, auth.ErrRequired) {
		if many := c.Meter.Bad(ctx, from, c.Now()); many != nil {
			return p, many
		}
	}
	return p, err
}

func present(h http.Header, name string) bool { return len(h.Values(name)) > 0 }

// single is a field that stands once; one that stands twice means nothing.
func single(h http.Header, name string) string {
	if values := h.Values(name); len(values) == 1 {
		return values[0]
	}
	return ""
}

type sentKey struct{}

// sent is what a request is recognised by when it is sent again.
type sent struct {
	route   string // "POST /api/agent/chat"
	address string // with the query
	body    []byte
	keys    []string // every Idempotency-Key
}

// noted remembers a request for once.
func noted(r *http.Request, to *route, body []byte) *http.Request {
	s := sent{to.method + " " + to.pattern, r.URL.EscapedPath() + "?" + r.URL.RawQuery, body, r.Header.Values(headerKey)}
	return r.WithContext(context.WithValue(r.Context(), sentKey{}, s))
}

// fingerprint is the same for the same request and no other.
func (s sent) fingerprint() string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s\n%s\n", s.route, s.address)
	_, _ = h.Write(s.body)
	return hex.EncodeToString(h.Sum(nil))
}

// maxKey is how long an Idempotency-Key may be, in bytes.
const maxKey = 255

// replayKey is the key of a request, and the header field that it stands in: of a
// signed one the delivery's id, which is signed too, else the Idempotency-Key. The
// zero Key: it has none. A key is its sender's: a webhook's, or a user's.
func replayKey(ctx context.Context) (replay.Key, string, error) {
	s, _ := ctx.Value(sentKey{}).(sent)
	if d, ok := ctx.Value(deliveryKey{}).(delivery); ok {
		return replay.Key{Scope: s.route + " of webhook " + d.webhook, Value: d.id}, headerDelivery, nil
	}
	if len(s.keys) == 0 {
		return replay.Key{}, "", nil
	}
	key := s.keys[0]
	good := len(s.keys) == 1 && key != "" && len(key) <= maxKey
	for i := range len(key) {
		good = good && ' ' < key[i] && key[i] <= '~'
	}
	if !good {
		return replay.Key{}, "", errInvalid.At(field("string_pattern_mismatch", "header", headerKey))
	}
	return replay.Key{Scope: s.route + " of user " + caller(ctx).User, Value: key}, headerKey, nil
}

// Keyed is the key of a request that is answered by once.
type Keyed struct {
	Key string `header:"Idempotency-Key" doc:"1 to 255 visible ASCII characters. Under a key, a request is served once; sent again within 24 hours, it is answered as it was. A signed request has its webhook-id instead"`
}

// Resolve refuses a key that is not one.
func (*Keyed) Resolve(ctx huma.Context) []error {
	if _, _, err := replayKey(ctx.Context()); err != nil {
		return []error{err}
	}
	return nil
}

// ticket is what all attempts at one request have in common.
type ticket = replay.Ticket

// mostUnderway is how long a request may be on its way from the gateway to here.
const mostUnderway = 30 * time.Second

// came is when the words of a request came, at the latest: with a key, when it came
// first; and before the function that serves it was started, as the gateway says. The zero
// time when nobody knows.
func (c Config) arrivedAt(ctx context.Context, t ticket) time.Time {
	if c.ArrivedAt == nil {
		return time.Time{}
	}
	if brought, ok := ticketOf(ctx); ok {
		return brought.At
	}
	if at := c.ArrivedAt(ctx); at.Before(t.At) && t.At.Sub(at) <= mostUnderway {
		return at
	}
	return t.At
}

// mayCome reports a request that is served again when whoever serves it dies: it has a key, or is
// served apart from who brought it.
func mayCome(ctx context.Context) bool {
	key, _, err := replayKey(ctx)
	_, brought := ticketOf(ctx)
	return brought || err == nil && key != replay.Key{}
}

// replayed is an answer that is given again, byte for byte, to the request that is
// sent again. Its body is a T.
type replayed[T any] struct {
	Replayed string `header:"Idempotency-Replayed" doc:"true: it was answered before, and this is that answer"`
	Body     verbatim[T]
}

// verbatim is the JSON of a T, as it is.
type verbatim[T any] struct{ raw json.RawMessage }

// MarshalJSON implements json.Marshaler.
func (v verbatim[T]) MarshalJSON() ([]byte, error) { return v.raw, nil }

// Schema implements huma.SchemaProvider: that of T.
func (verbatim[T]) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[T](), true, "")
}

// errNotKept is a mistake of ours: what a handler asks for was not wired.
var errNotKept = errors.New("httpapi: a request has a key, and nothing keeps answers")

// once serves a turn with f. A request with a key is served once; a signed request always has
// a key.
// What f answers is kept; its failures are not, nor what it answers with
// replay.ErrNothingDone. Effects that are keyed by the ticket happen once also when the
// process dies while it serves the request. It counts as a turn when f serves it.
func once[T any](ctx context.Context, c Config, f func(context.Context, ticket) (T, error)) (*replayed[T], error) {
	serve := func(ctx context.Context, t ticket) ([]byte, error) {
		if err := c.take(ctx, rate.Turns); err != nil {
			return nil, err
		}
		out, err := f(ctx, t)
		if err != nil && !errors.Is(err, replay.ErrNothingDone) {
			return nil, err
		}
		var raw bytes.Buffer // as every other answer is written
		if wrong := format.Marshal(&raw, out); wrong != nil {
			return nil, wrong
		}
		return bytes.TrimSpace(raw.Bytes()), err
	}
	key, where, err := replayKey(ctx)
	switch {
	case err != nil:
		return nil, err
	case key == replay.Key{}:
		at := c.Now()
		t, brought := ticketOf(ctx)
		if !brought {
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
	s, _ := ctx.Value(sentKey{}).(sent)
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
