// Package websocket owns what stands in for API Gateway's WebSocket API in one
// process: it upgrades clients, calls the function of a route with what they do,
// and answers the management API, by which functions reach them.
//
// What must stay true, as it is there:
//
//   - A client is connected once the function of $connect answered 2xx, and not
//     before: until then it can be reached no more than one that has left.
//   - Nobody waits for a client: what is posted to it is queued, and a client that
//     does not take what is queued is disconnected.
//   - A message has at most 128 KB, a connection is silent for ten minutes at
//     most, and lasts two hours.
//   - Whoever connected and left has left: $disconnect is called once for each,
//     also when the gateway closes. (There it is called as a rule; a function must
//     not count on it.)
//
// Two things are not as they are there: a client's frames may be larger than
// 32 KB, if the message is not; and the messages of one client are handled one
// after another.
package websocket

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// The limits of API Gateway.
const (
	MaxMessage = 128 << 10
	Idle       = 10 * time.Minute
	Life       = 2 * time.Hour
)

// What a client may leave unread, and how long it may take for one message.
const (
	maxQueued    = 128
	maxQueuedLen = 1 << 20
	writeLimit   = 10 * time.Second
	partLimit    = time.Second // to answer that it closes, when the gateway does
)

// Invoke calls the function of a route with an event and returns its answer.
type Invoke func(ctx context.Context, route string, event []byte) ([]byte, error)

// Options say what the gateway stands in for.
type Options struct {
	API    string           // its id
	Stage  string           // its one stage
	Routes []string         // besides $connect, $disconnect and $default: values of "action"
	Invoke Invoke           // bounded in time by the caller
	Now    func() time.Time // what events say the time is
	Log    *slog.Logger
}

// Gateway is one WebSocket API.
type Gateway struct {
	options Options

	mu      sync.Mutex
	closed  bool
	clients map[string]*client
	busy    sync.WaitGroup // connections, from their upgrade to their end
}

// New returns a gateway with nobody connected.
func New(o Options) *Gateway { return &Gateway{options: o, clients: map[string]*client{}} }

// ServeHTTP upgrades a request, and serves the client until it has left.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !g.enter() {
		http.Error(w, "closing", http.StatusServiceUnavailable)
		return
	}
	defer g.busy.Done()
	if !Upgrade(r) {
		http.Error(w, http.StatusText(http.StatusUpgradeRequired), http.StatusUpgradeRequired)
		return
	}
	c := &client{
		gateway: g, id: newID(), domain: r.Host, source: source(r), agent: r.UserAgent(), connected: g.options.Now(),
		wake: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	c.active = c.connected
	if status := c.connect(r); status < 200 || status > 299 {
		http.Error(w, http.StatusText(status), status)
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // $connect has judged the origin
	if err != nil {
		c.disconnected(websocket.StatusAbnormalClosure, "the upgrade failed")
		return
	}
	c.conn = conn
	c.serve(context.WithoutCancel(r.Context()))
}

// Upgrade reports whether a request asks to become a socket.
func Upgrade(r *http.Request) bool {
	return r.Method == http.MethodGet && headerHas(r.Header, "Connection", "upgrade") && headerHas(r.Header, "Upgrade", "websocket")
}

// Close disconnects everybody, lets nobody in, and returns once every
// $disconnect was answered. A client that does not part is left.
func (g *Gateway) Close() {
	clients := g.shut()
	for _, c := range clients {
		c.end(websocket.StatusGoingAway, "Going away")
	}
	defer time.AfterFunc(partLimit, func() {
		for _, c := range append(clients, g.shut()...) { // and who was just connecting
			c.cut()
		}
	}).Stop()
	g.busy.Wait()
}

// shut lets nobody in any more, and returns those who are.
func (g *Gateway) shut() []*client {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	return slices.Collect(maps.Values(g.clients))
}

// enter counts a connection that begins; false when the gateway closes.
func (g *Gateway) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.busy.Add(1)
	return true
}

// add makes a client known by its id; one that comes while the gateway closes is
// told so.
func (g *Gateway) add(c *client) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.clients[c.id] = c
	if g.closed {
		c.end(websocket.StatusGoingAway, "Going away")
	}
}

func (g *Gateway) remove(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.clients, id)
}

func (g *Gateway) find(id string) *client {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.clients[id]
}

// newID returns an id as API Gateway makes them.
func newID() string {
	var b [11]byte
	_, _ = rand.Read(b[:]) // never fails: it aborts the program instead
	return base64.URLEncoding.EncodeToString(b[:])
}

func source(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
