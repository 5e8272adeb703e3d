package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/live/hook"
)

// idNames matches the members of a body and the parameters that may hold an id.
var idNames = regexp.MustCompile(`(?i)(^|[._])(id|ids|of|server|provider|cursor|after|session|account|chat|run|project|key_id)$|_ids?$|Ids?$`)

// ownNames lists the names that cannot refer to another account: they are looked up in the caller's own list, or they
// refer to nothing that is stored.
var ownNames = map[string]string{
	"session_id":           "a session of a name is the asker's own",
	"user_id":              "who speaks, as the asker says",
	"config.id_empresa":    "a number of the asker's own business",
	"id_empresa":           "a number of the asker's own business",
	"step_id":              "a step of the run in the path",
	"steps.[].id":          "a step of the plan that is sent",
	"rules.[].id":          "a rule of those that are sent",
	"after":                "a number of events of the run in the path",
	"assistant.provider":   "a name of the asker's own, looked up when the agent works",
	"dry_run":              "yes or no",
	"results.[].call_id":   "a call of the job in the path",
	"results.[].did":       "what a call came to, which names nothing of ours",
	"fallback.[].provider": "the provider of an assistant, swept as such",
}

// operation holds the parts of an operation in the API's document that the test needs.
type operation struct {
	Parameters []struct {
		Name, In string
	} `json:"parameters"`
	RequestBody struct {
		Content map[string]struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"content"`
	} `json:"requestBody"`
}

// names lists the names in the body and the query of a request that may hold an id.
func (o operation) names(all map[string]any) []string {
	var list []string
	for _, p := range o.Parameters {
		if p.In == "query" && idNames.MatchString(p.Name) {
			list = append(list, p.Name)
		}
	}
	var walk func(schema any, at string, depth int)
	walk = func(schema any, at string, depth int) {
		m, ok := schema.(map[string]any)
		if !ok || depth > 6 {
			return
		}
		if ref, ok := m["$ref"].(string); ok {
			var found any = all
			for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
				found, _ = found.(map[string]any)[part], true
			}
			walk(found, at, depth+1)
		}
		members, _ := m["properties"].(map[string]any)
		for name, of := range members {
			if idNames.MatchString(name) {
				list = append(list, at+name)
			}
			walk(of, at+name+".", depth+1)
		}
		walk(m["items"], at+"[].", depth+1)
		for _, several := range []string{"allOf", "anyOf", "oneOf"} {
			for _, one := range asList(m[several]) {
				walk(one, at, depth+1)
			}
		}
	}
	for _, content := range o.RequestBody.Content {
		var schema any
		_ = json.Unmarshal(content.Schema, &schema)
		walk(schema, "", 0)
	}
	return list
}

func asList(x any) []any { list, _ := x.([]any); return list }

// TestIDsOfOtherAccountAreUnknown sends the ids of another account in every body and query that may hold an id. The
// answer is the same as for an id that does not exist. A new field whose name looks like an id must be added to
// owned, or it is tried here.
func TestIDsOfOtherAccountAreUnknown(t *testing.T) {
	t.Parallel()
	d, ours, model := startScriptedWithTable(t)
	theirs := newNeighbour(t, d, auth.ScopeAdmin, auth.ScopeBilling)
	upstream := startOrders(t)
	register := func(c *client) string {
		return c.must(t, 201, "POST", "/api/mcps", object("url", upstream.url())).text("mcp_id")
	}
	server, project, chat := register(ours), ours.must(t, 201, "POST", "/api/projects", object("name", "Nuestro")).text("project_id"), ours.chat(t)
	said := propose(t, ours, model, chat, map[string]any{"mcp_id": server, "method": "DELETE", "path": "/orders/1"})
	ours.must(t, 200, "PUT", "/ai/providers/ours", object("base_url", "https://llm.example.org/v1"))
	ours.must(t, 201, "POST", "/ai/ledger", `{"kind":"grant","amount":3,"reason":"alta"}`)
	paid := ours.must(t, 201, "POST", "/ai/sessions", "").text("session_id")

	own, mine := register(theirs), theirs.chat(t)
	draft := propose(t, theirs, model, mine, map[string]any{"mcp_id": own, "method": "DELETE", "path": "/orders/2"})
	model.will(reply{text: "Hola."})
	theirs.must(t, 200, "POST", "/operator/chat", object("session_id", "mine", "message", "Hola"))
	folder := theirs.must(t, 201, "POST", "/api/projects", object("name", "Suyo")).text("project_id")
	step := func(more string) string {
		return fmt.Sprintf(`{"digest":%q,"steps":[{"mcp_id":%q,"method":"DELETE","path":"/orders/3"%s}]}`, draft.text("run.digest"), own, more)
	}
	nothing := "01HZZZZZZZZZZZZZZZZZZZZZZZ"
	type attempt struct{ id, missing, path, body string } // ID is replaced by the name
	sweep := map[string]attempt{
		"POST /api/send chat_id":                        {chat, nothing, "", `{"chat_id":"ID","message":"Hola"}`},
		"GET /api/runs chat_id":                         {chat, nothing, "/api/runs?chat_id=ID", ""},
		"GET /api/waiting chat_id":                      {chat, nothing, "/api/waiting?chat_id=ID", ""},
		"POST /api/agents/{name}/jobs chat_id":          {chat, nothing, "/api/agents/plan/jobs", `{"chat_id":"ID","prompt":"Mira"}`},
		"POST /api/chats project_id":                    {project, nothing, "", `{"project_id":"ID"}`},
		"GET /api/chats project_id":                     {project, nothing, "/api/chats?project_id=ID", ""},
		"PATCH /api/chats/{id} project_id":              {project, nothing, "/api/chats/" + mine, `{"project_id":"ID"}`},
		"POST /api/chats/{id}/branch message_id":        {said.text("message.id"), nothing, "/api/chats/" + mine + "/branch", `{"message_id":"ID"}`},
		"POST /operator/session/{id}/branch message_id": {said.text("message.id"), nothing, "/operator/session/mine/branch", `{"message_id":"ID"}`},
		"PUT /api/messages/{id}/feedback chat_id": {
			chat, nothing, "/api/messages/" + url.PathEscape(said.text("message.id")) + "/feedback?chat_id=ID", `{"rating":"up"}`,
		},
		"POST /api/projects mcp_ids":       {server, nothing, "", `{"name":"x","mcp_ids":["ID"]}`},
		"PATCH /api/projects/{id} mcp_ids": {server, nothing, "/api/projects/" + folder, `{"mcp_ids":["ID"]}`},
		"PUT /api/rules rules.[].server":   {server, nothing, "", `{"rules":[{"effect":"deny","server":"ID","reason":"x"}]}`},
		"POST /ai/ledger of":               {paid, nothing, "", `{"kind":"refund","of":"ID","reason":"mine"}`},
		"PUT /ai/assistant provider":       {"ours", "none", "", `{"provider":"ID","model":"m"}`},
		"PATCH /api/runs/{id}/plan steps.[].mcp_id": {
			server, nothing, "/api/runs/" + draft.text("run.run_id") + "/plan", strings.Replace(step(""), own, "ID", 1),
		},
		"PATCH /api/runs/{id}/plan steps.[].undo.mcp_id": {
			server, nothing, "/api/runs/" + draft.text("run.run_id") + "/plan", step(`,"undo":{"mcp_id":"ID","method":"DELETE","path":"/orders/3"}`),
		},
		"PATCH /api/runs/{id}/plan steps.[].verify.mcp_id": {
			server, nothing, "/api/runs/" + draft.text("run.run_id") + "/plan", step(`,"verify":{"mcp_id":"ID","method":"GET","path":"/orders"}`),
		},
		"PUT /api/projects/{id}/assistant provider": {"ours", "none", "/api/projects/" + folder + "/assistant", `{"provider":"ID","model":"m"}`},
	}
	for name, id := range map[string][2]string{
		"conversationId": {chat, nothing}, "chat_id": {chat, nothing}, "project_id": {project, nothing}, "accountId": {"default", "nobody"},
	} {
		sweep["GET /ai/eligibility "+name] = attempt{id[0], id[1], "/ai/eligibility?" + name + "=ID", ""}
		if name == "accountId" {
			sweep["GET /ai/status "+name] = attempt{id[0], id[1], "/ai/status?" + name + "=ID", ""}
		}
		sweep["POST /ai/eligibility "+name] = attempt{id[0], id[1], "", fmt.Sprintf(`{%q:"ID"}`, name)}
	}
	var document struct {
		Paths map[string]map[string]operation `json:"paths"`
	}
	var all map[string]any
	text := ours.must(t, 200, "GET", "/openapi.json", "").body
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	swept := 0
	for path, operations := range document.Paths {
		for method, o := range operations {
			method = strings.ToUpper(method)
			for _, name := range o.names(all) {
				if path == "/api/decisions" { // each item has an answer of its own: below
					continue
				}
				if _, is := ownNames[name]; is || name == "cursor" { // cursors: below
					continue
				}
				a, known := sweep[method+" "+path+" "+name]
				if !known {
					t.Errorf("%s %s: whose is %s? Classify it here", method, path, name)
					continue
				}
				at := func(id string) string {
					to := path
					if a.path != "" {
						to = a.path
					}
					got, err := theirs.do(method, strings.ReplaceAll(to, "ID", id), strings.ReplaceAll(a.body, "ID", id))
					if err != nil {
						t.Fatal(err)
					}
					if got.status < 400 || got.status >= 500 {
						t.Errorf("%s %s, %s: %s", method, path, name, got)
					}
					return strings.ReplaceAll(strings.ReplaceAll(got.String(), got.text("trace_id"), ""), id, "")
				}
				if x, y := at(a.id), at(a.missing); x != y {
					t.Errorf("%s %s: our %s answers\n%s\na missing one\n%s", method, path, name, x, y)
				}
				swept++
			}
		}
	}
	if swept < len(sweep) {
		t.Errorf("%d of %d were swept", swept, len(sweep))
	}
	pending := ours.must(t, 200, "GET", "/api/chats/"+chat, "").text("pending_run_id")
	digest := ours.must(t, 200, "GET", "/api/runs/"+pending, "").text("digest")
	for _, decision := range []string{"confirm", "reject", "approve", "refuse"} {
		decide := func(id string) string {
			got := theirs.must(t, 200, "POST", "/api/decisions", fmt.Sprintf(`{"items":[{"run_id":%q,"digest":%q,"decision":%q,"step_id":"s1","request_digest":%q}]}`, id, digest, decision, digest))
			if got.text("items.0.status") != "404" {
				t.Errorf("%s: %s", decision, got)
			}
			return strings.ReplaceAll(strings.ReplaceAll(got.String(), got.text("items.0.problem.trace_id"), ""), id, "")
		}
		if x, y := decide(pending), decide(nothing); x != y {
			t.Errorf("%s: our run answers\n%s\na missing one\n%s", decision, x, y)
		}
	}
	for _, r := range upstream.got("") {
		if r.Method != http.MethodGet {
			t.Errorf("%s %s was sent", r.Method, r.Path)
		}
	}
}

// nowhere is a receiver that is not there.
type nowhere struct{}

func (nowhere) Post(context.Context, string, map[string]string, []byte) (int, func(string) string, []byte, error) {
	return 0, nil, nil, errors.New("there is nobody")
}

// TestCursorOfOtherAccountIsRefused: on every route that is read in pages, a cursor of another account or another
// list, and one that was changed or cut, is refused in the same words.
func TestCursorOfOtherAccountIsRefused(t *testing.T) {
	t.Parallel()
	d, ours, model := startScriptedWithTable(t)
	clients := []*client{ours, newNeighbour(t, d, auth.ScopeAdmin, auth.ScopeBilling)}
	var pages []map[string]string // of each account, routes to lists of more than one page
	store, accounts := d.store(t), []ids.Account{"default", "neighbour"}
	for i, c := range clients {
		chat := c.chat(t)
		c.chat(t)
		model.will(reply{text: "Hola."})
		c.say(t, chat, "Hola")
		for _, name := range []string{"other", "s"} {
			model.will(reply{text: "Hola."})
			c.must(t, 200, "POST", "/operator/chat", object("session_id", name, "message", "Hola"))
		}
		session, _, _, err := store.Chats.Session(t.Context(), accounts[i], "s", "")
		if err != nil {
			t.Fatal(err)
		}
		ids := ids.NewSource(nil)
		for range 200 { // as many as a page of a session has
			id := ids.New(time.Now())
			m := conversation.Message{ID: id, Seq: id, Role: conversation.RoleUser, Kind: conversation.KindText, Content: "Hola", At: time.Now()}
			if err := store.Chats.AddMessages(t.Context(), conversation.Key{Account: accounts[i], ChatID: session.ID}, "", time.Now(), m); err != nil {
				t.Fatal(err)
			}
		}
		for company := range 2 {
			c.must(t, 201, "POST", "/ai/ledger", `{"kind":"grant","amount":3,"reason":"alta"}`)
			c.must(t, 200, "PUT", fmt.Sprint("/api/router/", company+1), object("context", "Un spa."))
		}
		server := c.must(t, 201, "POST", "/api/mcps", object("url", startOrders(t).url())).text("mcp_id")
		told := c.must(t, 201, "POST", "/api/hooks", `{"url":"https://hook.example.org/x","events":["plan.proposed"]}`).text("hook_id")
		for range 2 {
			propose(t, c, model, c.chat(t), map[string]any{"mcp_id": server, "method": "DELETE", "path": "/orders/1"})
			work(t, c, model)
		}
		sweeper := hook.Sweeper{Store: store.Hooks, Send: nowhere{}, NewID: ids.New, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
		if _, err := sweeper.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		pages = append(pages, map[string]string{
			"/api/hooks/{id}/deliveries": "/api/hooks/" + told + "/deliveries?limit=1",
			"/api/runs":                  "/api/runs?limit=1", "/api/waiting": "/api/waiting?limit=1", "/api/jobs": "/api/jobs?limit=1",
			"/api/chats": "/api/chats?limit=1", "/ai/ledger": "/ai/ledger?limit=1", "/api/router/companies": "/api/router/companies?limit=1",
			"/api/chats/{id}/messages": "/api/chats/" + chat + "/messages?limit=1", "/operator/session/{id}": "/operator/session/s?", "/operator/sessions": "/operator/sessions?limit=1",
		})
	}
	var document struct {
		Paths map[string]map[string]operation `json:"paths"`
	}
	if err := json.Unmarshal(clients[0].must(t, 200, "GET", "/openapi.json", "").body, &document); err != nil {
		t.Fatal(err)
	}
	cursors := map[string]string{}
	for path, operations := range document.Paths {
		for _, p := range operations["get"].Parameters {
			if p.Name != "cursor" {
				continue
			}
			if pages[0][path] == "" {
				t.Fatalf("%s is read in pages: classify it here", path)
			}
			if cursors[path] = clients[0].must(t, 200, "GET", pages[0][path], "").text("cursor"); cursors[path] == "" {
				t.Errorf("%s has no second page", path)
			}
		}
	}
	if len(cursors) != len(pages[0]) {
		t.Errorf("%d lists of %d", len(cursors), len(pages[0]))
	}
	for of, cursor := range cursors {
		tries := map[string]string{"cut": cursor[:len(cursor)-2], "changed": string(cursor[0]^1) + cursor[1:], "longer": cursor + "AA", "another form": "%00"}
		for at := range cursors {
			for i, c := range clients {
				refuse := func(what, cursor string) {
					path := pages[i][at] + "&cursor=" + cursor
					if a, err := c.do("GET", path, ""); err != nil || problemOf(a, 400, "cursor.invalid") != nil {
						t.Errorf("%s of %s, account %d: %s %v", what, of, i, a, err)
					}
				}
				if i != 0 || at != of {
					refuse("the cursor", cursor)
					continue
				}
				for what, text := range tries {
					refuse(what, text)
				}
				c.must(t, 200, "GET", pages[i][at]+"&cursor="+cursor, "")
			}
		}
	}
}
