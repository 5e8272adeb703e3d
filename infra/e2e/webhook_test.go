package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"piloto/internal/access/auth"
)

// TestSignedDeliveryIsServedOnce (guarantee I23): through the real process, a hundred simultaneous copies of one
// delivery have one effect. A delivery that was changed, is too old, or is signed with another secret has none, and
// all are refused alike.
func TestSignedDeliveryIsServedOnce(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	decider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		asked.Add(1)
		_, _ = io.WriteString(w, reply{text: `{"action":"respond","agent_name":null,"response":"Una vez."}`}.completion())
	}))
	t.Cleanup(decider.Close)
	d := newDeployment(t, "PILOTO_DEMO=off", "OPENAI_BASE_URL="+decider.URL+"/v1", "OPENAI_MODEL=fake-1")
	d.mustStart(t)
	owner, stranger := newClient(d.url(), testToken), newClient(d.url(), "")
	hook := owner.must(t, 201, "POST", "/api/webhooks", object("name", "n8n"))
	id, secret := hook.text("webhook_id"), hook.text("secret")
	body := routerMessage("firmada", "Hola, ¿qué tal?")

	// deliver signs signed and sends body, which should be the same.
	deliver := func(webhook, secret, delivery string, at time.Time, signed, body string) answer {
		t.Helper()
		signature, err := auth.Delivery{ID: delivery, Body: []byte(signed)}.Sign(secret, at)
		if err != nil {
			t.Fatal(err)
		}
		a, err := stranger.do("POST", "/api/agent/chat", body, "X-Piloto-Webhook", webhook, "webhook-id", delivery,
			"webhook-timestamp", strconv.FormatInt(at.Unix(), 10), "webhook-signature", signature)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}

	now := time.Now()
	for name, a := range map[string]answer{
		"one byte changed":   deliver(id, secret, "d-1", now, body, strings.Replace(body, "Hola", "hola", 1)),
		"six minutes old":    deliver(id, secret, "d-2", now.Add(-6*time.Minute), body, body),
		"six minutes ahead":  deliver(id, secret, "d-3", now.Add(6*time.Minute), body, body),
		"another's secret":   deliver(id, auth.NewWebhookSecret(), "d-4", now, body, body),
		"a webhook of none":  deliver("wh_01HZZZZZZZZZZZZZZZZZZZZZZZ", secret, "d-5", now, body, body),
		"not a webhook's id": deliver("x", secret, "d-6", now, body, body),
	} {
		if err := problemOf(a, 401, "auth_required"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if asked.Load() != 0 {
		t.Errorf("the model was asked %d times for what was refused", asked.Load())
	}

	var wg sync.WaitGroup
	var served atomic.Int64
	for range 100 {
		wg.Go(func() {
			switch a := deliver(id, secret, "d-7", now, body, body); {
			case a.status == 200 && a.text("reply") == "Una vez.":
				served.Add(1)
			case problemOf(a, 409, "request.in_progress") != nil || a.header.Get("Retry-After") == "":
				t.Errorf("%s", a)
			}
		})
	}
	wg.Wait()
	again := deliver(id, secret, "d-7", now, body, body)
	if again.text("reply") != "Una vez." || again.header.Get("Idempotency-Replayed") != "true" || served.Load() == 0 || asked.Load() != 1 {
		t.Errorf("asked %d times, served %d times, then %s", asked.Load(), served.Load(), again)
	}
	if a := owner.must(t, 200, "GET", "/memory/firmada", ""); a.text("turns.count") != "1" {
		t.Errorf("it is remembered as %s", a)
	}

	// Its key is valid for nothing else, and for nothing after it is removed.
	signature, err := auth.Delivery{ID: "d-8"}.Sign(secret, now)
	if err != nil {
		t.Fatal(err)
	}
	a, err := stranger.do("GET", "/api/chats", "", "X-Piloto-Webhook", id, "webhook-id", "d-8",
		"webhook-timestamp", fmt.Sprint(now.Unix()), "webhook-signature", signature)
	if err != nil || a.status != 401 {
		t.Errorf("%v %s", err, a)
	}
	owner.must(t, 204, "DELETE", "/api/webhooks/"+id, "")
	if a := deliver(id, secret, "d-9", now, body, body); a.status != 401 {
		t.Errorf("a removed webhook: %s", a)
	}
}
