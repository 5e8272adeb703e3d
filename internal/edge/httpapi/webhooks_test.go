package httpapi

import (
	"fmt"
	"strings"
	"testing"

	"piloto/internal/access/auth"
)

func TestAWebhookShowsItsSecretOnceAndEndsWhenRemoved(t *testing.T) {
	e := newEchoes()
	r := ask(boss, "POST", "/api/webhooks", `{"name":" Mi n8n "}`)
	w := e.site.do(r)
	checkDocumented(t, r, w.Code, w.Body.Bytes())
	made := decode(t, w)
	id, secret := fmt.Sprint(made["webhook_id"]), fmt.Sprint(made["secret"])
	if w.Code != 201 || made["name"] != "Mi n8n" || made["user"] != "ana" || made["created_at"] != "2026-03-01T12:00:00Z" || !auth.ValidWebhook(id) {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	signature, err := auth.Delivery{ID: "d1", Body: []byte(`{"text":"x"}`)}.Sign(secret, noon)
	if err != nil {
		t.Fatal(err)
	}
	if w := e.site.do(ask(boss, "GET", "/api/webhooks", "")); strings.Contains(w.Body.String(), "whsec") || !strings.Contains(w.Body.String(), id) {
		t.Errorf("listed: %s", w.Body)
	}
	if w := e.do(sign(t, noon, id, "d1", "/test/echo", `{"text":"x"}`, set(headerSignature, signature))); w.Code != 200 {
		t.Errorf("used: %d %s", w.Code, w.Body)
	}
	for _, who := range []auth.Principal{other, talker} {
		if w := e.site.do(ask(who, "DELETE", "/api/webhooks/"+id, "")); w.Code/100 == 2 {
			t.Errorf("removed by %v", who)
		}
	}
	for _, want := range []int{204, 404} {
		if w := e.site.do(ask(boss, "DELETE", "/api/webhooks/"+id, "")); w.Code != want {
			t.Errorf("removed: %d %s", w.Code, w.Body)
		}
	}
	if w := e.do(sign(t, noon, id, "d1", "/test/echo", `{"text":"x"}`, set(headerSignature, signature))); w.Code != 401 || e.effects.Load() != 1 {
		t.Errorf("used when it was removed: %d %s", w.Code, w.Body)
	}
	if _, left := e.hooks.secrets["a "+id]; left {
		t.Error("its secret is still there")
	}
	if strings.Contains(e.logs.String(), "whsec") {
		t.Errorf("log: %s", e.logs)
	}
}

func TestWebhooksBelongToTheirAccount(t *testing.T) {
	s := newSite()
	w := s.do(ask(boss, "GET", "/api/webhooks", ""))
	if !strings.Contains(w.Body.String(), hookID) || strings.Contains(w.Body.String(), otherHookID) {
		t.Error(w.Body)
	}
	if w := s.do(ask(other, "GET", "/api/webhooks", "")); strings.Contains(w.Body.String(), hookID) {
		t.Error(w.Body)
	}
}

func TestAnAccountsWebhooksAreLimited(t *testing.T) {
	s := newSite()
	for i := 1; i < auth.MaxWebhooks; i++ { // it has one
		if w := s.do(ask(boss, "POST", "/api/webhooks", `{"name":"x"}`)); w.Code != 201 {
			t.Fatalf("%d: %d %s", i, w.Code, w.Body)
		}
	}
	if w := s.do(ask(boss, "POST", "/api/webhooks", `{"name":"x"}`)); w.Code != 409 || decode(t, w)["code"] != "webhook.too_many" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestAWebhooksNameIsChecked(t *testing.T) {
	for body, want := range map[string]string{
		`{}`: "[body name] missing", `{"name":""}`: "[body name] string_too_short", `{"name":" "}`: "[body name] string_too_short",
		`{"name":"` + strings.Repeat("ñ", 81) + `"}`: "[body name] string_too_long", `{"name":1}`: "[body name] string_type",
	} {
		s := newSite()
		if w := s.do(ask(boss, "POST", "/api/webhooks", body)); w.Code != 422 || wrong(t, w) != want || s.count() != 0 {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
}
