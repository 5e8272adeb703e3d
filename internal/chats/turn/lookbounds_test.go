package turn_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"piloto/internal/chats/job"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
)

// manyLooks asks for n looks in one reply, the first one at from.
func (w *world) manyLooks(from, n int) llm.Reply {
	var many []string
	for i := range n {
		many = append(many, "look", lookAt(w.Server.ID, fmt.Sprintf("/bookings/%d", from+i)))
	}
	return calls(many...)
}

// doorman is a service whose answers wait until its door opens.
type doorman struct {
	inside atomic.Int32
	door   chan struct{}
}

func (g *doorman) Read(context.Context, plan.Bound) (plan.ReadAnswer, error) {
	g.inside.Add(1)
	<-g.door
	g.inside.Add(-1)
	return plan.ReadAnswer{Result: &plan.Result{Status: 200, Body: []byte(rooms)}}, nil
}

// TestFourLooksOfAReplyRunAtOnce: and as many as are left at the end.
func TestFourLooksOfAReplyRunAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLookWorld(t)
		g := &doorman{door: make(chan struct{})}
		w.service.Reads = g
		w.model.answers = []any{w.manyLooks(0, 10), text("ya")}
		done := make(chan struct{})
		go func() { w.send(t, "mira"); close(done) }()
		for left := 10; left > 0; left-- {
			synctest.Wait()
			if at := g.inside.Load(); int(at) != min(4, left) {
				t.Errorf("%d looks at once, and %d are left", at, left)
			}
			g.door <- struct{}{}
		}
		<-done
	})
}

// TestAJobLooks200Times: in all of its rounds together.
func TestAJobLooks200Times(t *testing.T) {
	w := newJobWorld(t)
	for i := range 18 {
		w.model.answers = append(w.model.answers, w.manyLooks(12*i, 12))
	}
	w.model.answers = append(w.model.answers, text("Basta."))
	j := w.drive(t, w.start(t, "build", job.Order{}).ID)
	if j.Status != job.Success || j.Reads != 200 || len(w.Requests()) != 200 || !strings.Contains(w.model.lastTool(), "enough was read") {
		t.Errorf("%s after %d looks, %d requests: %s", j.Status, j.Reads, len(w.Requests()), w.model.lastTool())
	}
}

// TestAPanicInAToolIsOneLineOfTheLog: of the tool with its name, so that it is found.
func TestAPanicInAToolIsOneLineOfTheLog(t *testing.T) {
	for name, c := range map[string]struct {
		set   func(*world)
		call  func(*world) llm.Reply
		lines string
	}{
		"a tool": {func(w *world) { w.service.Servers = panicky{w.Store.Registry} }, func(*world) llm.Reply { return calls("search_tools", `{"query":"salas"}`) }, "msg=turn.tool_panicked tool=search_tools error=\"broken row\""},
		"a look": {func(w *world) { w.service.Reads = panickyLooks{} }, func(w *world) llm.Reply { return w.looksAt(0) }, "msg=turn.look_panicked mcp_id=SERVER error=\"broken look\""},
	} {
		var log bytes.Buffer
		w := newLookWorld(t)
		c.set(w)
		w.service.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))
		w.model.answers = []any{c.call(w), text("ya")}
		if reply := w.send(t, "mira"); reply.Message.Content != "ya" {
			t.Errorf("%s: %+v", name, reply.Message)
		}
		if want := strings.ReplaceAll(c.lines, "SERVER", w.Server.ID); !strings.Contains(log.String(), want) || strings.Count(log.String(), "\n") != 1 {
			t.Errorf("%s: the log has %q", name, log.String())
		}
	}
}

type panickyLooks struct{}

func (panickyLooks) Read(context.Context, plan.Bound) (plan.ReadAnswer, error) {
	panic("broken look")
}
