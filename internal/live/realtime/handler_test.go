package realtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/access/auth"
	"piloto/internal/access/rate"
	"piloto/internal/ground/ids"
	"piloto/internal/live/realtime"
	"piloto/internal/store"
)

// setup is a Handler over a table and a fake poster, with a clock that the test sets.
type setup struct {
	*realtime.Handler
	t     testing.TB
	table store.Stores
	*fakePoster
	at time.Time
}

func newSetup(t testing.TB) *setup {
	r := &setup{t: t, table: fixture.Table(t), fakePoster: newFakePoster(), at: now}
	r.Handler = &realtime.Handler{
		Connections: r.table.Access, Tokens: r.table.Access, Poster: r.fakePoster, Origins: []string{"https://page.example"},
		Now: func() time.Time { return r.at }, Log: discard,
	}
	return r
}

// token stores a token. Scope "" means no scope.
func (r *setup) token(secret string, account ids.Account, user string, scope auth.Scope, ends time.Time) {
	r.t.Helper()
	if err := r.table.Access.PutToken(ctx, auth.Token{
		Hash: ids.Hash(secret), Kind: auth.KindToken, Account: account, User: user, Scopes: []auth.Scope{scope}, ExpiresAt: ends, CreatedAt: now,
	}); err != nil {
		r.t.Fatal(err)
	}
}

// open connects with a token.
func (r *setup) open(id, token string) {
	r.t.Helper()
	if err := r.Connect(ctx, realtime.ConnectRequest{ID: id, Token: token}); err != nil {
		r.t.Fatal(err)
	}
	r.boxes[id] = nil
}

// send sends a client's message, and returns the frames that the client gets.
func (r *setup) send(id, text string) []receivedFrame {
	r.t.Helper()
	if err := r.Receive(ctx, id, text); err != nil {
		r.t.Fatal(err)
	}
	return r.box(r.t, id)
}

const ping = `{"action":"ping"}`

// wantClosed checks that a connection was closed, and its last frame.
func (r *setup) wantClosed(id, want string) {
	r.t.Helper()
	if !slices.Contains(r.closed, id) {
		r.t.Errorf("%s is not closed", id)
		return
	}
	if got := types([]receivedFrame{read(r.t, []byte(r.words[id]))})[0]; got != want {
		r.t.Errorf("%s is closed with %s, want %s", id, got, want)
	}
}

func types(list []receivedFrame) []string {
	var all []string
	for _, s := range list {
		kind := s.Type
		if code, ok := s.Data["code"].(string); ok {
			kind += " " + code
		}
		all = append(all, kind)
	}
	return all
}

func TestConnectRefusesUnauthorizedClients(t *testing.T) {
	r := newSetup(t)
	r.token("token", "acme", "ana", auth.ScopeChat, time.Time{})
	r.token("mute", "acme", "ana", "", time.Time{})
	r.token("dated", "acme", "ana", auth.ScopeChat, now.Add(time.Second))
	ticket := func(token string) string {
		p, err := auth.Authenticate(ctx, r.table.Access, token, now, auth.KindToken)
		if err != nil {
			t.Fatal(err)
		}
		secret, _, err := auth.NewTicket(ctx, r.table.Access, p, now)
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	session, err := auth.SessionFor(ctx, r.table.Access, "token", auth.KindToken, now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	used := ticket("token")
	for i, c := range []struct {
		name  string
		visit realtime.ConnectRequest
		after time.Duration
		err   error
	}{
		{"a ticket", realtime.ConnectRequest{Ticket: used}, 0, nil},
		{"the same again", realtime.ConnectRequest{Ticket: used}, 0, auth.ErrRequired},
		{"a token", realtime.ConnectRequest{Token: "token"}, 0, nil},
		{"both, and the token is bad", realtime.ConnectRequest{Ticket: ticket("token"), Token: "bad"}, 0, auth.ErrRequired},
		{"nothing", realtime.ConnectRequest{}, 0, auth.ErrRequired},
		{"a late ticket", realtime.ConnectRequest{Ticket: ticket("token")}, auth.TicketLife, auth.ErrRequired},
		{"a session as a ticket", realtime.ConnectRequest{Ticket: session}, 0, auth.ErrRequired},
		{"a session as a token", realtime.ConnectRequest{Token: session}, 0, auth.ErrRequired},
		{"a token as a ticket", realtime.ConnectRequest{Ticket: "token"}, 0, auth.ErrRequired},
		{"a ticket as a token", realtime.ConnectRequest{Token: ticket("token")}, 0, auth.ErrRequired},
		{"a ticket cut short", realtime.ConnectRequest{Ticket: ticket("token")[1:]}, 0, auth.ErrRequired},
		{"a ticket of a token that is over", realtime.ConnectRequest{Ticket: ticket("dated")}, time.Second, auth.ErrRequired},
		{"one that may not read chats", realtime.ConnectRequest{Token: "mute"}, 0, auth.ErrScope},
		{"a page of the same host", realtime.ConnectRequest{Token: "token", Origins: []string{"http://here:80"}, Host: "here:80"}, 0, nil},
		{"a page that is known", realtime.ConnectRequest{Token: "token", Origins: []string{"https://page.example"}, Host: "socket.example"}, 0, nil},
		{"a page of elsewhere", realtime.ConnectRequest{Token: "token", Origins: []string{"https://evil.example"}, Host: "here"}, 0, auth.ErrCrossOrigin},
		{"one whose name begins the same", realtime.ConnectRequest{Token: "token", Origins: []string{"https://page.example.evil"}, Host: "here"}, 0, auth.ErrCrossOrigin},
		{"one with a user", realtime.ConnectRequest{Token: "token", Origins: []string{"https://a@here"}, Host: "here"}, 0, auth.ErrCrossOrigin},
		{"a page of a file", realtime.ConnectRequest{Token: "token", Origins: []string{"null"}, Host: "here"}, 0, auth.ErrCrossOrigin},
		{"no host", realtime.ConnectRequest{Token: "token", Origins: []string{"http://"}}, 0, auth.ErrCrossOrigin},
		{"two pages", realtime.ConnectRequest{Token: "token", Origins: []string{"http://here", "http://here"}, Host: "here"}, 0, auth.ErrCrossOrigin},
		{"an empty page", realtime.ConnectRequest{Token: "token", Origins: []string{""}, Host: "here"}, 0, auth.ErrCrossOrigin},
	} {
		c.visit.ID = fmt.Sprint("c", i)
		r.at = now.Add(c.after)
		if err := r.Connect(ctx, c.visit); !errors.Is(err, c.err) || (c.err == nil) != (err == nil) {
			t.Errorf("%s: %v", c.name, err)
		}
		if _, err := r.table.Access.Connection(ctx, c.visit.ID); (err == nil) != (c.err == nil) {
			t.Errorf("%s: the connection: %v", c.name, err)
		}
	}
	kept := ticket("token")
	_ = r.Connect(ctx, realtime.ConnectRequest{ID: "x", Ticket: kept, Origins: []string{"https://evil.example"}})
	r.at = now
	if err := r.Connect(ctx, realtime.ConnectRequest{ID: "y", Ticket: kept}); err != nil {
		t.Errorf("a page of elsewhere used a ticket up: %v", err)
	}
}

func TestClientMayOnlyPing(t *testing.T) {
	r := newSetup(t)
	r.token("token", "acme", "ana", auth.ScopeChat, time.Time{})
	r.open("a", "token")
	list := r.send("a", ping)
	if got := types(list); !slices.Equal(got, []string{"hello", "pong"}) || list[0].Data["ping_seconds"] != 120.0 || *list[1].Seq != 0 {
		t.Errorf("the first ping: %+v", list)
	}
	hub(r.table.Access, r.fakePoster, now).Notify(ctx, "acme", messageEvent("m1"), messageEvent("m2"))
	r.box(t, "a")
	list = r.send("a", `{"action":"ping","more":[1]}`)
	if got := types(list); !slices.Equal(got, []string{"pong"}) || *list[0].Seq != 2 {
		t.Errorf("the next: %+v", list)
	}
	for _, text := range []string{
		"", "ping", "null", "[]", `"ping"`, `{"action":"pong"}`, `{"action":1}`, `{"action":"ping"`, `{"action":"ping"}{}`, "\xff\xfe",
		`{"action":"ping","pad":"` + strings.Repeat("x", 2000) + `"}`, strings.Repeat("[", 100_000),
		`{"action":"subscribe","account":"other"}`,
	} {
		if got := types(r.send("a", text)); !slices.Equal(got, []string{"error realtime.action"}) {
			t.Errorf("%.40q is answered %v", text, got)
		}
	}
	if got := types(r.send("a", ping)); !slices.Equal(got, []string{"pong"}) {
		t.Errorf("after all that: %v", got)
	}
}

// FuzzReceive: every message gets one frame and keeps the connection, and only a ping gets a
// pong.
func FuzzReceive(f *testing.F) {
	for _, seed := range []string{
		ping, "", "null", `{"action":"ping","action":"pong"}`, `{"ACTION":"ping"}`, ` {"action":"ping"} `, `{"action":"\u0070ing"}`, "[[[", "\x00\xff",
	} {
		f.Add(seed)
	}
	r := newSetup(f)
	r.token("token", "acme", "ana", auth.ScopeChat, time.Time{})
	r.open("a", "token")
	r.send("a", ping)
	f.Fuzz(func(t *testing.T, text string) {
		r.t = t
		list := r.send("a", text)
		if len(list) != 1 {
			t.Fatalf("%q is answered %v", text, types(list))
		}
		var asked map[string]any
		isObject := json.Unmarshal([]byte(text), &asked) == nil
		if pong := list[0].Type == realtime.TypePong; pong && (!isObject || len(text) > 1024) {
			t.Errorf("%q is a ping", text)
		} else if !pong && types(list)[0] != "error realtime.action" {
			t.Errorf("%q is answered %v", text, types(list))
		}
	})
}

func TestConnectionEndsWithItsTokenAtNextPing(t *testing.T) {
	r := newSetup(t)
	for _, c := range []struct {
		name string
		ends time.Time
		end  func(session string)
	}{
		{"revoked", time.Time{}, func(string) { _ = r.table.Access.DeleteToken(ctx, ids.Hash("revoked")) }},
		{"over", now.Add(time.Minute), func(string) { r.at = now.Add(time.Minute) }},
		{"signed out", time.Time{}, func(session string) { _ = r.table.Access.DeleteToken(ctx, ids.Hash(session)) }},
	} {
		r.at = now
		r.token(c.name, "acme", "ana", auth.ScopeChat, c.ends)
		session, err := auth.SessionFor(ctx, r.table.Access, c.name, auth.KindToken, now, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		p, err := auth.Authenticate(ctx, r.table.Access, session, now, auth.KindSession)
		if err != nil {
			t.Fatal(err)
		}
		ticket, _, err := auth.NewTicket(ctx, r.table.Access, p, now)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Connect(ctx, realtime.ConnectRequest{ID: c.name, Ticket: ticket}); err != nil {
			t.Fatal(err)
		}
		r.boxes[c.name] = nil
		r.send(c.name, ping)
		c.end(session)
		if c.name == "over" { // known when it connected: nothing is pushed after that time
			hub(r.table.Access, r.fakePoster, r.at).Notify(ctx, "acme", messageEvent("secret"))
			if list := r.box(t, c.name); len(list) != 0 {
				t.Errorf("told after its end: %v", types(list))
			}
		}
		r.send(c.name, ping)
		r.wantClosed(c.name, "error auth_required")
		if _, err := r.table.Access.Connection(ctx, c.name); !errors.Is(err, realtime.ErrGone) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestSignOutEndsPushesAtOnce: after it nothing is pushed to the session's
// connections, and all other connections get every push. A client that connects meanwhile is
// either accepted before it, and then disconnected, or refused.
func TestSignOutEndsPushesAtOnce(t *testing.T) {
	r := newSetup(t)
	r.token("token", "acme", "ana", auth.ScopeChat, time.Time{})
	r.token("session", "acme", "ana", auth.ScopeChat, time.Time{})
	r.token("other", "other", "ana", auth.ScopeChat, time.Time{})
	opened := map[string]string{"a": "token", "b": "session", "c": "session", "d": "other"}
	for id, token := range opened {
		r.open(id, token)
		r.send(id, ping)
	}
	end := func() {
		if err := errors.Join(r.table.Access.DeleteToken(ctx, ids.Hash("session")), realtime.Disconnect(ctx, r.table.Access, "acme", ids.Hash("session"), r.at)); err != nil {
			t.Fatal(err)
		}
	}
	end()
	for _, account := range []ids.Account{"acme", "other"} {
		hub(r.table.Access, r.fakePoster, r.at).Notify(ctx, account, messageEvent("secret"))
	}
	for id, token := range opened {
		if told := len(r.box(t, id)) > 0; told == (token == "session") {
			t.Errorf("%s of %s is told: %v", id, token, told)
		}
	}
	r.send("b", ping)
	r.wantClosed("b", "error auth_required")

	r.token("session", "acme", "ana", auth.ScopeChat, time.Time{})
	r.Connections = interruptedConnections{r.table.Access, end}
	if err := r.Connect(ctx, realtime.ConnectRequest{ID: "late", Token: "session"}); !errors.Is(err, auth.ErrRequired) {
		t.Errorf("who connects while the session ends: %v", err)
	}
	if _, err := r.table.Access.Connection(ctx, "late"); !errors.Is(err, realtime.ErrGone) {
		t.Errorf("it is still connected: %v", err)
	}
}

// interruptedConnections calls a function just before a connection is added.
type interruptedConnections struct {
	*store.AccessStore
	before func()
}

func (m interruptedConnections) AddConnection(ctx context.Context, c realtime.Connection) error {
	m.before()
	return m.AccessStore.AddConnection(ctx, c)
}

// TestClientWithoutPingsGetsNoPushesAndSeesGap: a client that does not prove that its token is
// valid gets no pushes for long, and sees a gap for the missed ones.
func TestClientWithoutPingsGetsNoPushesAndSeesGap(t *testing.T) {
	r := newSetup(t)
	r.token("token", "acme", "ana", auth.ScopeChat, time.Time{})
	r.open("a", "token")
	r.send("a", ping)
	for range 3 { // pings keep the connection
		r.at = r.at.Add(9*time.Minute + 30*time.Second) // as a page in a hidden tab does
		hub(r.table.Access, r.fakePoster, r.at).Notify(ctx, "acme", messageEvent("m"))
		if list := r.box(t, "a"); len(list) != 1 {
			t.Fatalf("told %v", types(list))
		}
		r.send("a", ping)
	}
	before, err := r.table.Access.Connection(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	r.at = r.at.Add(10 * time.Minute)
	hub(r.table.Access, r.fakePoster, r.at).Notify(ctx, "acme", messageEvent("missed"))
	if list := r.box(t, "a"); len(list) != 0 {
		t.Errorf("told %v", types(list))
	}
	list := r.send("a", ping)
	if len(list) != 1 || *list[0].Seq <= before.Seq {
		t.Errorf("the pong hides what was missed: %+v", list)
	}
	r.at = now.Add(realtime.Forgotten) // no longer than the maximum life of a connection
	r.send("a", ping)
	hub(r.table.Access, r.fakePoster, r.at).Notify(ctx, "acme", messageEvent("m"))
	if list := r.box(t, "a"); len(list) != 0 {
		t.Errorf("after its life, told %v", types(list))
	}
}

func TestOldestConnectionsOfUserAreClosed(t *testing.T) {
	r := newSetup(t)
	r.token("ana", "acme", "ana", auth.ScopeChat, time.Time{})
	r.token("bea", "acme", "bea", auth.ScopeChat, time.Time{})
	r.open("bea", "bea")
	for i := range 22 {
		r.at = r.at.Add(time.Second)
		r.open(fmt.Sprintf("ana-%02d", i), "ana")
	}
	if want := []string{"ana-00", "ana-01"}; !slices.Equal(r.closed, want) {
		t.Errorf("closed %v, want %v", r.closed, want)
	}
	r.wantClosed("ana-00", "error realtime.replaced")
	hub(r.table.Access, r.fakePoster, r.at).Notify(ctx, "acme", messageEvent("m"))
	told := 0
	for id := range r.boxes {
		told += len(r.box(t, id))
	}
	if told != 21 {
		t.Errorf("%d were told", told)
	}
}

func TestOldestConnectionsOfAccountAreClosed(t *testing.T) {
	r := newSetup(t)
	for i := range 104 {
		user := fmt.Sprintf("user-%03d", i/4)
		if i%4 == 0 {
			r.token(user, "acme", user, auth.ScopeChat, time.Time{})
		}
		r.at = r.at.Add(time.Second)
		r.open(fmt.Sprint(i), user)
	}
	if want := []string{"0", "1", "2", "3"}; !slices.Equal(r.closed, want) {
		t.Errorf("closed %v, want %v", r.closed, want)
	}
}

func TestLeaveRemovesConnectionAndUnknownOneIsClosed(t *testing.T) {
	r := newSetup(t)
	r.token("token", "acme", "ana", auth.ScopeChat, time.Time{})
	r.open("a", "token")
	for range 2 {
		if err := r.Leave(ctx, "a"); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := r.table.Access.Connections(ctx, "acme"); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
	r.boxes["a"] = nil // the client is still connected, only its row is gone
	r.send("a", ping)
	r.wantClosed("a", "error realtime.unknown")
}

// TestConnectsAndMessagesAreCounted counts the bad tokens of an address, the connections of a user and the
// messages of a connection. Each is counted before any further read.
func TestConnectsAndMessagesAreCounted(t *testing.T) {
	r := newSetup(t)
	r.Meter = &rate.Meter{Limits: rate.Limits{Writes: 3, Requests: 2, BadTokens: 2}, Own: rate.NewMemory(), Log: discard}
	r.token("ana", "acme", "ana", auth.ScopeChat, time.Time{})
	r.token("bob", "acme", "bob", auth.ScopeChat, time.Time{})
	visit := func(token, ticket, address string) error {
		return r.Connect(ctx, realtime.ConnectRequest{ID: ids.Secret(), Token: token, Ticket: ticket, Address: address})
	}
	for i, guess := range [][2]string{{"x", ""}, {"", "y"}, {"x", ""}, {"", ""}} {
		want := auth.ErrRequired
		if i >= 2 {
			want = rate.ErrTooMany
		}
		if err := visit(guess[0], guess[1], "192.0.2.1"); !errors.Is(err, want) {
			t.Errorf("guess %d: %v", i, err)
		}
	}
	for i := range 3 {
		if err := visit("ana", "", "192.0.2.1"); err != nil {
			t.Errorf("connection %d: %v", i, err)
		}
	}
	if err := visit("ana", "", "192.0.2.2"); !errors.Is(err, rate.ErrTooMany) {
		t.Errorf("the fourth: %v", err)
	}
	r.open("c1", "bob")
	for range 2 {
		r.send("c1", ping)
	}
	if slices.Contains(r.closed, "c1") {
		t.Fatal("closed too early")
	}
	r.send("c1", "what no client says")
	r.wantClosed("c1", "error request.too_many")
	for range 300 {
		_ = visit("x", "", "192.0.2.1")
	}
	if err := visit("bob", "", "192.0.2.1"); err != nil {
		t.Errorf("a good token from an address that guesses: %v", err)
	}
}
