package httpapi

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"piloto/internal/chats/agent"
	"piloto/internal/chats/toolset"
	"piloto/internal/ground/ids"
	"piloto/internal/tools/tool"
)

// agentRows keeps the names of the agents of account a: its own agent openai, and the names of its servers.
type agentRows struct {
	tool.ServerLister
	rows map[string]agent.Change
}

// namedProviders are the names of the providers of every account.
type namedProviders []string

func (p namedProviders) ProviderNames(context.Context, ids.Account) ([]string, error) { return p, nil }

func newAgentRows(servers *opsStore) *agentRows {
	rows := map[string]agent.Change{"openai": {Name: "openai", Version: 1, Patch: json.RawMessage(`{"prompt":"Mira.","keywords":["mirar"]}`), By: "luz", UpdatedAt: noon}}
	for _, s := range servers.servers {
		if name := strings.ToLower(s.Name); s.IsAgent() {
			rows[name] = agent.Change{Name: name, ServerID: s.ID}
		}
	}
	return &agentRows{servers, rows}
}

func (a *agentRows) AgentChange(_ context.Context, account ids.Account, name string) (agent.Change, error) {
	if account != "a" {
		return agent.Change{}, nil
	}
	return a.rows[name], nil
}

func (a *agentRows) AgentChanges(_ context.Context, account ids.Account) ([]agent.Change, error) {
	if account != "a" {
		return nil, nil
	}
	return slices.Collect(maps.Values(a.rows)), nil
}

func (a *agentRows) PutAgentChange(_ context.Context, _ ids.Account, c agent.Change) error {
	a.rows[c.Name] = c
	return nil
}

func (a *agentRows) DeleteAgentChange(_ context.Context, _ ids.Account, name string, _ int) error {
	delete(a.rows, name)
	return nil
}

func TestAgentsAreRefusedWithEveryProblem(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		name, body string
		status     int
		want       []string // parts of the answer
	}{
		{"otro", `{"version":0,"prompt":"p"}`, 200, []string{`"version":1`, `"max_steps":20`}},
		{"otro", `{"prompt":"p"}`, 422, []string{"version"}},
		{"Openai", `{"version":0,"prompt":"p"}`, 422, []string{`"name"`, "minúsculas"}},
		{"ot%0Aro", `{"version":0,"prompt":"p"}`, 422, []string{"minúsculas"}},
		{"otro", `{"version":0,"prompt":"p","name":"otra"}`, 422, []string{"no cambia de nombre"}},
		{"otro", `{"version":0,"prompt":"p","kind":"server"}`, 422, []string{"se registra en /api/mcps"}},
		{"otro", `{"version":0,"prompt":"p","kind":"loop","name":"otro"}`, 200, nil},
		{"otro", `{"version":0,"prompt":"p","max_steps":1000,"timeout_s":-1}`, 422, []string{"de 1 a 200", "604800"}},
		{"otro", `{"version":0,"prompt":"p","budget_micros":1e30}`, 422, []string{"número demasiado grande"}},
		{"otro", `{"version":0,"prompt":"p","tools":["ask"]}`, 422, []string{"hay find_files, grep, list_files, look, read_file, read_result, search_code, search_tools, apply_changes, apply_patch, delete_file, edit_file, mcp_request, propose_plan, revise_plan, withdraw_draft, write_file, ask_person"}},
		{"otro", `{"version":0,"prompt":"p","assistant":{"provider":"nadie","model":"m"},"servers":["nope"]}`, 422, []string{"no es un proveedor de tu cuenta", "no es un servicio de tu cuenta"}},
		{"otro", `{"version":0,"prompt":"p","assistant":{"provider":"openai","model":"m"}}`, 200, nil},
		{"otro", `{"version":0,"prompt":"p","Prompt":"q"}`, 422, []string{"Prompt"}},
		{"otro", `{"version":0,"prompt":"` + long + `"}`, 413, nil},
		{"otro", `{"version":0,"prompt":"` + long[:200_000] + `"}`, 422, []string{"tiene 200.000 bytes; caben 16.384 como mucho"}},
		{"plan", `{"version":0,"prompt":null,"tools":null}`, 200, []string{"Preparas"}},
		{"reserva", `{"version":0,"prompt":"p"}`, 409, []string{"agent.taken"}},
	} {
		w := newSite().do(ask(manager, http.MethodPut, "/api/agents/"+c.name, c.body))
		if w.Code != c.status {
			t.Errorf("%s %.60s: %d %s", c.name, c.body, w.Code, w.Body)
		}
		for _, part := range c.want {
			if !strings.Contains(w.Body.String(), part) {
				t.Errorf("%s %.60s: no %q in %s", c.name, c.body, part, w.Body)
			}
		}
	}
}

// TestToolsAreNamedInTheDescriptionOfTheAPI holds the text of the document to the table of tools.
func TestToolsAreNamedInTheDescriptionOfTheAPI(t *testing.T) {
	about := AgentPatch{}.Schema(nil).Properties["tools"].Description
	for _, name := range toolset.Names() {
		if !strings.Contains(about, name) {
			t.Errorf("no %s in %q", name, about)
		}
	}
}

func TestAShippedAgentIsPutBack(t *testing.T) {
	s := newSite()
	steps := func(want string) {
		t.Helper()
		if w := s.do(ask(talker, http.MethodGet, "/api/agents/plan", "")); !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %s in %s", want, w.Body)
		}
	}
	put := func(body string, status int) {
		t.Helper()
		if w := s.do(ask(manager, http.MethodPut, "/api/agents/plan", body)); w.Code != status {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	put(`{"version":0,"max_steps":3}`, 200)
	put(`{"version":0,"max_steps":4}`, 409)
	steps(`"max_steps":3`)
	for _, c := range []struct {
		path, body string
		status     int
	}{
		{"/api/agents/plan?version=7", "", 409},
		{"/api/agents/plan?version=0", "", 409},
		{"/api/agents/plan", `{"version":9}`, 409},
		{"/api/agents/plan?version=1", `{"version":9}`, 409},
		{"/api/agents/plan?version=-1", "", 422},
		{"/api/agents/plan", `{"version":-1}`, 422},
		{"/api/agents/plan", `{"version":"1"}`, 422},
		{"/api/agents/plan", `{"Version":1}`, 422},
		{"/api/agents/plan", "", 422},
		{"/api/agents/plan", "{}", 422},
		{"/api/agents/plan?version=", "", 422},
		{"/api/agents/nadie", `{"version":1}`, 404},
		{"/api/agents/build", `{"version":0}`, 409},
	} {
		if w := s.do(ask(manager, http.MethodDelete, c.path, c.body)); w.Code != c.status {
			t.Errorf("%s %s: %d %s", c.path, c.body, w.Code, w.Body)
		}
	}
	steps(`"max_steps":3`)
	if w := s.do(ask(manager, http.MethodDelete, "/api/agents/plan", `{"version":1}`)); w.Code != 204 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	steps(`"max_steps":20`)
	put(`{"version":0,"max_steps":3}`, 200)
	if w := s.do(ask(manager, http.MethodDelete, "/api/agents/plan?version=1", "")); w.Code != 204 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestAChatChoosesAnAgent(t *testing.T) {
	s := newSite()
	for _, c := range []struct {
		body   string
		status int
		code   string
		agent  string // that the chat has then
	}{
		{`{"agent":"plan"}`, 200, "", "plan"},
		{`{"title":"Otra"}`, 200, "", "plan"},
		{`{"agent":"venta"}`, 422, "agent.is_server", "plan"},
		{`{"agent":"nadie"}`, 404, "agent.not_found", "plan"},
		{`{"agent":"Review"}`, 200, "", "review"},
		{`{"agent":"plan"}`, 200, "", "plan"},
		{`{"agent":7}`, 422, "request.invalid", "plan"},
		{`{"agent":"` + strings.Repeat("a", 41) + `"}`, 422, "request.invalid", "plan"},
		{`{"agent":"openai"}`, 200, "", "openai"},
		{`{"agent":""}`, 200, "", ""},
		{`{"agent":"openai"}`, 200, "", "openai"},
		{`{"agent":null}`, 200, "", ""},
	} {
		w := s.do(ask(talker, http.MethodPatch, "/api/chats/"+chatID, c.body))
		var got struct{ Code string }
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != c.status || got.Code != c.code || s.chat.Agent != c.agent {
			t.Errorf("%s: %d %s, and the chat has %q", c.body, w.Code, w.Body, s.chat.Agent)
		}
	}
	s.chat.Company = 7
	if w := s.do(ask(talker, http.MethodPatch, "/api/chats/"+chatID, `{"agent":"plan"}`)); w.Code != 422 || s.chat.Agent != "" {
		t.Errorf("the router's chat: %d %s", w.Code, w.Body)
	}
}
