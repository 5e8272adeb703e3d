package webui

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"piloto/internal/access/auth"
)

func TestATextIsRenderedForASignedInPersonOnly(t *testing.T) {
	w, _, _ := furnishedWorld(t)
	post := func(body, site string, who ...auth.Principal) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/ui/text", strings.NewReader(body))
		r.Header.Set("Sec-Fetch-Site", site)
		for _, p := range who {
			r = r.WithContext(auth.NewContext(r.Context(), p))
		}
		got := httptest.NewRecorder()
		w.page.ServeHTTP(got, r)
		return got
	}
	for _, c := range []struct {
		name, body, site string
		who              []auth.Principal
		status           int
		want             string
	}{
		{"a text", "# a\n\n<b> ![x](https://evil.example/p)\xff", "same-origin", []auth.Principal{ana}, 200, string(renderMarkdown("# a\n\n<b> ![x](https://evil.example/p)\uFFFD"))},
		{"the longest", strings.Repeat("a", maxMarkdown), "same-origin", []auth.Principal{ana}, 200, "aaa"},
		{"too long", strings.Repeat("a", maxMarkdown+1), "same-origin", []auth.Principal{ana}, 400, `data-name="error"`},
		{"nobody", "a", "same-origin", nil, 401, ""},
		{"another site", "a", "cross-site", []auth.Principal{ana}, 403, ""},
	} {
		got := post(c.body, c.site, c.who...)
		if got.Code != c.status || !strings.Contains(got.Body.String(), c.want) {
			t.Errorf("%s: %d %.200s", c.name, got.Code, got.Body)
		}
	}
}

// TestClosedBlocks: what is sent to be rendered is complete.
func TestClosedBlocks(t *testing.T) {
	b := open(t, 800, 600)
	for text, want := range map[string]string{
		"a": "", "a\n": "", "a\n\n": "a\n\n", "a\n\nb\n": "a\n\n", "\n\n": "\n\n", "a\n \t\nb": "a\n \t\n",
		"```\na\n\nb\n":                       "",
		"a\n\n```go\n\n```\n\nb":              "a\n\n```go\n\n```\n\n",
		"~~~~\n~~~\n\n~~~~\n\nb":              "~~~~\n~~~\n\n~~~~\n\n",
		"```\n~~~\n\n```x\n\n":                "",
		"- a\n\n  ```\n  x\n\n  ```\n\n- b\n": "- a\n\n  ```\n  x\n\n  ```\n\n",
	} {
		if got := text[:eval[int](b, `import("/source/blocks.js").then(m => m.closed(`+quoted(text)+`))`)]; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestBlocksAreRenderedAsTheyClose, and look as those of the message. The open one is plain text.
func TestBlocksAreRenderedAsTheyClose(t *testing.T) {
	b := open(t, 1000, 900)
	next := make(chan struct{})
	b.world.mu.Lock()
	b.tale, b.next = []string{"## Salas\n\nHay **tres**:", " [norte](https://example.org) <b>\n\n```go\nif x {\n\n", "}\n```\n\n- [x] a", "\n- [ ] b"}, next
	b.world.mu.Unlock()
	b.waitForSocket()
	b.say("cuéntame un cuento")
	next <- struct{}{}
	b.until(`document.querySelector("#writing h2")?.textContent === "Salas" && document.querySelector("#writing .raw").textContent === "Hay **tres**:"`)
	eval[bool](b, `(document.querySelector("#writing h2").kept = true)`)
	next <- struct{}{}
	b.until(`document.querySelector("#writing .blocks .link-host")?.textContent === "example.org" && document.querySelector("#writing .raw").textContent.startsWith("` + "```go" + `")`)
	if eval[bool](b, `document.querySelector("#writing pre, #writing b") !== null || !document.querySelector("#writing h2").kept`) {
		t.Error("an open block was rendered, or a closed one again")
	}
	b.picture("blocks")
	next <- struct{}{}
	b.until(`document.querySelector("#writing .blocks .hk")?.textContent === "if"`)
	blocks := eval[string](b, `document.querySelector("#writing .blocks").innerHTML`)
	next <- struct{}{}
	next <- struct{}{}
	b.until(`document.getElementById("writing") === null && document.querySelector(".line.assistant .task") !== null && document.querySelector(".line.assistant .copy-code") !== null`)
	if whole := eval[string](b, `(e => (e.querySelector(".copy-code").remove(), e.innerHTML))(document.querySelector(".line.assistant .prose").cloneNode(true))`); !strings.HasPrefix(strings.Join(strings.Fields(whole), ""), strings.Join(strings.Fields(blocks), "")) {
		t.Errorf("the message is\n%s\nand its blocks were\n%s", whole, blocks)
	}
	b.until(`document.querySelector(".line.assistant .copy-code") !== null`)
	eval[bool](b, `(window.line = document.querySelector(".line.assistant figure"), document.dispatchEvent(new Event("visibilitychange")), true)`)
	b.say("y otro cuento")
	next <- struct{}{}
	b.until(`document.querySelectorAll(".line.user").length === 2`)
	if !eval[bool](b, `window.line.isConnected`) {
		t.Error("a line that did not change was replaced")
	}
	b.picture("code")
}
