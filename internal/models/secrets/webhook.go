package secrets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"piloto/internal/access/auth"
)

// Webhooks keeps the secrets of webhooks, and remembers those it has read for a
// while: each signed request needs one. A webhook's secret never changes, and
// whether there is such a webhook is asked of the table each time, so that one
// that is remembered too long opens nothing.
//
// It implements auth.WebhookSecrets.
type Webhooks struct {
	manager *Manager
	now     func() time.Time

	mu   sync.Mutex
	kept map[string]keptSecret
}

// NewWebhooks returns a keeper that asks manager, by a clock.
func NewWebhooks(manager *Manager, now func() time.Time) *Webhooks {
	return &Webhooks{manager: manager, now: now, kept: map[string]keptSecret{}}
}

type keptSecret struct {
	Value Key // "": there is none
	until time.Time
}

// Format implements fmt.Formatter: what is remembered is in fields whose own
// methods fmt cannot call.
func (*Webhooks) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[webhooks]") }

const (
	webhookSecret   = "SECRET" // the name in a webhook's secret
	secretLife      = 5 * time.Minute
	noSecretLife    = 30 * time.Second
	mostKeptSecrets = 1000
)

// WebhookSecret returns the secret of a webhook; auth.ErrNoSecret when it has none.
func (w *Webhooks) WebhookSecret(ctx context.Context, account, id string) (string, error) {
	name := w.manager.WebhookID(account, id)
	w.mu.Lock()
	k, ok := w.kept[name]
	w.mu.Unlock()
	if !ok || !w.now().Before(k.until) {
		value, err := w.manager.Get(ctx, name, webhookSecret)
		k = keptSecret{Key(value), w.now().Add(secretLife)}
		switch {
		case errors.Is(err, ErrNotFound):
			k.until = w.now().Add(noSecretLife)
		case err != nil:
			return "", err
		}
		w.keep(name, k)
	}
	if k.Value == "" {
		return "", auth.ErrNoSecret
	}
	return k.Value.Reveal(), nil
}

// PutWebhookSecret stores the secret of a webhook.
func (w *Webhooks) PutWebhookSecret(ctx context.Context, account, id, secret string) error {
	name := w.manager.WebhookID(account, id)
	defer w.forget(name)
	return w.manager.Put(ctx, name, map[string]string{webhookSecret: secret})
}

// DeleteWebhookSecret removes the secret of a webhook for good.
func (w *Webhooks) DeleteWebhookSecret(ctx context.Context, account, id string) error {
	name := w.manager.WebhookID(account, id)
	defer w.forget(name)
	return w.manager.Delete(ctx, name)
}

func (w *Webhooks) keep(name string, k keptSecret) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.kept) >= mostKeptSecrets { // it begins anew
		clear(w.kept)
	}
	w.kept[name] = k
}

func (w *Webhooks) forget(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.kept, name)
}
