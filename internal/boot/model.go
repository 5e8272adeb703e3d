package boot

import (
	"context"
	"net/http"
	"sync"
	"time"

	"piloto/internal/llm"
	"piloto/internal/openai"
	"piloto/internal/secrets"
)

const (
	modelTimeout = time.Minute     // of one call, whatever the turn allows
	keyLife      = 5 * time.Minute // a rotated key is read again by then
	secretName   = "OPENAI_API_KEY"
)

// secretModel is a model whose key is in a secret. The key is read at the first
// call, kept for a while, and dropped when the provider refuses it.
type secretModel struct {
	provider Provider
	secrets  *secrets.Manager
	id       string // of the secret
	doer     *http.Client
	now      func() time.Time

	mu     sync.Mutex
	client *openai.Client
	until  time.Time
}

// Complete implements llm.Model.
func (m *secretModel) Complete(ctx context.Context, r llm.Request) (llm.Reply, error) {
	client, err := m.keyed(ctx)
	if err != nil {
		return llm.Reply{}, llm.ErrNoKey.Because(err)
	}
	reply, err := client.Complete(ctx, r)
	if llm.ErrNoKey.Is(err) {
		m.mu.Lock()
		m.client = nil
		m.mu.Unlock()
	}
	return reply, err
}

func (m *secretModel) keyed(ctx context.Context) (*openai.Client, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.client != nil && m.now().Before(m.until) {
		return m.client, nil
	}
	key, err := m.secrets.Get(ctx, m.id, secretName)
	if err != nil {
		return nil, err
	}
	m.client = openai.New(m.provider.Name(), m.provider.BaseURL, key, m.doer)
	m.until = m.now().Add(keyLife)
	return m.client, nil
}

// model returns the model of a configuration, and whether it has what it needs.
func (w World) model(c ChatConfig) (llm.Model, bool) {
	doer := &http.Client{Timeout: modelTimeout, Transport: http.DefaultTransport.(*http.Transport).Clone()}
	if c.SecretARN != "" && !w.Keyless { // whose secret, if any, has the key of another provider
		return &secretModel{provider: c.Provider, secrets: secrets.NewManager(w.Secrets, ""), id: c.SecretARN, doer: doer, now: w.Now}, true
	}
	return openai.New(c.Name(), c.BaseURL, w.ModelKey, doer), w.ModelKey != "" || w.Keyless
}
