package webui

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/ground/ids"
	"piloto/internal/live/hook"
)

func (m *memory) Hooks(_ context.Context, account ids.Account) ([]hook.Hook, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if account != m.account {
		return nil, nil
	}
	return slices.Clone(m.told), nil
}

func (m *memory) Hook(ctx context.Context, account ids.Account, id string) (hook.Hook, error) {
	list, _ := m.Hooks(ctx, account)
	for _, h := range list {
		if h.ID == id {
			return h, nil
		}
	}
	return hook.Hook{}, hook.ErrNotFound
}

func (m *memory) Deliveries(_ context.Context, _ ids.Account, id, _ string, limit int) ([]hook.Delivery, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []hook.Delivery
	for _, d := range m.deliveries {
		if d.HookID == id && len(list) < limit {
			list = append(list, d)
		}
	}
	return list, "", nil
}

// outRoutes adds the routes of hooks that the page calls.
func (w *world) outRoutes(mux *http.ServeMux) {
	mux.HandleFunc("POST /api/hooks", func(rw http.ResponseWriter, r *http.Request) {
		var in struct {
			URL    string
			Events []hook.Event
		}
		_ = json.NewDecoder(r.Body).Decode(&in)
		h := hook.Hook{ID: "hk_" + w.ids.New(w.now()), Account: w.account, URL: in.URL, Events: in.Events, Enabled: true, CreatedAt: w.now()}
		w.mu.Lock()
		w.told = append(w.told, h)
		w.mu.Unlock()
		tell(rw, 201, map[string]any{"hook_id": h.ID, "secret": "whsec_dies-ist-das-geheimnis", "key": "als-text"})
	})
	change := func(f func(h *hook.Hook)) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			w.mu.Lock()
			defer w.mu.Unlock()
			for i := range w.told {
				if w.told[i].ID == r.PathValue("id") {
					f(&w.told[i])
				}
			}
			tell(rw, 200, map[string]any{})
		}
	}
	mux.HandleFunc("PATCH /api/hooks/{id}", change(func(h *hook.Hook) { h.Enabled, h.Off = !h.Enabled, hook.OffByPerson }))
	mux.HandleFunc("POST /api/hooks/{id}/deliveries/{delivery}/resend", change(func(h *hook.Hook) {
		for i := range w.deliveries {
			w.deliveries[i].State = hook.Pending
		}
	}))
	mux.HandleFunc("DELETE /api/hooks/{id}", func(rw http.ResponseWriter, _ *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.told = nil
		rw.WriteHeader(http.StatusNoContent)
	})
}

// someHooks are one that works, one that fails, and one that switched itself off.
func someHooks(at time.Time) []hook.Hook {
	return []hook.Hook{
		{ID: "hk_01JRHN00000000000000000001", Account: "acc", URL: "https://n8n.example.org/webhook/piloto<b>", Events: hook.Events, Enabled: true, By: "ana", CreatedAt: at},
		{ID: "hk_01JRHN00000000000000000002", Account: "acc", URL: "https://caído.example.org/x", Events: []hook.Event{hook.RunFinished}, Enabled: true, FailingSince: at.Add(-time.Hour), By: "ana", CreatedAt: at},
		{ID: "hk_01JRHN00000000000000000003", Account: "acc", URL: "https://ido.example.org/x", Events: []hook.Event{hook.RunWaiting}, Off: hook.OffGone, By: "ana", CreatedAt: at},
	}
}

func someDeliveries(at time.Time) []hook.Delivery {
	d := func(n int, e hook.Event, s hook.State, tries ...hook.Attempt) hook.Delivery {
		return hook.Delivery{ID: fmt.Sprintf("msg_01JRHN0000000000000000000%d", n), HookID: "hk_01JRHN00000000000000000001", Type: e, State: s, Attempts: tries, CreatedAt: at.Add(-time.Hour)}
	}
	waits := d(1, hook.RunWaiting, hook.Pending, hook.Attempt{At: at, Error: "timeout"})
	waits.NextAt = at.Add(10 * time.Minute)
	return []hook.Delivery{waits, d(2, hook.RunFinished, hook.Delivered, hook.Attempt{At: at, Status: 200}), d(3, hook.PlanProposed, hook.Failed, hook.Attempt{At: at, Status: 500, Error: "status"}), d(4, hook.RunInDoubt, hook.Pending)}
}

func TestHooksLookLikeTheirGoldens(t *testing.T) {
	w := newWorld(at(noon), Facts{Provider: "openai", Model: "gpt-4o-mini"})
	w.told, w.deliveries = someHooks(noon.Add(-time.Hour)), someDeliveries(noon)
	golden(t, "hooks.html", dense(get(t, w.page, "/ui/webhooks", ana).Body.String()))
	golden(t, "hook_log.html", dense(get(t, w.page, "/ui/hooks/"+w.told[0].ID, ana).Body.String()))
	golden(t, "hook_log_none.html", dense(get(t, w.page, "/ui/hooks/"+w.told[1].ID, ana).Body.String()))
	w.told = slices.Repeat(w.told[:1], hook.MaxHooks)
	if full := get(t, w.page, "/ui/webhooks", ana).Body.String(); strings.Contains(full, "add-hook") || !strings.Contains(full, "ya tiene 20 hooks") {
		t.Error("one more can be asked for")
	}
}

func TestHooksAreShownOnlyToAdminsOfTheirAccount(t *testing.T) {
	w := newWorld(at(noon), Facts{Provider: "openai", Model: "gpt-4o-mini"})
	w.told, w.deliveries = someHooks(noon), someDeliveries(noon)
	path := "/ui/hooks/" + w.told[0].ID
	for want, who := range map[int]auth.Principal{
		http.StatusForbidden: {Account: "acc", User: "luz", Scopes: []auth.Scope{auth.ScopeChat}},
		http.StatusNotFound:  {Account: "other", User: "eve", Scopes: ana.Scopes},
		http.StatusOK:        ana,
	} {
		if r := get(t, w.page, path, who); r.Code != want {
			t.Errorf("%s: %d, want %d", who.User, r.Code, want)
		}
	}
	if r := get(t, w.page, "/ui/hooks/hk_x", ana); r.Code != http.StatusNotFound {
		t.Errorf("no id: %d", r.Code)
	}
}

// TestAHookIsManagedFromThePage: its secret is shown once, its log opens and closes, and focus stays on the button.
func TestAHookIsManagedFromThePage(t *testing.T) {
	b := open(t, 1280, 1400)
	b.click(`a[href="/?view=webhooks"]`)
	b.see(`[data-submit="add-hook"]`)
	b.write("[name=url]", "https://n8n.example.org/webhook/x\r")
	b.see("#made-hook-secret")
	if got := eval[string](b, `document.getElementById("made-hook-secret").value`); got != "whsec_dies-ist-das-geheimnis" {
		t.Errorf("shown %q", got)
	}
	if got := eval[string](b, `document.getElementById("made-hook-key").value`); got != "als-text" {
		t.Errorf("shown %q", got)
	}
	b.picture("hook-made")
	b.world.mu.Lock()
	id := b.told[0].ID
	if !slices.Equal(b.told[0].Events, hook.Events) {
		t.Errorf("told of %v", b.told[0].Events)
	}
	b.deliveries = someDeliveries(time.Now())
	for i := range b.deliveries {
		b.deliveries[i].HookID = id
	}
	b.world.mu.Unlock()
	b.visit("/?view=webhooks")
	b.see(`[data-action="hook-log"]`)
	if page := eval[string](b, `document.documentElement.outerHTML`); strings.Contains(page, "whsec_dies") {
		t.Error("the secret is still on the page")
	}
	b.click(`[data-action="hook-log"]`)
	b.see(`.hook-log table`)
	b.picture("hook-log")
	b.click(`[data-action="resend-hook"]`)
	b.see(".toast")
	b.until(`document.activeElement.dataset.action === "resend-hook"`)
	b.click(`[data-action="hook-log"]`)
	b.until(`document.querySelector(".hook-log").hidden && document.querySelector("[data-action=hook-log]").getAttribute("aria-expanded") === "false"`)
	b.click(`[data-action="hook-switch"]`)
	b.until(`document.querySelector("[data-action=hook-switch]").dataset.on === "true" && document.activeElement.dataset.action === "hook-switch"`)
	b.click(`[data-action="delete-hook"]`)
	b.see("#ask-yes")
	b.click("#ask-yes")
	b.until(`document.querySelector("[data-hook]") === null`)
}

func TestHooksFitANarrowScreen(t *testing.T) {
	b := open(t, 390, 1900)
	b.world.mu.Lock()
	b.told, b.deliveries = someHooks(time.Now()), someDeliveries(time.Now())
	b.world.mu.Unlock()
	b.visit("/?view=webhooks")
	b.click(`[data-action="hook-log"]`)
	b.see(`.hook-log table`)
	if wide := eval[int](b, `Math.max(document.documentElement.scrollWidth, document.getElementById("scroller").scrollWidth)`); wide > 390 {
		t.Errorf("%d px wide: %s", wide, eval[string](b, `[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > 391).map(e => e.tagName + "." + e.className).join(" ")`))
	}
	b.picture("hooks-narrow")
	b.dim()
	b.picture("hooks-dark")
}
