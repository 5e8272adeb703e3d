package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// listener is a client with a connection, which counts the pushes that it gets.
type listener struct {
	conn   *websocket.Conn
	pushes atomic.Int64
	pongs  chan struct{}
}

// listen connects a client that has a chat open.
func (s *system) listen(ctx context.Context, chat string) (*listener, error) {
	conn, response, err := websocket.Dial(ctx, strings.Replace(s.origin, "http://", "ws://", 1)+"/realtime", &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + token}},
	})
	if response != nil && response.Body != nil {
		_ = response.Body.Close()
	}
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(1 << 20)
	l := &listener{conn: conn, pongs: make(chan struct{}, 1)}
	go l.read(ctx)
	ping, err := json.Marshal(map[string]string{"action": "ping", "conversationId": chat})
	if err == nil {
		err = conn.Write(ctx, websocket.MessageText, ping)
	}
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	select {
	case <-l.pongs:
		return l, nil
	case <-time.After(time.Minute):
		return nil, errors.Join(errors.New("no ping was answered"), l.close())
	}
}

// read counts pushes until the connection ends.
func (l *listener) read(ctx context.Context) {
	for {
		_, text, err := l.conn.Read(ctx)
		if err != nil {
			return
		}
		var p struct{ Type string }
		if json.Unmarshal(text, &p) == nil && p.Type == "pong" {
			l.pongs <- struct{}{}
			continue
		}
		l.pushes.Add(1)
	}
}

// awaitQuiet returns the number of pushes once none has come for a while.
func (l *listener) awaitQuiet() int {
	for {
		n := l.pushes.Load()
		time.Sleep(50 * pause)
		if l.pushes.Load() == n {
			return int(n)
		}
	}
}

func (l *listener) close() error { return l.conn.CloseNow() }
