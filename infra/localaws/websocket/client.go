package websocket

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// client is one connection.
type client struct {
	gateway   *Gateway
	conn      *websocket.Conn
	id        string
	domain    string
	source    string
	agent     string
	connected time.Time

	wake  chan struct{}      // something is queued
	ended chan struct{}      // closed when the connection must end
	cut   context.CancelFunc // ends it without a close frame

	mu     sync.Mutex
	queue  []frame
	queued int // bytes
	active time.Time
	idle   *time.Timer
	over   bool
	code   websocket.StatusCode // close code, when the gateway ends it
	reason string
}

// frame is one message to a client.
type frame struct {
	kind websocket.MessageType
	data []byte
}

// connect calls the function of $connect and returns its status. The call continues when the client
// disconnects.
func (c *client) connect(r *http.Request) int {
	out, err := c.invoke(context.WithoutCancel(r.Context()), "$connect", connectEvent(c, r))
	if err != nil {
		return http.StatusInternalServerError
	}
	var answer struct {
		Status int `json:"statusCode"`
	}
	if json.Unmarshal(out, &answer) != nil || answer.Status < 200 || answer.Status > 599 {
		return http.StatusBadGateway
	}
	return answer.Status
}

// serve sends and receives messages until one side ends.
func (c *client) serve(ctx context.Context) {
	ctx, c.cut = context.WithCancel(ctx)
	defer c.cut()
	c.idle = time.AfterFunc(Idle, func() { c.end(websocket.StatusGoingAway, "Going away") })
	defer c.idle.Stop()
	life := time.AfterFunc(Life, func() { c.end(websocket.StatusGoingAway, "Connection duration limit reached") })
	defer life.Stop()
	c.gateway.add(c)

	var both sync.WaitGroup
	both.Go(func() { c.write(ctx) })
	code, reason := c.read(ctx)
	c.gateway.remove(c.id)
	c.end(code, reason)
	both.Wait()
	c.callDisconnect(c.code, c.reason)
}

// read handles the messages of the client until the connection ends, and returns the close code and
// reason.
func (c *client) read(ctx context.Context) (websocket.StatusCode, string) {
	c.conn.SetReadLimit(MaxMessage)
	for {
		kind, data, err := c.conn.Read(ctx)
		if err != nil {
			return endOf(err)
		}
		c.touch()
		if !c.handle(ctx, kind, data) {
			return websocket.StatusGoingAway, "Going away"
		}
	}
}

// endOf returns the close code and reason of a client's error.
func endOf(err error) (websocket.StatusCode, string) {
	if code := websocket.CloseStatus(err); code != -1 {
		return code, ""
	}
	if errors.Is(err, websocket.ErrMessageTooBig) {
		return websocket.StatusMessageTooBig, "Message too big"
	}
	return websocket.StatusAbnormalClosure, "Connection closed abnormally"
}

// handle calls the function of a message's route. The client is informed of a failure of the
// function, but gets no answer, because the routes have no responses.
func (c *client) handle(ctx context.Context, kind websocket.MessageType, data []byte) bool {
	select {
	case <-c.ended:
		return false
	default:
	}
	route := c.gateway.route(data)
	event := messageEvent(c, route, kind, data)
	if _, err := c.invoke(ctx, route, event); err != nil {
		text, _ := json.Marshal(map[string]string{
			"message": "Internal server error", "connectionId": c.id, "requestId": event.RequestContext.RequestID,
		})
		c.post(websocket.MessageText, text)
	}
	return true
}

// route returns the route of a message: that of its "action", or $default.
func (g *Gateway) route(data []byte) string {
	var asked struct {
		Action string `json:"action"`
	}
	if json.Unmarshal(data, &asked) == nil {
		for _, r := range g.options.Routes {
			if r == asked.Action {
				return r
			}
		}
	}
	return "$default"
}

// post queues a message. It reports false when the client has left, or is disconnected because its
// queue is full.
func (c *client) post(kind websocket.MessageType, data []byte) bool {
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return false
	}
	full := len(c.queue) == maxQueued || c.queued+len(data) > maxQueuedLen
	if !full {
		c.queue, c.queued = append(c.queue, frame{kind, data}), c.queued+len(data)
	}
	c.mu.Unlock()
	if full {
		c.gateway.options.Log.Warn("websocket.slow", "connection", c.id)
		c.gateway.remove(c.id)
		c.drop()
		return false
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return true
}

// next removes the oldest message of the queue.
func (c *client) next() (frame, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 0 {
		return frame{}, false
	}
	f := c.queue[0]
	c.queue, c.queued = c.queue[1:], c.queued-len(f.data)
	return f, true
}

// write sends the queued messages until the connection ends. Then it sends the rest of the queue
// and closes the connection.
func (c *client) write(ctx context.Context) {
	for {
		for f, ok := c.next(); ok; f, ok = c.next() {
			if !c.send(ctx, f) {
				c.drop()
				return
			}
		}
		select {
		case <-c.wake:
		case <-c.ended:
			for f, ok := c.next(); ok && c.send(ctx, f); f, ok = c.next() {
			}
			_ = c.conn.Close(c.code, c.reason) // the client gets it, or has left
			return
		}
	}
}

func (c *client) send(ctx context.Context, f frame) bool {
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	if c.conn.Write(ctx, f.kind, f.data) != nil {
		return false
	}
	c.touch()
	return true
}

// touch records the time of a message.
func (c *client) touch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active = c.gateway.options.Now()
	c.idle.Reset(Idle)
}

// end ends the connection, once; the first call sets the code and reason.
func (c *client) end(code websocket.StatusCode, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	c.over, c.code, c.reason = true, code, reason
	close(c.ended)
}

// drop ends the connection without waiting for the client.
func (c *client) drop() {
	c.end(websocket.StatusAbnormalClosure, "Connection closed abnormally")
	c.cut()
}

// callDisconnect calls the function of $disconnect and ignores its answer.
func (c *client) callDisconnect(code websocket.StatusCode, reason string) {
	if _, err := c.invoke(context.Background(), "$disconnect", disconnectEvent(c, code, reason)); err != nil {
		c.gateway.options.Log.Warn("websocket.failed", "route", "$disconnect", "error", err)
	}
}

func (c *client) invoke(ctx context.Context, route string, e event) ([]byte, error) {
	raw, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	return c.gateway.options.Invoke(ctx, route, raw)
}
