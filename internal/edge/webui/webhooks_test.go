package webui

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"piloto/internal/access/auth"
	"piloto/internal/ground/ids"
)

func (m *memory) Webhook(_ context.Context, id string) (auth.Webhook, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range m.hooks {
		if w.ID == id {
			return w, nil
		}
	}
	return auth.Webhook{}, auth.ErrWebhookNotFound
}

func (m *memory) Webhooks(_ context.Context, account ids.Account) ([]auth.Webhook, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if account != m.account {
		return nil, nil
	}
	return slices.Clone(m.hooks), nil
}

func (m *memory) CreateWebhook(_ context.Context, w auth.Webhook) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hooks = append(m.hooks, w)
	return nil
}

func (m *memory) DeleteWebhook(_ context.Context, _ ids.Account, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hooks = slices.DeleteFunc(m.hooks, func(w auth.Webhook) bool { return w.ID == id })
	return nil
}

func (m *memory) WebhookSecret(_ context.Context, _ ids.Account, id string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if secret, ok := m.secrets[id]; ok {
		return secret, nil
	}
	return "", auth.ErrNoSecret
}

func (m *memory) PutWebhookSecret(_ context.Context, _ ids.Account, id, secret string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.secrets[id] = secret
	return nil
}

func (m *memory) DeleteWebhookSecret(_ context.Context, _ ids.Account, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.secrets, id)
	return nil
}

// hookRoutes adds the routes of webhooks, over the real service.
func (w *world) hookRoutes(mux *http.ServeMux) {
	service := &auth.Webhooks{Store: w.memory, Secrets: w.memory, NewID: w.ids.New, Now: w.now}
	mux.HandleFunc("POST /api/webhooks", func(rw http.ResponseWriter, r *http.Request) {
		var in struct{ Name string }
		_ = json.NewDecoder(r.Body).Decode(&in)
		p, _ := auth.FromContext(r.Context())
		made, secret, err := service.Create(r.Context(), p, in.Name)
		if err != nil {
			w.done(rw, err)
			return
		}
		tell(rw, 201, map[string]any{"webhook_id": made.ID, "name": made.Name, "user": made.User, "created_at": made.CreatedAt, "secret": secret})
	})
	mux.HandleFunc("DELETE /api/webhooks/{id}", func(rw http.ResponseWriter, r *http.Request) {
		w.done(rw, service.Delete(r.Context(), w.account, r.PathValue("id")))
	})
}

func TestWebhooksLookLikeTheirGoldens(t *testing.T) {
	w := newWorld(at(noon), Facts{Provider: "openai", Model: "gpt-4o-mini"})
	golden(t, "webhooks_none.html", dense(get(t, w.page, "/ui/webhooks", ana).Body.String()))
	for i := range auth.MaxWebhooks {
		w.hooks = append(w.hooks, auth.Webhook{ID: "wh_" + itoa(i), Account: "acc", User: "ana<b>", Name: "n8n \u202e" + itoa(i), CreatedAt: noon.Add(-time.Hour)})
	}
	full := get(t, w.page, "/ui/webhooks", ana).Body.String()
	if strings.Contains(full, `data-submit="add-webhook"`) || !strings.Contains(full, "ya tiene 50 webhooks") {
		t.Error("one more can be asked for")
	}
	w.hooks = w.hooks[:2]
	golden(t, "webhooks.html", dense(get(t, w.page, "/ui/webhooks", ana).Body.String()))
}

func TestWebhooksAreShownOnlyToAdmins(t *testing.T) {
	w := newWorld(at(noon), Facts{Provider: "openai", Model: "gpt-4o-mini"})
	w.hooks = []auth.Webhook{{ID: "wh_1", Account: "acc", User: "ana", Name: "taller"}}
	guest := auth.Principal{Account: "acc", User: "luz", Scopes: []auth.Scope{auth.ScopeChat}}
	if r := get(t, w.page, "/ui/webhooks", guest); r.Code != http.StatusForbidden || strings.Contains(r.Body.String(), "taller") {
		t.Errorf("%d %s", r.Code, r.Body)
	}
	if strings.Contains(get(t, w.page, "/", guest).Body.String(), "view=webhooks") || !strings.Contains(get(t, w.page, "/", ana).Body.String(), "view=webhooks") {
		t.Error("the way there is shown to the wrong people")
	}
	if r := get(t, w.page, "/ui/webhooks", auth.Principal{Account: "other", User: "eve", Scopes: ana.Scopes}); strings.Contains(r.Body.String(), "taller") {
		t.Error("another account's webhook is shown")
	}
	if r := get(t, w.page, "/?view=webhooks", ana); r.Code != http.StatusOK || !strings.Contains(r.Body.String(), "taller") {
		t.Errorf("%d", r.Code)
	}
	m := newMemory(at(noon))
	without := New(Deps{Chats: m, Runs: m, Servers: m, Projects: m, Tokens: m, Now: at(noon)})
	if r := get(t, without, "/ui/webhooks", ana); r.Code != http.StatusNotFound {
		t.Errorf("without webhooks: %d", r.Code)
	}
}

// TestAWebhookIsManagedFromThePage: the secret is shown once, where it can be copied, and nowhere afterwards.
func TestAWebhookIsManagedFromThePage(t *testing.T) {
	b := open(t, 1280, 1100)
	b.click(`a[href="/?view=webhooks"]`)
	b.see(`[data-submit="add-webhook"]`)
	b.write("[name=name]", "n8n <i>\r")
	b.see("#made-secret")
	b.world.mu.Lock()
	id := b.hooks[0].ID
	secret := b.secrets[id]
	b.world.mu.Unlock()
	if got := eval[string](b, `document.getElementById("made-secret").value + " " + document.getElementById("made-id").value`); got != secret+" "+id || len(secret) < 40 {
		t.Errorf("shown %q", got)
	}
	if picked := eval[bool](b, `(i => i.selectionStart === 0 && i.selectionEnd === i.value.length)(document.getElementById("made-secret"))`); !picked {
		t.Error("the secret is not selected")
	}
	b.picture("webhook-made")
	b.click(`[data-of="made-secret"]`)
	b.see(".toast")
	b.visit("/?view=webhooks")
	b.see(`[data-action="delete-webhook"]`)
	if page := eval[string](b, `document.documentElement.outerHTML`); strings.Contains(page, secret) {
		t.Error("the secret is still on the page")
	}
	b.click(`[data-action="delete-webhook"]`)
	b.see("#ask-yes")
	b.click("#ask-yes")
	b.until(`document.querySelector("[data-action=delete-webhook]") === null && document.querySelector(".empty")`)
	b.world.mu.Lock()
	defer b.world.mu.Unlock()
	if len(b.hooks)+len(b.secrets) != 0 {
		t.Error("it is still there")
	}
}

func TestWebhooksFitANarrowScreen(t *testing.T) {
	b := open(t, 390, 1300)
	b.world.mu.Lock()
	b.hooks = []auth.Webhook{{ID: "wh_01JRUN00000000000000000000", User: "ana", Name: "n8n de la recepción del hotel", CreatedAt: time.Now().Add(-time.Hour)}}
	b.world.mu.Unlock()
	b.visit("/?view=webhooks")
	b.see("[name=name]")
	b.write("[name=name]", "otro\r")
	b.see("#made-secret")
	if wide := eval[int](b, `Math.max(document.documentElement.scrollWidth, document.getElementById("scroller").scrollWidth)`); wide > 390 {
		t.Errorf("%d px wide: %s", wide, eval[string](b, `[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > 391).map(e => e.tagName + "." + e.className).join(" ")`))
	}
	b.picture("webhooks-narrow")
	b.do(chromedp.EmulateViewport(1280, 1100))
	b.dim()
	b.picture("webhooks-dark")
}
