package process

import (
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"

	"piloto/infra/local/demo"
	"piloto/internal/boot"
	"piloto/internal/tools/tool"
)

// TestEnvironmentRegistersAgents registers agents by the variables of document 001. An agent that
// is offline at first is looked for on a schedule.
func TestEnvironmentRegistersAgents(t *testing.T) {
	rooms, err := demo.NewService()
	if err != nil {
		t.Fatal(err)
	}
	var up atomic.Bool
	up.Store(true)
	agent := demo.NewAgent(rooms, boot.Clock)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !up.Load() {
			http.Error(w, "away", http.StatusBadGateway)
			return
		}
		agent.ServeHTTP(w, r)
	}))
	defer elsewhere.Close()
	p, _, _, _ := deploy(t, Settings{Demo: true})
	own := func() tool.Server {
		t.Helper()
		if err := p.registerServers(t.Context()); err != nil {
			t.Fatal(err)
		}
		servers, err := p.Stores.Registry.Servers(t.Context(), defaultAccount)
		if err != nil {
			t.Fatal(err)
		}
		var found []tool.Server
		for _, s := range servers {
			if s.IsAgent() && s.Name == "reserva" {
				found = append(found, s)
			}
		}
		if len(found) != 1 {
			t.Fatalf("%+v", servers)
		}
		return found[0]
	}
	if s := own(); s.BaseURL != p.origin+demoAgentPath {
		t.Fatalf("%+v", s)
	}
	up.Store(false)
	settings, err := SettingsFrom(func(name string) string {
		return map[string]string{"MCP_RESERVA_URL": elsewhere.URL + "/mcp"}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	p.Settings.Agents = settings.Agents
	if s := own(); s.BaseURL != elsewhere.URL+"/mcp" || s.Status != tool.Offline {
		t.Fatalf("away: %+v", s)
	}
	up.Store(true)
	for range 2 {
		if err := p.functions.wake(t.Context(), "MCPFunction"); err != nil {
			t.Fatal(err)
		}
		if s := own(); s.Status != tool.Online || s.Operations == 0 {
			t.Fatalf("back: %+v", s)
		}
	}
	if _, err := os.Stat(p.Data + "/agent.reserva.registered"); err != nil {
		t.Error(err)
	}
}
