package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/internal/ground/ids"
	"piloto/internal/live/hook"
	"piloto/internal/tools/tool"
)

const (
	toldID     = "hk_01K000000000000000000000HK"
	deliveryID = "msg_01K0000000000000000000MSG1"
)

// hookRows is the hooks of account a in memory, with one delivery of each.
type hookRows struct {
	hook.Store // what no route calls
	watch      func()
	rows       []hook.Hook
}

func newHooks(c Config, watch func()) *hook.Service {
	at := noon.Add(-time.Hour)
	n := 0
	return &hook.Service{
		Store: &hookRows{watch: watch, rows: []hook.Hook{{
			ID: toldID, Account: "a", URL: "https://n8n.example.org/webhook/piloto", Events: []hook.Event{hook.RunWaiting, hook.RunFinished},
			Enabled: true, FailingSince: at, By: "ana", CreatedAt: at, UpdatedAt: at,
		}}},
		Address: func(raw string) (string, error) { return tool.HookURL(raw, tool.Policy{AllowLoopback: true}) },
		NewID:   func(time.Time) string { n++; return fmt.Sprintf("01K0000000000000000000%04d", n) },
		Now:     c.Now,
	}
}

func (h *hookRows) Hooks(_ context.Context, account ids.Account) ([]hook.Hook, error) {
	h.watch()
	return h.of(account), nil
}

func (h *hookRows) of(account ids.Account) []hook.Hook {
	if account != "a" {
		return nil
	}
	return h.rows
}

func (h *hookRows) Hook(_ context.Context, account ids.Account, id string) (hook.Hook, error) {
	for _, one := range h.of(account) {
		if one.ID == id {
			return one, nil
		}
	}
	return hook.Hook{}, hook.ErrNotFound
}

func (h *hookRows) ChangeHooks(_ context.Context, account ids.Account, change func([]hook.Hook) (hook.Change, error)) error {
	c, err := change(h.of(account))
	if err != nil {
		return err
	}
	var kept []hook.Hook
	for _, one := range h.rows {
		if one.ID != c.Delete && (c.Put == nil || one.ID != c.Put.ID) {
			kept = append(kept, one)
		}
	}
	if c.Put != nil {
		kept = append(kept, *c.Put)
	}
	h.rows = kept
	return nil
}

func (h *hookRows) Deliveries(ctx context.Context, account ids.Account, id, _ string, _ int) ([]hook.Delivery, string, error) {
	d, err := h.Delivery(ctx, account, id, deliveryID)
	return []hook.Delivery{d}, "more", err
}

func (h *hookRows) Delivery(_ context.Context, account ids.Account, id, delivery string) (hook.Delivery, error) {
	if delivery != deliveryID {
		return hook.Delivery{}, hook.ErrDeliveryNotFound
	}
	at := noon.Add(-time.Minute)
	return hook.Delivery{
		ID: delivery, HookID: id, Account: account, Type: hook.RunWaiting, State: hook.Pending, Tries: 2, CreatedAt: at, NextAt: noon,
		Body:     []byte(`{"type":"run.waiting","timestamp":"2026-03-01T11:59:00Z","data":{"run_id":"r"}}`),
		Attempts: []hook.Attempt{{At: at, Millis: 120, Status: 503, Error: "status"}, {At: at.Add(time.Second), Millis: 10000, Error: "timeout"}},
	}, nil
}

func (h *hookRows) Resend(context.Context, hook.Delivery, time.Time) error { return nil }

func TestAHookShowsItsSecretOnce(t *testing.T) {
	s := newSite()
	r := ask(boss, "POST", "/api/hooks", `{"url":"https://n8n.example.org/webhook/x?a=1","events":["run.finished","plan.proposed","run.finished"]}`)
	w := s.do(r)
	checkDocumented(t, r, w.Code, w.Body.Bytes())
	made := decode(t, w)
	if secret := fmt.Sprint(made["secret"]); w.Code != 201 || !strings.HasPrefix(secret, "whsec_") || made["enabled"] != true || made["by"] != "ana" ||
		fmt.Sprint(made["events"]) != "[plan.proposed run.finished]" || made["url"] != "https://n8n.example.org/webhook/x?a=1" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	path := "/api/hooks/" + fmt.Sprint(made["hook_id"])
	for _, at := range []string{"/api/hooks", path, path + "/deliveries"} {
		if w := s.do(ask(boss, "GET", at, "")); w.Code != 200 || strings.Contains(w.Body.String(), "whsec") {
			t.Errorf("%s: %d %s", at, w.Code, w.Body)
		}
	}
	w = s.do(ask(boss, "PATCH", path, `{"enabled":false}`))
	if v := decode(t, w); w.Code != 200 || v["enabled"] != false || v["off"] != "person" || v["secret"] != nil {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for secret, want := range map[string]any{ // the key as a text, when it is one
		"whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3": "0123456789abcdef01234567", "whsec_/////////////////////////////////////////w==": nil,
	} {
		if v := decode(t, s.do(ask(boss, "PATCH", path, `{"secret":"`+secret+`"}`))); v["secret"] != secret || v["key"] != want {
			t.Errorf("%v", v)
		}
	}
	if w := s.do(ask(boss, "PATCH", path, `{"secret":""}`)); !strings.HasPrefix(fmt.Sprint(decode(t, w)["secret"]), "whsec_") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, want := range []int{204, 404} {
		if w := s.do(ask(boss, "DELETE", path, "")); w.Code != want {
			t.Errorf("removed: %d %s", w.Code, w.Body)
		}
	}
}

func TestAHookIsJudged(t *testing.T) {
	for body, want := range map[string]string{
		`{}`: "422", `{"url":"https://x.example","events":[]}`: "422", `{"url":"https://x.example","events":["run.started"]}`: "422",
		`{"url":"http://x.example","events":["run.finished"]}`:                            "422 url.invalid",
		`{"url":"https://169.254.169.254/","events":["run.finished"]}`:                    "422 url.refused",
		`{"url":"https://x.example","events":["run.finished"],"secret":"geheim"}`:         "422 hook.secret",
		`{"url":"https://x.example","events":["run.finished"],"secret":"whsec_c2hvcnQ="}`: "422 hook.secret",
		`{"url":"http://localhost:5678/x","events":["run.finished"]}`:                     "201",
	} {
		w := newSite().do(ask(boss, "POST", "/api/hooks", body))
		got := fmt.Sprint(w.Code)
		if code, ok := decode(t, w)["code"]; ok && strings.Contains(want, ".") {
			got += " " + fmt.Sprint(code)
		}
		if got != want {
			t.Errorf("%s: %s %s, want %s", body, got, w.Body, want)
		}
	}
}

// TestEveryMessageOfAHookIsDescribed: the document has each event, with its type and data.
func TestEveryMessageOfAHookIsDescribed(t *testing.T) {
	var doc struct {
		Webhooks map[string]struct {
			Post struct {
				RequestBody struct {
					Content map[string]struct {
						Schema struct {
							Properties struct {
								Type struct{ Enum []hook.Event }
								Data json.RawMessage
							}
						}
					}
				}
			}
		}
	}
	raw, err := os.ReadFile("openapi.json")
	if err == nil {
		err = json.Unmarshal(raw, &doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range hook.Events {
		of := doc.Webhooks[string(e)].Post.RequestBody.Content["application/json"].Schema.Properties
		if !slices.Equal(of.Type.Enum, []hook.Event{e}) || len(of.Data) == 0 {
			t.Errorf("%s is described as %+v", e, of)
		}
	}
	if len(doc.Webhooks) != len(hook.Events) {
		t.Errorf("%d messages are described, of %d", len(doc.Webhooks), len(hook.Events))
	}
}
