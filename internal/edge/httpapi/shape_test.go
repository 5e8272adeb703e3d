package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"piloto/internal/access/auth"
	"piloto/internal/models/eligibility"
	"piloto/internal/runs/plan"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares text with testdata/name.
func golden(t *testing.T, name string, text []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, want) {
		t.Errorf("%s differs (go test -update writes it):\n%s", file, text)
	}
}

// TestShapes compares every answer with its golden file, and validates it against the OpenAPI document.
func TestShapes(t *testing.T) {
	for _, c := range []struct{ name, method, path, body string }{
		{"send_message", "POST", "/api/send", `{"chat_id":"` + chatID + `","message":"hola"}`},
		{"send_plan", "POST", "/api/send", `{"chat_id":"` + chatID + `","message":"plan"}`},
		{"send_blocked", "POST", "/api/send", `{"chat_id":"` + chatID + `","message":"blocked"}`},
		{"send_lost", "POST", "/api/send", `{"chat_id":"` + chatID + `","message":"lost"}`},
		{"send_invalid", "POST", "/api/send", `{"chat_id":1}`},
		{"confirm", "POST", "/api/runs/" + runID + "/confirm", `{"digest":"` + string(digest) + `"}`},
		{"cancel", "POST", "/api/runs/" + runID + "/cancel", ``},
		{"run", "GET", "/api/runs/" + runID, ``},
		{"cancel_reason", "POST", "/api/runs/" + runID + "/cancel", `{"reason":"es otra sala"}`},
		{"approve", "POST", "/api/runs/" + runID + "/approve", `{"request_digest":"` + request + `"}`},
		{"approve_nothing", "POST", "/api/runs/" + runID + "/approve", `{"step_id":"s2"}`},
		{"resolve", "POST", "/api/runs/" + runID + "/settle", `{"step_id":"s2","outcome":"not_done"}`},
		{"resolve_retry", "POST", "/api/runs/" + runID + "/settle", `{"step_id":"s2","outcome":"retry"}`},
		{"retry", "POST", "/api/runs/" + runID + "/retry", ``},
		{"revise", "PATCH", "/api/runs/" + runID + "/plan", bodies["revisePlan"]},
		{"revise_invalid", "PATCH", "/api/runs/" + runID + "/plan", `{"digest":"` + string(digest) + `","steps":[{"mcp_id":"x","path":"/${s9.body}"},{"mcp_id":"x","needs":["s7"]}]}`},
		{"revisions", "GET", "/api/runs/" + runID + "/revisions", ``},
		{"receipt", "GET", "/api/runs/" + runID + "/receipt", ``},
		{"receipts", "GET", "/api/receipts", ``},
		{"receipts_none", "GET", "/api/receipts?after=1&limit=5", ``},
		{"keys", "GET", "/api/keys", ``},
		{"result", "GET", "/api/runs/" + runID + "/steps/s1/result", ``},
		{"result_none", "GET", "/api/runs/" + runID + "/steps/s2/result", ``},
		{"rules_none", "GET", "/api/rules", ``},
		{"rules", "PUT", "/api/rules", `{"version":0,"rules":[{"effect":"ask","server":"Salas","method":"POST","path":"/orders*","over":{"at":"body.total","most":"500"},"another":true,"minutes":60,"reason":" Es caro "}]}`},
		{"rules_moved", "PUT", "/api/rules", `{"version":7,"rules":[]}`},
		{"rules_invalid", "PUT", "/api/rules", `{"version":0,"rules":[{"effect":"allow","path":"/{id}","over":{"at":"total","most":"x"},"minutes":5,"reason":" "}]}`},
		{"agents", "GET", "/api/agents", ``},
		{"agent", "GET", "/api/agents/review", ``},
		{"agent_none", "GET", "/api/agents/nadie", ``},
		{"agent_set", "PUT", "/api/agents/plan", `{"version":0,"max_steps":7,"tools":["look"],"assistant":{"provider":"openai","model":"gpt-4o-mini"}}`},
		{"agent_moved", "PUT", "/api/agents/openai", `{"version":7,"prompt":"Mira."}`},
		{"agent_invalid", "PUT", "/api/agents/Otro", `{"version":0,"tools":["rm"],"servers":["x"],"max_steps":0,"pasos":3}`},
		{"agent_type", "PUT", "/api/agents/otro", `{"version":"1","kind":"server","prompt":3}`},
		{"mcp_reads", "PUT", "/api/mcps/" + serverID + "/reads", `{"mode":"on","circle":"ventas"}`},
		{"mcp_errors", "PUT", "/api/mcps/" + serverID + "/errors", `{"errors":"rejected"}`},
		{"events", "GET", "/api/runs/" + runID + "/events?after=1", ``},
		{"events_none", "GET", "/api/runs/" + runID + "/events?after=2", ``},
		{"mcp_list", "GET", "/api/mcps", ``},
		{"mcp_register", "POST", "/api/mcps", `{"url":"127.0.0.1:9000"}`},
		{"mcp_refresh", "POST", "/api/mcps/" + serverID + "/refresh", ``},
		{"mcp_active", "PUT", "/api/mcps/" + serverID + "/active", `{"active":false}`},
		{"mcp_key", "PUT", "/api/mcps/" + serverID + "/key", `{"in":"header","name":"X-Api-Key","value":"canary-secret"}`},
		{"hook_create", "POST", "/api/hooks", `{"url":"https://n8n.example.org/x","events":["run.waiting"],"secret":"whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"}`},
		{"hook_list", "GET", "/api/hooks", ``},
		{"hook_invalid", "POST", "/api/hooks", `{"url":"https://n8n.example.org/x","events":["run.started"]}`},
		{"hook_http", "POST", "/api/hooks", `{"url":"http://n8n.example.org/x","events":["run.waiting"]}`},
		{"hook_deliveries", "GET", "/api/hooks/" + toldID + "/deliveries", ``},
		{"webhook_list", "GET", "/api/webhooks", ``},
		{"project_create", "POST", "/api/projects", `{"name":" Oficina ","context":"Planta 2","mcp_ids":["` + serverID + `"]}`},
		{"project_list", "GET", "/api/projects", ``},
		{"project_update", "PATCH", "/api/projects/" + projectID, `{"context":"Planta 3","mcp_ids":[]}`},
		{"chat_create", "POST", "/api/chats", ``},
		{"chat_list", "GET", "/api/chats", ``},
		{"chat_update", "PATCH", "/api/chats/" + chatID, `{"title":"Nuevo","project_id":"` + projectID + `"}`},
		{"messages", "GET", "/api/chats/" + chatID + "/messages", ``},
		{"operator_chat", "POST", "/operator/chat", `{"message":"hola","session_id":"session-001","more":1}`},
		{"operator_new", "POST", "/operator/chat", `{"message":"hola","session_id":null,"metadata":{"n":12345678901234567890,"ok":true,"s":"x"}}`},
		{"operator_plan", "POST", "/operator/chat", `{"message":"plan"}`},
		{"operator_blocked", "POST", "/operator/chat", `{"message":"blocked"}`},
		{"operator_invalid", "POST", "/operator/chat", `{}`},
		{"operator_session", "GET", "/operator/session/" + sessionID, ``},
		{"health", "GET", "/health", ``},
		{"chat_automation", "PATCH", "/api/chats/" + chatID, `{"automation":"manual"}`},
		{"chat_answer", "POST", "/api/chats/" + chatID + "/answer", ``},
		{"chat_stop", "POST", "/api/chats/" + chatID + "/stop", ``},
		{"send_poor", "POST", "/api/send", `{"chat_id":"` + chatID + `","message":"poor"}`},
		{"send_stood_in", "POST", "/api/send", `{"chat_id":"` + chatID + `","message":"stand in"}`},
		{"operator_stood_in", "POST", "/operator/chat", `{"message":"stand in"}`},
		{"operator_poor", "POST", "/operator/chat", `{"message":"poor"}`},
		{"realtime", "POST", "/api/realtime", ``},
		{"ai_status", "GET", "/ai/status", ``},
		{"ai_eligible", "GET", "/ai/eligibility?conversationId=" + chatID, ``},
		{"ai_blocked", "POST", "/ai/eligibility", `{"chat_id":"` + chatID + `"}`},
		{"ai_usage", "GET", "/ai/usage?by=model&from=2026-02-01&to=2026-03-01", ``},
		{"ai_credits", "GET", "/ai/credits", ``},
		{"ai_ledger", "GET", "/ai/ledger", ``},
		{"ai_grant", "POST", "/ai/ledger", `{"kind":"grant","amount":5,"reason":" alta "}`},
		{"ai_grant_invalid", "POST", "/ai/ledger", `{"kind":"grant","amount":-5,"reason":"x"}`},
		{"ai_insufficient", "POST", "/ai/ledger", `{"kind":"adjustment","amount":-50,"reason":"x"}`},
		{"ai_session", "POST", "/ai/sessions", ``},
		{"ai_assistant", "GET", "/ai/assistant", ``},
		{"ai_assistant_project", "PUT", "/api/projects/" + projectID + "/assistant", `{"provider":"groq","model":"m","fallback":[{"provider":"openai","model":"gpt-4o"}]}`},
		{"ai_entitlement", "GET", "/ai/entitlement", ``},
		{"ai_terms", "PUT", "/ai/terms", `{"limits":{"day_micros":5000000,"month_micros":0,"run_micros":0}}`},
		{"ai_providers", "GET", "/ai/providers", ``},
		{"ai_provider", "PUT", "/ai/providers/mine", `{"base_url":"https://llm.example.org/v1","prices":{"m-1.5":{"input_micros":1,"output_micros":2}},"windows":{"m-1.5":8192}}`},
		{"ai_provider_key", "PUT", "/ai/providers/openai/key", `{"key":"canary-secret"}`},
		{"ai_provider_invalid", "PUT", "/ai/providers/mine", `{"base_url":"http://169.254.169.254/"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(Check{"table", func(context.Context) error { return nil }})
			s.settings.accounts["a"].settings.Health["openai"] = eligibility.Health{Provider: "openai", At: noon, Outcome: "ok", Waiting: waits[c.name]}
			r := ask(boss, c.method, c.path, c.body)
			w := s.do(r)
			var body bytes.Buffer
			if err := json.Indent(&body, w.Body.Bytes(), "", "  "); err != nil {
				t.Fatal(err)
			}
			golden(t, c.name+".json", append([]byte(http.StatusText(w.Code)+"\n"), body.Bytes()...))
			checkDocumented(t, r, w.Code, w.Body.Bytes())
		})
	}
}

// waits is the end of the provider's wait.
var waits = map[string]time.Time{"ai_blocked": noon.Add(time.Minute), "ai_providers": noon.Add(time.Minute)}

// checkDocumented checks an answer against the schema of its route and status.
func checkDocumented(t *testing.T, r *http.Request, status int, body []byte) {
	t.Helper()
	a := described()
	to, _ := find(a.router.routes, r)
	response := a.operation(to.method, to.pattern).Responses[strings.TrimSpace(jsonNumber(status))]
	if response == nil {
		t.Fatalf("status %d is not in the document", status)
	}
	media := response.Content["application/json"]
	if status >= 400 {
		media = response.Content["application/problem+json"]
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatal(err)
	}
	var res huma.ValidateResult
	huma.Validate(a.huma.OpenAPI().Components.Schemas, media.Schema, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, v, &res)
	for _, err := range res.Errors {
		t.Errorf("not as documented: %v", err)
	}
}

func jsonNumber(n int) string {
	raw, _ := json.Marshal(n)
	return string(raw)
}

func TestOnlyAnActiveRunIsStopping(t *testing.T) {
	for _, status := range plan.Statuses() {
		r := sampleRun()
		r.Status, r.CancelAt = status, &noon
		if got := showRun(r).Stopping; got == status.Terminal() {
			t.Errorf("%s: stopping %v", status, got)
		}
	}
}

func TestARunWithLargeResultsCanBeAnswered(t *testing.T) {
	r := sampleRun()
	first := r.Plan.Steps[0]
	r.Plan.Steps, r.Steps = nil, nil
	list := json.RawMessage(`[` + strings.Repeat(`{"id":1,"name":"sala norte"},`, 60_000) + `1]`)
	for i := range plan.MaxSteps {
		first.ID = plan.EffectOf("s" + jsonNumber(i))
		r.Plan.Steps = append(r.Plan.Steps, first)
		r.Steps = append(r.Steps, plan.StepState{StepID: first.ID, Status: plan.StepDone, Result: &plan.Result{Status: 200, Body: list, Bytes: len(list)}})
	}
	shown := showRun(r)
	raw, err := json.Marshal(shown)
	if err != nil || len(raw) > 6<<20 { // limit of a Lambda response
		t.Errorf("%d bytes, %v", len(raw), err)
	}
	if got := shown.Steps[7].Result; !got.Truncated || got.Bytes != len(list) || len(got.Body) < 10_000 {
		t.Errorf("%d bytes of %d, truncated %v", len(got.Body), got.Bytes, got.Truncated)
	}
	if r.Steps[7].Result.Truncated {
		t.Error("the run itself was changed")
	}
	r.Plan.Steps, r.Steps = r.Plan.Steps[:1], r.Steps[:1]
	if got := showRun(r).Steps[0].Result; got.Truncated || len(got.Body) != len(list) {
		t.Error("the only answer is not whole")
	}
}

func TestOperatorErrorsHaveTheFormOfDocument004(t *testing.T) {
	for _, c := range []struct {
		who    auth.Principal
		body   string
		status int
		detail string
	}{
		{auth.Principal{}, `{"message":"hola"}`, 401, `"auth_required"`},
		{talker, `{}`, 422, `[{"loc":["body","message"],"msg":"field required","type":"value_error.missing"}]`},
		{talker, ``, 422, `[{"loc":["body","message"],"msg":"field required","type":"value_error.missing"}]`},
		{talker, `{"message":"blocked"}`, 503, `"switch_unavailable"`},
		{talker, `{"message":"broken"}`, 500, `"internal_error"`},
	} {
		w := newSite().do(ask(c.who, "POST", "/operator/chat", c.body))
		detail, _ := json.Marshal(decode(t, w)["detail"])
		if w.Code != c.status || string(detail) != c.detail {
			t.Errorf("%s: %d %s, want %d %s", c.body, w.Code, detail, c.status, c.detail)
		}
	}
}

func TestOperatorPassesTheSession(t *testing.T) {
	s := newSite()
	s.do(ask(talker, "POST", "/operator/chat", `{"message":"hola","session_id":"sesión 1","user_id":"alice","context_summary":"antes",`+
		`"metadata":{"n":12345678901234567890,"ok":true,"s":"x","none":null,"o":{"a":[1]}}}`))
	s.do(ask(talker, "POST", "/operator/chat", `{"message":"hola"}`))
	if len(s.turns) != 2 {
		t.Fatalf("%d turns", len(s.turns))
	}
	first, second := s.turns[0], s.turns[1]
	if first.ChatID != "sesión 1" || first.Session.UserID != "alice" || first.Session.Summary != "antes" || first.TraceID != "trace-1" {
		t.Errorf("%+v %+v", first, first.Session)
	}
	got, _ := json.Marshal(first.Session.Metadata)
	if want := `{"n":12345678901234567890,"none":null,"o":{"a":[1]},"ok":true,"s":"x"}`; string(got) != want {
		t.Errorf("metadata %s", got)
	}
	if second.Session.UserID != "" || second.ChatID == "" { // the session's earlier data is kept
		t.Errorf("%+v", second.Session)
	}
}

func TestSendPassesItsDataToTheDomain(t *testing.T) {
	s := newSite()
	s.do(ask(talker, "POST", "/api/send?lang=en", `{"chat_id":"`+chatID+`","message":" hola ","digest":"`+string(digest)+`"}`))
	if len(s.turns) != 1 {
		t.Fatal("not sent")
	}
	r := s.turns[0]
	if r.Message != " hola " || r.Seen != digest || r.Locale != "en" || r.Principal.User != "ana" || r.Session != nil {
		t.Errorf("%+v", r)
	}
}

func TestKeysAreAcceptedAndNeverShown(t *testing.T) {
	s := newSite()
	for _, c := range []struct{ method, path, body string }{
		{"PUT", "/api/mcps/" + serverID + "/key", `{"in":"query","name":"key","value":"canary-secret"}`},
		{"POST", "/api/mcps", `{"url":"x","key":{"in":"bearer","value":"canary-secret"}}`},
		{"DELETE", "/api/mcps/" + serverID + "/key", ""},
		{"GET", "/api/mcps/" + serverID, ""},
	} {
		if w := s.do(ask(boss, c.method, c.path, c.body)); strings.Contains(w.Body.String(), "canary") {
			t.Errorf("%s %s: %s", c.method, c.path, w.Body)
		}
	}
	if len(s.keys) != 1 || s.keys[0].Secret != "canary-secret" || s.keys[0].Place.In != "query" || len(s.removed) != 1 {
		t.Errorf("keys %+v, removed %+v", s.keys, s.removed)
	}
	if len(s.regs) != 1 || s.regs[0].Key == nil || s.regs[0].Key.Secret != "canary-secret" {
		t.Errorf("registrations %+v", s.regs)
	}
}

// TestAnswersRepeatNoValue puts a canary into every place of a bad request.
func TestAnswersRepeatNoValue(t *testing.T) {
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/api/mcps", `{"url":1,"name":["canary"],"kind":"canary","key":{"in":"canary","name":7,"value":["canary"]}}`},
		{"POST", "/api/mcps", `{"url":"canary"`},
		{"POST", "/api/mcps", `canary`},
		{"POST", "/api/mcps", `"canary"`},
		{"PUT", "/api/mcps/" + serverID + "/key", `{"in":"canary","value":{"canary":"canary"}}`},
		{"POST", "/api/send", `{"chat_id":"canary","message":" ","digest":"canary"}`},
		{"POST", "/operator/chat", `{"message":{"a":"canary"},"metadata":"canary","session_id":["canary"]}`},
		{"GET", "/api/chats?cursor=canary&limit=canary", ""},
		{"GET", "/api/chats?project_id=canary", ""},
	} {
		s := newSite()
		r := ask(boss, c.method, c.path, c.body, "Authorization", "Bearer canary", "Cookie", "piloto_session=canary", "Idempotency-Key", "canary ñ")
		w := s.do(r)
		if w.Code/100 != 4 || strings.Contains(w.Body.String(), "canary") || strings.Contains(s.logs.String(), "canary") {
			t.Errorf("%s %s %s: %d %s\nlog: %s", c.method, c.path, c.body, w.Code, w.Body, s.logs)
		}
	}
}

func TestCausesGoOnlyToTheLog(t *testing.T) {
	s := newSite()
	w := s.do(ask(talker, "POST", "/api/send", `{"chat_id":"`+chatID+`","message":"broken"}`))
	if w.Code != 500 || strings.Contains(w.Body.String(), "canary") || decode(t, w)["code"] != "internal_error" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if !strings.Contains(s.logs.String(), "request.failed") || !strings.Contains(s.logs.String(), "level=ERROR") {
		t.Errorf("log: %s", s.logs)
	}
}

func TestHealthNamesTheFailedCheck(t *testing.T) {
	s := newSite(Check{"table", func(context.Context) error { return errors.New("canary") }}, Check{"engine", func(context.Context) error { return nil }})
	w := s.do(ask(auth.Principal{}, "GET", "/health", ""))
	want := `{"status":"unavailable","version":"0.2.0","checks":{"engine":"ok","table":"unavailable"}}`
	if w.Code != 503 || strings.TrimSpace(w.Body.String()) != want {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
