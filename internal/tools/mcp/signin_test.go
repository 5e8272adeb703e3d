package mcp_test

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/tools/mcp"
	"piloto/internal/tools/tool"
)

func TestAServerThatWantsASignInIsToldAsSuch(t *testing.T) {
	const metadata = `Bearer error="invalid_token", resource_metadata="https://x.test/.well-known/oauth-protected-resource"`
	fixed := tool.Keys{{Place: tool.KeyPlace{In: "bearer"}, Secret: secret}}
	token := tool.Keys{{Place: tool.KeyPlace{In: "oauth", Name: "app", TokenURL: "https://x.test"}, Secret: secret}}
	for name, c := range map[string]struct {
		status int
		asks   string
		keys   tool.Keys
		want   *fault.Error
	}{
		"names its metadata":            {401, metadata, nil, tool.ErrSignIn},
		"names it in capitals":          {401, `bearer RESOURCE_METADATA="x"`, nil, tool.ErrSignIn},
		"names it to another key":       {401, metadata, fixed, tool.ErrSignIn},
		"says nothing":                  {401, "", nil, tool.ErrSignIn},
		"wants a bearer token":          {401, `Bearer realm="x"`, nil, tool.ErrSignIn},
		"wants a password":              {401, `Basic realm="x"`, nil, tool.ErrUnauthorized},
		"does not accept the key":       {401, "", fixed, tool.ErrUnauthorized},
		"does not accept the token":     {401, metadata, token, tool.ErrUnauthorized},
		"forbids, and names it":         {403, metadata, nil, tool.ErrSignIn},
		"forbids, and wants a token":    {403, `Bearer error="insufficient_scope"`, nil, tool.ErrSignIn},
		"forbids another key":           {403, metadata, fixed, tool.ErrSignIn},
		"forbids what a key may not do": {403, `Bearer error="insufficient_scope", resource_metadata="x"`, fixed, tool.ErrUnauthorized},
		"forbids the token":             {403, metadata, token, tool.ErrUnauthorized},
		"forbids, and says nothing":     {403, "", nil, tool.ErrUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFaultyServer(t, ok)
			var locked atomic.Value // the method from which on the server refuses
			locked.Store("none")
			lock := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if at := locked.Load(); at == "all" || r.Header.Get("Idempotency-Key") != "" && at == "call" {
					if c.asks != "" {
						w.Header().Set("WWW-Authenticate", c.asks)
					}
					w.WriteHeader(c.status)
					return
				}
				s.ServeHTTP(w, r)
			}))
			d := discoverer(t)
			d.Bearer = &bearers{}
			found, err := d.Discover(t.Context(), tool.Target{Base: lock.URL, Keys: c.keys})
			if err != nil {
				t.Fatal(err)
			}
			call := callOf(asServer(found), byName(found)["do"], `{}`)
			call.Keys, call.Idempotency, call.Trust = c.keys, "run-1", time.Hour
			for _, at := range []string{"call", "all"} {
				locked.Store(at)
				caller := client(t, func(o *mcp.Options) { o.Bearer = &bearers{} })
				want := c.want
				if at == "call" && c.asks == "" { // the handshake needed nothing
					want = tool.ErrUnauthorized
				}
				if _, err := caller.CallTool(t.Context(), call); !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", at, err, want)
				}
			}
			if _, err := d.Discover(t.Context(), tool.Target{Base: lock.URL, Keys: c.keys}); !errors.Is(err, c.want) {
				t.Errorf("discovery: %v, want %v", err, c.want)
			}
			s.gate = func(w http.ResponseWriter, method string) bool {
				if method == "tools/list" && c.asks != "" {
					w.Header().Set("WWW-Authenticate", c.asks)
				}
				if method == "tools/list" {
					w.WriteHeader(c.status)
				}
				return method != "tools/list"
			}
			if _, err := d.Discover(t.Context(), tool.Target{Base: s.URL, Keys: c.keys}); !errors.Is(err, c.want) {
				t.Errorf("a list: %v, want %v", err, c.want)
			}
		})
	}
}

// A server behind a web sign-in sends to its page. Before a call that is told as a sign-in, because a person looks for a
// broken service otherwise. A call that is answered so is in doubt where a redirect also follows what was done.
func TestARedirectToASignInIsToldAsSuch(t *testing.T) {
	for _, c := range []struct {
		status int
		to     string
		want   *fault.Error
	}{
		{302, "/login?next=%2Fmcp", tool.ErrSignIn},
		{302, "https://accounts.example/o/oauth2", tool.ErrSignIn},
		{302, "/welcome", tool.ErrProtocol},
		{303, "/login", tool.ErrSignIn},
		{301, "/login", tool.ErrSignIn},
		{307, "/oauth/authorize", tool.ErrSignIn},
		{308, "https://l.example/oauth/authorize?x", tool.ErrSignIn},
		{307, "/welcome", tool.ErrProtocol},
	} {
		to, want := c.to, c.want
		s := newFaultyServer(t, ok)
		var locked atomic.Value // the method from which on the server redirects
		locked.Store("none")
		lock := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if at := locked.Load(); at == "all" || r.Header.Get("Idempotency-Key") != "" && at == "call" {
				http.Redirect(w, r, to, c.status)
				return
			}
			s.ServeHTTP(w, r)
		}))
		at, ops := register(t, lock.URL, nil)
		call := callOf(at, ops["do"], `{}`)
		call.Idempotency, call.Trust = "run-1", time.Hour
		locked.Store("call")
		a, err := client(t).CallTool(t.Context(), call)
		if refused := c.status != 302 && c.status != 303 && want == tool.ErrSignIn; errors.Is(err, tool.ErrSignIn) != refused || !refused && a.Status != c.status {
			t.Errorf("%s, a call: %+v %v", to, a, err)
		}
		locked.Store("all")
		if _, err := client(t).CallTool(t.Context(), call); errors.Is(err, tool.ErrSignIn) != (want == tool.ErrSignIn) || err == nil {
			t.Errorf("%s, before a call: %v", to, err)
		}
		if _, err := discoverer(t).Discover(t.Context(), tool.Target{Base: lock.URL}); !errors.Is(err, want) {
			t.Errorf("%s, a discovery: %v, want %v", to, err, want)
		}
	}
}
