package process

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"piloto/infra/local/demo"
	"piloto/internal/boot"
	"piloto/internal/ground/ids"
	"piloto/internal/tools/mcp"
	"piloto/internal/tools/tool"
)

// names returns the names of the registered servers, oldest first.
func names(t *testing.T, p *Process) (out []string) {
	t.Helper()
	servers, err := tool.Registry{Store: p.Stores.Registry}.List(t.Context(), defaultAccount)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range servers {
		if s.Status != tool.Online {
			t.Errorf("%s is %s", s.Name, s.Status)
		}
		out = append(out, s.Name)
	}
	return out
}

func checkNames(t *testing.T, when string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s there are %q, want %q", when, got, want)
	}
}

func TestFirstStartRegistersDemonstration(t *testing.T) {
	p, folder, _, origin := deploy(t, Settings{Demo: true})
	begin := func() {
		t.Helper()
		if err := p.registerServers(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	begin()
	begin()
	checkNames(t, "after two starts", names(t, p), "Reservas", "reserva")

	registry := tool.Registry{Store: p.Stores.Registry, IDs: ids.NewSource(nil)}
	servers, err := registry.List(t.Context(), defaultAccount)
	if err != nil {
		t.Fatal(err)
	}
	if reads := servers[0].Reads; reads.Mode != tool.ReadsOn || servers[1].Reads.Mode != tool.ReadsOff {
		t.Errorf("the service is read as %+v, the agent as %+v", reads, servers[1].Reads)
	}
	agent := servers[1]
	if !agent.IsAgent() || agent.Kind != tool.KindMCP || agent.Transport != tool.TransportStreamable || agent.BaseURL != origin+demoAgentPath {
		t.Errorf("%+v", agent)
	}
	if err := registry.Delete(t.Context(), defaultAccount, agent.ID); err != nil {
		t.Fatal(err)
	}
	begin()
	checkNames(t, "after it was removed", names(t, p), "Reservas")

	// A folder in which the agent was never registered.
	if err := os.Remove(filepath.Join(folder, "demo.agent.registered")); err != nil {
		t.Fatal(err)
	}
	begin()
	checkNames(t, "in a folder without its mark", names(t, p), "Reservas", "reserva")

	// At another address, the registered servers move, and a removed server stays removed.
	at, err := url.Parse(origin)
	if err != nil {
		t.Fatal(err)
	}
	moved := httptest.NewServer(httputil.NewSingleHostReverseProxy(at))
	defer moved.Close()
	if err := registry.Delete(t.Context(), defaultAccount, servers[0].ID); err != nil {
		t.Fatal(err)
	}
	p.origin = moved.URL
	begin()
	checkNames(t, "at another address", names(t, p), "reserva")
	if servers, err = registry.List(t.Context(), defaultAccount); err != nil || servers[0].BaseURL != moved.URL+demoAgentPath {
		t.Errorf("%+v, %v", servers, err)
	}
}

// TestMovedDemonstrationIsReadAsAPersonSaid: the service is registered anew at another address, and its reads stay.
func TestMovedDemonstrationIsReadAsAPersonSaid(t *testing.T) {
	p, _, _, origin := deploy(t, Settings{Demo: true})
	if err := p.registerServers(t.Context()); err != nil {
		t.Fatal(err)
	}
	registry := tool.Registry{Store: p.Stores.Registry, IDs: ids.NewSource(nil)}
	servers, err := registry.List(t.Context(), defaultAccount)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := registry.SetReads(t.Context(), defaultAccount, servers[0].ID, tool.WantedReads{Mode: tool.ReadsPreview, Zone: "casa"}); err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(origin)
	if err != nil {
		t.Fatal(err)
	}
	moved := httptest.NewServer(httputil.NewSingleHostReverseProxy(at))
	defer moved.Close()
	p.origin = moved.URL
	if err := p.registerServers(t.Context()); err != nil {
		t.Fatal(err)
	}
	if servers, err = registry.List(t.Context(), defaultAccount); err != nil || len(servers) != 2 {
		t.Fatal(servers, err)
	}
	for _, s := range servers {
		if !s.IsAgent() && (s.Reads.Mode != tool.ReadsPreview || s.Reads.Zone != "casa" || s.BaseURL != moved.URL+demoServicePath) {
			t.Errorf("%s is read as %+v", s.BaseURL, s.Reads)
		}
	}
}

func TestRegisterDemoKeepsOwnAgent(t *testing.T) {
	p, _, _, _ := deploy(t, Settings{Demo: true})
	rooms, err := demo.NewService()
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := httptest.NewServer(demo.NewAgent(rooms, boot.Clock))
	defer elsewhere.Close()
	registry := tool.Registry{
		Discover: map[tool.Kind]tool.Discoverer{tool.KindMCP: mcp.Discoverer{Client: &http.Client{Transport: http.DefaultTransport}}},
		Store:    p.Stores.Registry, IDs: ids.NewSource(nil), Policy: tool.Policy{AllowLoopback: true},
	}
	own, _, err := registry.Register(t.Context(), defaultAccount, tool.Registration{URL: elsewhere.URL, Name: demo.AgentName, Role: tool.RoleAgent}, boot.Clock())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.registerServers(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkNames(t, "beside one's own", names(t, p), "reserva", "Reservas")
	if kept, err := registry.Store.Server(t.Context(), defaultAccount, own.ID); err != nil || kept.BaseURL != own.BaseURL {
		t.Errorf("%+v, %v", kept, err)
	}
}

// TestDemoAgentServesOnlyItsPath checks that the API serves the neighbouring paths.
func TestDemoAgentServesOnlyItsPath(t *testing.T) {
	_, _, _, origin := deploy(t, Settings{Demo: true})
	for path, want := range map[string]int{"/demo/reserva": http.StatusMethodNotAllowed, "/demo/reserva/": http.StatusNotFound, "/demo/reservas": http.StatusNotFound} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, origin+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+testToken)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("GET %s: %d, want %d", path, res.StatusCode, want)
		}
	}
}

// TestSwitchDemoTurnsServersOffAndOn starts without the demonstration: its service and its agent
// are switched off, so that no plan of a real model calls a server that does not answer. A server
// that a person switched off stays off.
func TestSwitchDemoTurnsServersOffAndOn(t *testing.T) {
	p, _, _, _ := deploy(t, Settings{Demo: true})
	registry := tool.Registry{Store: p.Stores.Registry, IDs: ids.NewSource(nil)}
	begin := func(demo bool, want ...string) {
		t.Helper()
		p.Settings.Demo = demo
		if err := p.registerServers(t.Context()); err != nil {
			t.Fatal(err)
		}
		var active []string
		servers, err := registry.List(t.Context(), defaultAccount)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range servers {
			if s.Active {
				active = append(active, s.Name)
			}
		}
		checkNames(t, "active", active, want...)
	}
	begin(true, "Reservas", "reserva")
	begin(false)
	begin(false)
	begin(true, "Reservas", "reserva")
	servers, err := registry.List(t.Context(), defaultAccount)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := registry.SetActive(t.Context(), defaultAccount, servers[0].ID, false, p.Clock()); err != nil {
		t.Fatal(err)
	}
	begin(true, "reserva")
	begin(false)
	begin(true, "reserva")
}

// TestACommandLeavesTheDemonstrationWhereItIs: at another address it is off, and only a process registers it anew.
func TestACommandLeavesTheDemonstrationWhereItIs(t *testing.T) {
	p, folder, _, origin := deploy(t, Settings{Demo: true})
	registry := tool.Registry{Store: p.Stores.Registry}
	begin := func(at string, passing bool) (list []tool.Server) {
		t.Helper()
		p.origin, p.Passing = at, passing
		if err := p.registerServers(t.Context()); err != nil {
			t.Fatal(err)
		}
		list, err := registry.List(t.Context(), defaultAccount)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	at, err := url.Parse(origin)
	if err != nil {
		t.Fatal(err)
	}
	moved := httptest.NewServer(httputil.NewSingleHostReverseProxy(at))
	defer moved.Close()
	if ServedAt(folder) != "" {
		t.Error("a new folder was served")
	}
	first := begin(origin, true) // in a new folder a command registers it
	checkNames(t, "at first", names(t, p), "Reservas", "reserva")
	if ServedAt(folder) != at.Host {
		t.Errorf("served at %q", ServedAt(folder))
	}
	for _, c := range []struct {
		at                    string
		passing, same, active bool
	}{
		{moved.URL, true, true, false},
		{moved.URL, true, true, false},
		{origin, true, true, true},
		{moved.URL, true, true, false},
		{origin, false, true, true},
		{moved.URL, true, true, false},
		{moved.URL, false, false, true},
	} {
		now := begin(c.at, c.passing)
		if len(now) != 2 {
			t.Fatalf("%+v: %+v", c, now)
		}
		for i, s := range now {
			if (s.ID == first[i].ID) != c.same || (s.BaseURL == first[i].BaseURL) != c.same || s.Active != c.active {
				t.Errorf("%+v: %+v", c, s)
			}
		}
	}
	for text, want := range map[string]string{
		"http://[::1]:9000/demo/rooms": "[::1]:9000", "http://192.0.2.1:8080/demo/rooms": "", "http://example.org:80/demo/rooms": "", "%": "", "": "",
	} {
		if err := os.WriteFile(filepath.Join(folder, demoParts[0].mark), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := ServedAt(folder); got != want {
			t.Errorf("%q is served at %q", text, got)
		}
	}
}

// TestHealthReportsStartingUntilReady checks /health while the demonstration is being registered.
func TestHealthReportsStartingUntilReady(t *testing.T) {
	var ready atomic.Bool
	h := withStartingHealth(&ready, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	ask := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		return w
	}
	if w := ask("/health"); w.Code != http.StatusServiceUnavailable || w.Body.String() != "{\"status\":\"starting\"}\n" || w.Header().Get("Retry-After") != "1" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := ask("/demo/rooms/openapi.json"); w.Code != http.StatusTeapot {
		t.Errorf("all else is not served: %d", w.Code)
	}
	ready.Store(true)
	if w := ask("/health"); w.Code != http.StatusTeapot {
		t.Errorf("%d", w.Code)
	}
}

// TestDemonstrationSpeaksTheLanguageOfWhoAsks: what is registered of it follows the person, and nobody else.
func TestDemonstrationSpeaksTheLanguageOfWhoAsks(t *testing.T) {
	p, _, _, origin := deploy(t, Settings{Demo: true})
	if err := p.registerServers(t.Context()); err != nil {
		t.Fatal(err)
	}
	registry := tool.Registry{Store: p.Stores.Registry}
	described := func() string {
		t.Helper()
		servers, err := registry.List(t.Context(), defaultAccount)
		if err != nil || len(servers) != 2 {
			t.Fatal(servers, err)
		}
		text := ""
		for _, s := range servers {
			_, entries, err := registry.Get(t.Context(), defaultAccount, s.ID)
			if err != nil {
				t.Fatal(err)
			}
			text += s.ID + s.Name + s.About + entries[len(entries)-1].Summary
		}
		return text
	}
	spanish := described()
	for _, c := range []struct {
		name, header, cookie, token string
		changed                     bool
	}{
		{"nobody", "en", "", "", false},
		{"a stranger", "en", "", "another-token-of-somebody-1", false},
		{"no language", "", "", testToken, false},
		{"an English visitor", "en-GB,en;q=0.9", "", testToken, true},
		{"no language, after it", "", "", testToken, true},
		{"the choice on the page", "en", "es", testToken, false},
		{"the other choice", "es", "en", testToken, true},
		{"a Spanish visitor", "es-MX", "", testToken, false},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, origin+"/api/mcps", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+c.token)
		if c.header != "" {
			r.Header.Set("Accept-Language", c.header)
		}
		if c.cookie != "" {
			r.AddCookie(&http.Cookie{Name: "piloto_lang", Value: c.cookie})
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if now := described(); c.changed != (now != spanish) {
			t.Errorf("%s: %s", c.name, now)
		}
	}
}
