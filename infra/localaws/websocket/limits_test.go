package websocket

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
)

// TestIdleAndOldConnectionsEnd, at API Gateway's times.
func TestIdleAndOldConnectionsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		every time.Duration // between two messages; 0: none
		ours  bool          // sent by the gateway
		lasts time.Duration
	}{
		"silent":       {0, false, Idle},
		"asking":       {9 * time.Minute, false, Life},
		"told":         {9 * time.Minute, true, Life},
		"asked rarely": {11 * time.Minute, false, Idle},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var ended time.Time
				id := make(chan string, 1)
				g := New(Options{
					API: "api", Stage: "live", Now: time.Now, Log: slog.New(slog.DiscardHandler),
					Invoke: func(_ context.Context, route string, raw []byte) ([]byte, error) {
						var e event
						if err := json.Unmarshal(raw, &e); err != nil {
							t.Error(err)
						}
						switch route {
						case "$connect":
							id <- e.RequestContext.ConnectionID
						case "$disconnect":
							mu.Lock()
							ended = time.Now()
							mu.Unlock()
						}
						return []byte(`{"statusCode":200}`), nil
					},
				})
				line := newPipes()
				server := &http.Server{Handler: g}
				go func() { _ = server.Serve(line) }()
				transport := &http.Transport{DialContext: line.dial}
				conn, _, err := websocket.Dial(t.Context(), "ws://gateway/realtime", &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				over := make(chan error, 1)
				go func() {
					for {
						if _, _, err := conn.Read(context.Background()); err != nil {
							over <- err
							return
						}
					}
				}()
				synctest.Wait()
				to := g.find(<-id)
				var tick <-chan time.Time
				if c.every > 0 {
					ticker := time.NewTicker(c.every)
					defer ticker.Stop()
					tick = ticker.C
				}
				for err == nil {
					select {
					case err = <-over:
					case <-tick:
						if c.ours {
							to.post(websocket.MessageText, []byte("x"))
						} else {
							_ = conn.Write(context.Background(), websocket.MessageText, []byte("x"))
						}
					}
				}
				if websocket.CloseStatus(err) != websocket.StatusGoingAway {
					t.Error(err)
				}
				synctest.Wait()
				mu.Lock()
				if lasted := ended.Sub(began); lasted != c.lasts {
					t.Errorf("it lasted %s, want %s", lasted, c.lasts)
				}
				mu.Unlock()
				_ = conn.CloseNow()
				g.Close()
				_ = server.Close()
				transport.CloseIdleConnections()
			})
		})
	}
}
