package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/coder/websocket"

	"piloto/internal/access/auth"
	"piloto/internal/ground/ids"
	"piloto/internal/store"
)

// listener is a client of the WebSocket API. It records the pushes.
type listener struct {
	conn *websocket.Conn
	told chan push
}

// push is one pushed event.
type push struct {
	Type string          `json:"type"`
	Seq  int64           `json:"seq"`
	At   time.Time       `json:"at"`
	Data json.RawMessage `json:"data"`
}

func (p push) text(path string) string { return answer{body: p.Data}.text(path) }

// listen connects with a query and headers; the status is that of the upgrade.
func listen(t testing.TB, d *deployment, query string, header http.Header) (*listener, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, resp, err := websocket.Dial(ctx, "ws://"+d.addr+"/realtime"+query, &websocket.DialOptions{HTTPHeader: header, Host: header.Get("Host")})
	status := 0
	if resp != nil {
		status = resp.StatusCode
	}
	if err != nil {
		return nil, status
	}
	l := &listener{conn: conn, told: make(chan push, 1000)}
	t.Cleanup(func() { _ = conn.CloseNow() })
	go func() {
		defer close(l.told)
		for {
			_, text, err := conn.Read(context.Background())
			if err != nil {
				return
			}
			var p push
			if json.Unmarshal(text, &p) == nil {
				l.told <- p
			}
		}
	}()
	return l, status
}

// say sends a text; a failure fails the test.
func (l *listener) say(t testing.TB, text string) {
	t.Helper()
	if err := l.conn.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// until returns the pushes up to the first that f accepts, or an error after the timeout.
func (l *listener) until(f func(push) bool) ([]push, error) {
	var list []push
	over := time.After(patience)
	for {
		select {
		case p, ok := <-l.told:
			if !ok {
				return list, errors.New("the connection ended")
			}
			list = append(list, p)
			if f(p) {
				return list, nil
			}
		case <-over:
			return list, fmt.Errorf("not told in time; told %v", list)
		}
	}
}

func (l *listener) ping(t testing.TB) []push {
	t.Helper()
	l.say(t, `{"action":"ping"}`)
	list, err := l.until(func(p push) bool { return p.Type == "pong" })
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// store opens the deployment's table, through the wire protocol that -aws serves.
func (d *deployment) store(t testing.TB) store.Stores {
	t.Helper()
	config := aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String("http://" + d.aws),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	}
	tables, err := dynamodb.NewFromConfig(config).ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil || len(tables.TableNames) != 1 {
		t.Fatalf("tables: %v %v", tables, err)
	}
	return store.New(store.Dial(config), tables.TableNames[0])
}

// ticket returns a ticket for a token.
func ticket(t testing.TB, store auth.Store, token string) string {
	t.Helper()
	p, err := auth.Authenticate(t.Context(), store, token, time.Now(), auth.KindToken)
	if err != nil {
		t.Fatal(err)
	}
	secret, _, err := auth.NewTicket(t.Context(), store, p, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return "?ticket=" + url.QueryEscape(secret)
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

// TestEventsArePushedOnlyToTheirAccount: two accounts are connected to the real process; one converses, confirms
// and runs a plan.
func TestEventsArePushedOnlyToTheirAccount(t *testing.T) {
	t.Parallel()
	d, ours, model := startScriptedWithTable(t)
	newNeighbour(t, d, auth.ScopeChat)
	store := d.store(t)
	listening, status := listen(t, d, ticket(t, store.Access, testToken), http.Header{"Origin": {d.url()}})
	foreign, _ := listen(t, d, "", bearer(neighbour))
	if listening == nil || foreign == nil {
		t.Fatalf("not connected: %d", status)
	}
	if list := listening.ping(t); len(list) != 2 || list[0].Type != "hello" || list[1].Seq != 0 {
		t.Fatalf("the first ping is answered with %v", list)
	}

	upstream := startOrders(t)
	server := ours.must(t, 201, "POST", "/api/mcps", object("url", upstream.url())).text("mcp_id")
	chat := ours.chat(t)
	run := propose(t, ours, model, chat, map[string]any{"mcp_id": server, "method": "DELETE", "path": "/orders/1"})
	id := run.text("run.run_id")
	ours.must(t, 202, "POST", "/api/runs/"+id+"/confirm", object("digest", run.text("run.digest")))
	list, err := listening.until(func(p push) bool { return p.Type == "run" && p.text("status") == "done" })
	if err != nil {
		t.Fatal(err)
	}
	messages, events, made := map[string]bool{}, map[string]bool{}, 0
	for i, p := range list {
		if p.Seq != int64(i+1) || p.text("conversationId") != chat || p.At.IsZero() {
			t.Errorf("push %d: %+v %s", i, p, p.Data)
		}
		switch p.Type {
		case "message":
			messages[p.text("message.id")] = true
		case "run":
			events[p.text("event.seq")] = p.text("run_id") == id
		case "chat":
			made++
		}
	}
	if made != 1 {
		t.Errorf("the chat was announced %d times", made)
	}
	stored := ours.must(t, 200, "GET", "/api/chats/"+chat+"/messages", "")
	for i := range len(messages) {
		if m := stored.text(fmt.Sprintf("messages.%d.id", i)); !messages[m] {
			t.Errorf("message %s was not pushed", m)
		}
	}
	if want := stored.text("messages.count"); fmt.Sprint(len(messages)) != want {
		t.Errorf("%d messages were pushed of %s", len(messages), want)
	}
	if want := ours.must(t, 200, "GET", "/api/runs/"+id+"/events", "").text("events.count"); fmt.Sprint(len(events)) != want {
		t.Errorf("%d events were pushed of %s", len(events), want)
	}
	if list := listening.ping(t); len(list) != 1 || list[0].Seq != int64(made+len(messages)+len(events)) {
		t.Errorf("the pong is %v", list)
	}
	if list := foreign.ping(t); len(list) != 2 || list[1].Seq != 0 {
		t.Errorf("the neighbour was told %v", list)
	}
	listening.say(t, `{"action":"subscribe","account":"neighbour","conversationId":"`+chat+`"}`)
	if _, err := listening.until(func(p push) bool { return p.Type == "error" && p.text("code") == "realtime.action" }); err != nil {
		t.Error(err)
	}
}

// TestSocketRefusesUnauthorizedClients: every refusal is the same, and gives no reason.
func TestSocketRefusesUnauthorizedClients(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	d.aws = freeAddress(t)
	d.mustStart(t)
	store := d.store(t)
	good := ticket(t, store.Access, testToken)
	once, _ := listen(t, d, good, nil)
	if once == nil {
		t.Fatal("a ticket opens nothing")
	}
	session, err := auth.SessionFor(t.Context(), store.Access, testToken, auth.KindToken, time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		query  string
		header http.Header
		status int
	}{
		"nothing":                 {"", nil, 401},
		"a ticket twice":          {good, nil, 401},
		"an unknown ticket":       {"?ticket=" + ids.Secret(), nil, 401},
		"a token as a ticket":     {"?ticket=" + testToken, nil, 401},
		"a session as a ticket":   {"?ticket=" + session, nil, 401},
		"a session as a token":    {"", bearer(session), 401},
		"the page's cookie":       {"", http.Header{"Cookie": {"__Host-piloto_session=" + session}}, 401},
		"an unknown token":        {"", bearer("nobody"), 401},
		"a page of elsewhere":     {ticket(t, store.Access, testToken), http.Header{"Origin": {"https://evil.example"}}, 403},
		"a page of no origin":     {ticket(t, store.Access, testToken), http.Header{"Origin": {"null"}}, 403},
		"the same name, no https": {ticket(t, store.Access, testToken), http.Header{"Origin": {"http://localhost:1"}}, 403},
	} {
		if l, status := listen(t, d, c.query, c.header); l != nil || status != c.status {
			t.Errorf("%s: %d, want %d", name, status, c.status)
		}
	}
	if a, err := newClient(d.url(), testToken).do("GET", "/realtime", ""); err != nil || a.status != 404 {
		t.Errorf("without an upgrade: %v, %v", a, err)
	}
	if strings.Contains(d.log.String(), strings.TrimPrefix(good, "?ticket=")) {
		t.Error("a ticket is in the log")
	}
}

// TestRevokedTokenEndsSocketAtNextPing.
func TestRevokedTokenEndsSocketAtNextPing(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	d.aws = freeAddress(t)
	d.mustStart(t)
	newNeighbour(t, d, auth.ScopeChat)
	store := d.store(t)
	l, _ := listen(t, d, ticket(t, store.Access, neighbour), nil)
	if l == nil {
		t.Fatal("not connected")
	}
	l.ping(t)
	if err := store.Access.DeleteToken(t.Context(), ids.Hash(neighbour)); err != nil {
		t.Fatal(err)
	}
	l.say(t, `{"action":"ping"}`)
	list, err := l.until(func(push) bool { return false })
	if err == nil || len(list) != 1 || list[0].text("code") != "auth_required" {
		t.Errorf("told %v, then %v", list, err)
	}
	if left, err := store.Access.Connections(t.Context(), "neighbour"); err != nil || len(left) != 0 {
		t.Errorf("%v, %v are left", left, err)
	}
}

// TestSocketsCloseWhenProcessStops: the client is notified, and no row is left; a row that a kill leaves is found.
func TestSocketsCloseWhenProcessStops(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	d.aws = freeAddress(t)
	d.mustStart(t)
	store := d.store(t)
	l, _ := listen(t, d, ticket(t, store.Access, testToken), nil)
	l.ping(t)
	if err := d.stop(patience); err != nil {
		t.Fatal(err)
	}
	if _, err := l.until(func(push) bool { return false }); err == nil {
		t.Error("the client is still connected")
	}
	d.mustStart(t)
	if left, err := store.Access.Connections(t.Context(), "default"); err != nil || len(left) != 0 {
		t.Errorf("%v, %v are left", left, err)
	}
	l, _ = listen(t, d, "", bearer(testToken))
	l.ping(t)
	d.kill()
	d.mustStart(t)
	c := newClient(d.url(), testToken)
	c.say(t, c.chat(t), "Hola") // no client is connected, and nothing waits for one
}

// TestPageConnectsWithTicketUntilSignOut: the session's cookie gets a ticket, the ticket a socket, and signing out
// ends the socket at the next ping.
func TestPageConnectsWithTicketUntilSignOut(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	d.mustStart(t)
	_, port, _ := strings.Cut(d.addr, ":")
	for _, host := range []string{d.addr, "localhost:" + port} { // both names of the host
		page := newClient("http://"+host, "")
		page.header.Set("Origin", "http://"+host)
		session, err := page.do("POST", "/signin", "token="+testToken, "Content-Type", "application/x-www-form-urlencoded")
		if err != nil || session.header.Get("Set-Cookie") == "" {
			t.Fatal(session, err)
		}
		cookie, _, _ := strings.Cut(session.header.Get("Set-Cookie"), ";")
		page.header.Set("Cookie", cookie)
		a := page.must(t, 201, "POST", "/api/realtime", "")
		if until, err := time.Parse(time.RFC3339, a.text("expires_at")); err != nil || time.Until(until) > time.Minute {
			t.Errorf("the ticket is good until %v, %v", until, err)
		}
		query, ok := strings.CutPrefix(a.text("url"), "ws://"+host+"/realtime")
		if !ok {
			t.Fatalf("connect to %s", a.text("url"))
		}
		l, status := listen(t, d, query, http.Header{"Origin": {"http://" + host}, "Host": {host}, "Cookie": {cookie}})
		if l == nil {
			t.Fatal(status)
		}
		l.ping(t)
		page.must(t, 303, "POST", "/signout", "")
		l.say(t, `{"action":"ping"}`)
		if list, err := l.until(func(push) bool { return false }); err == nil || len(list) != 1 || list[0].text("code") != "auth_required" {
			t.Errorf("told %v, then %v", list, err)
		}
	}
	if err := problemOf(newClient(d.url(), "").must(t, 401, "POST", "/api/realtime", ""), 401, "auth_required"); err != nil {
		t.Error(err)
	}
}
