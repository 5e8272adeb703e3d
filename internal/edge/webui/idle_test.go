package webui

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"piloto/infra/local/fixture/chrome"
	"piloto/internal/runs/plan"

	"github.com/chromedp/cdproto/page"
)

//go:embed testdata/clock.js
var clockScript string

// traffic is what a page sent and heard.
type traffic struct {
	Requests []struct {
		URL  string `json:"url"`
		Live bool   `json:"live"` // while the socket was connected
	} `json:"requests"`
	Pings  int `json:"pings"`
	Pongs  int `json:"pongs"`
	Pushes int `json:"pushes"`
}

// count returns the requests whose method and address begin so.
func (t traffic) count(begin string) (n int) {
	for _, r := range t.Requests {
		if strings.HasPrefix(r.URL, begin) {
			n++
		}
	}
	return n
}

// stopClock has the pages that are opened from now on live by a clock that the test moves.
func (b *browser) stopClock() {
	b.Helper()
	b.do(chrome.Call(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: clockScript}))
}

// pass lets so many seconds pass in the page, and returns what it sent and heard in them.
func (b *browser) pass(seconds int) traffic {
	b.Helper()
	return eval[traffic](b, fmt.Sprintf(`fresh() && pass(%d).then(() => seen)`, seconds))
}

// settle opens a view, and lets the time pass in which a new connection may miss pushes.
func (b *browser) settle(path string) {
	b.Helper()
	b.visit(path)
	b.waitForSocket()
	b.pass(10)
}

// idleViews are views of the page with all that it ever asked for again: drafts, runs that go on, what waits, and services.
func (b *browser) idleViews() []string {
	b.Helper()
	b.fill("c1", "reserva", plan.Draft)
	b.fill("c2", "reserva", plan.Waiting)
	return []string{"/?chat=c1", "/?chat=c2", "/", "/?view=waiting", "/?view=runs", "/?view=servers", "/?view=credits", "/?view=assistants", "/?view=webhooks"}
}

// TestAnIdlePageAsksForNothing (guarantee I43): it pings as often as the server says, in a hidden tab once in nine minutes,
// and asks for nothing else.
func TestAnIdlePageAsksForNothing(t *testing.T) {
	b := open(t, 1280, 900)
	b.hub.set(func(h *hub) { h.ping = 120 })
	b.stopClock()
	for _, view := range b.idleViews() {
		b.settle(view)
		if view == "/?view=waiting" {
			b.click(".wait-fold > summary")
			b.until(`document.querySelector(".wait .card") !== null`)
		}
		for name, want := range map[string]struct{ least, most int }{"false": {29, 31}, "true": {6, 7}} {
			eval[bool](b, `hide(`+name+`) || pass(1)`)
			got := b.pass(3600)
			t.Logf("%s, hidden %s: %d requests, %d pings and %d pongs in an hour", view, name, len(got.Requests), got.Pings, got.Pongs)
			if len(got.Requests) > 0 || got.Pings != got.Pongs || got.Pings < want.least || got.Pings > want.most {
				t.Errorf("%s, hidden %s: %+v", view, name, got)
			}
		}
	}
}

// TestThePagePingsAsItsServerSays, whatever it says.
func TestThePagePingsAsItsServerSays(t *testing.T) {
	b := open(t, 1280, 900)
	b.stopClock()
	for seconds, want := range map[float64]int{20: 180, 120: 30, 600: 6, 3000: 1, 1e12: 0, 0: 30, -5: 30} {
		b.hub.set(func(h *hub) { h.ping = seconds })
		b.settle("/")
		if got := b.pass(3600); got.Pings < want-1 || got.Pings > want+1 || len(got.Requests) > 0 {
			t.Errorf("%v s: %d pings, %d requests", seconds, got.Pings, len(got.Requests))
		}
	}
}

// TestAHiddenTabHearsOfWhatWaits: with another chat open, the server says only that something of a chat changed.
func TestAHiddenTabHearsOfWhatWaits(t *testing.T) {
	b := open(t, 1280, 900)
	b.hub.set(func(h *hub) { h.ping = 120 })
	b.stopClock()
	b.fill("c1", "reserva", plan.Done)
	for _, view := range []string{"/?chat=c1", "/", "/?view=servers", "/?view=waiting"} {
		other := "other" + view
		b.settle(view)
		eval[bool](b, `localStorage.setItem("piloto.tell", "on"), hide(true), pass(1800)`)
		b.world.mu.Lock()
		tell := b.tell
		b.tell = func(string, map[string]any) {}
		b.world.titled(other, "Otra")
		b.world.propose(other, roomPlan(b.now()))
		b.tell = tell
		b.world.mu.Unlock()
		b.hub.push("chat", map[string]any{"conversationId": other})
		b.until(`notes.length === 1 && document.title.startsWith("(")`)
		b.until(`document.querySelector("link[rel=icon]").href === new URL(document.querySelector("link[rel=icon]").dataset.waiting, location).href`)
		if view == "/?view=waiting" {
			b.until(`[...document.querySelectorAll(".wait")].some(row => row.innerText.includes("Otra"))`)
		}
	}
}

// TestWithoutASocketThePageAsksLessAndLess, and not at all when the socket is back, after it caught up once.
func TestWithoutASocketThePageAsksLessAndLess(t *testing.T) {
	for name, lose := range map[string]func(*hub){
		"closed": func(h *hub) { h.away = true },
		"none":   func(h *hub) { h.away, h.code = true, "realtime.unavailable" },
		"silent": func(h *hub) { h.away, h.mute = true, true },
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, 1280, 900)
			b.hub.set(func(h *hub) { h.ping = 120 })
			b.stopClock()
			b.fill("c1", "reserva", plan.Draft)
			b.settle("/?chat=c1")
			b.hub.set(lose)
			if name != "silent" {
				b.hub.cut()
			} else {
				eval[bool](b, `pass(140, true)`)
			}
			b.until(`!document.documentElement.hasAttribute("data-live")`)
			first := b.pass(600)
			b.pass(3600)
			later := b.pass(3600)
			t.Logf("%d requests in ten minutes, %d in an hour afterwards", len(first.Requests), len(later.Requests))
			if first.count("GET /ui/chats?") < 2 || first.count("GET /ui/chats/c1") < 2 || later.count("GET /ui/chats/c1") < 6 {
				t.Errorf("it does not ask: %+v", first)
			}
			if len(later.Requests) > 240 || later.count("GET /ui/") > 40 {
				t.Errorf("it asks %d times in an hour", len(later.Requests))
			}
			if name == "none" {
				return
			}
			b.hub.set(func(h *hub) { h.away, h.mute = false, false })
			back := b.pass(700)
			b.waitForSocket()
			lists, chats := 0, 0
			for _, r := range back.Requests {
				if r.Live && strings.HasPrefix(r.URL, "GET /ui/chats/c1") {
					chats++
				}
				if r.Live && strings.HasPrefix(r.URL, "GET /ui/chats?") {
					lists++
				}
			}
			if chats != 1 || lists != 1 {
				t.Errorf("it caught up with %d and %d requests: %+v", chats, lists, back)
			}
			if got := b.pass(3600); len(got.Requests) > 0 {
				t.Errorf("it goes on asking: %+v", got)
			}
		})
	}
}
