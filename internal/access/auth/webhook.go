package auth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
)

// A webhook lets another system send requests without a token. It signs each request by Standard
// Webhooks 1.0 (standardwebhooks.com), with a shared secret. Invariants:
//
//   - The signature covers the ID of the delivery, the time and every byte of the body. None of
//     them can be changed, and none is used before the signature is verified.
//   - A signature is valid for five minutes before and after its time. A delivery that is repeated
//     within them is the same delivery (see package replay).
//   - The secret is stored apart from all other data.
//   - Every fault of a signature, a webhook or a time returns ErrRequired. Only the log has the
//     reason.

// Webhook is one stored webhook. It acts as the user who created it.
type Webhook struct {
	ID        string // "wh_" and a ULID
	Account   ids.Account
	User      string
	Name      string
	Scopes    []Scope // only chat
	CreatedAt time.Time
}

// Errors of webhooks.
var (
	ErrWebhookNotFound = fault.New(fault.NotFound, "webhook.not_found")
	ErrTooManyWebhooks = fault.New(fault.Conflict, "webhook.too_many")
)

// ErrNoSecret is the error for a webhook without a secret: it is being created or deleted.
var ErrNoSecret = errors.New("auth: the webhook has no secret")

// MaxWebhooks bounds the webhooks of an account.
const MaxWebhooks = 50

// Limits of a signed request.
const (
	signatureLife = 5 * time.Minute // before and after the time of the signature
	maxDelivery   = 255             // bytes of a delivery's ID
	maxSignature  = 2048            // bytes of the header
	maxTimestamp  = 12              // digits
	webhookPrefix = "wh_"
	secretPrefix  = "whsec_"
	versionOne    = "v1,"
	minSecret     = 24 // bytes, from Standard Webhooks
	maxSecret     = 64
)

// Delivery is a signed request as it was received: the header fields X-Piloto-Webhook,
// webhook-id, webhook-timestamp and webhook-signature, and the body. All of it is untrusted.
type Delivery struct {
	Webhook   string
	ID        string
	Timestamp string
	Signature string
	Body      []byte
}

// WebhookLister lists an account's webhooks, the oldest first, without their secrets.
type WebhookLister interface {
	Webhooks(ctx context.Context, account ids.Account) ([]Webhook, error)
}

// WebhookStore stores webhooks without their secrets.
type WebhookStore interface {
	// Webhook returns a webhook by its ID; ErrWebhookNotFound when there is none.
	Webhook(ctx context.Context, id string) (Webhook, error)
	WebhookLister
	CreateWebhook(ctx context.Context, w Webhook) error
	// DeleteWebhook deletes a webhook of an account; ErrWebhookNotFound when the account does
	// not have it.
	DeleteWebhook(ctx context.Context, account ids.Account, id string) error
}

// WebhookSecrets stores the secrets of webhooks, and no other data.
type WebhookSecrets interface {
	// WebhookSecret returns a secret; ErrNoSecret when there is none.
	WebhookSecret(ctx context.Context, account ids.Account, id string) (string, error)
	PutWebhookSecret(ctx context.Context, account ids.Account, id, secret string) error
	// DeleteWebhookSecret deletes a secret. A missing one is no error.
	DeleteWebhookSecret(ctx context.Context, account ids.Account, id string) error
}

// Webhooks creates and deletes webhooks, and authenticates signed requests.
type Webhooks struct {
	Store   WebhookStore
	Secrets WebhookSecrets
	NewID   func(at time.Time) string // ULIDs
	Now     func() time.Time
}

// Create creates a webhook that acts as the principal, with only the scope chat. It returns the
// webhook with its secret, which cannot be read again. It returns ErrTooManyWebhooks when the
// account has MaxWebhooks.
func (s *Webhooks) Create(ctx context.Context, p Principal, name string) (Webhook, string, error) {
	list, err := s.Store.Webhooks(ctx, p.Account)
	if err != nil {
		return Webhook{}, "", err
	}
	if len(list) >= MaxWebhooks {
		return Webhook{}, "", ErrTooManyWebhooks.With("limit", strconv.Itoa(MaxWebhooks))
	}
	at := s.Now()
	w := Webhook{
		ID: webhookPrefix + s.NewID(at), Account: p.Account, User: p.User, Name: name, Scopes: []Scope{ScopeChat}, CreatedAt: at,
	}
	// The webhook is stored first: a webhook without a secret can be listed and deleted, a
	// secret without a webhook cannot.
	if err := s.Store.CreateWebhook(ctx, w); err != nil {
		return Webhook{}, "", err
	}
	// Other requests may have created webhooks since the count.
	switch list, err := s.Store.Webhooks(ctx, p.Account); {
	case err != nil:
		return Webhook{}, "", errors.Join(err, s.Store.DeleteWebhook(context.WithoutCancel(ctx), w.Account, w.ID))
	case len(list) > MaxWebhooks:
		err := s.Store.DeleteWebhook(context.WithoutCancel(ctx), w.Account, w.ID)
		return Webhook{}, "", errors.Join(ErrTooManyWebhooks.With("limit", strconv.Itoa(MaxWebhooks)), err)
	}
	secret := NewWebhookSecret()
	if err := s.Secrets.PutWebhookSecret(ctx, w.Account, w.ID, secret); err != nil {
		return Webhook{}, "", errors.Join(err, s.Delete(context.WithoutCancel(ctx), w.Account, w.ID))
	}
	return w, secret, nil
}

// List returns an account's webhooks, the oldest first.
func (s *Webhooks) List(ctx context.Context, account ids.Account) ([]Webhook, error) {
	return s.Store.Webhooks(ctx, account)
}

// Delete deletes a webhook of an account, and its secret permanently. Requests signed with it
// are refused from then on. Delete can be retried after an error.
func (s *Webhooks) Delete(ctx context.Context, account ids.Account, id string) error {
	if !ValidWebhook(id) {
		return ErrWebhookNotFound
	}
	w, err := s.Store.Webhook(ctx, id)
	if err == nil && w.Account != account {
		err = ErrWebhookNotFound
	}
	if err != nil {
		return err
	}
	if err := s.Secrets.DeleteWebhookSecret(ctx, account, id); err != nil {
		return err
	}
	return s.Store.DeleteWebhook(ctx, account, id)
}

// Authenticate returns the principal of a delivery, when an existing webhook signed it. Every
// refusal is ErrRequired. It returns ErrUndecided when a store does not answer.
func (s *Webhooks) Authenticate(ctx context.Context, d Delivery) (Principal, error) {
	at := s.Now()
	if err := d.checkForm(at); err != nil {
		return Principal{}, err
	}
	w, err := s.Store.Webhook(ctx, d.Webhook)
	switch {
	case errors.Is(err, ErrWebhookNotFound):
		return Principal{}, signatureError("there is no such webhook")
	case err != nil:
		return Principal{}, ErrUndecided.Because(err)
	}
	secret, err := s.Secrets.WebhookSecret(ctx, w.Account, w.ID)
	switch {
	case errors.Is(err, ErrNoSecret):
		return Principal{}, signatureError("the webhook has no secret")
	case err != nil:
		return Principal{}, ErrUndecided.Because(err)
	}
	if err := d.Verify(secret, at); err != nil {
		return Principal{}, err
	}
	return Principal{Account: w.Account, User: w.User, Scopes: []Scope{ScopeChat}}, nil
}

// checkForm refuses a malformed delivery without a read of the store.
func (d Delivery) checkForm(at time.Time) error {
	if !ValidWebhook(d.Webhook) {
		return signatureError("no webhook is named so")
	}
	return d.checkHeaders(at)
}

// ValidWebhook reports whether id has the form of a webhook's ID.
func ValidWebhook(id string) bool {
	rest, ok := strings.CutPrefix(id, webhookPrefix)
	return ok && ids.Valid(rest)
}

// Verify checks the signature over the ID of a delivery, its time (seconds since 1970, in digits) and its body. The
// signature is a list "v1,BASE64 v1,BASE64": one of them must match, and those of other versions are ignored. It returns
// ErrRequired, with the reason as its cause, for the log.
func (d Delivery) Verify(secret string, at time.Time) error {
	if err := d.checkHeaders(at); err != nil {
		return err
	}
	key, ok := secretKey(secret)
	if !ok {
		return signatureError("the secret is not one")
	}
	want := sum(key, d.ID, d.Timestamp, d.Body)
	right := false
	for one := range strings.SplitSeq(d.Signature, " ") {
		text, ok := strings.CutPrefix(one, versionOne)
		if !ok {
			continue
		}
		got, err := base64.StdEncoding.Strict().DecodeString(text)
		if hmac.Equal(got, want) && err == nil {
			right = true
		}
	}
	if !right {
		return signatureError("the signature is of something else")
	}
	return nil
}

// checkHeaders refuses malformed header fields, and a time that is too far away. A delivery's ID
// contains no dot: otherwise "a.1" signed at 2 would read as "a" signed at 1, with a body that
// begins with "2.".
func (d Delivery) checkHeaders(at time.Time) error {
	if d.ID == "" || len(d.ID) > maxDelivery {
		return signatureError("the id of the delivery is missing or too long")
	}
	for i := range len(d.ID) {
		if d.ID[i] <= ' ' || d.ID[i] > '~' || d.ID[i] == '.' {
			return signatureError("the id of the delivery has a character that it may not have")
		}
	}
	if d.Signature == "" || len(d.Signature) > maxSignature {
		return signatureError("the signature is missing or too long")
	}
	if d.Timestamp == "" || len(d.Timestamp) > maxTimestamp || strings.Trim(d.Timestamp, "0123456789") != "" {
		return signatureError("the time is not one")
	}
	seconds, err := strconv.ParseInt(d.Timestamp, 10, 64)
	if err != nil {
		return signatureError("the time is not one")
	}
	if age := at.Sub(time.Unix(seconds, 0)); age > signatureLife || age < -signatureLife {
		return signatureError("the time is more than five minutes away")
	}
	return nil
}

// Sign returns the webhook-signature of a delivery at a time, as a sender computes it of its ID and its body. Its
// webhook-timestamp is at.Unix() in digits.
func (d Delivery) Sign(secret string, at time.Time) (string, error) {
	key, ok := secretKey(secret)
	if !ok {
		return "", errors.New("auth: a secret of a webhook is whsec_ and 24 to 64 bytes in base64")
	}
	return versionOne + base64.StdEncoding.EncodeToString(sum(key, d.ID, strconv.FormatInt(at.Unix(), 10), d.Body)), nil
}

// NewWebhookSecret returns 256 random bits in the secret format of Standard Webhooks. The bytes
// of the key are visible ASCII, because some senders, such as n8n, accept only a text.
func NewWebhookSecret() string {
	return secretPrefix + base64.StdEncoding.EncodeToString([]byte(ids.Secret()))
}

// ValidSecret reports whether a text has the form of a secret: whsec_ and 24 to 64 bytes in base64.
func ValidSecret(secret string) bool {
	_, ok := secretKey(secret)
	return ok
}

// WebhookKey returns the key of a secret, as a text.
func WebhookKey(secret string) string {
	key, _ := secretKey(secret)
	return string(key)
}

func secretKey(secret string) ([]byte, bool) {
	text, ok := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.Strict().DecodeString(text)
	return key, ok && err == nil && len(key) >= minSecret && len(key) <= maxSecret
}

func sum(key []byte, id, timestamp string, body []byte) []byte {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte(id + "." + timestamp + "."))
	_, _ = mac.Write(body)
	return mac.Sum(nil)
}

// signatureError returns a refusal with a reason for the log.
func signatureError(why string) error {
	return ErrRequired.Because(errors.New("auth: webhook: " + why))
}
