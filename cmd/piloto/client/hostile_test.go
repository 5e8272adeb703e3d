package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"piloto/cmd/piloto/client"
	"piloto/internal/edge/httpapi"
)

// TestAnIDThatNoneCanHaveIsRefused: a person pastes it into a shell, and the digest beside it.
func TestAnIDThatNoneCanHaveIsRefused(t *testing.T) {
	digest := strings.Repeat("ab", 32)
	var body string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }))
	defer s.Close()
	c := client.New(client.Target{Origin: s.URL}, "es")
	of := func(run, digest, step, chat string) string {
		raw, err := json.Marshal(map[string]any{"run_id": run, "digest": digest, "chat_id": chat, "steps": []any{map[string]any{"id": step, "needs": []string{"a b"}}}})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	for _, good := range []string{of("01M8E2VDTY1M9N62T9C2CTWZ4Y", digest, "s2[3]", ""), of("01A", "", "undo:s2", "01A#conclusion")} {
		body = good
		if _, err := client.Get[httpapi.Run](t.Context(), c, "/x", nil); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
	for _, bad := range []string{"01A --yes", "01A;id", "--yes", "01A\n", "$(id)", "`id`", "01A'", `01A"`, "01A|x", "01A&", "01A>x", "~", "\x1b[2J", "a\u202eb", "é", "*", "01A\\", "!x", strings.Repeat("A", 129)} {
		for what, answer := range map[string]string{
			"run": of(bad, digest, "s1", ""), "digest": of("01A", bad, "s1", ""), "step": of("01A", digest, bad, ""), "chat": of("01A", digest, "s1", bad),
			"short digest": of("01A", digest[:63], "s1", ""), "upper digest": of("01A", strings.ToUpper(digest), "s1", ""),
		} {
			body = answer
			got, err := client.Get[httpapi.Run](t.Context(), c, "/x", nil)
			if lost, ok := errors.AsType[*client.UnreachableError](err); !ok || lost.Came != client.CameID || got.RunID != "" {
				t.Errorf("%s %q: %v", what, bad, err)
			}
		}
	}
}

// TestAVersionThatNoFileHasIsRefused: a part of it stands in the command that takes a change back.
func TestAVersionThatNoFileHasIsRefused(t *testing.T) {
	version := strings.Repeat("0f", 32)
	for before, good := range map[string]bool{
		"": true, version: true, "ab": false, version[:63]: false, version + "0": false, "$(id)" + version: false, version[:63] + ";": false, strings.ToUpper(version): false,
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(map[string]any{"job_id": "01A", "changes": []any{map[string]any{"name": "a.go", "before": before}}})
		}))
		_, err := client.Get[httpapi.Job](t.Context(), client.New(client.Target{Origin: s.URL}, "es"), "/x", nil)
		if s.Close(); (err == nil) != good {
			t.Errorf("%q: %v", before, err)
		}
	}
}

// TestAnAnswerThatWouldFillTheMemoryIsRefused: many small values, depth, and size.
func TestAnAnswerThatWouldFillTheMemoryIsRefused(t *testing.T) {
	var body string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }))
	defer s.Close()
	for name, text := range map[string]string{
		"values": `{"runs":[` + strings.Repeat("{},", 600_000) + `{}]}`,
		"depth":  `{"runs":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`,
		"size":   `{"cursor":"` + strings.Repeat("a", 17<<20) + `"}`,
	} {
		body = text
		if _, err := client.Get[httpapi.RunList](t.Context(), client.New(client.Target{Origin: s.URL}, "es"), "/x", nil); err == nil {
			t.Errorf("%s: it was read", name)
		}
	}
}

// TestOnlyTheOwnSocketIsDialled: at the deployment's origin, or where login stored it; and no redirect of it is followed.
func TestOnlyTheOwnSocketIsDialled(t *testing.T) {
	var dialled []string
	serve := func(name string) *httptest.Server {
		return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			dialled = append(dialled, name)
			if r.Header.Get("Authorization") != "" {
				t.Errorf("%s was sent the token", name)
			}
			if conn, err := websocket.Accept(w, r, nil); err == nil {
				_ = conn.CloseNow()
			}
		}))
	}
	other := serve("other")
	defer other.Close()
	var address, own string
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/realtime", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"url":%q,"ticket":"x"}`, address)
	})
	mux.HandleFunc("GET /away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	mux.Handle("GET /socket", serve("own").Config.Handler)
	s := httptest.NewServer(mux)
	defer s.Close()
	own = "ws" + strings.TrimPrefix(s.URL, "http")
	elsewhere := "ws" + strings.TrimPrefix(other.URL, "http")
	const amazon = "wss://abc123defg.execute-api.eu-west-1.amazonaws.com"
	for _, c := range []struct {
		address, live string
		opens, refuse bool
	}{
		{own + "/socket?ticket=x", "", true, false},
		{own + "/socket", elsewhere, true, false},
		{own + "/away", "", false, false},
		{elsewhere + "/", "", false, true},
		{elsewhere + "/", elsewhere, true, false},
		{other.URL, "", false, true},
		{"http" + own[2:] + "/socket", "", false, true},
		{"ws://user@" + own[5:] + "/socket", "", false, true},
		{"wss" + own[2:] + "/socket", "", false, true},
		{own + ".evil.example/", "", false, true},
		{"ws://localhost:1/", "", false, true},
		{"file:///etc/passwd", "", false, true},
		{"/socket", "", false, true},
		{"", "", false, true},
		{"ws://[", "", false, true},
		{amazon + "/live?ticket=x", "", false, true},
	} {
		address, dialled = c.address, nil
		made := client.New(client.Target{Origin: s.URL, Token: "token-of-ana"}, "es")
		made.Live = c.live
		conn, err := made.Socket(context.WithoutCancel(t.Context()))
		if (err == nil) != c.opens || errors.Is(err, client.ErrOtherSocket) != c.refuse || c.refuse && len(dialled) > 0 {
			t.Errorf("%q, %q stored: %v, dialled %v", c.address, c.live, err, dialled)
		}
		if err == nil {
			_ = conn.CloseNow()
		} else if len(dialled) > 0 && dialled[len(dialled)-1] == "other" {
			t.Errorf("%q: another server was dialled", c.address)
		}
	}
	for at, want := range map[string]string{
		own + "/socket": "", amazon + "/live?ticket=x": amazon, "ws" + amazon[3:] + "/live": "no", elsewhere: "no", amazon + ".evil.example/live": "no", amazon + ":8443/live": "no",
		"wss://evil.example/execute-api.eu-west-1.amazonaws.com": "no", "wss://a.b.execute-api.eu-west-1.amazonaws.com/": "no",
	} {
		address = at
		got, err := client.New(client.Target{Origin: s.URL}, "es").LiveOrigin(t.Context())
		if want == "no" != errors.Is(err, client.ErrOtherSocket) || err == nil && got != want {
			t.Errorf("%q would be stored as %q: %v", at, got, err)
		}
	}
}
