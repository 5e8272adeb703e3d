package e2e

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"piloto/internal/access/auth"
	"piloto/internal/store"
)

// TestAccountsAreIsolated: on every route that the deployment lists, an id of one account is, for another, the same
// as an unknown id.
func TestAccountsAreIsolated(t *testing.T) {
	t.Parallel()
	d, ours, model := startScriptedWithTable(t)
	theirs := newNeighbour(t, d, auth.ScopeAdmin, auth.ScopeBilling)

	upstream := startOrders(t)
	server := ours.must(t, 201, "POST", "/api/mcps", object("url", upstream.url())).text("mcp_id")
	project := ours.must(t, 201, "POST", "/api/projects", object("name", "Nuestro")).text("project_id")
	chat := ours.chat(t)
	for _, of := range []string{"/api/projects/" + project, "/api/chats/" + chat} {
		ours.must(t, 201, "PUT", of+"/files/ours.txt", "ours", "If-None-Match", "*")
	}
	run := propose(t, ours, model, chat, map[string]any{"mcp_id": server, "method": "DELETE", "path": "/orders/1"})
	model.will(reply{text: "Hola."})
	ours.must(t, 200, "POST", "/operator/chat", object("session_id", "shared-name", "message", "nuestro secreto"))
	ours.must(t, 200, "PUT", "/ai/providers/ours", object("base_url", "https://llm.example.org/v1"))
	ours.must(t, 200, "PUT", "/ai/providers/ours/key", object("key", "sk-ours"))
	ours.must(t, 201, "POST", "/ai/ledger", `{"kind":"grant","amount":3,"reason":"alta"}`)
	paid := ours.must(t, 201, "POST", "/ai/sessions", "").text("session_id")
	webhook := ours.must(t, 201, "POST", "/api/webhooks", object("name", "n8n")).text("webhook_id")
	told := ours.must(t, 201, "POST", "/api/hooks", `{"url":"https://hook.example.org/x","events":["run.finished"]}`).text("hook_id")
	ours.must(t, 200, "PUT", "/api/router/7", object("context", "Nuestro spa."))
	model.will(reply{text: `{"action":"respond","agent_name":null,"response":"Nuestra respuesta."}`})
	ours.must(t, 200, "POST", "/api/agent/chat", routerMessage("shared-name", "Hola"), "Idempotency-Key", "shared-key")
	model.will(reply{text: `{"action":"respond","agent_name":null,"response":"Nuestra respuesta."}`, release: t.Context().Done()})
	later := ours.must(t, 202, "POST", "/api/agent/chat", routerMessage("slow-name", "Hola"), "Prefer", "respond-async").text("turn_id")
	money := func() string {
		var all strings.Builder
		for _, path := range []string{"/ai/providers/ours", "/ai/credits", "/memory/shared-name", "/api/router/7", "/api/webhooks", "/api/hooks"} {
			all.WriteString(ours.must(t, 200, "GET", path, "").String())
		}
		return all.String()
	}
	done := work(t, ours, model)
	ours.must(t, 200, "PUT", "/api/agents/ours", object("version", 0, "prompt", "Mira."))
	before, wealth := accountData(t, ours, chat, run.text("run.run_id")), money()

	digest := run.text("run.digest")
	ids := map[string]struct{ id, missing string }{
		"/api/runs/{id}":           {run.text("run.run_id"), "01HZZZZZZZZZZZZZZZZZZZZZZZ"},
		"/api/chats/{id}":          {chat, "01HZZZZZZZZZZZZZZZZZZZZZZZ"},
		"/api/messages/{id}":       {url.PathEscape(run.text("message.id")), "01HZZZZZZZZZZZZZZZZZZZZZZZ"},
		"/api/projects/{id}":       {project, "01HZZZZZZZZZZZZZZZZZZZZZZZ"},
		"/api/mcps/{id}":           {server, "01HZZZZZZZZZZZZZZZZZZZZZZZ"},
		"/operator/session/{id}":   {"shared-name", "other-name"},
		"/ai/providers/{name}":     {"ours", "none"},
		"/api/hooks/{id}":          {told, "hk_01HZZZZZZZZZZZZZZZZZZZZZZZ"},
		"/api/webhooks/{id}":       {webhook, "wh_01HZZZZZZZZZZZZZZZZZZZZZZZ"},
		"/memory/{session_id}":     {"shared-name", "other-name"},
		"/api/turns/{id}":          {later, "01HZZZZZZZZZZZZZZZZZZZZZZZ"},
		"/api/router/{id_empresa}": {"7", "8"},
		"/api/jobs/{id}":           {done, "01HZZZZZZZZZZZZZZZZZZZZZZZ"},
		"/api/agents/{name}":       {"ours", "none"},
	}
	// Names that both accounts may use: both get the same kind of answer.
	alike := []string{"/memory/{session_id}", "/api/router/{id_empresa}"}
	bodies := map[string]string{
		"POST /api/runs/{id}/confirm": object("digest", digest), "POST /api/runs/{id}/cancel": "{}",
		"POST /api/runs/{id}/approve": object("request_digest", digest), "POST /api/runs/{id}/retry": "{}", "POST /api/runs/{id}/undo": "{}", "POST /api/runs/{id}/repeat": "{}", "POST /api/runs/{id}/settle": object("step_id", "s1", "outcome", "done"),
		"POST /api/runs/{id}/look":  object("digest", digest),
		"PATCH /api/runs/{id}/plan": object("digest", digest, "steps", []any{map[string]any{"mcp_id": server, "method": "GET", "path": "/orders"}}),
		"PUT /api/mcps/{id}/reads":  `{"mode":"on"}`,
		"PUT /api/mcps/{id}/errors": `{"errors":"rejected"}`,
		"PATCH /api/chats/{id}":     object("title", "mine"), "PATCH /api/projects/{id}": object("name", "mine"),
		"PUT /api/mcps/{id}/active": `{"active":false}`, "POST /api/mcps/{id}/active": `{"active":false}`,
		"PUT /api/mcps/{id}/key":           object("in", "bearer", "value", "stolen"),
		"PUT /ai/providers/{name}/key":     object("key", "stolen"),
		"PUT /api/projects/{id}/assistant": object("provider", "openai", "model", "gpt-4o"),
		"POST /api/chats/{id}/answer":      "{}",
		"POST /api/chats/{id}/branch":      object("message_id", run.text("message.id")),
		"PUT /api/messages/{id}/feedback":  object("rating", "down"),
		"PATCH /operator/session/{id}":     object("title", "mine"), "POST /operator/session/{id}/branch": object("message_id", run.text("message.id")),
		"POST /api/agents/{name}/jobs":    object("prompt", "mine"),
		"POST /api/jobs/{id}/stop":        "{}",
		"POST /api/projects/{id}/restore": object("path", "ours.txt", "version", "v"), "POST /api/chats/{id}/restore": object("path", "ours.txt", "version", "v"),
		"PUT /api/projects/{id}/files/{path}": "mine", "PUT /api/chats/{id}/files/{path}": "mine",
		"POST /api/jobs/{id}/results":  `{"results":[{"call_id":"1.0","output":"x"}]}`,
		"DELETE /api/agents/{name}":    `{"version":1}`,
		"PATCH /api/hooks/{id}":        `{"enabled":false}`,
		"PUT /api/router/{id_empresa}": object("context", "Suyo."),
	}
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(ours.must(t, 200, "GET", "/openapi.json", "").body, &document); err != nil {
		t.Fatal(err)
	}
	swept := 0
	for path, operations := range document.Paths {
		if !strings.Contains(path, "{") {
			continue
		}
		of, known := ids[path[:strings.Index(path, "}")+1]]
		if !known || strings.Count(strings.NewReplacer("/steps/{step}", "", "/deliveries/{delivery_id}", "", "/{path}", "").Replace(path), "{") > 1 { // a step belongs to its run, a delivery to its hook, a file to its place
			t.Errorf("%s: whose id is this? Classify it here", path)
			continue
		}
		for method := range operations {
			method = strings.ToUpper(method)
			if method+" "+path == "PUT /ai/providers/{name}" || method+" "+path == "PUT /api/agents/{name}" {
				continue // this creates an object of their own, below
			}
			body := bodies[method+" "+path]
			at := func(id string) answer {
				a, err := theirs.do(method, strings.NewReplacer("{id}", id, "{step}", "s1", "{path}", "ours.txt", "{delivery_id}", "msg_01HZZZZZZZZZZZZZZZZZZZZZZZ", "{name}", id, "{session_id}", id, "{id_empresa}", id).Replace(path), body)
				if err != nil {
					t.Fatal(err)
				}
				a.body = []byte(strings.ReplaceAll(strings.ReplaceAll(timestamps.ReplaceAllString(string(a.body), ""), a.text("trace_id"), ""), id, ""))
				return a
			}
			if a, b := at(of.id), at(of.missing); a.String() != b.String() || a.status != 404 && !slices.Contains(alike, path) {
				t.Errorf("%s %s: our id answers %s\na missing one %s", method, path, a, b)
			}
			swept++
		}
	}
	if swept < 33 {
		t.Errorf("only %d routes were swept", swept)
	}

	// Nested ids: a reference to an object of ours, in a list, a body or a filter.
	if err := problemOf(theirs.must(t, 404, "POST", "/api/send", object("chat_id", chat, "message", "Hola")), 404, "chat.not_found"); err != nil {
		t.Error(err)
	}
	theirs.must(t, 404, "POST", "/api/chats", object("project_id", project))
	theirs.must(t, 404, "GET", "/api/chats?project_id="+project, "")
	own := theirs.chat(t)
	theirs.must(t, 404, "PATCH", "/api/chats/"+own, object("project_id", project))
	model.will(reply{calls: []call{{"mcp_request", object("mcp_id", server, "method", "DELETE", "path", "/orders/1")}}})
	model.will(reply{text: "No hay servicios."})
	if a := theirs.say(t, own, "Borra el pedido 1"); a.text("kind") != "message" {
		t.Errorf("a plan over a server of ours: %s", a)
	}
	if last := model.allRequests(); strings.Contains(string(last[len(last)-2].Body), server) {
		t.Error("the model was shown a server of another account")
	}
	for path, list := range map[string]string{"/api/chats": "chats.count", "/api/projects": "projects.count", "/api/mcps": "mcps.count"} {
		want := "0"
		if path == "/api/chats" {
			want = "1" // their own
		}
		if a := theirs.must(t, 200, "GET", path, ""); a.text(list) != want {
			t.Errorf("%s shows them %s", path, a)
		}
	}
	// Payment and eligibility: a name of ours is, for them, their own.
	theirs.must(t, 404, "GET", "/ai/eligibility?conversationId="+chat, "")
	theirs.must(t, 404, "POST", "/ai/eligibility", object("project_id", project))
	theirs.must(t, 404, "POST", "/ai/ledger", object("kind", "refund", "of", paid, "reason", "mine"))
	theirs.must(t, 200, "PUT", "/ai/providers/ours", object("base_url", "https://theirs.example.org/v1"))
	if a := theirs.must(t, 200, "GET", "/ai/providers/ours", ""); a.text("own_key") != "false" {
		t.Errorf("a provider of theirs has our key: %s", a)
	}
	theirs.must(t, 204, "DELETE", "/ai/providers/ours", "")
	for _, path := range []string{"/ai/usage?by=turn", "/ai/ledger", "/ai/credits", "/ai/providers", "/ai/assistant", "/ai/status"} {
		if a := theirs.must(t, 200, "GET", path, ""); strings.Contains(a.String(), chat) || strings.Contains(a.String(), paid) || strings.Contains(a.String(), "llm.example.org") {
			t.Errorf("%s shows them %s", path, a)
		}
	}
	if after := money(); after != wealth {
		t.Errorf("what we pay with changed:\n%s\n%s", wealth, after)
	}
	entries := ours.must(t, 200, "GET", "/ai/ledger?limit=1", "").text("cursor")
	if a, _ := theirs.do("GET", "/ai/ledger?limit=1&cursor="+entries, ""); entries == "" || a.status != 400 {
		t.Errorf("our cursor %q answers them %s", entries, a)
	}
	// An idempotency key of ours does not return our answer.
	model.will(reply{text: `{"action":"respond","agent_name":null,"response":"Su respuesta."}`})
	if a := theirs.must(t, 200, "POST", "/api/agent/chat", routerMessage("shared-name", "Hola"), "Idempotency-Key", "shared-key"); a.text("reply") != "Su respuesta." {
		t.Errorf("our key answers them %s", a)
	}
	if a := theirs.must(t, 200, "GET", "/metrics?format=json", ""); a.text("requests_total") != "1" {
		t.Errorf("they see how our turns went: %s", a)
	}
	// A cursor of ours is refused for them.
	ours.chat(t)
	cursor := ours.must(t, 200, "GET", "/api/chats?limit=1", "").text("cursor")
	if a, _ := theirs.do("GET", "/api/chats?limit=1&cursor="+cursor, ""); cursor == "" || a.status != 400 {
		t.Errorf("our cursor %q answers them %s", cursor, a)
	}
	// The same session name is another session.
	model.will(reply{text: "Hola."})
	theirs.must(t, 200, "POST", "/operator/chat", object("session_id", "shared-name", "message", "el suyo"))
	if a := ours.must(t, 200, "GET", "/operator/session/shared-name", ""); strings.Contains(a.String(), "el suyo") {
		t.Error("two accounts share a session")
	}
	after := accountData(t, ours, chat, run.text("run.run_id"))
	if strings.SplitN(before, "\n", 2)[1] != strings.SplitN(after, "\n", 2)[1] { // except for the list of chats, to which we added
		t.Errorf("something of ours changed:\n%s\n%s", before, after)
	}
}

var timestamps = regexp.MustCompile(`"\d{4}-\d\d-\d\dT[^"]*"`)

// routerMessage returns a request of the router.
func routerMessage(session, message string) string {
	return object("message", message, "session_id", session, "config", map[string]any{"id_empresa": 7})
}

// addToken stores a token through the wire protocol that -aws serves, as an operator would with the AWS command
// line.
func addToken(t testing.TB, d *deployment, token auth.Token) {
	t.Helper()
	config := aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String("http://" + d.aws),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	}
	tables, err := dynamodb.NewFromConfig(config).ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil || len(tables.TableNames) != 1 {
		t.Fatalf("tables: %v %v", tables, err)
	}
	if err := store.New(store.Dial(config), tables.TableNames[0]).Access.PutToken(t.Context(), token); err != nil {
		t.Fatal(err)
	}
}
