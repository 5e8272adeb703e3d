package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/chats/agent"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/tools/tool"
)

// companyStore is a store of settings, by account and company.
type companyStore struct {
	set    map[ids.Account]map[int64]agent.Settings
	writes int
	calls  int
}

func (o *companyStore) RouterLayers(_ context.Context, account ids.Account, company int64) (wide, own agent.Settings, err error) {
	o.calls++
	if company != 0 {
		own = o.set[account][company]
	}
	return o.set[account][0], own, nil
}

func (o *companyStore) PutRouterSettings(_ context.Context, account ids.Account, company int64, s agent.Settings) error {
	o.writes++
	if o.set[account] == nil {
		o.set[account] = map[int64]agent.Settings{}
	}
	o.set[account][company] = s
	return nil
}

func (o *companyStore) DeleteRouterSettings(_ context.Context, account ids.Account, company int64) error {
	o.writes++
	delete(o.set[account], company)
	return nil
}

func (o *companyStore) RouterCompanies(_ context.Context, account ids.Account, cursor string, limit int) ([]int64, string, error) {
	o.calls++
	if cursor != "" && cursor != string(account)+"-next" {
		return nil, "", fault.New(fault.Malformed, "cursor.invalid")
	}
	var list []int64
	for company := range o.set[account] {
		if company != 0 {
			list = append(list, company)
		}
	}
	slices.Sort(list)
	if len(list) > limit {
		return list[:limit], string(account) + "-next", nil
	}
	return list, "", nil
}

func (o *companyStore) Servers(_ context.Context, account ids.Account) ([]tool.Server, error) {
	if account != "a" {
		return nil, nil
	}
	return []tool.Server{
		{Name: "Venta", Role: tool.RoleAgent, Kind: tool.KindMCP}, {Name: "reserva", Role: tool.RoleAgent, Kind: tool.KindMCP}, {Name: "salas", Role: tool.RoleTools},
	}, nil
}

func newCompanyStore() *companyStore {
	return &companyStore{set: map[ids.Account]map[int64]agent.Settings{}}
}

func (*companyStore) AgentChanges(context.Context, ids.Account) ([]agent.Change, error) {
	return []agent.Change{{Name: "tendero", Version: 1, Patch: json.RawMessage(`{}`)}}, nil
}

func (o *companyStore) manager() *agent.Manager {
	return &agent.Manager{
		Store: o, Agents: o, Now: func() time.Time { return noon },
		Addresses: func(url string) (string, error) { return tool.NormalizeURL(url, tool.Policy{}) },
	}
}

func companyRoutes() (*companyStore, http.Handler) {
	o := newCompanyStore()
	made := newAPI(newSite().config)
	made.function = FunctionRegistry
	made.companies(o.manager())
	return o, made.handler()
}

func TestACompanysSettingsComeBeforeTheAccounts(t *testing.T) {
	_, h := companyRoutes()
	step := func(who auth.Principal, method, path, body string, status int, want string) {
		t.Helper()
		w := send(h, ask(who, method, path, body))
		if got := strings.TrimSpace(w.Body.String()); w.Code != status || got != want {
			t.Errorf("%s %s: %d\n got %s\nwant %d\n     %s", method, path, w.Code, got, status, want)
		}
	}
	const nothing = `"agents":null,"context_url":"","context":"","prompts":{}`
	step(talker, "GET", "/api/router", "", 200, `{`+nothing+`}`)
	step(talker, "GET", "/api/router/7", "", 200, `{"id_empresa":7,`+nothing+`,"in_force":{`+nothing+`}}`)
	step(talker, "GET", "/api/router/companies", "", 200, `{"companies":[]}`)

	const wide = `"agents":["Venta","reserva"],"context_url":"https://negocio.example/ws.php","context":"","prompts":{"direct":"Saluda.","identity":"Eres {nombre_bot}."}`
	const at = `"updated_at":"2026-03-01T12:00:00Z"`
	step(boss, "PUT", "/api/router", `{"agents":["venta"," RESERVA "],"context_url":"negocio.example/ws.php/","prompts":{"identity":"Eres {nombre_bot}.","direct":"Saluda."}}`, 200,
		`{`+wide+`,`+at+`}`)
	step(boss, "PUT", "/api/router/7", `{"agents":[],"context":" Somos un spa ","prompts":{"direct":"Despídete."}}`, 200,
		`{"id_empresa":7,"agents":[],"context_url":"","context":"Somos un spa","prompts":{"direct":"Despídete."},`+at+
			`,"in_force":{"agents":[],"context_url":"","context":"Somos un spa","prompts":{"direct":"Despídete.","identity":"Eres {nombre_bot}."}}}`)
	step(talker, "GET", "/api/router/8", "", 200, `{"id_empresa":8,`+nothing+`,"in_force":{`+wide+`}}`)
	step(other, "GET", "/api/router/7", "", 200, `{"id_empresa":7,`+nothing+`,"in_force":{`+nothing+`}}`)
	step(talker, "GET", "/api/router/companies", "", 200, `{"companies":[7]}`)
	step(other, "GET", "/api/router/companies", "", 200, `{"companies":[]}`)

	step(boss, "PUT", "/api/router/9223372036854775807", `{}`, 200, `{"id_empresa":9223372036854775807,`+nothing+`,`+at+`,"in_force":{`+wide+`}}`)
	step(talker, "GET", "/api/router/companies?limit=1", "", 200, `{"companies":[7],"cursor":"a-next"}`)
	for range 2 {
		step(boss, "DELETE", "/api/router/7", "", 204, "")
	}
	step(talker, "GET", "/api/router/7", "", 200, `{"id_empresa":7,`+nothing+`,"in_force":{`+wide+`}}`)
	step(boss, "DELETE", "/api/router", "", 204, "")
	step(talker, "GET", "/api/router", "", 200, `{`+nothing+`}`)
}

func TestRouterSettingsAreRefusedWithAllFaults(t *testing.T) {
	many := `["` + strings.Repeat(`x","`, 50) + `x"]`
	long := strings.Repeat("a", 16<<10+1)
	for _, c := range []struct{ path, body, code, want string }{
		{
			"/api/router", `{"agents":["venta","nadie","VENTA","salas"],"context":" \n","prompts":{"identity":" ","format":"x","nada":"x"}}`, "router.agent_unknown",
			"[body agents 1] unknown_agent, [body agents 2] duplicate, [body agents 3] unknown_agent, [body context] string_too_short, " +
				"[body prompts format] unknown_section, [body prompts identity] string_too_short, [body prompts nada] unknown_section",
		},
		{"/api/router/7", `{"agents":` + many + `}`, "router.settings_invalid", "[body agents] too_long"},
		{"/api/router/7", `{"context":"` + strings.Repeat("ñ", 9000) + `"}`, "router.settings_invalid", "[body context] string_too_long"},
		{"/api/router/7", `{"context":"x","context_url":"https://negocio.example"}`, "router.settings_invalid", "[body context] one_of_two"},
		{"/api/router/7", `{"prompts":{"state":"` + long + `"}}`, "router.settings_invalid", "[body prompts state] string_too_long"},
		{
			"/api/router/7", `{"prompts":{"state":"` + long[1:] + `","direct":"x"}}`,
			"router.settings_invalid", "[body prompts] too_long",
		},
		{"/api/router/7", `{"prompts":{` + members(13) + `}}`, "request.invalid", ""},
		{"/api/router", `{"context_url":"https://u:p@negocio.example"}`, "url.invalid", "[body context_url] value_error"},
		{"/api/router", `{"context_url":"http://169.254.169.254/"}`, "url.refused", "[body context_url] value_error"},
		{"/api/router", `{"context_url":"http://127.0.0.1:8000/","prompts":{"x":"y"}}`, "router.settings_invalid", "[body context_url] value_error, [body prompts x] unknown_section"},
		{
			"/api/router", `{"agents":"venta","context":1,"prompts":[],"secret":"canary"}`, "request.invalid",
			"[body agents] list_type, [body context] string_type, [body prompts] object_type, [body secret] extra_forbidden",
		},
		{"/api/router/0", `{}`, "request.invalid", "[path id_empresa] greater_than_equal"},
		{"/api/router/x", `{}`, "request.invalid", "[path id_empresa] int_parsing"},
	} {
		o, h := companyRoutes()
		w := send(h, ask(boss, "PUT", c.path, c.body))
		got := decode(t, w)
		if fields := wrong(t, w); w.Code != 422 || got["code"] != c.code || c.want != "" && fields != c.want || o.writes != 0 {
			t.Errorf("%s %.80s:\n got %d %v %s\nwant %s %s", c.path, c.body, w.Code, got["code"], fields, c.code, c.want)
		}
		for _, e := range listOf(got["errors"]) {
			if e.(map[string]any)["msg"] == "" {
				t.Errorf("no sentence for %v", e)
			}
		}
	}
}

func TestAnUnknownAgentIsRefusedWithTheKnownNames(t *testing.T) {
	for _, c := range []struct {
		who  auth.Principal
		want string
	}{{boss, "Venta, build, plan, reserva, resume, review, tendero"}, {other, "build, plan, resume, review, tendero"}} {
		_, h := companyRoutes()
		w := send(h, ask(c.who, "PUT", "/api/router", `{"agents":["cita"]}`))
		if detail, _ := decode(t, w)["detail"].(string); w.Code != 422 || !strings.Contains(detail, "son: "+c.want+".") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}

func TestRouterSettingsNeedAdmin(t *testing.T) {
	for _, r := range []struct {
		method, path, body string
		chat               bool
	}{
		{"GET", "/api/router", "", true},
		{"GET", "/api/router/7", "", true},
		{"GET", "/api/router/companies", "", true},
		{"PUT", "/api/router", "{}", false},
		{"PUT", "/api/router/7", "{}", false},
		{"DELETE", "/api/router", "", false},
		{"DELETE", "/api/router/7", "", false},
	} {
		for _, c := range []struct {
			who     auth.Principal
			allowed bool
		}{{auth.Principal{}, false}, {scopeNo, false}, {biller, false}, {talker, r.chat}, {manager, true}} {
			o, h := companyRoutes()
			w := send(h, ask(c.who, r.method, r.path, r.body))
			if (w.Code/100 == 2) != c.allowed || !c.allowed && o.calls+o.writes != 0 {
				t.Errorf("%s %s: %v: %d", r.method, r.path, c.who.Scopes, w.Code)
			}
		}
	}
}

func TestTheMessageListsThePromptSections(t *testing.T) {
	for _, tag := range locale.Tags() {
		text, _ := locale.Lookup(tag, "fault.field.unknown_section")
		for _, section := range agent.Sections {
			if strings.Contains(text, section) != (section != agent.SectionFormat) {
				t.Errorf("%s: %s: %s", tag, section, text)
			}
		}
	}
}

func TestACompanyListRefusesAForeignCursor(t *testing.T) {
	_, h := companyRoutes()
	if w := send(h, ask(other, "GET", "/api/router/companies?cursor=a-next", "")); w.Code != 400 || decode(t, w)["code"] != "cursor.invalid" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
