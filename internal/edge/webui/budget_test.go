package webui

import (
	"strings"
	"testing"

	"piloto/infra/local/fixture/chrome"
	"piloto/internal/runs/plan"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
)

// The first sight of the page costs at most this, in a browser that has nothing of it.
const mostScript = 60 << 10 // bytes of the script, compressed

// budgets are the requests, the socket among them, and the bytes of all responses with their headers.
var budgets = []struct {
	path            string
	requests, bytes int
}{
	{"/", 9, 64 << 10},
	{"/?view=servers", 8, 64 << 10},
	{"/?chat=c1", 10, 72 << 10},     // with a plan: it is asked again what happened since it was rendered
	{"/?view=waiting", 9, 68 << 10}, // with a plan, like the chat
}

func TestFirstSightStaysInItsBudget(t *testing.T) {
	b := open(t, 1280, 900)
	b.fill("c1", "reserva", plan.Draft)
	for _, most := range budgets {
		b.do(withoutCache)
		b.visit(most.path)
		b.waitForSocket()
		type request struct {
			Name  string  `json:"name"`
			Bytes float64 `json:"bytes"`
		}
		seen := eval[[]request](b, `(async () => {
			for (let n = -1; n !== performance.getEntriesByType("resource").length; await new Promise(done => setTimeout(done, 1000))) n = performance.getEntriesByType("resource").length;
			return [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")].filter(e => e.transferSize).map(e => ({name: e.name, bytes: e.transferSize}));
		})()`)
		bytes, script := 0.0, 0.0
		for _, r := range seen {
			bytes += r.Bytes
			if strings.HasSuffix(r.Name, "/app.js") {
				script = r.Bytes
			}
		}
		t.Logf("%s: %d requests and a socket, %.0f bytes, of them %.0f of the script; largest contentful paint after %.0f ms", most.path, len(seen), bytes, script, eval[float64](b, largestPaint))
		if len(seen)+1 > most.requests || bytes > float64(most.bytes) || script == 0 || script > mostScript {
			t.Errorf("%s: %v", most.path, seen)
		}
		if n := eval[string](b, `document.getElementById("waiting-count").textContent`); n != "1" {
			t.Errorf("%s: %q wait", most.path, n)
		}
	}
}

// largestPaint is when the largest content was painted, in milliseconds after the navigation began. It is told, and
// not bounded, because it depends on the machine; -1: the browser does not say.
const largestPaint = `new Promise(done => {
	new PerformanceObserver(list => done(list.getEntries().at(-1).startTime)).observe({type: "largest-contentful-paint", buffered: true});
	setTimeout(done, 2000, -1);
})`

// withoutCache empties the browser's cache.
var withoutCache = chrome.Call(network.ClearBrowserCache, cdp.Empty{})
