package websocket

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stage is a gateway on a server, with a function that stores its events.
type stage struct {
	*Gateway
	t      *testing.T
	server *httptest.Server

	mu     sync.Mutex
	events []event
	came   chan struct{}                               // closed and replaced at each event
	answer func(route string, e event) ([]byte, error) // nil: {"statusCode":200}
}

func newStage(t *testing.T, routes ...string) *stage {
	s := &stage{t: t, came: make(chan struct{})}
	s.Gateway = New(Options{
		API: "api", Stage: "live", Routes: routes, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Invoke: func(_ context.Context, route string, raw []byte) ([]byte, error) {
			var e event
			if err := json.Unmarshal(raw, &e); err != nil || e.RequestContext.RouteKey != route {
				t.Errorf("%s: %s: %v", route, raw, err)
			}
			s.mu.Lock()
			s.events = append(s.events, e)
			close(s.came)
			s.came = make(chan struct{})
			answer := s.answer
			s.mu.Unlock()
			if answer != nil {
				return answer(route, e)
			}
			return []byte(`{"statusCode":200}`), nil
		},
	})
	s.server = httptest.NewServer(s.Gateway)
	t.Cleanup(func() {
		s.Close()
		s.server.Close()
	})
	return s
}

func (s *stage) on(answer func(route string, e event) ([]byte, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// dial connects and returns the status of the response.
func (s *stage) dial(query string, header http.Header) (*websocket.Conn, int) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Second)
	defer cancel()
	conn, resp, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(s.server.URL, "http")+"/realtime"+query, &websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		if resp == nil {
			s.t.Fatal(err)
		}
		return nil, resp.StatusCode
	}
	conn.SetReadLimit(1 << 20)
	s.t.Cleanup(func() { _ = conn.CloseNow() })
	return conn, resp.StatusCode
}

// connect connects, and returns the connection's id as well.
func (s *stage) connect() (*websocket.Conn, string) {
	s.t.Helper()
	conn, status := s.dial("", nil)
	if conn == nil {
		s.t.Fatal(status)
	}
	id := s.last("CONNECT").RequestContext.ConnectionID
	s.open(id)
	return conn, id
}

// open waits until a connection can be reached.
func (s *stage) open(id string) {
	for s.find(id) == nil {
		time.Sleep(time.Millisecond)
	}
}

// last waits for the newest event of a kind.
func (s *stage) last(kind string) event {
	s.t.Helper()
	over := time.After(5 * time.Second)
	for {
		s.mu.Lock()
		came := s.came
		for _, e := range slices.Backward(s.events) {
			if e.RequestContext.EventType == kind {
				s.mu.Unlock()
				return e
			}
		}
		s.mu.Unlock()
		select {
		case <-came:
		case <-over:
			s.t.Fatalf("no %s", kind)
		}
	}
}

func (s *stage) count(kind string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, e := range s.events {
		if e.RequestContext.EventType == kind {
			n++
		}
	}
	return n
}

// ask calls the management API.
func (s *stage) ask(method, id string, body []byte) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, "/live/@connections/"+url.PathEscape(id), bytes.NewReader(body))
	s.Management().ServeHTTP(w, r)
	return w
}

func TestFunctionGetsConnectMessageAndDisconnect(t *testing.T) {
	s := newStage(t)
	conn, _ := s.dial("?ticket=a%3Db&x=1&x=2", http.Header{"Origin": {"http://page"}, "User-Agent": {"tester"}, "X-Many": {"a", "b"}})
	e := s.last("CONNECT")
	c := e.RequestContext
	if e.Query["ticket"] != "a=b" || e.Query["x"] != "2" || !slices.Equal(e.MultiValueQuery["x"], []string{"1", "2"}) {
		t.Errorf("the query: %v %v", e.Query, e.MultiValueQuery)
	}
	if e.Headers["Origin"] != "http://page" || e.Headers["Host"] != c.Domain || c.Domain == "" || !slices.Equal(e.MultiValueHeaders["X-Many"], []string{"a", "b"}) {
		t.Errorf("the headers: %v", e.Headers)
	}
	if c.RouteKey != "$connect" || c.Stage != "live" || c.API != "api" || c.ConnectionID == "" || c.ConnectedAt == 0 || c.Identity.SourceIP != "127.0.0.1" || c.Identity.UserAgent != "tester" {
		t.Errorf("%+v", c)
	}
	for _, sent := range []struct {
		kind websocket.MessageType
		data string
		body string
		raw  bool
	}{
		{websocket.MessageText, `{"action":"ping"}`, `{"action":"ping"}`, false},
		{websocket.MessageText, "ñandú", "ñandú", false},
		{websocket.MessageBinary, "\x00\xff", "AP8=", true},
	} {
		before := s.count("MESSAGE")
		if err := conn.Write(t.Context(), sent.kind, []byte(sent.data)); err != nil {
			t.Fatal(err)
		}
		for s.count("MESSAGE") == before {
			time.Sleep(time.Millisecond)
		}
		e := s.last("MESSAGE")
		if e.Body != sent.body || e.IsBase64Encoded != sent.raw || e.RequestContext.RouteKey != "$default" || e.RequestContext.ConnectionID != c.ConnectionID || e.Query != nil {
			t.Errorf("%q: %+v", sent.data, e)
		}
	}
	if err := conn.Close(4001, "bye"); err != nil {
		t.Error(err)
	}
	if e := s.last("DISCONNECT"); e.RequestContext.DisconnectStatus != 4001 || e.RequestContext.ConnectionID != c.ConnectionID {
		t.Errorf("%+v", e.RequestContext)
	}
}

func TestMessageGoesToRouteOfAction(t *testing.T) {
	s := newStage(t, "send")
	for text, want := range map[string]string{
		`{"action":"send"}`: "send", `{"action":"other"}`: "$default", `{"action":"$connect"}`: "$default",
		`{"action":"$disconnect"}`: "$default", "send": "$default", `{"action":["send"]}`: "$default", "": "$default",
	} {
		if got := s.route([]byte(text)); got != want {
			t.Errorf("%s goes to %s", text, got)
		}
	}
}

func TestRefusedClientIsNotConnected(t *testing.T) {
	s := newStage(t)
	for name, c := range map[string]struct {
		answer string
		err    error
		status int
	}{
		"401": {`{"statusCode":401}`, nil, 401}, "403": {`{"statusCode":403,"body":"why"}`, nil, 403},
		"a failure": {"", errors.New("failed"), 500}, "no status": {`{}`, nil, 502}, "no answer": {`nothing`, nil, 502},
		"a redirect": {`{"statusCode":302}`, nil, 302},
	} {
		s.on(func(route string, e event) ([]byte, error) {
			if route == "$connect" { // not reachable before it is accepted
				if w := s.ask("POST", e.RequestContext.ConnectionID, []byte("x")); w.Code != 410 {
					t.Errorf("%s: %d while connecting", name, w.Code)
				}
			}
			return []byte(c.answer), c.err
		})
		if conn, status := s.dial("", nil); conn != nil || status != c.status {
			t.Errorf("%s: %d, want %d", name, status, c.status)
		}
	}
	if n := s.count("DISCONNECT"); n != 0 {
		t.Errorf("%d left who never connected", n)
	}
	resp, err := http.Get(s.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != 426 || s.count("CONNECT") != 6 {
		t.Errorf("a plain request: %d, %d connects", resp.StatusCode, s.count("CONNECT"))
	}
}

func TestGatewayIsIdleUntilAClientConnects(t *testing.T) {
	s := newStage(t)
	if !s.Idle() {
		t.Error("without a client")
	}
	conn, _ := s.connect()
	if s.Idle() {
		t.Error("with a client")
	}
	if err := conn.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Error(err)
	}
	for until := time.Now().Add(10 * time.Second); !s.Idle(); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("after the client left")
		}
	}
}

func TestClientIsReachableByIDUntilItLeaves(t *testing.T) {
	s := newStage(t)
	conn, id := s.connect()
	for _, path := range []string{"/live/@connections/" + url.PathEscape(id), "/@connections/" + id} {
		w := httptest.NewRecorder()
		s.Management().ServeHTTP(w, httptest.NewRequest("POST", path, strings.NewReader("hola ñ")))
		if w.Code != 200 {
			t.Fatal(path, w.Code)
		}
		if kind, text, err := conn.Read(t.Context()); kind != websocket.MessageText || string(text) != "hola ñ" || err != nil {
			t.Error(kind, string(text), err)
		}
	}
	if w := s.ask("GET", id, nil); w.Code != 200 || !strings.Contains(w.Body.String(), "connectedAt") {
		t.Error(w.Code, w.Body)
	}
	for name, c := range map[string]struct {
		method, id string
		size       int
		status     int
	}{
		"the most":    {"POST", id, MaxMessage, 200},
		"one more":    {"POST", id, MaxMessage + 1, 413},
		"nobody":      {"POST", "nobody", 1, 410},
		"shown":       {"GET", "nobody", 0, 410},
		"closed":      {"DELETE", "nobody", 0, 410},
		"other":       {"PUT", id, 0, 403},
		"no id":       {"POST", "", 1, 403},
		"two of them": {"POST", "a/b", 1, 410}, // the slash is part of the id, as sent
	} {
		w := s.ask(c.method, c.id, make([]byte, c.size))
		if c.id == "a/b" && w.Code == 403 {
			continue // net/http has unescaped it: no id has one
		}
		if w.Code != c.status {
			t.Errorf("%s: %d", name, w.Code)
		}
	}
	if _, text, err := conn.Read(t.Context()); err != nil || len(text) != MaxMessage {
		t.Error(len(text), err)
	}
	if w := s.ask("DELETE", id, nil); w.Code != 204 {
		t.Error(w.Code)
	}
	if w := s.ask("POST", id, []byte("late")); w.Code != 410 {
		t.Error(w.Code)
	}
	if _, _, err := conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Error(err)
	}
	if e := s.last("DISCONNECT"); e.RequestContext.ConnectionID != id {
		t.Errorf("%+v", e.RequestContext)
	}
}

func TestMessageSizeIsLimited(t *testing.T) {
	for size, closed := range map[int]bool{31 << 10: false, 32 << 10: false, 33 << 10: false, MaxMessage: false, MaxMessage + 1: true} {
		s := newStage(t)
		conn, _ := s.connect()
		_ = conn.Write(t.Context(), websocket.MessageText, bytes.Repeat([]byte("a"), size))
		if !closed {
			if e := s.last("MESSAGE"); len(e.Body) != size {
				t.Errorf("%d of %d arrived", len(e.Body), size)
			}
			continue
		}
		if _, _, err := conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
			t.Errorf("%d bytes: %v", size, err)
		}
		if e := s.last("DISCONNECT"); e.RequestContext.DisconnectStatus != 1009 || s.count("MESSAGE") != 0 {
			t.Errorf("%+v", e.RequestContext)
		}
	}
}

func TestClientIsInformedOfFailedFunction(t *testing.T) {
	s := newStage(t)
	conn, id := s.connect()
	s.on(func(string, event) ([]byte, error) { return nil, errors.New("secret cause") })
	if err := conn.Write(t.Context(), websocket.MessageText, []byte("x")); err != nil {
		t.Fatal(err)
	}
	_, text, err := conn.Read(t.Context())
	if err != nil || !strings.Contains(string(text), "Internal server error") || !strings.Contains(string(text), id) || strings.Contains(string(text), "secret") {
		t.Errorf("%s, %v", text, err)
	}
}

// TestPostDoesNotWaitForClient: the unread messages of a client are bounded, and then it is
// disconnected; callers never wait.
func TestPostDoesNotWaitForClient(t *testing.T) {
	s := newStage(t)
	_, id := s.connect()
	other, otherID := s.connect()
	big := make([]byte, 100<<10)
	posts := 0
	for s.ask("POST", id, big).Code == 200 {
		if posts++; posts > 5000 {
			t.Fatal("everything is kept for a client that does not read")
		}
	}
	if e := s.last("DISCONNECT"); e.RequestContext.ConnectionID != id {
		t.Errorf("%+v", e.RequestContext)
	}
	if w := s.ask("POST", otherID, []byte("hola")); w.Code != 200 {
		t.Error(w.Code)
	}
	if _, text, err := other.Read(t.Context()); string(text) != "hola" || err != nil {
		t.Error(string(text), err)
	}
}

// TestCloseDisconnectsClientsAndAcceptsNone, also a client that is connecting.
func TestCloseDisconnectsClientsAndAcceptsNone(t *testing.T) {
	s := newStage(t)
	var conns []*websocket.Conn
	for range 5 {
		conn, _ := s.connect()
		conns = append(conns, conn)
	}
	connecting, goOn := make(chan struct{}), make(chan struct{})
	s.on(func(route string, _ event) ([]byte, error) {
		if route == "$connect" {
			close(connecting)
			<-goOn
		}
		return []byte(`{"statusCode":200}`), nil
	})
	late := make(chan error, 1)
	go func() {
		conn, _, err := websocket.Dial(context.Background(), "ws"+strings.TrimPrefix(s.server.URL, "http"), nil)
		if err == nil {
			_, _, err = conn.Read(context.Background())
			_ = conn.CloseNow()
		}
		late <- err
	}()
	<-connecting
	closed := make(chan struct{})
	go func() {
		s.Close()
		close(closed)
	}()
	for _, conn := range conns[:4] { // the fifth does not read, and so does not close
		if _, _, err := conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
			t.Error(err)
		}
	}
	close(goOn)
	<-closed
	if err := <-late; websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("one that was connecting is told %v", err)
	}
	if n := s.count("DISCONNECT"); n != 6 {
		t.Errorf("%d of 6 left", n)
	}
	if conn, status := s.dial("", nil); conn != nil || status != 503 {
		t.Errorf("afterwards: %d", status)
	}
}

func TestConcurrentPostsArriveWhole(t *testing.T) {
	s := newStage(t)
	conn, id := s.connect()
	const posters, each = 10, 10
	var done sync.WaitGroup
	for i := range posters {
		done.Go(func() {
			for k := range each {
				if w := s.ask("POST", id, fmt.Appendf(nil, "%d-%d", i, k)); w.Code != 200 {
					t.Error(w.Code)
				}
			}
		})
	}
	seen, last := 0, map[string]int{}
	for seen < posters*each {
		_, text, err := conn.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var i, k int
		if _, err := fmt.Sscanf(string(text), "%d-%d", &i, &k); err != nil || last[fmt.Sprint(i)] != k {
			t.Fatalf("%s after %d: %v", text, last[fmt.Sprint(i)], err)
		}
		last[fmt.Sprint(i)]++
		seen++
	}
	done.Wait()
}

// pipes is a listener of connections in memory, for tests in virtual time.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
