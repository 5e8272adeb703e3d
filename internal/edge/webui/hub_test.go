package webui

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// hub is a WebSocket API that can lose, repeat and reorder its pushes.
type hub struct {
	mu      sync.Mutex
	lines   map[*wire]bool
	tickets map[string]bool
	fault   func(n int64) verb // of a numbered push; nil: none
	away    bool               // connections fail
	code    string             // … with this code
	mute    bool               // pings are not answered
	opened  int
	asked   int    // requests for tickets
	pings   int    // pings received
	open    string // chat that the last ping named
	ping    float64
}

// verb is the treatment of a push.
type verb int

const (
	pass verb = iota
	drop
	twice
	late // sent after the next one
)

// wire is one connection; its frames are written in order.
type wire struct {
	seq   int64
	out   chan []byte
	after []byte
	close context.CancelFunc
}

func newHub() *hub { return &hub{lines: map[*wire]bool{}, tickets: map[string]bool{}, ping: 25} }

// admit answers POST /api/realtime.
func (h *hub) admit(rw http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked++
	if h.away {
		refuse(rw, 503, cmp.Or(h.code, "unavailable"), "No responde.")
		return
	}
	ticket := strings.Repeat("t", h.asked)
	h.tickets[ticket] = true
	tell(rw, 201, map[string]any{"url": "ws://" + r.Host + "/realtime?ticket=" + ticket, "ticket": ticket, "expires_at": time.Now().Add(time.Minute)})
}

func (h *hub) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	ticket := r.URL.Query().Get("ticket")
	known := h.tickets[ticket] && !h.away
	delete(h.tickets, ticket)
	h.mu.Unlock()
	if !known {
		http.Error(rw, "no", http.StatusUnauthorized)
		return
	}
	conn, err := websocket.Accept(rw, r, nil)
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	line := &wire{out: make(chan []byte, 1000), close: cancel}
	h.mu.Lock()
	h.lines[line] = true
	h.opened++
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		delete(h.lines, line)
		h.mu.Unlock()
		_ = conn.CloseNow()
	}()
	go h.hear(ctx, conn, line)
	for {
		select {
		case <-ctx.Done():
			return
		case frame := <-line.out:
			if conn.Write(ctx, websocket.MessageText, frame) != nil {
				return
			}
		}
	}
}

// hear answers pings.
func (h *hub) hear(ctx context.Context, conn *websocket.Conn, line *wire) {
	defer line.close()
	for {
		_, text, err := conn.Read(ctx)
		if err != nil {
			return
		}
		var ping struct{ ConversationID string }
		if json.Unmarshal(text, &ping) != nil {
			return
		}
		h.mu.Lock()
		h.pings++
		h.open = ping.ConversationID
		hello, _ := json.Marshal(map[string]any{"type": "hello", "data": map[string]any{"ping_seconds": h.ping}})
		pong, _ := json.Marshal(map[string]any{"type": "pong", "seq": line.seq, "data": map[string]any{}})
		if !h.mute {
			line.out <- hello
			line.out <- pong
		}
		h.mu.Unlock()
	}
}

// push sends a frame to every connection; the text of an answer in progress has no number.
func (h *hub) push(kind string, data map[string]any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for line := range h.lines {
		frame := map[string]any{"type": kind, "at": time.Now(), "data": data}
		what := pass
		if !strings.HasPrefix(kind, "ai:text") {
			line.seq++
			frame["seq"] = line.seq
			if h.fault != nil {
				what = h.fault(line.seq)
			}
		}
		text, err := json.Marshal(frame)
		if err != nil {
			panic(err)
		}
		line.send(what, text)
	}
}

func (l *wire) send(what verb, text []byte) {
	held := l.after
	l.after = nil
	switch what {
	case drop:
	case late:
		l.after = text
	case twice:
		l.out <- text
		l.out <- text
	default:
		l.out <- text
	}
	if held != nil {
		l.out <- held
	}
}

// raw sends a text unchanged to every connection.
func (h *hub) raw(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for line := range h.lines {
		line.out <- []byte(text)
	}
}

func (h *hub) set(f func(*hub)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f(h)
}

// cut closes every connection.
func (h *hub) cut() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for line := range h.lines {
		line.close()
	}
}

func (h *hub) count() (open, ever, asked int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.lines), h.opened, h.asked
}
