package secrets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/ground/ids"
)

// Webhooks stores the secrets of webhooks, and caches those that it has read, because
// each signed request needs one. A webhook's secret never changes. Whether the
// webhook exists is read from the table for each request, so a secret that is cached
// too long gives no access.
// It implements auth.WebhookSecrets.
type Webhooks struct {
	manager *Manager
	now     func() time.Time

	mu    sync.Mutex
	cache map[string]cachedSecret
}

// NewWebhooks returns a cache over manager, with a clock.
func NewWebhooks(manager *Manager, now func() time.Time) *Webhooks {
	return &Webhooks{manager: manager, now: now, cache: map[string]cachedSecret{}}
}

type cachedSecret struct {
	Value Key // "": there is no secret
	until time.Time
}

// Format implements fmt.Formatter, because fmt cannot call the methods of unexported fields.
func (*Webhooks) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[webhooks]") }

const (
	webhookSecret    = "SECRET" // the name in a webhook's secret
	secretLife       = 5 * time.Minute
	noSecretLife     = 30 * time.Second
	maxCachedSecrets = 1000
)

// WebhookSecret returns the secret of a webhook; auth.ErrNoSecret when it has none.
func (w *Webhooks) WebhookSecret(ctx context.Context, account ids.Account, id string) (string, error) {
	name := w.manager.WebhookID(account, id)
	w.mu.Lock()
	k, ok := w.cache[name]
	w.mu.Unlock()
	if !ok || !w.now().Before(k.until) {
		value, err := w.manager.Get(ctx, name, webhookSecret)
		k = cachedSecret{Key(value), w.now().Add(secretLife)}
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
func (w *Webhooks) PutWebhookSecret(ctx context.Context, account ids.Account, id, secret string) error {
	name := w.manager.WebhookID(account, id)
	defer w.forget(name)
	return w.manager.Put(ctx, name, map[string]string{webhookSecret: secret})
}

// DeleteWebhookSecret removes the secret of a webhook permanently.
func (w *Webhooks) DeleteWebhookSecret(ctx context.Context, account ids.Account, id string) error {
	name := w.manager.WebhookID(account, id)
	defer w.forget(name)
	return w.manager.Delete(ctx, name)
}

func (w *Webhooks) keep(name string, k cachedSecret) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.cache) >= maxCachedSecrets { // a full cache is emptied
		clear(w.cache)
	}
	w.cache[name] = k
}

func (w *Webhooks) forget(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.cache, name)
}
