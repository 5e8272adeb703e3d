package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// ping is what keeps a connection.
const ping = `{"action":"ping"}`

// told is one push.
type told struct {
	Type string `json:"type"`
	Seq  *int64 `json:"seq"`
	Data struct {
		Chat    string          `json:"conversationId"`
		Run     string          `json:"run_id"`
		Message json.RawMessage `json:"message"`
		Event   json.RawMessage `json:"event"`
	} `json:"data"`
}

// watch is a client of the WebSocket API. It connects again whenever it must, and asks
// the API what it missed: when it is connected, and when a number is not the next one.
type watch struct {
	v    *visit
	stop context.CancelFunc
	over chan struct{}

	mu       sync.Mutex
	conn     *websocket.Conn
	seq      int64 // of the last push of this connection
	gaps     int   // that the API filled
	events   []string
	messages map[string]string // by id
	pushed   []string          // each event or message that was pushed, of all connections
	pongs    chan int64
	wrong    []error
}

// watches connects, and stays so.
func (v *visit) watches() error {
	ctx, stop := context.WithCancel(context.Background())
	w := &watch{v: v, stop: stop, over: make(chan struct{}), messages: map[string]string{}, pongs: make(chan int64, 1)}
	v.watch = w
	ready := make(chan struct{})
	go func() {
		defer close(w.over)
		for once := sync.OnceFunc(func() { close(ready) }); ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
			w.connection(ctx, once)
		}
	}()
	select {
	case <-ready:
		return nil
	case <-time.After(patience):
		return errors.New("it was never connected")
	}
}

// leave ends it, if it ever began.
func (w *watch) leave() {
	if w != nil {
		w.stop()
		<-w.over
	}
}

// connection is one, from its beginning to its end.
func (w *watch) connection(ctx context.Context, ready func()) {
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
	w.missed() // what is stored from now on is pushed here: the connection is known
	w.mu.Lock()
	w.conn, w.seq = conn, 0
	w.mu.Unlock()
	ready()
	for {
		_, text, err := conn.Read(ctx)
		if err != nil {
			return
		}
		var p told
		if err := json.Unmarshal(text, &p); err != nil {
			w.fail(err)
			continue
		}
		w.take(p)
	}
}

func (w *watch) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, err)
}

// take takes a push.
func (w *watch) take(p told) {
	w.mu.Lock()
	next := p.Seq != nil && *p.Seq == w.seq+1
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
	w.seq = max(w.seq, *p.Seq)
	switch p.Type {
	case "message":
		w.pushed = append(w.pushed, string(p.Data.Message))
		w.message(p.Data.Message)
	case "run":
		w.pushed = append(w.pushed, string(p.Data.Event))
		next = w.event(p.Data.Event) && next
	}
	if !next {
		w.gaps++
	}
	w.mu.Unlock()
	if !next {
		w.missed()
	}
}

// event takes an event when it is the next, or known; the caller holds mu.
func (w *watch) event(raw json.RawMessage) bool {
	var e struct{ Seq int }
	_ = json.Unmarshal(raw, &e)
	if e.Seq == len(w.events)+1 {
		w.events = append(w.events, string(raw))
	}
	return e.Seq <= len(w.events)
}

func (w *watch) message(raw json.RawMessage) {
	var m struct{ ID string }
	_ = json.Unmarshal(raw, &m)
	w.messages[m.ID] = string(raw)
}

// missed asks the API for what is not known yet. Until it is answered nothing is.
func (w *watch) missed() {
	events, messages, err := w.v.story()
	if err != nil {
		w.fail(err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range events {
		w.event(e)
	}
	for _, m := range messages {
		w.message(m)
	}
}

// story is what the API says happened: the events of the chat's run, and its messages.
func (v *visit) story() (events, messages []json.RawMessage, err error) {
	chat, err := v.get("/api/chats/" + v.chat)
	if err != nil {
		return nil, nil, err
	}
	said, err := v.get("/api/chats/" + v.chat + "/messages?limit=200")
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
		done, err := v.get("/api/runs/" + run + "/events")
		if err = errors.Join(err, json.Unmarshal(done.body, &in)); err != nil {
			return nil, nil, err
		}
	}
	err = json.Unmarshal(said.body, &in)
	return in.Events, in.Messages, err
}

// settle waits until the last push of the connection that there is was received. One
// that does not come, although its number was taken, is a gap: a pong shows it, and the
// API is asked.
func (w *watch) settle() error {
	late := time.Now().Add(time.Second)
	for deadline := time.Now().Add(soon); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		w.mu.Lock()
		conn := w.conn
		w.mu.Unlock()
		if conn == nil || conn.Write(context.Background(), websocket.MessageText, []byte(ping)) != nil {
			continue
		}
		select {
		case last := <-w.pongs:
			if w.current(last, time.Now().After(late)) {
				return nil
			}
		case <-time.After(time.Second):
		}
	}
	return errors.New("no ping was answered")
}

// current says whether the number of a pong is that of the last push. When it is late
// it is made so.
func (w *watch) current(last int64, late bool) bool {
	w.mu.Lock()
	lost := last > w.seq && late
	if lost {
		w.seq = last
		w.gaps++
	}
	is := last == w.seq
	w.mu.Unlock()
	if lost {
		w.missed()
	}
	return is
}

// holdsWatch: who listened knows every event once and in order, and every message; of
// what happened while a connection was there without a gap, by what was pushed alone.
// Nothing was pushed that is not so.
func holdsWatch(v *visit) error {
	w := v.watch
	wrong := []error{w.settle()}
	events, messages, err := v.story()
	wrong = append(wrong, err)
	for range 50 { // a push may be on its way
		w.mu.Lock()
		all := len(w.events) >= len(events) && len(w.messages) >= len(messages)
		w.mu.Unlock()
		if all {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	w.leave()
	if deaths, _ := v.d.dead(); deaths == 0 && w.gaps > 0 { // else a push may overtake one that meets a connection which is being opened
		wrong = append(wrong, fmt.Errorf("nobody died, and there were %d gaps", w.gaps))
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

// contains looks for JSON with the same value.
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
