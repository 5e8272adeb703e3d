package secrets_test

import (
	"errors"
	"fmt"
	engine "localaws/secretsmanager"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/ground/ids"
	"piloto/internal/models/secrets"
)

// counting is a handler that counts the reads, and that can be shut.
type counting struct {
	http.Handler
	reads atomic.Int32
	shut  atomic.Bool
}

func (c *counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetSecretValue") {
		c.reads.Add(1)
	}
	if c.shut.Load() {
		http.Error(w, `{"__type":"InternalServiceError","message":"`+canary+`"}`, http.StatusInternalServerError)
		return
	}
	c.Handler.ServeHTTP(w, r)
}

type hooks struct {
	*secrets.Webhooks
	manager *secrets.Manager
	engine  *counting
	at      time.Time
}

func newHooks(t *testing.T) *hooks {
	t.Helper()
	e, err := engine.Open(filepath.Join(t.TempDir(), "secrets.json"))
	if err != nil {
		t.Fatal(err)
	}
	h := &hooks{engine: &counting{Handler: e}, at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	h.manager = secrets.NewManager(config(h.engine), "piloto")
	h.Webhooks = secrets.NewWebhooks(h.manager, func() time.Time { return h.at })
	return h
}

// says returns the secret of a webhook, "none", or "error".
func (h *hooks) says(t *testing.T, account ids.Account, id string) string {
	t.Helper()
	got, err := h.WebhookSecret(t.Context(), account, id)
	switch {
	case errors.Is(err, auth.ErrNoSecret):
		return "none"
	case err != nil:
		if strings.Contains(err.Error(), canary) {
			t.Errorf("the error holds what the service said: %v", err)
		}
		return "error"
	}
	return got
}

func TestAWebhookSecretIsCachedForFiveMinutes(t *testing.T) {
	h := newHooks(t)
	if err := h.PutWebhookSecret(t.Context(), "a", "wh_1", canary); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		after time.Duration
		reads int32
	}{{0, 1}, {4 * time.Minute, 1}, {time.Minute - 1, 1}, {1, 2}, {5 * time.Minute, 3}} {
		h.at = h.at.Add(c.after)
		if got := h.says(t, "a", "wh_1"); got != canary || h.engine.reads.Load() != c.reads {
			t.Errorf("after %s: %s, %d reads", c.after, got, h.engine.reads.Load())
		}
	}
}

func TestAMissingWebhookSecretIsCachedForHalfAMinute(t *testing.T) {
	h := newHooks(t)
	for _, c := range []struct {
		after time.Duration
		reads int32
	}{{0, 1}, {30*time.Second - 1, 1}, {1, 2}} {
		h.at = h.at.Add(c.after)
		if got := h.says(t, "a", "wh_1"); got != "none" || h.engine.reads.Load() != c.reads {
			t.Errorf("after %s: %s, %d reads", c.after, got, h.engine.reads.Load())
		}
	}
}

func TestPutAndDeleteEvictTheCachedSecret(t *testing.T) {
	h := newHooks(t)
	for _, want := range []string{"none", canary, canary + "2", "none"} {
		if got := h.says(t, "a", "wh_1"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		var err error
		switch want {
		case "none":
			err = h.PutWebhookSecret(t.Context(), "a", "wh_1", canary)
		case canary:
			err = h.PutWebhookSecret(t.Context(), "a", "wh_1", canary+"2")
		default:
			err = h.DeleteWebhookSecret(t.Context(), "a", "wh_1")
		}
		if err != nil {
			t.Error(err)
		}
	}
}

func TestAFailedReadIsNotCached(t *testing.T) {
	h := newHooks(t)
	if err := h.PutWebhookSecret(t.Context(), "a", "wh_1", canary); err != nil {
		t.Fatal(err)
	}
	h.engine.shut.Store(true)
	if got := h.says(t, "a", "wh_1"); got != "error" {
		t.Error(got)
	}
	h.engine.shut.Store(false)
	if got := h.says(t, "a", "wh_1"); got != canary {
		t.Error(got)
	}
}

func TestWebhookSecretsBelongToTheirAccount(t *testing.T) {
	h := newHooks(t)
	if err := h.PutWebhookSecret(t.Context(), "a", "wh_1", canary); err != nil {
		t.Fatal(err)
	}
	for _, other := range []struct {
		account ids.Account
		id      string
	}{{"b", "wh_1"}, {"a", "wh_2"}, {"a/wh_1", ""}} {
		if got := h.says(t, other.account, other.id); got != "none" {
			t.Errorf("%v: %s", other, got)
		}
	}
	if got := h.manager.WebhookID("a", "p"); got != "piloto/webhooks/a/p" || got == h.manager.ProviderID("a", "p") {
		t.Error(got)
	}
}

func TestTheSecretCacheIsBounded(t *testing.T) {
	h := newHooks(t)
	for i := range 1000 {
		h.says(t, "a", fmt.Sprint(i))
	}
	if h.says(t, "a", "0"); h.engine.reads.Load() != 1000 {
		t.Errorf("%d reads", h.engine.reads.Load())
	}
	h.says(t, "a", "one more") // the cache was emptied
	if h.says(t, "a", "0"); h.engine.reads.Load() != 1002 {
		t.Errorf("%d reads", h.engine.reads.Load())
	}
}

func TestACachedSecretIsNotPrinted(t *testing.T) {
	h := newHooks(t)
	if err := h.PutWebhookSecret(t.Context(), "a", "wh_1", canary); err != nil {
		t.Fatal(err)
	}
	if h.says(t, "a", "wh_1"); strings.Contains(fmt.Sprintf("%+v %#v", h.Webhooks, h.Webhooks), canary) {
		t.Error("it is printed")
	}
}
