package e2e

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// TestAPersonWithoutScriptBooksARoom: forms begin a chat, ask for a plan and confirm it as it was shown.
func TestAPersonWithoutScriptBooksARoom(t *testing.T) {
	t.Parallel()
	d, _ := startDemonstration(t)
	page := newClient(d.url(), "")
	page.header.Set("Origin", d.url())
	form := func(path string, values url.Values) string {
		t.Helper()
		got, err := page.do("POST", path, values.Encode(), "Content-Type", "application/x-www-form-urlencoded")
		if err != nil || got.status != 303 {
			t.Fatalf("POST %s: %+v, %v", path, got, err)
		}
		return got.header.Get("Location")
	}
	_, code, _ := strings.Cut(d.signInAddress(t), "?")
	session := page.must(t, 303, "GET", "/signin?"+code, "")
	cookie, _, _ := strings.Cut(session.header.Get("Set-Cookie"), ";")
	page.header.Set("Cookie", cookie)

	start := string(page.must(t, 200, "GET", "/", "").body)
	if !strings.Contains(start, `<form method="post" action="/api/chats">`) {
		t.Fatal("the page offers no form that begins a chat")
	}
	chat := form("/api/chats", url.Values{"project_id": {""}})
	hidden := func() url.Values {
		values := url.Values{}
		for _, m := range regexp.MustCompile(`<input type="hidden" form="composer" name="(\w+)" value="(\w+)">`).FindAllStringSubmatch(string(page.must(t, 200, "GET", chat, "").body), -1) {
			values.Add(m[1], html.UnescapeString(m[2]))
		}
		return values
	}
	values := hidden()
	values.Set("message", "Reserva una sala para 6 mañana a las 10")
	if to := form("/api/send", values); to != chat {
		t.Errorf("it leads to %s, not to %s", to, chat)
	}
	values = hidden()
	if values.Get("digest") == "" {
		t.Fatal("no plan is shown")
	}
	values.Set("message", "confirmo")
	form("/api/send", values)
	if err := eventually(patience, func() error {
		return matches(`class="card"[^>]* data-status="done"`, string(page.must(t, 200, "GET", chat, "").body))
	}); err != nil {
		t.Error(err)
	}
}
