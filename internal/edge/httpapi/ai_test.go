package httpapi

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/ground/locale"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
)

// wantRefused sends a request that must be refused, in every language, and returns the code. It checks that nothing is
// written, no value is repeated, and each message exists.
func wantRefused(t *testing.T, s *site, who auth.Principal, method, path, body string, headers ...string) string {
	t.Helper()
	code := ""
	for _, tag := range locale.Tags() {
		w := s.do(ask(who, method, path, body, append(headers, "Accept-Language", string(tag))...))
		got := decode(t, w)
		code, _ = got["code"].(string)
		if w.Code/100 != 4 || s.settings.writes != 0 {
			t.Errorf("%s %s %.200s: %d %s, and %d writes", method, path, body, w.Code, w.Body, s.settings.writes)
		}
		if got["detail"] == "" || got["action"] == "" || strings.Contains(fmt.Sprint(got["detail"], got["action"]), "fault.") {
			t.Errorf("%s %s: says %v, %v", method, path, got["detail"], got["action"])
		}
		for _, e := range listOf(got["errors"]) {
			e := e.(map[string]any)
			if msg := fmt.Sprint(e["msg"]); msg == "" || tag == locale.Spanish && english(msg) {
				t.Errorf("%s %s: %v %v says %q in %s", method, path, e["loc"], e["type"], msg, tag)
			}
		}
		if text := w.Body.String() + s.logs.String(); strings.Contains(text, "canary") {
			t.Errorf("%s %s repeats what was sent: %s", method, path, text)
		}
	}
	return code
}

// english reports whether a message that should be Spanish is English.
func english(s string) bool {
	for _, word := range []string{" is ", " must ", " has ", " at most ", " the ", "must be", "required"} {
		if strings.Contains(" "+s+" ", word) {
			return true
		}
	}
	return false
}

// TestBadInputChangesNothing is the table of bad input.
func TestBadInputChangesNothing(t *testing.T) {
	grant := func(amount string) string { return `{"kind":"grant","amount":` + amount + `,"reason":"x"}` }
	assistant := func(more string) string { return `{"provider":"openai","model":"m",` + more + `}` }
	const (
		ledger, mine  = "/ai/ledger", "/ai/providers/mine"
		invalid       = "request.invalid"
		setting       = "ai.setting_invalid"
		url, target   = "url.invalid", "url.refused"
		longest, over = 4096, 5 << 10
	)
	for _, c := range []struct{ method, path, body, code string }{
		{"POST", ledger, grant("0"), "credit.movement"},
		{"POST", ledger, grant("-5"), "credit.movement"},
		{"POST", ledger, `{"kind":"grant","reason":"x"}`, "credit.movement"},
		{"POST", ledger, grant("1000000001"), invalid},
		{"POST", ledger, grant("9223372036854775808"), invalid},
		{"POST", ledger, grant("1e300"), invalid},
		{"POST", ledger, grant("1e400"), "request.number_range"},
		{"POST", ledger, grant("1.5"), invalid},
		{"POST", ledger, grant("1e3"), invalid},
		{"POST", ledger, grant(`"5"`), invalid},
		{"POST", ledger, grant("NaN"), "request.json_invalid"},
		{"POST", ledger, grant("[5]"), invalid},
		{"POST", ledger, `{"kind":"grant","amount":5}`, invalid},
		{"POST", ledger, `{"kind":"grant","amount":5,"reason":" \t"}`, invalid},
		{"POST", ledger, `{"kind":"grant","amount":5,"reason":"` + strings.Repeat("a", 301) + `"}`, invalid},
		{"POST", ledger, `{"kind":"grant","amount":5,"reason":"x","of":"` + boughtS + `"}`, "credit.movement"},
		{"POST", ledger, `{"kind":"canary","amount":5,"reason":"x"}`, invalid},
		{"POST", ledger, `{"kind":"session","amount":-5,"reason":"x"}`, invalid},
		{"POST", ledger, `{"kind":"adjustment","amount":0,"reason":"x"}`, "credit.movement"},
		{"POST", ledger, `{"kind":"adjustment","amount":-10,"reason":"x"}`, "credit.insufficient"},
		{"POST", ledger, `{"kind":"refund","reason":"x"}`, "credit.movement"},
		{"POST", ledger, `{"kind":"refund","amount":1,"of":"` + boughtS + `","reason":"x"}`, "credit.movement"},
		{"POST", ledger, `{"kind":"refund","of":"canary","reason":"x"}`, "credit.entry_not_found"},
		{"POST", ledger, `{"kind":"refund","of":"` + ghostID + `","reason":"x"}`, "credit.entry_not_found"},
		{"POST", ledger, `{"kind":"refund","of":"` + grantID + `","reason":"x"}`, "credit.not_refundable"},
		{"POST", ledger, `{"kind":"grant","amount":5,"reason":"x","actor":"canary"}`, invalid},

		{"PUT", "/ai/assistant", `{"provider":"canary","model":"m"}`, setting},
		{"PUT", "/ai/assistant", `{"provider":"openai","model":""}`, invalid},
		{"PUT", "/ai/assistant", `{"provider":"openai","model":" m"}`, setting},
		{"PUT", "/ai/assistant", `{"provider":"openai","model":"a\nb"}`, setting},
		{"PUT", "/ai/assistant", `{"provider":"openai","model":"` + strings.Repeat("m", 201) + `"}`, invalid},
		{"PUT", "/ai/assistant", assistant(`"temperature":-1`), invalid},
		{"PUT", "/ai/assistant", assistant(`"temperature":3`), invalid},
		{"PUT", "/ai/assistant", assistant(`"temperature":"cold"`), invalid},
		{"PUT", "/ai/assistant", assistant(`"max_tokens":1`), invalid},
		{"PUT", "/ai/assistant", assistant(`"max_tokens":16.5`), invalid},
		{"PUT", "/ai/assistant", assistant(`"automation":{"mode":"always"}`), invalid},
		{"PUT", "/ai/assistant", assistant(`"automation":{"mode":"off","delay_ms":99999}`), invalid},
		{"PUT", "/ai/assistant", assistant(`"automation":{"MODE":"off"}`), invalid},
		{"PUT", "/ai/assistant", assistant(`"fallback":[{"provider":"nobody","model":"m"}]`), setting},
		{"PUT", "/ai/assistant", assistant(`"fallback":[{"provider":"openai","model":"m"}]`), setting},
		{"PUT", "/ai/assistant", assistant(`"fallback":[{"provider":"groq","model":"m","on":["ai_disabled"]}]`), setting},
		{"PUT", "/ai/assistant", assistant(`"fallback":[{"provider":"groq"}]`), invalid},
		{"PUT", "/ai/assistant", assistant(`"scope":"deployment"`), invalid},
		{"PUT", "/api/projects/" + projectID + "/assistant", `{"provider":"canary","model":"m"}`, setting},

		{"PUT", "/ai/entitlement", `{"entitled":true}`, invalid},
		{"PUT", "/ai/entitlement", `{"entitled":"yes","enabled":true}`, invalid},
		{"PUT", "/ai/entitlement", `{"entitled":true,"enabled":true,"allowedProviders":["canary"]}`, setting},
		{"PUT", "/ai/terms", `{"policy":{"session_cost":0,"session_tokens":1,"session_minutes":1}}`, invalid},
		{"PUT", "/ai/terms", `{"policy":{"session_cost":1}}`, invalid},
		{"PUT", "/ai/terms", `{"limits":{"day_micros":-1,"month_micros":0,"run_micros":0}}`, invalid},
		{"PUT", "/ai/terms", `{"limits":{"day_micros":1.5,"month_micros":0,"run_micros":0}}`, invalid},

		{"PUT", mine, `{}`, setting},
		{"PUT", "/ai/providers/MINE", `{"base_url":"https://llm.example.org/v1"}`, setting},
		{"PUT", "/ai/providers/a%20b", `{"base_url":"https://llm.example.org/v1"}`, setting},
		{"PUT", mine, `{"base_url":"https://user:canary@llm.example.org/v1"}`, url},
		{"PUT", mine, `{"base_url":"http://169.254.169.254/latest/meta-data"}`, target},
		{"PUT", mine, `{"base_url":"http://metadata.google.internal/v1"}`, target},
		{"PUT", mine, `{"base_url":"http://127.0.0.1:8080/v1"}`, target},
		{"PUT", mine, `{"base_url":"http://[::1]/v1"}`, target},
		{"PUT", mine, `{"base_url":"http://10.0.0.8/v1"}`, target},
		{"PUT", mine, `{"base_url":"http://2130706433/v1"}`, url},
		{"PUT", mine, `{"base_url":"file:///etc/passwd"}`, url},
		{"PUT", mine, `{"base_url":"https://llm.example.org/v1?key=canary"}`, url},
		{"PUT", mine, `{"base_url":"https://llm.example.org/v1","prices":{"m":{"input_micros":-1,"output_micros":0}}}`, invalid},
		{"PUT", mine, `{"base_url":"https://llm.example.org/v1","prices":{"":{"input_micros":1,"output_micros":0}}}`, setting},
		{"PUT", mine, `{"base_url":"https://llm.example.org/v1","prices":{"m":{"input_micros":5,"cached_micros":0,"output_micros":0}}}`, invalid},
		{"PUT", mine, `{"base_url":"https://llm.example.org/v1","prices":{"m":{"input_micros":5,"cached_micros":6,"output_micros":0}}}`, setting},
		{"PUT", mine, `{"base_url":"https://llm.example.org/v1","prices":{"m":5}}`, invalid},
		{"PUT", mine, `{"base_url":"https://llm.example.org/v1","windows":{"m":1999}}`, setting},
		{"PUT", mine, `{"base_url":"https://llm.example.org/v1","windows":{"m":10000001}}`, setting},
		{"PUT", mine, `{"base_url":"https://llm.example.org/v1","windows":{"m":0}}`, setting},
		{"PUT", mine, `{"base_url":"https://llm.example.org/v1","windows":{"":8000}}`, setting},
		{"PUT", mine, `{"base_url":"https://llm.example.org/v1","windows":{"m":8000.5}}`, invalid},
		{"PUT", mine, `{"base_url":"https://llm.example.org/v1","windows":{"m":"8000"}}`, invalid},
		{"PUT", mine, `{"base_url":"https://llm.example.org/v1","windows":[8000]}`, invalid},
		{"PUT", mine, `{"base_url":"https://llm.example.org/v1","key":"canary"}`, invalid},
		{"PUT", "/ai/providers/openai", `{"keyless":true}`, invalid},
		{"GET", mine, "", "ai.provider_unknown"},
		{"DELETE", mine, "", "ai.provider_unknown"},
		{"DELETE", mine + "/key", "", "ai.provider_unknown"},
		{"PUT", mine + "/key", `{"key":"canary"}`, "ai.provider_unknown"},
		{"PUT", "/ai/providers/openai/key", `{"key":"canary\ncanary"}`, setting},
		{"PUT", "/ai/providers/openai/key", `{"key":"canaryñ"}`, setting},
		{"PUT", "/ai/providers/openai/key", `{"key":"canary` + strings.Repeat("k", over) + `"}`, invalid},
		{"PUT", "/ai/providers/openai/key", `{"key":"` + strings.Repeat("ñ", longest) + `"}`, setting},
		{"PUT", "/ai/providers/openai/key", `{"key":""}`, invalid},
		{"PUT", "/ai/providers/openai/key", `{"key":"  "}`, invalid},
		{"PUT", "/ai/providers/openai/key", `{"key":["canary"]}`, invalid},

		{"GET", "/ai/usage?by=nonsense", "", invalid},
		{"GET", "/ai/usage?format=xml", "", invalid},
		{"GET", "/ai/usage?from=2026-03-02&to=2026-03-01", "", "credit.period"},
		{"GET", "/ai/usage?from=2027-01-01", "", "credit.period"},
		{"GET", "/ai/usage?from=2025-11-01&to=2026-03-01", "", "credit.period"},
		{"GET", "/ai/usage?from=canary&to=2026-13-45", "", "credit.period"},
		{"GET", "/ai/usage?from=2026-02-30", "", "credit.period"},
		{"GET", "/ai/usage?from=1772323200", "", "credit.period"},
		{"GET", "/ai/usage?from=" + strings.Repeat("2", 50), "", invalid},
		{"GET", "/ai/ledger?cursor=b-1", "", "cursor.invalid"},
		{"GET", "/ai/ledger?limit=0", "", invalid},
		{"GET", "/ai/ledger?limit=1.5", "", invalid},
		{"GET", "/ai/eligibility?chat_id=canary", "", "chat.not_found"},
		{"GET", "/ai/eligibility?conversationId=" + ghostID, "", "chat.not_found"},
		{"GET", "/ai/eligibility?project_id=" + ghostID, "", "project.not_found"},
		{"GET", "/ai/eligibility?accountId=canary", "", "account.not_found"},
		{"GET", "/ai/eligibility?chat_id=" + chatID + "&conversationId=" + ghostID, "", invalid},
		{"GET", "/ai/eligibility?chat_id=" + chatID + "&project_id=" + projectID, "", invalid},
		{"POST", "/ai/eligibility", `{"accountId":"b"}`, "account.not_found"},
		{"POST", "/ai/eligibility", `{"account_id":"a"}`, invalid},
		{"PATCH", "/api/chats/" + chatID, `{"automation":"sometimes"}`, invalid},
	} {
		if code := wantRefused(t, newSite(), boss, c.method, c.path, c.body); code != c.code {
			t.Errorf("%s %s %.200s: %s, want %s", c.method, c.path, c.body, code, c.code)
		}
	}
}

func TestWrongFieldsOfAIAreNamed(t *testing.T) {
	for _, c := range []struct{ method, path, body, want string }{
		{"PUT", "/ai/assistant", `{"automation":{"mode":"x","delay_ms":-1},"fallback":[{"provider":"groq","model":1}]}`, "[body automation delay_ms] greater_than_equal, [body automation mode] enum, [body fallback 0 model] string_type, [body model] missing, [body provider] missing"},
		{"PUT", "/ai/assistant", `{"provider":"x","model":"m","fallback":[{"provider":"groq","model":" "},{"provider":"y","model":"m"}]}`, "[body fallback 0 model] string_too_short, [body fallback 1 provider] unknown_provider, [body provider] unknown_provider"},
		{"PUT", "/ai/terms", `{"policy":{"session_cost":0,"session_tokens":1,"session_minutes":"x"},"limits":{"day_micros":-1,"month_micros":0,"run_micros":0,"x":1}}`, "[body limits day_micros] greater_than_equal, [body limits x] extra_forbidden, [body policy session_cost] greater_than_equal, [body policy session_minutes] int_parsing"},
		{"PUT", "/ai/providers/x", `{"base_url":"https://e.org/v1","prices":{"gpt-4.1":{"input_micros":-1,"output_micros":1.5},"o3":{"input_micros":1}}}`, "[body prices gpt-4.1 input_micros] greater_than_equal, [body prices gpt-4.1 output_micros] int_parsing, [body prices o3 output_micros] missing"},
		{"PUT", "/ai/providers/x", `{"base_url":"https://e.org/v1","windows":{"gpt-4.1":1999,"o3":10000001,"ok":2000,"too":10000000}}`, "[body windows gpt-4.1] out_of_range, [body windows o3] out_of_range"},
		{"PUT", "/ai/providers/x", `{"a.b":1,"c[0]":2,"base_url":1,"d.e[1].f":{"g.h":3}}`, "[body a.b] extra_forbidden, [body base_url] string_type, [body c[0]] extra_forbidden, [body d.e[1].f] extra_forbidden"},
		{"PUT", "/ai/assistant", `{"provider":"x","model":"m","automation":{"a.b":1},"automation.mode":2}`, "[body automation a.b] extra_forbidden, [body automation mode] missing, [body automation.mode] extra_forbidden"},
		{"POST", "/operator/chat", `{"message":1,"metadata":{"a.b":1,"c.d":2},"user_id":1}`, "[body message] string_type, [body user_id] string_type"},
		{"PUT", "/ai/providers/X", `{"base_url":"https://e.org/v1"}`, "[path name] string_pattern_mismatch"},
		{"PUT", "/ai/providers/x", `{"base_url":"http://127.0.0.1/"}`, "[body base_url] value_error"},
		{"POST", "/ai/ledger", `{"kind":"refund","amount":1,"reason":"x"}`, "[body amount] extra_forbidden, [body of] missing"},
		{"POST", "/ai/ledger", `{"kind":"grant","amount":1000000001,"reason":""}`, "[body amount] less_than_equal, [body reason] string_too_short"},
		{"GET", "/ai/usage?from=x&to=y", "", "[query from] datetime_parsing, [query to] datetime_parsing"},
	} {
		w := newSite().do(ask(boss, c.method, c.path, c.body))
		if got := wrong(t, w); got != c.want {
			t.Errorf("%s %s:\n got %s\nwant %s", c.method, c.path, got, c.want)
		}
	}
}

// TestABoundOfAWindowIsNamed in the language of the person.
func TestABoundOfAWindowIsNamed(t *testing.T) {
	for lang, want := range map[string]string{"es": "una ventana de 2000 a 10000000 tokens", "en": "a window of 2000 to 10000000 tokens"} {
		r := ask(boss, "PUT", "/ai/providers/mine", `{"base_url":"https://llm.example.org/v1","windows":{"m":5}}`)
		r.Header.Set("Accept-Language", lang)
		if w := newSite().do(r); w.Code != 422 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", lang, w.Code, w.Body)
		}
	}
}

func TestEligibilityUsesTheNamedChat(t *testing.T) {
	s := newSite()
	s.settings.accounts["a"].settings.Assistants[projectID] = eligibility.Assistant{
		Active: true, Provider: "groq", Model: "m", Automation: eligibility.Automation{Mode: eligibility.Automatic},
		Fallback: []eligibility.Choice{{Provider: "openai", Model: "gpt-4o-mini"}},
	}
	for _, path := range []string{"/ai/eligibility", "/ai/eligibility?accountId=a", "/ai/eligibility?chat_id=" + chatID, "/ai/eligibility?conversationId=" + chatID} {
		got := decode(t, s.do(ask(talker, "GET", path, "")))
		if got["canExecute"] != true || got["provider"] != "openai" || got["requiresCredits"] != true || got["sessionId"] != boughtS || got["block"] != nil {
			t.Errorf("%s: %v", path, got)
		}
	}
	swapped := decode(t, s.do(ask(talker, "POST", "/ai/eligibility", `{"project_id":"`+projectID+`"}`)))
	if by, _ := swapped["fallback"].(map[string]any); by["preferred"] != "groq" || by["reason"] != "no_api_key" || by["message"] == "" || swapped["provider"] != "openai" {
		t.Errorf("%v", swapped)
	}
	s.chat.ProjectID = projectID
	if got := decode(t, s.do(ask(talker, "GET", "/ai/eligibility?chat_id="+chatID, ""))); got["fallback"] == nil {
		t.Errorf("the chat's project does not count: %v", got)
	}
	s.chat.ProjectID, s.chat.Agent = "", "caro"
	if got := decode(t, s.do(ask(talker, "GET", "/ai/eligibility?chat_id="+chatID, ""))); got["canExecute"] != false || got["block"].(map[string]any)["reason"] != "no_api_key" {
		t.Errorf("the model of the chat's agent does not count: %v", got)
	}
	s.chat.Agent = "borrado"
	if got := decode(t, s.do(ask(talker, "GET", "/ai/eligibility?chat_id="+chatID, ""))); got["canExecute"] != true || got["fallback"] != nil {
		t.Errorf("an agent that is gone counts: %v", got)
	}
	s.chat.Automation = "off"
	got := decode(t, s.do(ask(talker, "GET", "/ai/eligibility?chat_id="+chatID, "")))
	block, _ := got["block"].(map[string]any)
	if balance, there := block["creditBalance"]; got["canExecute"] != false || block["reason"] != "ai_disabled" || !there || balance != nil {
		t.Errorf("%v", got)
	}
}

func TestALackOfCreditsIncludesTheBalance(t *testing.T) {
	s := newSite()
	s.settings.accounts["a"].standing = credit.Standing{Balance: 0}
	got := decode(t, s.do(ask(talker, "GET", "/ai/eligibility", "")))
	block, _ := got["block"].(map[string]any)
	if block["reason"] != "insufficient_credits" || block["creditBalance"] != 0.0 || block["remedy"] != "manage_credits" {
		t.Errorf("%v", got)
	}
	w := s.do(ask(manager, "POST", "/ai/sessions", "{}"))
	if p := decode(t, w); w.Code != 409 || p["code"] != "credit.insufficient" || p["creditBalance"] != 0.0 || !strings.Contains(fmt.Sprint(p["detail"]), "hacen falta 1 y hay 0") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	sent := decode(t, s.do(ask(talker, "POST", "/api/send", `{"chat_id":"`+chatID+`","message":"poor"}`)))
	if block, _ := sent["block"].(map[string]any); block["creditBalance"] != 0.0 || block["remedy"] != "manage_credits" {
		t.Errorf("%v", sent)
	}
	w = s.do(ask(talker, "POST", "/operator/chat", `{"message":"poor"}`))
	if p := decode(t, w); w.Code != 503 || p["creditBalance"] != 0.0 || p["remedy"] != "manage_credits" || p["reason"] != "insufficient_credits" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestAFailedReadIsNoLackOfCredits: a store that is down blocks with an internal error, without its cause.
func TestAFailedReadIsNoLackOfCredits(t *testing.T) {
	s := newSite()
	s.settings.down = true
	w := s.do(ask(talker, "GET", "/ai/eligibility", ""))
	got := decode(t, w)
	block, _ := got["block"].(map[string]any)
	if w.Code != 200 || block["reason"] != "internal_error" || block["creditBalance"] != nil || strings.Contains(w.Body.String(), "canary") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, path := range []string{"/ai/status", "/ai/credits", "/ai/usage", "/ai/usage?format=csv", "/ai/ledger", "/ai/assistant", "/ai/terms", "/ai/providers"} {
		if w := s.do(ask(talker, "GET", path, "")); w.Code != 500 || strings.Contains(w.Body.String(), "canary") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

func TestStatusReportsWhetherTheProviderAnswers(t *testing.T) {
	for lack, want := range map[string]bool{"": true, "down": false} {
		s := newSite()
		s.settings.lack = lack
		got := decode(t, s.do(ask(talker, "GET", "/ai/status", "")))
		if got["connected"] != want || got["configured"] != true || got["checked_at"] == nil {
			t.Errorf("%q: %v", lack, got)
		}
	}
}

// TestAForeignAccountSeesNothing of account a's data in any answer.
func TestAForeignAccountSeesNothing(t *testing.T) {
	s := newSite()
	for _, set := range []struct{ path, body string }{
		{"/ai/providers/canary", `{"base_url":"https://canary.example.org/v1","prices":{"canary":{"input_micros":1,"output_micros":1}}}`},
		{"/ai/providers/canary/key", `{"key":"canary-key"}`},
		{"/ai/assistant", `{"provider":"canary","model":"canary","persona":"canary"}`},
		{"/ai/entitlement", `{"entitled":true,"enabled":true,"allowedProviders":["canary"]}`},
	} {
		if w := s.do(ask(boss, "PUT", set.path, set.body)); w.Code != 200 || strings.Contains(w.Body.String(), "canary-key") {
			t.Fatalf("%s: %d %s", set.path, w.Code, w.Body)
		}
	}
	if s.settings.keys["a canary"] != "canary-key" {
		t.Error("the key was not stored")
	}
	for _, r := range described().router.routes {
		if r.function != FunctionEligibility || r.method != "GET" || strings.Contains(r.pattern, "{") {
			continue
		}
		w := s.do(ask(other, r.method, r.pattern, ""))
		if text := w.Body.String(); strings.Contains(text, "canary") || strings.Contains(text, boughtS) || strings.Contains(text, chatID) {
			t.Errorf("%s shows %s", r.pattern, text)
		}
	}
	for _, method := range []string{"GET", "DELETE"} {
		foreign := s.do(ask(other, method, "/ai/providers/canary", ""))
		missing := s.do(ask(other, method, "/ai/providers/canarx", ""))
		if foreign.Code != 404 || strings.ReplaceAll(foreign.Body.String(), "canary", "canarx") != missing.Body.String() {
			t.Errorf("%s: a foreign provider shows %s", method, foreign.Body)
		}
	}
	w := s.do(ask(other, "POST", "/ai/ledger", `{"kind":"refund","of":"`+boughtS+`","reason":"x"}`))
	if w.Code != 404 || decode(t, w)["code"] != "credit.entry_not_found" {
		t.Errorf("a foreign entry: %d %s", w.Code, w.Body)
	}
}

func TestAKeyMovesCreditOnce(t *testing.T) {
	s := newSite()
	move := func(body, key string) *httptest.ResponseRecorder {
		var headers []string
		if key != "" {
			headers = []string{"Idempotency-Key", key}
		}
		return s.do(ask(biller, "POST", "/ai/ledger", body, headers...))
	}
	first, again := move(`{"kind":"grant","amount":5,"reason":"x"}`, "k1"), move(`{"kind":"grant","amount":5,"reason":"x"}`, "k1")
	if first.Code != 201 || again.Code != 201 || first.Body.String() != again.Body.String() || s.settings.accounts["a"].standing.Balance != 14 {
		t.Errorf("%d %s\n%d %s", first.Code, first.Body, again.Code, again.Body)
	}
	if w := move(`{"kind":"grant","amount":6,"reason":"x"}`, "k1"); w.Code != 409 || decode(t, w)["code"] != "credit.idempotency" {
		t.Errorf("another body: %d %s", w.Code, w.Body)
	}
	if w := move(`{"kind":"grant","amount":6,"reason":"x"}`, "ñ"); w.Code != 422 {
		t.Errorf("a key that is none: %d %s", w.Code, w.Body)
	}
	// The same key of another account is another key.
	if w := s.do(ask(other, "POST", "/ai/ledger", `{"kind":"grant","amount":6,"reason":"x"}`, "Idempotency-Key", "k1")); w.Code != 201 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for range 2 {
		if w := s.do(ask(manager, "POST", "/ai/sessions", "", "Idempotency-Key", "k1")); w.Code != 201 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	if b := s.settings.accounts["a"].standing; b.Balance != 13 || len(b.Sessions) != 2 {
		t.Errorf("%+v", b)
	}
	refund := `{"kind":"refund","of":"` + boughtS + `","reason":"x"}`
	if w := move(refund, ""); w.Code != 201 || s.settings.accounts["a"].standing.Balance != 14 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := move(refund, ""); w.Code != 409 || decode(t, w)["code"] != "credit.not_refundable" {
		t.Errorf("a second time: %d %s", w.Code, w.Body)
	}
}

// TestThePriceOfTheDeploymentsKeyNeedsBilling tries every way to change prices that the deployment charges.
func TestThePriceOfTheDeploymentsKeyNeedsBilling(t *testing.T) {
	const free = `"prices":{"gpt-4o-mini":{"input_micros":0,"output_micros":0}}`
	no := false
	said := eligibility.Config{Name: "openai", Prices: map[string]credit.Price{"m": {Input: 9}}}
	ownKey := eligibility.Config{Name: "openai", KeySet: true, CostsCredits: &no}
	ownAddress := eligibility.Config{Name: "openai", BaseURL: "https://llm.example.org/v1", KeySet: true, CostsCredits: &no}
	for name, c := range map[string]struct {
		before       *eligibility.Config
		method, path string
		body         string
		billing      bool
	}{
		"prices of the deployment's":           {nil, "PUT", "", `{` + free + `}`, true},
		"it costs nothing":                     {nil, "PUT", "", `{"costs_credits":false}`, true},
		"nothing of its own":                   {nil, "PUT", "", `{}`, false},
		"prices at an own address":             {nil, "PUT", "", `{"base_url":"https://llm.example.org/v1",` + free + `}`, false},
		"the prices that are there":            {&said, "PUT", "", `{"prices":{"m":{"input_micros":9,"output_micros":0}}}`, false},
		"taking prices back":                   {&said, "PUT", "", `{}`, true},
		"removing what billing said":           {&said, "DELETE", "", "", true},
		"prices with an own key":               {&ownKey, "PUT", "", `{` + free + `}`, false},
		"removing the own key but not prices":  {&ownKey, "DELETE", "/key", "", true},
		"removing the own key and all with it": {&ownKey, "DELETE", "", "", false},
		"back to the deployment, prices kept":  {&ownAddress, "PUT", "", `{"costs_credits":false}`, true},
		"back to the deployment without them":  {&ownAddress, "PUT", "", `{}`, false},
		"removing the own address's key":       {&ownAddress, "DELETE", "/key", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, who := range []auth.Principal{manager, boss} {
				s := newSite()
				if c.before != nil {
					s.settings.accounts["a"].settings.Providers = []eligibility.Config{*c.before}
				}
				w := s.do(ask(who, c.method, "/ai/providers/openai"+c.path, c.body))
				if refuse := c.billing && !who.Allows(auth.ScopeBilling); refuse != (w.Code == 403) || !refuse && w.Code/100 != 2 || refuse && s.settings.writes != 0 {
					t.Errorf("%v: %d %s, and %d writes", who.Scopes, w.Code, w.Body, s.settings.writes)
				}
			}
		})
	}
}

func TestLimitsNeedAdminAndThePolicyNeedsBilling(t *testing.T) {
	same := `"policy":{"session_cost":1,"session_tokens":100000,"session_minutes":1440}`
	other := `"policy":{"session_cost":2,"session_tokens":100000,"session_minutes":1440}`
	limits := `"limits":{"day_micros":5,"month_micros":6,"run_micros":7}`
	for _, c := range []struct {
		who  auth.Principal
		body string
		want int
	}{
		{manager, limits, 200},
		{manager, same + "," + limits, 200},
		{manager, other, 403},
		{manager, other + "," + limits, 403},
		{biller, other, 200},
		{biller, limits, 200},
		{boss, other + "," + limits, 200},
		{manager, "", 200},
	} {
		s := newSite()
		w := s.do(ask(c.who, "PUT", "/ai/terms", "{"+c.body+"}"))
		if w.Code != c.want || c.want == 403 && s.settings.writes != 0 {
			t.Errorf("%v %s: %d %s", c.who.Scopes, c.body, w.Code, w.Body)
		}
		if strings.Contains(c.body, "day") && w.Code == 200 && !strings.Contains(w.Body.String(), `"day_micros":5`) {
			t.Errorf("%s", w.Body)
		}
	}
}

// TestTermsUnderWhichNothingCanBePaidSaySo, with how much is missing, when they are set and whenever they are read.
func TestTermsUnderWhichNothingCanBePaidSaySo(t *testing.T) {
	policy := func(cost, tokens int) string {
		return fmt.Sprintf(`{"policy":{"session_cost":%d,"session_tokens":%d,"session_minutes":60}}`, cost, tokens)
	}
	limits := func(day, month, run int) string {
		return fmt.Sprintf(`{"limits":{"day_micros":%d,"month_micros":%d,"run_micros":%d}}`, day, month, run)
	}
	for _, c := range []struct {
		body, reason, told string
		missing            float64
	}{
		{policy(5, 100_000), "", "", 0},
		{policy(30, 100_000), "insufficient_credits", "Añade al menos 21 créditos", 21},
		{policy(5, 1_000), "insufficient_credits", "Añade al menos 36 créditos", 36},
		{limits(0, 0, 1), "budget_exceeded", "puede costar hasta 0,0031 USD", 0},
		{limits(1, 0, 0), "budget_exceeded", "puede costar hasta 0,0031 USD", 0},
		{limits(0, 3_057, 0), "budget_exceeded", "puede costar hasta 0,0031 USD", 0},
		{limits(5_000_000, 5_000_000, 3_058), "", "", 0},
	} {
		s := newSite()
		s.settings.accounts["a"].standing.Sessions = nil
		for i, r := range []*http.Request{ask(boss, "PUT", "/ai/terms", c.body), ask(boss, "GET", "/ai/terms", ""), ask(boss, "GET", "/ai/credits", "")} {
			w := s.do(r)
			block, _ := decode(t, w)["block"].(map[string]any)
			if w.Code != 200 || (block != nil) != (c.reason != "") {
				t.Errorf("%s, %d: %d %s", c.body, i, w.Code, w.Body)
				continue
			}
			if passed, _ := block["passed"].(map[string]any); c.reason == "budget_exceeded" && passed["needed_micros"] != 3_058. {
				t.Errorf("%s, %d: %v", c.body, i, block)
			}
			if missing, _ := block["creditsMissing"].(float64); block != nil && (block["reason"] != c.reason || missing != c.missing || !strings.Contains(fmt.Sprint(block["action"]), c.told)) {
				t.Errorf("%s, %d: %v", c.body, i, block)
			}
		}
	}
}

func TestAnAssistantIsReplacedWhole(t *testing.T) {
	s := newSite()
	put := func(path, body string) map[string]any { return decode(t, s.do(ask(boss, "PUT", path, body))) }
	put("/ai/assistant", `{"name":"Eva","active":false,"provider":"groq","model":"m","temperature":0,"max_tokens":16,"persona":"x","automation":{"mode":"manual","delay_ms":5},"fallback":[{"provider":"openai","model":"m","on":["rate_limited"]}]}`)
	got := s.settings.accounts["a"].settings.Assistants[""]
	if got.Active || got.Temperature != 0 || got.MaxTokens != 16 || got.Automation.DelayMS != 5 || len(got.Fallback) != 1 || got.Scope != eligibility.ScopeAccount {
		t.Errorf("%+v", got)
	}
	after := put("/ai/assistant", `{"provider":"openai","model":"gpt-4o","active":null}`)
	if after["active"] != true || after["temperature"] != 0.2 || after["max_tokens"] != 4096.0 || after["name"] != "" || fmt.Sprint(after["automation"], after["fallback"]) != "map[delay_ms:0 mode:automatic] []" {
		t.Errorf("%v", after)
	}
	project := "/api/projects/" + projectID + "/assistant"
	scopeOf := func() any { return decode(t, s.do(ask(talker, "GET", project, "")))["scope"] }
	if got := scopeOf(); got != "account" {
		t.Errorf("%v", got)
	}
	put(project, `{"provider":"groq","model":"m"}`)
	if got := scopeOf(); got != "project" {
		t.Errorf("%v", got)
	}
	for _, path := range []string{project, "/ai/assistant"} {
		if w := s.do(ask(boss, "DELETE", path, "")); w.Code != 204 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	if got := scopeOf(); got != "deployment" {
		t.Errorf("%v", got)
	}
}

func TestUsageAsCSV(t *testing.T) {
	for _, r := range []struct{ path, accept string }{
		{"/ai/usage?by=model&format=csv", ""}, {"/ai/usage?by=model", "text/csv"}, {"/ai/usage?by=model", "application/json;q=0.1, text/csv"},
	} {
		w := newSite().do(ask(talker, "GET", r.path, "", "Accept", r.accept))
		golden(t, "usage.csv", w.Body.Bytes())
		if h := w.Header(); h.Get("Content-Type") != "text/csv; charset=utf-8" || h.Get("Content-Disposition") != `attachment; filename="piloto-usage-model-2026-03-01-2026-03-01.csv"` {
			t.Errorf("%v", h)
		}
	}
	for _, r := range []struct{ path, accept string }{
		{"/ai/usage", "application/pdf"}, {"/ai/usage", "*/*"}, {"/ai/usage", "text/html,*/*;q=0.8"}, {"/ai/usage?format=json", "text/csv"},
	} {
		if w := newSite().do(ask(talker, "GET", r.path, "", "Accept", r.accept)); w.Header().Get("Content-Type") != "application/json" || decode(t, w)["by"] != "day" {
			t.Errorf("%v: %d %s", r, w.Code, w.Body)
		}
	}
}

func TestNoCellIsAFormula(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "gpt": "gpt", "=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1", "＝1": "'＝1",
	} {
		raw, err := Usage{Usage: []credit.Sum{{Key: in}}}.csv()
		rows, readErr := csv.NewReader(strings.NewReader(string(raw))).ReadAll()
		if err != nil || readErr != nil || len(rows) != 2 || rows[1][1] != want {
			t.Errorf("%q: %q, %v, %v", in, rows, err, readErr)
		}
	}
	for micros, want := range map[int64]string{0: "0.000000", 1: "0.000001", 1_000_007: "1.000007", 123_456_789_012: "123456.789012", -5: "-0.000005"} {
		if got := dollars(micros); got != want {
			t.Errorf("%d: %s", micros, got)
		}
	}
}

func TestPeriodsAcceptDaysAndTimes(t *testing.T) {
	at := time.Date(2026, 3, 15, 12, 30, 0, 0, time.UTC)
	for _, c := range []struct{ from, to, wantFrom, wantTo string }{
		{"", "", "2026-03-01T00:00:00Z", "2026-03-16T00:00:00Z"},
		{"2026-03-02", "", "2026-03-02T00:00:00Z", "2026-03-16T00:00:00Z"},
		{"", "2026-02-10", "2026-02-01T00:00:00Z", "2026-02-11T00:00:00Z"},
		{"2026-03-01", "2026-03-01", "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"},
		{"2026-03-01T08:00:00+02:00", "2026-03-01T08:00:00Z", "2026-03-01T06:00:00Z", "2026-03-01T08:00:00Z"},
		{"2026-03-01T08:00:00Z", "2026-03-01T08:00:00Z", "2026-03-01T08:00:00Z", "2026-03-01T08:00:00Z"},
		{"2025-12-13", "2026-03-15", "2025-12-13T00:00:00Z", "2026-03-16T00:00:00Z"}, // 93 days
		{"2025-12-12", "2026-03-15", "", ""},
		{"2026-03-01T08:00:00Z", "2026-03-01T07:59:59Z", "", ""},
	} {
		from, to, err := parsePeriod(c.from, c.to, at)
		if (err != nil) != (c.wantFrom == "") || err == nil && (from.Format(time.RFC3339) != c.wantFrom || to.Format(time.RFC3339) != c.wantTo) {
			t.Errorf("%s to %s: %s to %s, %v", c.from, c.to, from, to, err)
		}
	}
}

func TestUsageListsTheNewestAndCountsAll(t *testing.T) {
	s := newSite()
	b := s.settings.accounts["a"]
	b.turns = nil
	for i := range mostRows + 10 {
		b.turns = append(b.turns, credit.Turn{ID: fmt.Sprintf("t%05d", i), At: noon.Add(-time.Duration(i) * time.Millisecond), ChatID: chatID, Input: 1, Micros: 2})
	}
	got := decode(t, s.do(ask(talker, "GET", "/ai/usage?by=turn", "")))
	total, _ := got["total"].(map[string]any)
	if len(listOf(got["usage"])) != mostRows || got["truncated"] != true || total["turns"] != float64(mostRows+10) || total["cost_micros"] != float64(2*(mostRows+10)) {
		t.Errorf("%d rows, truncated %v, total %v", len(listOf(got["usage"])), got["truncated"], total)
	}
	if w := s.do(ask(talker, "GET", "/ai/usage?by=turn&format=csv", "")); w.Header().Get("X-Truncated") != "true" {
		t.Errorf("%v", w.Header())
	}
	if got := decode(t, s.do(ask(talker, "GET", "/ai/usage?by=chat", ""))); len(listOf(got["usage"])) != 1 || got["truncated"] != nil {
		t.Errorf("%v", got)
	}
}

func TestTheLedgerIsReadPageByPage(t *testing.T) {
	s := newSite()
	first := decode(t, s.do(ask(talker, "GET", "/ai/ledger?limit=1", "")))
	second := decode(t, s.do(ask(talker, "GET", "/ai/ledger?limit=1&cursor="+fmt.Sprint(first["cursor"]), "")))
	if len(listOf(first["entries"])) != 1 || len(listOf(second["entries"])) != 1 || second["cursor"] != nil {
		t.Errorf("%v\n%v", first, second)
	}
}

func TestASocketIsOpenedByATicket(t *testing.T) {
	for _, c := range []struct{ url, want string }{
		{"wss://live.example.org/prod", "wss://live.example.org/prod?ticket=t1cket"},
		{"/realtime", "ws://example.com/realtime?ticket=t1cket"},
	} {
		s := newSite()
		s.config.Realtime.URL = c.url
		w := s.do(ask(talker, "POST", "/api/realtime", ""))
		if got := decode(t, w); w.Code != 201 || got["url"] != c.want || got["ticket"] != "t1cket" || got["expires_at"] != "2026-03-01T12:01:00Z" || s.tickets != 1 {
			t.Errorf("%d %v", w.Code, got)
		}
	}
	s := newSite()
	s.config.Realtime = Realtime{}
	if w := s.do(ask(talker, "POST", "/api/realtime", "")); w.Code != 503 || decode(t, w)["code"] != "realtime.unavailable" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestAnswersNameTheReplacedProvider(t *testing.T) {
	s := newSite()
	sent := decode(t, s.do(ask(talker, "POST", "/api/send", `{"chat_id":"`+chatID+`","message":"stand in"}`)))
	message, _ := sent["message"].(map[string]any)
	if by, _ := message["answered_by"].(map[string]any); by["provider"] != "groq" || by["preferred"] != "openai" || by["reason"] != "rate_limited" {
		t.Errorf("%v", sent)
	}
	operator := decode(t, s.do(ask(talker, "POST", "/operator/chat", `{"message":"stand in"}`)))
	if by, _ := operator["fallback"].(map[string]any); operator["provider"] != "groq" || operator["model"] != "llama-3.3-70b-versatile" || by["preferred"] != "openai" || by["reason"] != "rate_limited" {
		t.Errorf("%v", operator)
	}
	if plain := decode(t, s.do(ask(talker, "POST", "/operator/chat", `{"message":"hola"}`))); plain["provider"] != nil || plain["fallback"] != nil {
		t.Errorf("%v", plain)
	}
}

func TestAnswerAndStopPassThePrincipal(t *testing.T) {
	s := newSite()
	for _, body := range []string{"", "{}"} {
		if w := s.do(ask(talker, "POST", "/api/chats/"+chatID+"/answer?lang=en", body)); w.Code != 200 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	if w := s.do(ask(talker, "POST", "/api/chats/"+chatID+"/stop", "")); w.Code != 202 || strings.TrimSpace(w.Body.String()) != `{"stopping":true}` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if len(s.turns) != 2 || s.turns[0].ChatID != chatID || s.turns[0].Locale != "en" || s.turns[0].TraceID != "trace-1" || s.turns[0].Message != "" || fmt.Sprint(s.stops) != "[ana "+chatID+"]" {
		t.Errorf("%+v %v", s.turns, s.stops)
	}
}

func TestAChatsAutomationComesFirst(t *testing.T) {
	s := newSite()
	for _, mode := range []string{"automatic", "manual", "off", ""} {
		w := s.do(ask(talker, "PATCH", "/api/chats/"+chatID, `{"automation":"`+mode+`"}`))
		if w.Code != 200 || s.chat.Automation != mode || s.chat.Title != "Reservas" {
			t.Errorf("%q: %d %s", mode, w.Code, w.Body)
		}
	}
	s.do(ask(talker, "PATCH", "/api/chats/"+chatID, `{"automation":"manual"}`))
	s.do(ask(talker, "PATCH", "/api/chats/"+chatID, `{"title":"x"}`))
	if s.chat.Automation != "manual" {
		t.Errorf("a new title changed it: %+v", s.chat)
	}
}

// TestCreditsAgreeWithTheLedger also where answers cost no credits and nothing is limited.
func TestCreditsAgreeWithTheLedger(t *testing.T) {
	s := newSite()
	free := false
	s.settings.accounts["a"].settings.Providers = append(s.settings.accounts["a"].settings.Providers, eligibility.Config{Name: "openai", CostsCredits: &free})
	s.settings.accounts["a"].settings.Terms = nil
	s.settings.accounts["a"].standing = credit.Standing{Balance: 12, Entries: 1, Day: 5, Month: 6, Sessions: []credit.Session{{ID: boughtS, Tokens: 10, Free: 3}}}
	got := decode(t, s.do(ask(talker, "GET", "/ai/credits", "")))
	if got["balance"] != 12.0 || fmt.Sprint(got["spent"]) != "map[day_micros:5 month_micros:6]" || len(listOf(got["sessions"])) != 1 || got["requires_credits"] != false {
		t.Errorf("%v", got)
	}
	s.settings.accounts["a"].settings.Assistants, s.settings.accounts["a"].settings.Entitlement = nil, &eligibility.Entitlement{}
	if got := decode(t, s.do(ask(talker, "GET", "/ai/credits", ""))); got["balance"] != 12.0 {
		t.Errorf("without AI: %v", got)
	}
}

func TestAPolicyUnderWhichNothingCanBePaidIsRefused(t *testing.T) {
	s := newSite()
	if code := wantRefused(t, s, boss, "PUT", "/ai/terms", `{"policy":{"session_cost":1000000,"session_tokens":1,"session_minutes":5}}`); code != "ai.setting_invalid" {
		t.Error(code)
	}
}
