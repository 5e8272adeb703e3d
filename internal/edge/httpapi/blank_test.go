package httpapi

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// blanks show nothing: zero-width characters, fillers, selectors, tags and spaces.
var blanks = []string{" \t", "\u200b", "\u200d\u2060", "\ufeff\ufeff", "\u2800", "\u3164 \u115f\u1160\uffa0", "\u00ad\u034f", "\ufe0f", "\U000e0041", "\u180e\u2028", "\u202e\u202c"}

func TestATextThatShowsNothingIsEmpty(t *testing.T) {
	for _, blank := range blanks {
		for _, c := range []struct{ method, path, body string }{
			{"POST", "/api/send", `{"chat_id":"` + chatID + `","message":%q}`},
			{"POST", "/operator/chat", `{"message":%q}`},
			{"POST", "/api/agent/chat", `{"message":%q,"session_id":"s","config":{"id_empresa":7}}`},
			{"POST", "/api/agents/build/jobs", `{"prompt":%q}`},
			{"PATCH", "/api/chats/" + chatID, `{"title":%q}`},
			{"POST", "/api/projects", `{"name":%q}`},
			{"PATCH", "/api/projects/" + projectID, `{"name":%q}`},
			{"POST", "/api/webhooks", `{"name":%q}`},
			{"POST", "/ai/ledger", `{"kind":"grant","amount":5,"reason":%q}`},
		} {
			text := strings.NewReplacer("\t", `\t`).Replace(blank)
			body := strings.Replace(c.body, "%q", `"`+text+`"`, 1)
			s := newSite()
			w := s.do(ask(boss, c.method, c.path, body))
			if got := decode(t, w); w.Code != http.StatusUnprocessableEntity || got["code"] != "request.invalid" {
				t.Errorf("%s %s %+q: %d %s", c.method, c.path, blank, w.Code, w.Body)
			}
		}
	}
	if w := newSite().do(ask(talker, "POST", "/api/send", `{"chat_id":"`+chatID+`","message":"\u200bhola"}`)); w.Code != http.StatusOK {
		t.Errorf("a text with one: %d %s", w.Code, w.Body)
	}
}

// TestATextThatShowsNothingIsJudgedAsEmpty: of each route, each text of which the document wants a character, and each that
// is for people.
func TestATextThatShowsNothingIsJudgedAsEmpty(t *testing.T) {
	checked := map[string]bool{}
	eachRoute(t, func(t *testing.T, r *route, id, body string) {
		for name, judged := range r.bound().members {
			if !judged {
				continue
			}
			checked[id+" "+name] = true
			unseen := newSite().do(validRequest(boss, r, id, `{"`+name+`":" \u200b\u2060 "}`))
			empty := newSite().do(validRequest(boss, r, id, `{"`+name+`":""}`))
			if unseen.Code != empty.Code || empty.Code >= 400 && wrong(t, unseen) != wrong(t, empty) {
				t.Errorf("%s: %d %s, and of an empty one %d %s", name, unseen.Code, unseen.Body, empty.Code, empty.Body)
			}
			if of := decode(t, empty); !said()[name] && (empty.Code != http.StatusUnprocessableEntity || !strings.Contains(fmt.Sprint(of), "string_too_short")) {
				t.Errorf("%s: an empty one: %d %s", name, empty.Code, empty.Body)
			}
		}
	})
	for _, one := range []string{
		"send message", "createProject name", "updateProject name", "updateChat title", "updateSession title", "moveCredit reason", "createWebhook name", "startJob prompt",
		"registerServer name", "createChat title", "cancelRun reason",
	} {
		if !checked[one] {
			t.Errorf("%s was not checked", one)
		}
	}
	w := newSite().do(ask(boss, "PUT", "/api/rules", `{"version":0,"rules":[{"effect":"deny","reason":"\u200b\u2060"}]}`))
	if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), `"reason"`) {
		t.Errorf("the reason of a rule: %d %s", w.Code, w.Body)
	}
}

func TestJSONWithAByteOrderMarkIsJSON(t *testing.T) {
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/api/send", `{"chat_id":"` + chatID + `","message":"hola"}`},
		{"POST", "/operator/chat", `{"message":"hola"}`},
		{"POST", "/api/agent/chat", `{"message":"hola","session_id":"s","config":{"id_empresa":7}}`},
		{"PUT", "/ai/terms", `{"limits":{"day_micros":5,"month_micros":6,"run_micros":7}}`},
	} {
		if w := newSite().do(ask(boss, c.method, c.path, "\ufeff"+c.body)); w.Code >= 300 {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, w.Body)
		}
		if w := newSite().do(ask(boss, c.method, c.path, "\ufeff\ufeff"+c.body)); w.Code < 400 {
			t.Errorf("two of them: %d", w.Code)
		}
	}
	if w := newSite().do(ask(boss, "PUT", "/ai/terms", "\ufeff")); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("an empty one: %d %s", w.Code, w.Body)
	}
}

// TestAKeyHasAtMost255PrintableCharacters on every route that changes something, also where nothing reads it.
func TestAKeyHasAtMost255PrintableCharacters(t *testing.T) {
	for _, to := range Routes() {
		if to.Method == http.MethodGet {
			continue
		}
		path := regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(to.Path, chatID)
		for _, key := range []string{"", " ", strings.Repeat("k", 256), "ñ", "a\x7f", "a\tb"} {
			w := newSite().do(ask(boss, to.Method, path, "{}", "Idempotency-Key", key))
			if w.Code != http.StatusUnprocessableEntity || wrong(t, w) != "[header Idempotency-Key] string_pattern_mismatch" {
				t.Errorf("%s %s %.20q of %d: %d %s", to.Method, path, key, len(key), w.Code, w.Body)
			}
		}
	}
	for key, good := range map[string]bool{
		"k": true, "a b": true, `"8e03978e-40d5"`: true, strings.Repeat("~", 255): true, strings.Repeat("k", 256): false, "á": false, "a\tb": false, "a\x7f": false,
	} {
		for _, c := range []struct{ method, path, body string }{
			{"POST", "/api/send", `{"chat_id":"` + chatID + `","message":"hola"}`},
			{"POST", "/operator/chat", `{"message":"hola"}`},
			{"POST", "/api/agent/chat", `{"message":"hola","session_id":"s","config":{"id_empresa":7}}`},
			{"POST", "/ai/ledger", `{"kind":"grant","amount":5,"reason":"x"}`},
			{"POST", "/ai/sessions", `{}`},
			{"POST", "/api/chats", `{}`},
			{"POST", "/api/projects", `{"name":"x"}`},
			{"POST", "/api/runs/" + runID + "/confirm", `{"digest":"` + strings.Repeat("0", 64) + `"}`},
		} {
			w := newSite().do(ask(boss, c.method, c.path, c.body, "Idempotency-Key", key))
			got := decode(t, w)
			refused := got["code"] == "request.invalid" && strings.Contains(fmt.Sprint(got["errors"]), "Idempotency-Key")
			if refused == good {
				t.Errorf("%s %s %.20q of %d: %d %s", c.method, c.path, key, len(key), w.Code, w.Body)
			}
		}
	}
}
