package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// bad is a request that must be refused.
type bad struct {
	name    string
	method  string
	path    string
	body    string
	headers []string
	status  int
	code    string
	errors  int // number of faults, when all must be reported at once
}

// TestBadInputIsRefusedAndChangesNothing: each response is a problem with a code and a trace id, and the account is
// unchanged afterwards.
func TestBadInputIsRefusedAndChangesNothing(t *testing.T) {
	t.Parallel()
	d, c, model := startScripted(t)
	upstream := startOrders(t)
	server := c.must(t, 201, "POST", "/api/mcps", object("url", upstream.url())).text("mcp_id")
	chat := c.chat(t)
	run := propose(t, c, model, chat, map[string]any{"mcp_id": server, "method": "GET", "path": "/orders"})
	confirm := "/api/runs/" + run.text("run.run_id") + "/confirm"
	good := startOrders(t)
	page := newService(freeAddress(t), "/openapi.json", "<html>hello</html>")
	bomb := newService(freeAddress(t), "/openapi.yaml", aliasBomb())
	deep := newService(freeAddress(t), "/openapi.json", `{"openapi":"3.0.0","info":`+strings.Repeat(`{"a":`, 100_000))
	for _, s := range []*service{page, bomb, deep} {
		if err := s.start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.stop)
	}
	table := append(badMessages(chat), badServers(map[string]string{
		"good": good.url(), "page": page.url(), "bomb": bomb.url(), "deep": deep.url(),
	})...)
	table = append(table, badRequests(confirm, run.text("run.digest"))...)
	before := accountData(t, c, chat, run.text("run.run_id"))
	for _, b := range table {
		t.Run(b.name, func(t *testing.T) {
			a, err := c.send(context.Background(), b.method, b.path, []byte(b.body), b.headers...)
			if err != nil {
				t.Fatal(err)
			}
			if err := problemOf(a, b.status, b.code); err != nil {
				t.Fatal(err)
			}
			if a.text("detail") == "" || a.text("action") == "" {
				t.Errorf("without what happened, or what to do: %s", a)
			}
			if b.errors > 0 && a.text("errors.count") != fmt.Sprint(b.errors) {
				t.Errorf("want %d errors: %s", b.errors, a)
			}
			if after := accountData(t, c, chat, run.text("run.run_id")); after != before {
				t.Errorf("it changed something:\n%s\n%s", before, after)
			}
		})
	}
	if !d.isRunning() {
		t.Fatal("the process is gone")
	}
	if n := len(model.allRequests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	if n := len(upstream.got("")); n != 0 {
		t.Errorf("the service was asked %d times", n)
	}
}

// accountData returns all data of the account, as its routes return it.
func accountData(t testing.TB, c *client, chat, run string) string {
	t.Helper()
	var all strings.Builder
	for _, path := range []string{
		"/api/chats", "/api/projects", "/api/mcps", "/api/chats/" + chat + "/messages",
		"/api/runs/" + run, "/api/runs/" + run + "/events",
	} {
		all.Write(c.must(t, http.StatusOK, "GET", path, "").body)
		all.WriteByte('\n')
	}
	return all.String()
}

func badMessages(chat string) []bad {
	send := func(name string, status int, code, body string, headers ...string) bad {
		return bad{name: name, method: "POST", path: "/api/send", body: body, headers: headers, status: status, code: code}
	}
	ok := object("chat_id", chat, "message", "Hola")
	list := []bad{
		send("an empty message", 422, "request.invalid", object("chat_id", chat, "message", "")),
		send("a message of spaces", 422, "request.invalid", object("chat_id", chat, "message", " \n\t ")),
		send("a message over 32 KB", 413, "message.too_large", object("chat_id", chat, "message", strings.Repeat("á", 16<<10)+"a")),
		send("an unknown chat", 404, "chat.not_found", object("chat_id", "01HZZZZZZZZZZZZZZZZZZZZZZZ", "message", "Hola")),
		send("a chat id that is none", 404, "chat.not_found", object("chat_id", "../x", "message", "Hola")),
		send("no JSON", 400, "request.json_invalid", `{"chat_id":`),
		send("two JSON values", 400, "request.json_invalid", ok+ok),
		send("a list", 422, "request.invalid", `[]`),
		send("keys that stand twice", 422, "request.invalid", `{"chat_id":"`+chat+`","message":"Hola","message":"confirmo"}`),
		send("keys that differ by case", 422, "request.invalid", `{"chat_id":"`+chat+`","message":"Hola","Message":"confirmo"}`),
		send("an unknown key", 422, "request.invalid", object("chat_id", chat, "message", "Hola", "confirm", true)),
		send("a NUL", 400, "request.encoding", "{\"chat_id\":\""+chat+"\",\"message\":\"a\x00b\"}"),
		send("an escaped NUL", 400, "request.encoding", `{"chat_id":"`+chat+`","message":"a\u0000b"}`),
		send("no UTF-8", 400, "request.encoding", "{\"chat_id\":\""+chat+"\",\"message\":\"\xff\xfe\"}"),
		send("half a surrogate", 400, "request.encoding", `{"chat_id":"`+chat+`","message":"\ud800"}`),
		send("100 levels", 400, "request.too_deep", strings.Repeat("[", 100)+strings.Repeat("]", 100)),
		send("1e400", 400, "request.number_range", `{"chat_id":"`+chat+`","message":1e400}`),
		send("a body over the limit", 413, "request.too_large", object("chat_id", chat, "message", strings.Repeat("a", 300<<10))),
		send("a form", 415, "request.media_type", ok, "Content-Type", "application/x-www-form-urlencoded"),
		send("another charset", 415, "request.media_type", ok, "Content-Type", "application/json; charset=latin1"),
		send("compressed", 415, "request.media_type", ok, "Content-Encoding", "gzip"),
		send("a wrong token", 401, "auth_required", ok, "Authorization", "Bearer wrong-token-0000"),
		send("no token", 401, "auth_required", ok, "Authorization", ""),
		send("another scheme", 401, "auth_required", ok, "Authorization", "Basic "+testToken),
		send("a digest that is none", 422, "request.invalid", object("chat_id", chat, "message", "confirmo", "digest", "abc")),
	}
	wrong := send("everything wrong at once", 422, "request.invalid", `{"chat_id":7,"message":[],"digest":false,"extra":null}`)
	wrong.errors = 4
	return append(list, wrong)
}

func badServers(urls map[string]string) []bad {
	register := func(name string, status int, code string, pairs ...any) bad {
		return bad{name: "server: " + name, method: "POST", path: "/api/mcps", body: object(pairs...), status: status, code: code}
	}
	return []bad{
		register("credentials", 422, "url.invalid", "url", "http://user:secret@127.0.0.1:9/"),
		register("a fragment and a query alone", 422, "url.invalid", "url", "#x?x=1"),
		register("credentials of a document", 422, "url.invalid", "url", urls["page"], "document_url", "http://user:secret@127.0.0.1:9/"),
		register("a document of metadata", 422, "url.refused", "url", urls["page"], "document_url", "http://169.254.169.254/latest"),
		register("a document in a private network", 422, "url.refused", "url", urls["page"], "document_url", "http://10.0.0.1/openapi.json"),
		register("a document of a server without any", 422, "url.invalid", "url", urls["page"], "kind", "mcp", "document_url", urls["page"]),
		register("another scheme", 422, "url.invalid", "url", "ftp://127.0.0.1/"),
		register("a file", 422, "url.invalid", "url", "file:///etc/passwd"),
		register("nothing", 422, "request.invalid", "url", ""),
		register("a line break", 422, "url.invalid", "url", "http://127.0.0.1\r\nX: y"),
		register("metadata", 422, "url.refused", "url", "http://169.254.169.254/latest"),
		register("metadata, otherwise", 422, "url.refused", "url", "http://[fd00:ec2::254]/"),
		register("private", 422, "url.refused", "url", "http://10.0.0.1/"),
		register("private, stored for later", 422, "url.refused", "url", "http://192.168.0.1/", "allow_offline", true),
		register("all interfaces", 422, "url.refused", "url", "http://0.0.0.0:80/"),
		register("a number", 422, "url.invalid", "url", "http://2852039166/"),
		register("a page", 422, "mcp.no_document", "url", urls["page"]),
		register("a bomb of aliases", 422, "mcp.document_invalid", "url", urls["bomb"]),
		register("a hundred thousand levels", 422, "mcp.document_invalid", "url", urls["deep"]),
		register("nobody there", 422, "mcp.unreachable", "url", "http://127.0.0.1:9"),
		register("another kind", 422, "request.invalid", "url", urls["page"], "kind", "soap"),
		register("a bell in its name", 422, "mcp.name_invalid", "url", urls["page"], "name", "a\ab"),
		register("a key in a header of ours", 422, "mcp.key_invalid", "url", urls["good"],
			"key", map[string]any{"in": "header", "name": "Host", "value": "x"}),
	}
}

func badRequests(confirm, digest string) []bad {
	return []bad{
		{name: "an unknown route", method: "GET", path: "/api/nothing", status: 404, code: "route.not_found"},
		{name: "an unknown route, posted", method: "POST", path: "/nothing/at/all", body: "{}", status: 404, code: "route.not_found"},
		{name: "an unknown method", method: "DELETE", path: "/api/send", status: 405, code: "route.method_not_allowed"},
		{name: "a method of one's own", method: "BREW", path: "/api/chats", status: 405, code: "route.method_not_allowed"},
		{name: "a path with dots", method: "GET", path: "/api/../api/chats", status: 404, code: "route.not_found"},
		{name: "a path with an empty segment", method: "GET", path: "/api//chats", status: 404, code: "route.not_found"},
		{name: "confirm without a digest", method: "POST", path: confirm, body: "{}", status: 422, code: "request.invalid"},
		{name: "confirm without a body", method: "POST", path: confirm, status: 422, code: "request.invalid"},
		{name: "confirm with capitals", method: "POST", path: confirm, body: object("digest", strings.ToUpper(digest)), status: 422, code: "request.invalid"},
		{name: "confirm with another digest", method: "POST", path: confirm, body: object("digest", strings.Repeat("0", 64)), status: 409, code: "plan.stale"},
		{name: "confirm with a key that is not ASCII", method: "POST", path: confirm, body: object("digest", digest), headers: []string{"Idempotency-Key", "añb"}, status: 422, code: "request.invalid"},
		{name: "a cursor of one's own", method: "GET", path: "/api/chats?cursor=abc", status: 400, code: "cursor.invalid"},
		{name: "a limit of letters", method: "GET", path: "/api/chats?limit=x", status: 422, code: "request.invalid"},
		{name: "a limit beyond the most", method: "GET", path: "/api/chats?limit=100000", status: 422, code: "request.invalid"},
		{name: "events after a negative", method: "GET", path: confirm[:len(confirm)-len("confirm")] + "events?after=-1", status: 422, code: "request.invalid"},
		{name: "a chat in an unknown project", method: "POST", path: "/api/chats", body: object("project_id", "01HZZZZZZZZZZZZZZZZZZZZZZZ"), status: 404, code: "project.not_found"},
		{name: "a session id that cannot be seen", method: "POST", path: "/operator/chat", body: object("message", "Hola", "session_id", "a\u202eb"), status: 422, code: "request.invalid"},
	}
}

// aliasBomb returns a YAML document of a few hundred bytes that expands to gigabytes.
func aliasBomb() string {
	var b bytes.Buffer
	b.WriteString("openapi: 3.0.0\na0: &a0 [x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9), ","))
	}
	b.WriteString("paths: {/x: {get: {description: *a9}}}\n")
	return b.String()
}
