package webui

import (
	"context"
	"strings"
	"testing"

	"piloto/internal/runs/plan"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// The first sight of the page costs at most this, in a browser that has nothing of it.
const (
	mostBytes  = 80 << 10 // of all responses, with their headers
	mostScript = 60 << 10 // of the script, compressed
)

func TestFirstSightStaysInItsBudget(t *testing.T) {
	b := open(t, 1280, 900)
	// The socket counts. A chat also asks for what happened to it and its plan since it was rendered, and shows by its
	// icon that something waits.
	for _, c := range []struct {
		path string
		most int
	}{{"/", 10}, {"/?view=servers", 9}, {"/?chat=c1", 13}} {
		path, most := c.path, c.most
		if path == "/?chat=c1" {
			b.fill("c1", "reserva", plan.Draft)
		}
		b.do(withoutCache)
		b.visit(path)
		b.waitForSocket()
		type request struct {
			Name  string  `json:"name"`
			Bytes float64 `json:"bytes"`
		}
		seen := eval[[]request](b, `(async () => {
			for (let n = -1; n !== performance.getEntriesByType("resource").length; await new Promise(done => setTimeout(done, 500))) n = performance.getEntriesByType("resource").length;
			return [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")].filter(e => e.transferSize).map(e => ({name: e.name, bytes: e.transferSize}));
		})()`)
		bytes, script := 0.0, 0.0
		for _, r := range seen {
			bytes += r.Bytes
			if strings.HasSuffix(r.Name, "/app.js") {
				script = r.Bytes
			}
		}
		t.Logf("%s: %d requests and a socket, %.0f bytes, of them %.0f of the script", path, len(seen), bytes, script)
		if len(seen)+1 > most || bytes > mostBytes || script == 0 || script > mostScript {
			t.Errorf("%s: %v", path, seen)
		}
	}
}

// withoutCache empties the browser's cache.
var withoutCache = chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
	_, err := cdp.Call(ctx, target, network.ClearBrowserCache, cdp.Empty{})
	return err
})
