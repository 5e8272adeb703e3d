package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// reactPage is a page of another site that uses the Operator contract as the example of document 004 does, and
// writes the result.
const reactPage = `<!doctype html><title>otra</title><pre id="said"></pre><script type="module">
const ask = async (path, init) => {
  try {
    const answer = await fetch(%[1]q + path, init);
    return [answer.status, answer.headers.get("idempotency-replayed") ?? "first", JSON.stringify(await answer.json())].join(" ");
  } catch (e) { return "blocked " + e.name; }
};
const headers = { "Content-Type": "application/json", "X-VX11-Token": %[2]q, "Idempotency-Key": "page-" + location.port };
const body = JSON.stringify({ session_id: undefined, message: "¿Qué hay?", metadata: { source: "ui" } });
const token = { Authorization: "Bearer " + %[2]q };
const said = [
  "chat " + await ask("/operator/chat", { method: "POST", headers, body }),
  "again " + await ask("/operator/chat", { method: "POST", headers, body }),
  "chats " + await ask("/api/chats", { headers: token }),
  "models " + await ask("/ai/providers", { headers: token }),
  "guess " + await ask("/api/chats", { headers: { Authorization: "Bearer wrong-token-0000" } }),
  "cookie " + await ask("/api/chats", { credentials: "include" }),
];
document.querySelector("#said").textContent = said.join("\n");
</script>`

// TestAllowedOriginUsesTokenInBrowser runs in a real browser. A page of an origin that is not allowed can read
// nothing, and the cookie is sent for no other origin.
func TestAllowedOriginUsesTokenInBrowser(t *testing.T) {
	var d *deployment
	page := func() *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = fmt.Fprintf(w, reactPage, d.url(), testToken)
		}))
		t.Cleanup(s.Close)
		return s
	}
	friend, stranger := page(), page()
	d, c, model := startScripted(t, "PILOTO_CORS_ORIGINS= "+strings.ToUpper(friend.URL)+"/ , https://app.example.com")
	model.will(reply{text: "Dos salas."})
	b := openBrowser(t, d)
	b.signIn()
	read := func(at string) map[string]string {
		b.do(chromedp.Navigate(at))
		b.until(`document.querySelector("#said")?.textContent !== ""`)
		said := map[string]string{}
		for line := range strings.Lines(b.text("#said")) {
			name, text, _ := strings.Cut(strings.TrimSpace(line), " ")
			said[name] = text
		}
		return said
	}
	for name, text := range read(friend.URL) {
		want := map[string]string{
			"chat": "200 first ", "again": "200 true ", "chats": "200 first ", "models": "200 first ", "guess": "401 first ", "cookie": "blocked TypeError",
		}[name]
		if want == "" || !strings.HasPrefix(text, want) || name == "chat" && !strings.Contains(text, "Dos salas.") {
			t.Errorf("%s: %s", name, text)
		}
	}
	for name, text := range read(stranger.URL) {
		if text != "blocked TypeError" {
			t.Errorf("a stranger's page, %s: %s", name, text)
		}
	}
	if asked := len(model.allRequests()); asked != 1 {
		t.Errorf("the model was asked %d times", asked)
	}
	preflight(t, c.base, friend.URL, friend.URL)
	preflight(t, c.base, "https://app.example.com", "https://app.example.com")
	for _, other := range []string{stranger.URL, "https://app.example.com.evil.example", "https://app.example.com:444", "http://app.example.com", "null"} {
		preflight(t, c.base, other, "")
	}
}

// preflight sends a browser's preflight for a request with a token, and checks the allowed origin.
func preflight(t *testing.T, base, origin, want string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, base+"/api/runs/01HZZZZZZZZZZZZZZZZZZZZZZZ/confirm", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Origin", origin)
	r.Header.Set("Access-Control-Request-Method", "POST")
	r.Header.Set("Access-Control-Request-Headers", "authorization,content-type,idempotency-key,x-vx11-token")
	res, err := (&http.Client{Transport: &http.Transport{}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	h := res.Header
	if got := h.Get("Access-Control-Allow-Origin"); got != want || h.Get("Access-Control-Allow-Credentials") != "" || want != "" && res.StatusCode != 204 {
		t.Errorf("%s: %d %v", origin, res.StatusCode, h)
	}
}
