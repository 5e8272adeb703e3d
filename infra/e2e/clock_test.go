package e2e

import (
	"io"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"piloto/internal/store"

	"piloto/infra/local/process"
	"piloto/internal/access/auth"
	"piloto/internal/ground/ids"
)

// manualClock are the hands of a clock that a test moves.
type manualClock struct {
	mu sync.Mutex
	at time.Time
}

func (h *manualClock) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at
}

func (h *manualClock) forward(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = h.at.Add(d)
}

// openWithClock opens the whole deployment in this process, as infra/local does, with a clock that the test moves.
// It is not started: no sweep runs in it, so that only the comparison of times refuses a request. Functions in
// processes of their own would use the machine's clock; so here they run in this process, whatever -lambda says.
func openWithClock(t *testing.T, clock *manualClock, model string) *client {
	t.Helper()
	c, _ := openHere(t, clock, model)
	return c
}

// openHere does the same as openWithClock, and returns the deployment's table too.
func openHere(t *testing.T, clock *manualClock, model string) (*client, store.Stores) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	p, err := process.Open(t.Context(), process.Options{
		Data: t.TempDir(), Template: filepath.Join(root, "template.yaml"), Log: io.Discard, Clock: clock.now,
	}, process.Settings{BaseURL: model, Model: "fake-1", Parameters: process.Unlimited()}, "http://"+server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if server.Config.Handler, err = p.Handler(); err != nil {
		t.Fatal(err)
	}
	server.Start()
	t.Cleanup(func() {
		server.Close()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := p.Stores.Access.PutToken(t.Context(), auth.Token{
		Hash: ids.Hash(testToken), Kind: auth.KindToken, Account: "default", User: "local",
		Scopes: []auth.Scope{auth.ScopeAdmin}, CreatedAt: clock.now(),
	}); err != nil {
		t.Fatal(err)
	}
	return newClient(server.URL, testToken), p.Stores
}

func TestExpiredDraftIsNotConfirmed(t *testing.T) {
	t.Parallel()
	clock := &manualClock{at: time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)}
	model := newProvider()
	t.Cleanup(model.Close)
	upstream := startOrders(t)
	c := openWithClock(t, clock, model.URL+"/v1")
	server := c.must(t, 201, "POST", "/api/mcps", object("url", upstream.url())).text("mcp_id")

	for _, way := range []struct {
		name  string
		after time.Duration
		do    func(chat, run, digest string) (answer, error)
	}{
		{"by the button", 24 * time.Hour, func(_, run, digest string) (answer, error) {
			return c.do("POST", "/api/runs/"+run+"/confirm", object("digest", digest))
		}},
		{"in words", 24*time.Hour + time.Second, func(chat, _, _ string) (answer, error) {
			return c.do("POST", "/api/send", object("chat_id", chat, "message", "confirmo"))
		}},
		{"cancelled", 48 * time.Hour, func(_, run, digest string) (answer, error) {
			return c.do("POST", "/api/runs/"+run+"/cancel", object("digest", digest))
		}},
	} {
		t.Run(way.name, func(t *testing.T) {
			chat := c.chat(t)
			model.will(reply{calls: []call{{"mcp_request", object("mcp_id", server, "method", "GET", "path", "/orders")}}})
			drafted := c.say(t, chat, "Lista los pedidos")
			clock.forward(way.after)
			a, err := way.do(chat, drafted.text("run.run_id"), drafted.text("run.digest"))
			if err != nil {
				t.Fatal(err)
			}
			if err := problemOf(a, 410, "plan.expired"); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("a second before its time", func(t *testing.T) {
		model.will(reply{calls: []call{{"mcp_request", object("mcp_id", server, "method", "GET", "path", "/orders")}}})
		drafted := c.say(t, c.chat(t), "Lista los pedidos")
		clock.forward(24*time.Hour - time.Second)
		c.must(t, 202, "POST", "/api/runs/"+drafted.text("run.run_id")+"/confirm", object("digest", drafted.text("run.digest")))
	})
	if n := len(upstream.got("")); n > 0 {
		t.Errorf("the service was asked %d times", n)
	}
}
