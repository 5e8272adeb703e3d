package process

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"piloto/internal/boot"
	"piloto/internal/boot/registry"
	"piloto/internal/tools/tool"
)

// statusOf sends one request ("METHOD /path") with a credential, and returns the status.
func statusOf(t *testing.T, origin, target, authorization, body string) int {
	t.Helper()
	method, path, _ := strings.Cut(target, " ")
	r, err := http.NewRequestWithContext(t.Context(), method, origin+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// TestDemonstrationRequiresKey tries the service, its document, the model and the agent. A refused
// request is not recorded.
func TestDemonstrationRequiresKey(t *testing.T) {
	p, folder, _, origin := deploy(t, Settings{Demo: true})
	long := strings.Repeat("x", 60<<10)
	journal := filepath.Join(folder, "demo.jsonl")
	targets := map[string]string{
		"GET /demo/rooms/rooms?": "", "GET /demo/rooms/openapi.json?": "", "GET /demo/rooms/ledger?": "", "POST /demo/rooms/flaky?": "{}",
		"POST /demo/rooms/reservations?": `{"room_id":"norte","date":"2026-11-24","start":"10:00","people":6}`, "GET /demo/rooms/nowhere?": "",
		"GET /demo/model/v1/models?": "", "POST /demo/model/v1/chat/completions?": `{"messages":[{"role":"user","content":"hola"}]}`,
		"POST /demo/reserva?": `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "GET /demo/reserva?": "", "GET /demo/rooms/slow?seconds=0&": "",
	}
	for target, body := range targets {
		for _, authorization := range []string{"", "Bearer nobody", "Bearer", "Basic " + testToken, "Bearer " + p.demonstration.key + "x"} {
			if status := statusOf(t, origin, target+"x="+long, authorization, body); status != http.StatusUnauthorized {
				t.Errorf("%s as %.20q: %d", target, authorization, status)
			}
		}
		plain := strings.TrimRight(target, "?&")
		for who, authorization := range map[string]string{"its key": "Bearer " + p.demonstration.key, "the owner": "Bearer " + testToken} {
			if status := statusOf(t, origin, plain, authorization, body); status == http.StatusUnauthorized || status >= 500 && !strings.Contains(plain, "flaky") {
				t.Errorf("%s by %s: %d", plain, who, status)
			}
		}
	}
	if info, err := os.Stat(journal); err != nil || info.Size() > 10<<10 {
		t.Errorf("the journal has %d bytes, %v", info.Size(), err)
	}
	if p.demonstration.key == "" || p.demonstration.key == testToken {
		t.Error("the demonstration has no key of its own")
	}
	if info, err := os.Stat(filepath.Join(folder, demoKeyFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its file: %v, %v", info, err)
	}
}

// TestDemonstrationRefusesSessionCookie: a session is for the page and the API.
func TestDemonstrationRefusesSessionCookie(t *testing.T) {
	_, _, _, origin := deploy(t, Settings{Demo: true})
	jar := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	in, err := http.NewRequestWithContext(t.Context(), http.MethodPost, origin+"/signin", strings.NewReader("token="+testToken))
	if err != nil {
		t.Fatal(err)
	}
	in.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	in.Header.Set("Origin", origin)
	res, err := jar.Do(in)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	for path, want := range map[string]int{"/demo/rooms/rooms": http.StatusUnauthorized, "/api/chats": http.StatusOK} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, origin+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range res.Cookies() {
			r.AddCookie(c)
		}
		out, err := jar.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = out.Body.Close()
		if out.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, out.StatusCode, want)
		}
	}
}

// TestStartGivesTheKeyToServersWithoutIt: demonstration servers that were registered without a key, or with
// another key, have the key after the next start. Other servers keep theirs.
func TestStartGivesTheKeyToServersWithoutIt(t *testing.T) {
	p, _, _, origin := deploy(t, Settings{Demo: true})
	if err := p.registerServers(t.Context()); err != nil {
		t.Fatal(err)
	}
	servers := registry.Of(p.world(), p.Stores.Registry)
	list, err := servers.List(t.Context(), defaultAccount)
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	if _, err := servers.RemoveKey(t.Context(), defaultAccount, list[0].ID, tool.KeyPlace{}, boot.Clock()); err != nil {
		t.Fatal(err)
	}
	other := &tool.Credential{Place: tool.KeyPlace{In: "header", Name: "X-Key"}, Secret: "another-key"}
	if _, err := servers.SetKey(t.Context(), defaultAccount, list[1].ID, *other, boot.Clock()); err != nil {
		t.Fatal(err)
	}
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	elsewhere.Close() // the server is registered offline
	own, _, err := servers.Register(t.Context(), defaultAccount, tool.Registration{URL: elsewhere.URL, AllowOffline: true, Key: other}, boot.Clock())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := p.registerServers(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range append(list, own) {
		s, _, err := servers.Get(t.Context(), defaultAccount, s.ID)
		if err != nil {
			t.Fatal(err)
		}
		keys, err := p.Stores.Registry.Keys(t.Context(), defaultAccount, s)
		want := tool.Credential{Place: tool.KeyPlace{In: "bearer"}, Secret: p.demonstration.key}
		if s.ID == own.ID {
			want = *other
		}
		if err != nil || !slices.Contains(keys, want) || !slices.Contains(s.Keys, want.Place) {
			t.Errorf("%s has another key, or none (%v)", s.BaseURL, err)
		}
	}
	if chat := post(t, origin+"/api/chats", map[string]any{})["chat_id"]; post(t, origin+"/api/send", map[string]any{"chat_id": chat, "message": "¿Qué salas hay para 8 personas?"})["kind"] != "message" {
		t.Error("the model does not answer, or knows no rooms")
	}
}
