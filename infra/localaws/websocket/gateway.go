// Package websocket replaces API Gateway's WebSocket API in one process: it upgrades clients, calls
// the function of a route with their messages, and serves the management API, by which functions
// reach the clients.
//
// These rules hold, as on AWS:
//
//   - A client is connected only after the function of $connect answered 2xx: until
//     then the management API treats it like a client that has left.
//   - Nothing waits for a client: messages to it are queued, and a client that does
//     not read its queue is disconnected.
//   - A message has at most 128 KB, a connection is idle for at most ten minutes,
//     and lasts at most two hours.
//   - $disconnect is called once for each client that was connected, also when the
//     gateway closes. (AWS usually calls it; a function must not rely on it.)
//
// Two things differ from AWS: a client's frames may be larger than 32 KB, if the message is not;
// and the messages of one client are handled one after another.
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

// The limits of a client's unread messages, and of the time to write one message.
const (
	maxQueued    = 128
	maxQueuedLen = 1 << 20
	writeLimit   = 10 * time.Second
	partLimit    = time.Second // for the client's answer to a close of the gateway
)

// Invoke calls the function of a route with an event and returns its answer.
type Invoke func(ctx context.Context, route string, event []byte) ([]byte, error)

// Options describe the API that the gateway replaces.
type Options struct {
	API    string           // its id
	Stage  string           // its one stage
	Routes []string         // values of "action" other than $connect, $disconnect and $default
	Invoke Invoke           // the caller limits its time
	Now    func() time.Time // clock of the events
	Log    *slog.Logger
}

// Gateway is one WebSocket API.
type Gateway struct {
	options Options

	mu      sync.Mutex
	closed  bool
	clients map[string]*client
	busy    sync.WaitGroup // connections, from their upgrade to their end
	open    int            // the number of them
}

// New returns a gateway without clients.
func New(o Options) *Gateway { return &Gateway{options: o, clients: map[string]*client{}} }

// ServeHTTP upgrades a request, and serves the client until it has left.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !g.enter() {
		http.Error(w, "closing", http.StatusServiceUnavailable)
		return
	}
	defer g.leave()
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
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // $connect has checked the origin
	if err != nil {
		c.callDisconnect(websocket.StatusAbnormalClosure, "the upgrade failed")
		return
	}
	c.conn = conn
	c.serve(context.WithoutCancel(r.Context()))
}

// Upgrade reports whether a request asks for a WebSocket.
func Upgrade(r *http.Request) bool {
	return r.Method == http.MethodGet && headerHas(r.Header, "Connection", "upgrade") && headerHas(r.Header, "Upgrade", "websocket")
}

// Close disconnects all clients, accepts no new ones, and returns once every $disconnect was
// answered. It does not wait for clients that do not close.
func (g *Gateway) Close() {
	clients := g.shut()
	for _, c := range clients {
		c.end(websocket.StatusGoingAway, "Going away")
	}
	defer time.AfterFunc(partLimit, func() {
		for _, c := range append(clients, g.shut()...) { // including clients that were connecting
			c.cut()
		}
	}).Stop()
	g.busy.Wait()
}

// shut stops the gateway from accepting clients, and returns the connected ones.
func (g *Gateway) shut() []*client {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	return slices.Collect(maps.Values(g.clients))
}

// enter counts a new connection; false when the gateway closes.
func (g *Gateway) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.busy.Add(1)
	g.open++
	return true
}

func (g *Gateway) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open--
	g.busy.Done()
}

// Idle reports whether no client is connected or connecting.
func (g *Gateway) Idle() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open == 0
}

// add registers a client under its id. A client that arrives while the gateway closes is
// disconnected.
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

// newID returns an id in the format of API Gateway.
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
