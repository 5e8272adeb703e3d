package step_test

import (
	"context"
	"encoding/json"
	"runtime"
	"sync"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/step"
	"piloto/internal/tools/tool"
)

// patient records the deadline of a call, and its tool's; then it answers as the test says.
type patient struct {
	mu      sync.Mutex
	left    time.Duration
	call    tool.Call
	answers func(context.Context, tool.Call) (tool.Answer, error)
}

func (p *patient) Send(ctx context.Context, _ tool.Request, _ tool.Keys, _ int64) (tool.Answer, error) {
	return p.CallTool(ctx, tool.Call{})
}

func (p *patient) CallTool(ctx context.Context, c tool.Call) (tool.Answer, error) {
	until, _ := ctx.Deadline()
	p.mu.Lock()
	p.left, p.call = time.Until(until), c
	p.mu.Unlock()
	if p.answers != nil {
		return p.answers(ctx, c)
	}
	return tool.Answer{Status: 200}, nil
}

// orders returns steps that call a tool of an MCP server.
func orders(n int) []plan.ProposedStep {
	steps := abreast(n)
	for i := range steps {
		steps[i].Title, steps[i].MCPID, steps[i].Tool, steps[i].Method, steps[i].Path = "Pedir", "shop", "order", "", ""
		steps[i].Body = json.RawMessage(`{}`)
	}
	return steps
}

// newOrder returns a run of steps that call a tool, or of requests.
func newOrder(t *testing.T, p *patient, steps ...plan.ProposedStep) (*fixture.World, plan.Run) {
	t.Helper()
	order := tool.Operation{Entry: tool.Entry{Name: "order", Fingerprint: "f1"}, Body: &tool.Body{Required: true, MediaType: "application/json", Schema: json.RawMessage(`{"type":"object"}`)}}
	w := fixture.NewWorld(t)
	allowed := tool.Catalogue{Revision: w.IDs.New(w.Clock()), Operations: []tool.Operation{order}}
	server := tool.Server{ID: "shop", Name: "Tienda", Kind: tool.KindMCP, BaseURL: "https://shop.example", Active: true, Catalogue: allowed.Revision, Operations: 1}
	must(t, w.Store.Registry.CreateServer(t.Context(), fixture.Account, server, allowed, nil))
	out := w.Plan(plan.Proposal{Goal: "Pedir", Steps: steps})
	for _, s := range out.Steps {
		if s.Tool != "" {
			out.Bindings = append(out.Bindings, plan.Binding{StepID: s.ID, MCPID: "shop", ServerName: "Tienda", BaseURL: "https://shop.example", Fingerprint: "f1"})
		}
	}
	r := confirmed(t, w, out)
	w.Steps.Sender, w.Steps.Caller = p, p
	return w, r
}

// A call that is cut off by the timeout of the step function would be in doubt, whatever its response: a call ends earlier.
func TestCallsEndInTimeToWriteTheirResult(t *testing.T) {
	const most, prepares = step.FunctionTime - time.Minute, tool.PrepareTime
	for name, c := range map[string]struct {
		step     plan.ProposedStep
		patience time.Duration
		left     time.Duration // of the context
		within   time.Duration // of a tool without progress
	}{
		"a request":              {booking(), 0, step.UsualPatience, 0},
		"a request, as set":      {booking(), step.MostPatience, step.MostPatience, 0},
		"a tool":                 {orders(1)[0], 0, most, prepares + step.UsualPatience},
		"a tool, as set":         {orders(1)[0], 2 * time.Second, most, prepares + 2*time.Second},
		"a tool, as long as any": {orders(1)[0], step.MostPatience, most, most},
	} {
		t.Run(name, func(t *testing.T) {
			p := &patient{}
			w, r := newOrder(t, p, c.step)
			w.Steps.Patience = c.patience
			if got := drive(t, w, r, "s1"); got != "done" {
				t.Fatalf("ended %s", got)
			}
			if d := c.left - p.left; d < 0 || d > 45*time.Second || p.call.Within != c.within || p.left > most {
				t.Errorf("it may take %v, and %v without progress; want %v and %v", p.left, p.call.Within, c.left, c.within)
			}
		})
	}
}

// An invocation that died leaves an open attempt. Nobody decides about it before its own call must be over, and somebody does
// as soon as it is: not after the longest time that any call could take.
func TestAnAttemptSaysUntilWhenItsCallMayGoOn(t *testing.T) {
	const outlives = 45 * time.Second
	for name, c := range map[string]struct {
		step     plan.ProposedStep
		patience time.Duration
		progress []time.Duration // when it is reported, in seconds of the clock
		over     time.Duration
	}{
		"a request":               {booking(), 0, nil, time.Minute + outlives},
		"a request of a second":   {booking(), time.Second, nil, time.Second + outlives},
		"a request, as set":       {booking(), step.MostPatience, nil, step.MostPatience + outlives},
		"a tool":                  {orders(1)[0], 0, nil, 2*time.Minute + outlives},
		"a tool, as set":          {orders(1)[0], step.MostPatience, nil, 14*time.Minute + outlives},
		"a tool that reports":     {orders(1)[0], 0, []time.Duration{100 * time.Second}, 100*time.Second + 2*time.Minute + outlives},
		"a tool, again and again": {orders(1)[0], 0, []time.Duration{100 * time.Second, 200 * time.Second}, 200*time.Second + 2*time.Minute + outlives},
		"a tool, to the end":      {orders(1)[0], 0, []time.Duration{13 * time.Minute}, 14*time.Minute + outlives},
	} {
		t.Run(name, func(t *testing.T) {
			p := &patient{}
			w, r := newOrder(t, p, c.step)
			w.Steps.Patience = c.patience
			began := w.Clock()
			p.answers = func(ctx context.Context, call tool.Call) (tool.Answer, error) {
				for _, at := range c.progress {
					w.Pass(began.Add(at).Sub(w.Clock()))
					if got := call.Prolong(ctx, time.Minute); got < time.Minute || began.Add(at+got).Before(began.Add(at+time.Minute)) {
						t.Errorf("%s were granted", got)
					}
				}
				runtime.Goexit()
				return tool.Answer{}, nil
			}
			done := make(chan struct{})
			go func() { defer close(done); execute(t, w, r, "s1") }()
			<-done
			p.answers = nil
			w.Pass(began.Add(c.over).Sub(w.Clock()) - time.Second)
			if got := execute(t, w, r, "s1"); got != step.Throttled {
				t.Errorf("a second before its end it is %q", got)
			}
			w.Pass(time.Second)
			if got := execute(t, w, r, "s1"); got != step.InDoubt {
				t.Errorf("at its end it is %q", got)
			}
		})
	}
}

// What is stored while a call goes on changes neither its result nor the events, alone and beside others, in one
// invocation and in several.
func TestAProlongedCallEndsAsAnyOther(t *testing.T) {
	for name, c := range map[string]struct{ effects, steps int }{"alone": {1, 1}, "in one invocation": {3, 3}, "in invocations of their own": {3, 1}} {
		t.Run(name, func(t *testing.T) {
			p := &patient{}
			w, r := newOrder(t, p, orders(c.effects)...)
			w.Steps.Steps = c.steps
			var late tool.Prolong
			p.answers = func(ctx context.Context, call tool.Call) (tool.Answer, error) {
				for range 3 {
					if got := call.Prolong(ctx, time.Minute); got != 2*time.Minute {
						t.Errorf("%s were granted", got)
					}
				}
				p.mu.Lock()
				late = call.Prolong
				p.mu.Unlock()
				return tool.Answer{Status: 200, Body: []byte(`{"content":[]}`)}, nil
			}
			if c.steps > 1 { // the others write at the same time, so that one extension is enough to try
				p.answers = func(ctx context.Context, call tool.Call) (tool.Answer, error) {
					if call.Prolong(ctx, time.Minute) != 2*time.Minute {
						t.Error("nothing was granted")
					}
					return tool.Answer{Status: 200}, nil
				}
			}
			w.Execute(r.ID)
			now := w.Read(r.ID)
			if now.Status != plan.Done {
				t.Fatalf("the run is %s: %s", now.Status, status(w, r, "s1"))
			}
			receiptOf(t, w, r.ID)
			if late != nil && late(t.Context(), time.Minute) != 0 {
				t.Error("a call that is over was granted more time")
			}
		})
	}
}
