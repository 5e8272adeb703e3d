package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"
)

// TestAFollowingRequestEndsWhenNothingComes, is sent once, and the next one has another connection: one that was open may be dead without a
// word. An answer that comes slowly is no silence.
func TestAFollowingRequestEndsWhenNothingComes(t *testing.T) {
	gone := make(chan struct{})
	defer close(gone)
	var open sync.Map // addresses of clients whose connections are dead
	slow := func(w http.ResponseWriter, _ *http.Request) {
		for _, part := range []string{`{"ID":`, `"a`, `b`, `c"`, `}`} {
			_, _ = io.WriteString(w, part)
			_ = http.NewResponseController(w).Flush()
			time.Sleep(120 * time.Millisecond)
		}
	}
	dead := func(w http.ResponseWriter, r *http.Request) {
		open.Store(r.RemoteAddr, true)
		<-gone
	}
	c, n := serve(t, slow, dead, func(w http.ResponseWriter, r *http.Request) {
		if _, ok := open.Load(r.RemoteAddr); ok {
			t.Error("it has the connection that is dead")
		}
		reply(200, `{"ID":"a"}`)(w, r)
	}, reply(429, `{"code":"request.too_many"}`, "Retry-After", "7"))
	c = c.Following()
	if c.silence != silence {
		t.Errorf("it waits for %s", c.silence)
	}
	c.silence = 300 * time.Millisecond
	if got, err := Get[thing](t.Context(), c, "/api/x", nil); err != nil || got.ID != "abc" {
		t.Errorf("slowly: %v %v", got, err)
	}
	_, err := Get[thing](t.Context(), c, "/api/x", nil)
	lost, ok := errors.AsType[*UnreachableError](err)
	if !ok || lost.Came != CameNothing || errors.Is(err, context.Canceled) || n.Load() != 2 {
		t.Errorf("%v, %d requests", err, n.Load())
	}
	if got, err := Get[thing](t.Context(), c, "/api/x", nil); err != nil || got.ID != "a" {
		t.Errorf("%v %v", got, err)
	}
	_, err = Get[thing](t.Context(), c, "/api/x", nil)
	if p, ok := errors.AsType[*Problem](err); !ok || p.Wait != 7*time.Second || n.Load() != 4 {
		t.Errorf("%v, %d requests", err, n.Load())
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Get[thing](ctx, c, "/api/x", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
