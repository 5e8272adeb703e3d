package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// ping is the message that keeps a connection open.
const ping = `{"action":"ping"}`

// push is one pushed message.
type push struct {
	Type string `json:"type"`
	Seq  *int64 `json:"seq"`
	Data struct {
		Chat    string          `json:"conversationId"`
		Run     string          `json:"run_id"`
		Message json.RawMessage `json:"message"`
		Event   json.RawMessage `json:"event"`
	} `json:"data"`
}

// watch is a client of the WebSocket API. It reconnects when necessary, and reads the missed data
// from the API after each connect and after each gap in the sequence numbers.
type watch struct {
	v    *user
	stop context.CancelFunc
	done chan struct{}

	mu       sync.Mutex
	conn     *websocket.Conn
	seq      int64    // number of the last push on this connection
	gaps     []string // each gap that the API filled: the push, and the number before it
	events   []string
	messages map[string]string // by id
	pushed   []string          // each pushed event or message, of all connections
	pongs    chan int64
	wrong    []error
}

// listen connects, and reconnects until the end.
func (v *user) listen() error {
	ctx, stop := context.WithCancel(context.Background())
	w := &watch{v: v, stop: stop, done: make(chan struct{}), messages: map[string]string{}, pongs: make(chan int64, 1)}
	v.watch = w
	ready := make(chan struct{})
	go func() {
		defer close(w.done)
		for once := sync.OnceFunc(func() { close(ready) }); ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
			w.connect(ctx, once)
		}
	}()
	select {
	case <-ready:
		return nil
	case <-time.After(patience):
		return errors.New("it was never connected")
	}
}

// close ends the watch, if it ever began.
func (w *watch) close() {
	if w != nil {
		w.stop()
		<-w.done
	}
}

// connect serves one connection from its beginning to its end.
func (w *watch) connect(ctx context.Context, ready func()) {
	conn, res, err := websocket.Dial(ctx, "ws://"+w.v.d.addr+"/realtime", &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + token}},
	})
	if res != nil && res.Body != nil {
		_ = res.Body.Close()
	}
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(1 << 20)
	w.fetchMissed() // later data is pushed here, because the connection is registered
	w.mu.Lock()
	w.conn, w.seq = conn, 0
	w.mu.Unlock()
	ready()
	for {
		_, text, err := conn.Read(ctx)
		if err != nil {
			return
		}
		var p push
		if err := json.Unmarshal(text, &p); err != nil {
			w.fail(err)
			continue
		}
		w.receive(p)
	}
}

func (w *watch) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, err)
}

// receive handles a push.
func (w *watch) receive(p push) {
	w.mu.Lock()
	next, known := p.Seq != nil && *p.Seq == w.seq+1, true
	if p.Type == "pong" && p.Seq != nil {
		select {
		case w.pongs <- *p.Seq:
		default:
		}
	}
	if p.Seq == nil || p.Type == "pong" {
		w.mu.Unlock()
		return
	}
	before := w.seq
	w.seq = max(w.seq, *p.Seq)
	switch p.Type {
	case "message":
		w.pushed = append(w.pushed, string(p.Data.Message))
		w.addMessage(p.Data.Message)
	case "run":
		if p.Data.Event == nil { // it has no number yet, and is pushed again when it has
			break
		}
		w.pushed = append(w.pushed, string(p.Data.Event))
		known = w.addEvent(p.Data.Event) // another function may have pushed the event before it later
	}
	if !next {
		w.gaps = append(w.gaps, fmt.Sprintf("%s %d after %d", p.Type, *p.Seq, before))
	}
	w.mu.Unlock()
	if !next || !known {
		w.fetchMissed()
	}
}

// addEvent adds an event if it is the next one, and reports whether it is now known; the caller
// holds mu.
func (w *watch) addEvent(raw json.RawMessage) bool {
	var e struct{ Seq int }
	_ = json.Unmarshal(raw, &e)
	if e.Seq == len(w.events)+1 {
		w.events = append(w.events, string(raw))
	}
	return e.Seq <= len(w.events)
}

func (w *watch) addMessage(raw json.RawMessage) {
	var m struct{ ID string }
	_ = json.Unmarshal(raw, &m)
	w.messages[m.ID] = string(raw)
}

// fetchMissed reads the unknown data from the API.
func (w *watch) fetchMissed() {
	events, messages, err := w.v.history()
	if err != nil {
		w.fail(err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range events {
		w.addEvent(e)
	}
	for _, m := range messages {
		w.addMessage(m)
	}
}

// history returns the events of the chat's run, and its messages, from the API.
func (v *user) history() (events, messages []json.RawMessage, err error) {
	chat, err := v.client.get("/api/chats/" + v.chat)
	if err != nil {
		return nil, nil, err
	}
	said, err := v.client.get("/api/chats/" + v.chat + "/messages?limit=200")
	if err != nil {
		return nil, nil, err
	}
	var run string
	for _, name := range []string{"pending_run_id", "active_run_id", "last_run_id"} {
		if run == "" {
			run = chat.text(name)
		}
	}
	var in struct{ Events, Messages []json.RawMessage }
	if run != "" {
		done, err := v.client.get("/api/runs/" + run + "/events")
		if err = errors.Join(err, json.Unmarshal(done.body, &in)); err != nil {
			return nil, nil, err
		}
	}
	err = json.Unmarshal(said.body, &in)
	return in.Events, in.Messages, err
}

// waitForPushes waits until the last push on the present connection was received. A push whose
// number was taken but that never arrives is a gap: a pong reveals it, and the API fills it. Only a death loses one, so
// where nobody died, it is waited for longer: a busy machine pushes late.
func (w *watch) waitForPushes(died bool) error {
	late := time.Now().Add(soon - time.Second)
	if died {
		late = time.Now().Add(time.Second)
	}
	for deadline := time.Now().Add(soon); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		w.mu.Lock()
		conn := w.conn
		w.mu.Unlock()
		if conn == nil || conn.Write(context.Background(), websocket.MessageText, []byte(ping)) != nil {
			continue
		}
		select {
		case last := <-w.pongs:
			if w.isCurrent(last, time.Now().After(late)) {
				return nil
			}
		case <-time.After(time.Second):
		}
	}
	return errors.New("no ping was answered")
}

// isCurrent reports whether the number of a pong is that of the last push. If late is set, it
// accepts the number and fills the gap.
func (w *watch) isCurrent(last int64, late bool) bool {
	w.mu.Lock()
	lost := last > w.seq && late
	if lost {
		w.gaps = append(w.gaps, fmt.Sprintf("pong %d after %d", last, w.seq))
		w.seq = last
	}
	is := last == w.seq
	w.mu.Unlock()
	if lost {
		w.fetchMissed()
	}
	return is
}

// checkWatch checks that the client knows every event once and in order, and every message. Where nobody died, the
// pushes alone must be enough. They may overtake each other, because each function pushes its own changes. No push may
// contain false data.
func checkWatch(v *user) error {
	w := v.watch
	deaths, _ := v.d.deathCount()
	wrong := []error{w.waitForPushes(deaths > 0)}
	if v.d.lostFunction() { // between a transaction and its push: no number shows it, so a client reads now and then
		w.fetchMissed()
	}
	events, messages, err := v.history()
	wrong = append(wrong, err)
	for range 50 { // a push may still be in flight
		w.mu.Lock()
		all := len(w.events) >= len(events) && len(w.messages) >= len(messages)
		w.mu.Unlock()
		if all {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	w.close()
	// After a death, a push may overtake one to a connection that is just being opened. Functions that are processes of
	// their own may not know a new connection. Effects that run in invocations of their own push side by side.
	if deaths == 0 && v.d.functions == "" && !slices.Contains(v.d.env, apart[0]) {
		if len(w.gaps) > 0 {
			wrong = append(wrong, fmt.Errorf("nobody died, and there were gaps: %s", strings.Join(w.gaps, ", ")))
		}
		for _, e := range events {
			if !contains(w.pushed, string(e)) {
				wrong = append(wrong, fmt.Errorf("nobody died, and it was not pushed: %s", e))
			}
		}
	}
	wrong = append(wrong, w.wrong...)
	if len(w.events) != len(events) || len(w.messages) != len(messages) {
		wrong = append(wrong, fmt.Errorf("it knows %d of %d events and %d of %d messages", len(w.events), len(events), len(w.messages), len(messages)))
	}
	var known []string
	for _, list := range [][]json.RawMessage{events, messages} {
		for _, e := range list {
			known = append(known, string(e))
		}
	}
	for _, p := range w.pushed {
		if !contains(known, p) {
			wrong = append(wrong, fmt.Errorf("it was told what is not so: %s\nof\n%s", p, strings.Join(known, "\n")))
		}
	}
	return errors.Join(wrong...)
}

// contains reports whether list has JSON with the same value.
func contains(list []string, text string) bool {
	var want any
	if json.Unmarshal([]byte(text), &want) != nil {
		return false
	}
	for _, s := range list {
		var got any
		if json.Unmarshal([]byte(s), &got) == nil && reflect.DeepEqual(got, want) {
			return true
		}
	}
	return false
}
