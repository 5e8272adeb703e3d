package webui

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
)

func spendingWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(at(noon), Facts{Provider: "openai", Model: "gpt-4o-mini"})
	w.spend()
	return w
}

func TestSettingsLookLikeTheirGoldens(t *testing.T) {
	w := spendingWorld(t)
	for name, path := range map[string]string{
		"credits.html": "/ui/credits?by=chat", "credits_older.html": "/ui/credits?cursor=e19", "assistants.html": "/ui/assistants", "assistant.html": "/ui/assistants/p1",
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, dense(get(t, w.page, path, ana).Body.String())) })
	}
	empty := newWorld(at(noon), Facts{Provider: "openai", Model: "gpt-4o-mini"})
	golden(t, "credits_empty.html", dense(get(t, empty.page, "/ui/credits", ana).Body.String()))
	b := dense(get(t, w.page, "/?view=assistants", ana).Body.String())
	if !strings.Contains(string(b), `data-name="assistants"`) || !strings.Contains(get(t, w.page, "/?view=credits&by=model", ana).Body.String(), "openai/gpt-4o-mini") {
		t.Error("the addresses of the page do not lead to the views")
	}
}

func TestAViewerWithoutTheScopeHasNoForm(t *testing.T) {
	w := spendingWorld(t)
	for _, c := range []struct {
		scopes   []auth.Scope
		path     string
		has, not []string
	}{
		{[]auth.Scope{auth.ScopeChat}, "/ui/credits", []string{"disabled"}, []string{"move-credit", "refund", "open-session", `class="button primary"`}},
		{[]auth.Scope{auth.ScopeAdmin}, "/ui/credits", []string{"open-session", "save-limits"}, []string{"move-credit", `data-action="refund"`}},
		{[]auth.Scope{auth.ScopeBilling}, "/ui/credits", []string{"move-credit", `data-action="refund"`}, []string{"open-session"}},
		{[]auth.Scope{auth.ScopeChat}, "/ui/assistants", []string{"disabled"}, []string{"set-provider-key", "add-provider", "delete-assistant", `class="button primary"`}},
		{[]auth.Scope{auth.ScopeAdmin}, "/ui/assistants", []string{"set-provider-key", "add-provider", "delete-assistant"}, nil},
	} {
		body := get(t, w.page, c.path, auth.Principal{Account: "acc", User: "ana", Scopes: c.scopes}).Body.String()
		for _, want := range c.has {
			if !strings.Contains(body, want) {
				t.Errorf("%v at %s: no %q", c.scopes, c.path, want)
			}
		}
		for _, bad := range c.not {
			if strings.Contains(body, bad) {
				t.Errorf("%v at %s: %q", c.scopes, c.path, bad)
			}
		}
	}
}

func TestAForeignAccountSeesNothingOfTheCredit(t *testing.T) {
	w := spendingWorld(t)
	for _, path := range []string{"/ui/credits", "/ui/credits?by=chat", "/ui/credits?cursor=e3"} {
		body := get(t, w.page, path, auth.Principal{Account: "other", User: "eve", Scopes: ana.Scopes}).Body.String()
		for _, bad := range []string{"Corrección", "11.974", "mañana", "gpt-4o-mini/"} {
			if strings.Contains(body, bad) {
				t.Errorf("%s shows %q", path, bad)
			}
		}
	}
	if r := get(t, w.page, "/ui/assistants/p1", auth.Principal{Account: "other", User: "eve", Scopes: ana.Scopes}); r.Code != http.StatusNotFound {
		t.Errorf("a foreign project: %d", r.Code)
	}
}

func TestADeploymentWithoutSettingsSaysSo(t *testing.T) {
	m := newMemory(at(noon))
	page := New(Deps{Chats: m, Runs: m, Servers: m, Projects: m, Tokens: m, Facts: Facts{Provider: "demo", Model: "demo", Demo: true}, Now: at(noon)})
	for path, want := range map[string]int{"/ui/credits": 404, "/ui/credits?cursor=x": 404, "/ui/assistants": 404, "/ui/assistants/p1": 404, "/ui/new": 200} {
		if r := get(t, page, path, ana); r.Code != want {
			t.Errorf("%s: %d", path, r.Code)
		}
	}
}

// TestHeadAnswersLikeGet without the body.
func TestHeadAnswersLikeGet(t *testing.T) {
	w, chat, _ := furnishedWorld(t)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.page.ServeHTTP(rw, r.WithContext(auth.NewContext(r.Context(), ana)))
	}))
	defer server.Close()
	for _, path := range []string{"/", "/?chat=" + chat, "/?view=credits", "/ui/new", "/ui/assistants", "/assets/app.css", "/nothing", "/ui/chats/none"} {
		got, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = got.Body.Close()
		head, err := http.Head(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = head.Body.Close()
		if head.StatusCode != got.StatusCode || head.Header.Get("Content-Type") != got.Header.Get("Content-Type") {
			t.Errorf("%s: %d %s, but GET %d", path, head.StatusCode, head.Header.Get("Content-Type"), got.StatusCode)
		}
	}
}

func TestThePolicyAllowsOnlyTheSocketsOrigin(t *testing.T) {
	for url, want := range map[string]string{
		"":                                      "connect-src 'self';",
		"wss://abc.execute-api.eu.example/prod": "connect-src 'self' wss://abc.execute-api.eu.example;",
		"ws://127.0.0.1:8080/realtime?x=1":      "connect-src 'self' ws://127.0.0.1:8080;",
		"/realtime":                             "connect-src 'self';",
		"https://evil.example":                  "connect-src 'self';",
		"wss://":                                "connect-src 'self';",
		"javascript:1":                          "connect-src 'self';",
	} {
		if got := policy(url); !strings.Contains(got, want) {
			t.Errorf("%q: %s", url, got)
		}
	}
}

func TestAnswersNameTheirProviderOnlyWhenReplaced(t *testing.T) {
	for name, c := range map[string]struct {
		by                      *conversation.By
		author, instead, absent string
		stopped                 bool
	}{
		"nobody":  {nil, "", "", "by", false},
		"plain":   {&conversation.By{Provider: "openai", Model: "gpt-4o"}, "OpenAI · gpt-4o", "", `class="by"`, false},
		"stopped": {&conversation.By{Provider: "openai", Model: "gpt-4o", Stopped: true}, "OpenAI · gpt-4o", "", "Respondió", true},
		"stood in": {
			&conversation.By{Provider: "groq", Model: "llama", Preferred: "openai", Reason: "insufficient_credits"}, "Groq · llama",
			"Respondió Groq: OpenAI no tiene créditos", "Detenido", false,
		},
		"unheard of": {&conversation.By{Provider: "groq", Model: "m", Preferred: "openai", Reason: "<b>"}, "Groq · m", "Respondió Groq: OpenAI no está disponible", "<b>", false},
		"hostile": {
			&conversation.By{Provider: "<i>\u202e", Model: "<script>", Preferred: "<u>", Reason: "no_api_key"}, "<i>⟦U+202E⟧ · <script>",
			"Respondió <i>⟦U+202E⟧: falta la clave de <u>", "Detenido", false,
		},
	} {
		l, _ := newLine(conversation.Message{Role: conversation.RoleAssistant, Kind: conversation.KindText, Content: "x", By: c.by, At: noon}, nil, "openai", locale.Spanish)
		if l.Author != c.author || l.Instead != c.instead || l.Stopped != c.stopped {
			t.Errorf("%s: %q %q %v", name, l.Author, l.Instead, l.Stopped)
		}
		var b strings.Builder
		if err := loadViews(loadAssets(), at(noon)).render(&b, locale.Spanish, "line", l); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); name != "nobody" && strings.Contains(got, c.absent) || strings.Contains(got, "<script>") || strings.Contains(got, "<u>") || c.stopped != strings.Contains(got, "Detenido") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestEveryBlockHasACompleteNextStep(t *testing.T) {
	for _, tag := range locale.Tags() {
		for _, reason := range eligibility.Reasons() {
			m := conversation.Message{Role: conversation.RoleSystem, Kind: conversation.KindBlocked, Code: string(reason), Content: "⚠️ Por esto.", At: noon}
			l, _ := newLine(m, nil, "openai", tag)
			if l.Action == "" || strings.ContainsAny(l.Action, "{}") || string(l.Text) != "Por esto." {
				t.Errorf("%s: %s: %q %q", tag, reason, l.Text, l.Action)
			}
		}
	}
}

// TestUsageIsOfThisMonthAndBounded: in days of UTC, however many turns there are.
func TestUsageIsOfThisMonthAndBounded(t *testing.T) {
	w := newWorld(at(noon), Facts{})
	first := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	w.purse.turns = []credit.Turn{
		{ID: "next", At: first.AddDate(0, 1, 0), Micros: 1000}, {ID: "in", At: first, Micros: 2_000_000}, {ID: "before", At: first.Add(-time.Second), Micros: 1000},
	}
	body := get(t, w.page, "/ui/credits", ana).Body.String()
	if !strings.Contains(body, "2026-03-01") || strings.Contains(body, "2026-04-01") || strings.Contains(body, "2026-02-28") {
		t.Error(body)
	}
	for range turnsRead + 5 {
		w.purse.turns = append(w.purse.turns, credit.Turn{At: noon.Add(-time.Minute), Model: "m", Provider: "p"})
	}
	if body := get(t, w.page, "/ui/credits", ana).Body.String(); !strings.Contains(body, "5000") || !strings.Contains(body, locale.Text(locale.Spanish, "page.usage.partial")) {
		t.Error("a part of the usage is shown as all of it")
	}
}
