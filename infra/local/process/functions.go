package process

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"localaws/stepfunctions"
	"localaws/template"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/access/rate"
	"piloto/internal/boot"
	"piloto/internal/boot/files"
	"piloto/internal/boot/receipts"
	"piloto/internal/boot/records"
	"piloto/internal/boot/registry"
	"piloto/internal/boot/tools"
	"piloto/internal/boot/web"
	"piloto/internal/edge/gateway"
	"piloto/internal/edge/telemetry"
	"piloto/internal/ground/ids"
)

// httpFunctions builds each function that answers the HTTP API, by its folder.
var httpFunctions = map[string]func(boot.World, boot.Environment) (http.Handler, error){
	"chat": tools.Chat, "router": tools.Router, "confirm": boot.Confirm, "jobs": boot.JobRoutes, "eligibility": boot.Eligibility, "mcp": registry.New,
	"records": records.New, "web": web.New, "files": files.New,
}

// taskFunctions builds each function that answers events, by its folder.
var taskFunctions = map[string]func(boot.World, boot.Environment) (gateway.Function, error){
	"step": tools.Step, "turn": tools.Turn, "agent": tools.Agent, "lifecycle": receipts.Lifecycle, "reason": boot.Reason, "conclude": boot.Conclude, "sweep": receipts.Sweep, "authorize": boot.Authorize,
	"realtime": boot.Realtime,
}

// functions holds the template's functions, built as in a deployment.
type functions struct {
	template *template.Template
	byARN    map[string]string // function ARN → logical id
	http     map[string]http.Handler
	tasks    map[string]gateway.Function
	timeouts map[string]time.Duration

	lambdas *lambdas     // nil: the functions run in this process, with the fields above
	api     http.Handler // in front of lambdas

	now    func() time.Time
	log    *slog.Logger
	tokens auth.Store
	meter  *rate.Meter    // counts the requests before a function is called
	busy   sync.WaitGroup // requests, tasks and schedules under way

	mu       sync.Mutex
	deadline time.Time      // deadline of the calls under way; zero until the process stops
	calls    sync.WaitGroup // the calls under way: of runs and of jobs, and requests that change something
	underWay int            // how many
	stopTime time.Duration  // that they have then
}

// build builds every function of the template. Each has the environment of a deployment, and the
// world that worldOf returns.
func (f *functions) build(worldOf func(template.Function) (boot.World, error), d *template.Deployment) (err error) {
	f.http, f.tasks, f.timeouts = map[string]http.Handler{}, map[string]gateway.Function{}, map[string]time.Duration{}
	for _, fn := range f.template.Functions {
		environment := boot.Environment(d.Environment[fn.ID])
		if f.timeouts[fn.ID], err = functionTimeout(fn, environment); err != nil {
			return err
		}
		world, err := worldOf(fn)
		if err != nil {
			return err
		}
		world.Log = func(slog.Level) *slog.Logger { return telemetry.Named(f.log, "piloto."+fn.Name) }
		if build, ok := httpFunctions[fn.Name]; ok {
			f.http[fn.ID], err = build(world, environment)
			if invoked, ok := f.http[fn.ID].(gateway.InvokedHandler); ok {
				f.tasks[fn.ID] = invoked.Function
			}
		} else if build, ok := taskFunctions[fn.Name]; ok {
			f.tasks[fn.ID], err = build(world, environment)
		} else {
			err = fmt.Errorf("template.yaml:%d: %s: there is no functions/%s", fn.Line, fn.ID, fn.Name)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", fn.ID, err)
		}
	}
	return nil
}

// functionTimeout returns the time limit of a function. In one process no route has a time limit of
// its own, so a turn may take the sum of its configured timeouts.
func functionTimeout(fn template.Function, e boot.Environment) (time.Duration, error) {
	if fn.Name != "chat" && fn.Name != "router" && fn.Name != "turn" && fn.Name != "agent" {
		return fn.Timeout, nil
	}
	turn, err := boot.TurnTime(e)
	return max(fn.Timeout, turn), err
}

// Invoke implements stepfunctions.Invoker. While the process stops, a new call waits until ctx ends
// and returns its error: the engine repeats the call after the restart.
func (f *functions) Invoke(ctx context.Context, arn string, payload []byte) ([]byte, *stepfunctions.FunctionError, error) {
	id, ok := f.byARN[arn]
	if !ok || f.lambdas == nil && f.tasks[id] == nil {
		return nil, missing(arn), nil
	}
	if !f.beginCall() {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	}
	defer f.endCall()
	return f.call(ctx, id, payload)
}

// called calls the functions that other functions invoke. Such a call is a part of the one that makes it, so it begins
// also while the process stops.
type called struct{ by *functions }

// Invoke implements stepfunctions.Invoker.
func (c called) Invoke(ctx context.Context, arn string, payload []byte) ([]byte, *stepfunctions.FunctionError, error) {
	id, ok := c.by.byARN[arn]
	if !ok || c.by.lambdas == nil && c.by.tasks[id] == nil {
		return nil, missing(arn), nil
	}
	return c.by.call(ctx, id, payload)
}

func missing(arn string) *stepfunctions.FunctionError {
	return &stepfunctions.FunctionError{Type: "Lambda.ResourceNotFoundException", Message: "Function not found: " + arn}
}

func (f *functions) beginCall() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.deadline.IsZero() {
		return false
	}
	f.calls.Add(1)
	f.underWay++
	return true
}

func (f *functions) endCall() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.underWay--
	f.calls.Done()
}

// halt lets no further call begin. The calls under way have stopTime to end.
func (f *functions) halt() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.deadline.IsZero() {
		f.deadline = time.Now().Add(cmp.Or(f.stopTime, stopGrace))
	}
}

// halted reports that no further call of a run begins.
func (f *functions) halted() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.deadline.IsZero()
}

// drain waits for the calls under way until the deadline that halt set, because an unsafe call that
// is interrupted leaves its step in doubt.
func (f *functions) drain() {
	f.halt()
	done := make(chan struct{})
	go func() {
		f.calls.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Until(f.deadline)):
	}
}

// tellUnderWay prints that the process waits for calls under way, when there are some.
func (f *functions) tellUnderWay(out io.Writer, who Person) {
	f.halt()
	f.mu.Lock()
	n, left := f.underWay, time.Until(f.deadline).Round(time.Second)
	f.mu.Unlock()
	if n > 0 {
		fmt.Fprintln(out, who.text("up.stopping", "n", strconv.Itoa(n), "left", left.String()))
	}
}

// close ends the functions that are processes of their own.
func (f *functions) close() {
	if f.lambdas != nil {
		f.lambdas.close()
	}
}

// call calls a function within its time limit.
func (f *functions) call(ctx context.Context, id string, payload []byte) ([]byte, *stepfunctions.FunctionError, error) {
	f.busy.Add(1)
	defer f.busy.Done()
	if f.lambdas != nil {
		return f.lambdas.invoke(ctx, id, payload)
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeouts[id])
	defer cancel()
	out, err := f.invoke(ctx, id, payload)
	if err != nil && ctx.Err() == context.DeadlineExceeded {
		return nil, &stepfunctions.FunctionError{
			Type: "Sandbox.Timedout", Message: fmt.Sprintf("Task timed out after %.2f seconds", f.timeouts[id].Seconds()),
		}, nil
	}
	if err != nil {
		failure := gateway.FailureOf(err)
		return nil, &stepfunctions.FunctionError{Type: failure.Type, Message: failure.Message}, nil
	}
	return out, nil, nil
}

// invoke calls a function. A panic becomes an error, and the process continues.
func (f *functions) invoke(ctx context.Context, id string, payload []byte) (out []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			f.log.ErrorContext(ctx, "function.panic", "function", id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			out, err = nil, fmt.Errorf("%s panicked", id)
		}
	}()
	return f.tasks[id].Invoke(ctx, payload)
}

// ServeHTTP serves the HTTP API. As on AWS, a call continues when the client disconnects: its
// answer is in the chat later.
func (f *functions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead { // nothing is lost when it is cut
		if f.halted() {
			refuseStopping(w)
			return
		}
	} else {
		if !f.beginCall() {
			refuseStopping(w)
			return
		}
		defer f.endCall()
	}
	f.busy.Add(1)
	defer f.busy.Done()
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	if serving, ok := r.Context().Value(servingKey{}).(context.Context); ok {
		defer context.AfterFunc(serving, cancel)()
	}
	if f.api != nil {
		f.api.ServeHTTP(w, r.WithContext(ctx))
		return
	}
	f.serve(ctx, w, r)
}

// refuseStopping answers a request that comes while the process stops.
func refuseStopping(w http.ResponseWriter) { refuseFor(w, "stopping") }

// refuseFor answers 503 with the state of the process.
func refuseFor(w http.ResponseWriter, status string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = io.WriteString(w, `{"status":"`+status+`"}`+"\n")
}

// serve chooses the route as API Gateway does, identifies the caller with the authorizer's code,
// and calls the route's function.
func (f *functions) serve(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	route, ok := f.template.Route(r.Method, r.URL.EscapedPath())
	if !ok {
		http.NotFound(w, r)
		return
	}
	ctx, cancel := context.WithTimeout(gateway.WithArrival(ctx, f.now()), f.timeouts[route.Function])
	defer cancel()
	if !route.Open {
		p, refusal := gateway.Identify(ctx, f.tokens, f.meter, f.now(), gateway.RequestInfo{
			Method: r.Method, Header: r.Header, Host: r.Host, Address: r.RemoteAddr,
		})
		ctx = gateway.WithIdentity(ctx, p, refusal)
	}
	f.http[route.Function].ServeHTTP(w, r.WithContext(ctx))
}

// secondCallDelay is the time between the first and the second call of a schedule. The second call
// is early because a request that was answered just before a kill is not due yet at the first call.
const secondCallDelay = 3 * time.Second

// schedule calls the scheduled functions of the template until ctx ends: at once, again after
// secondCallDelay, and then at their fixed rate.
func (f *functions) schedule(ctx context.Context, failed func(id string, err error)) {
	for _, fn := range f.template.Functions {
		for _, s := range fn.Schedules {
			f.busy.Add(1)
			go func() {
				defer f.busy.Done()
				tick := time.NewTicker(min(s.Every, secondCallDelay))
				defer tick.Stop()
				for calls := 1; ; calls++ {
					if err := f.wake(ctx, fn.ID); err != nil && ctx.Err() == nil {
						failed(fn.ID, err)
					}
					select {
					case <-ctx.Done():
						return
					case <-tick.C:
					}
					if calls == 1 {
						tick.Reset(s.Every)
					}
				}
			}()
		}
	}
}

func (f *functions) wake(ctx context.Context, id string) error {
	at := f.now()
	event, err := json.Marshal(map[string]any{
		"version": "0", "id": ids.NewTrace(), "detail-type": "Scheduled Event", "source": "aws.events",
		"time": at.Format(time.RFC3339), "detail": map[string]any{},
	})
	if err != nil {
		return err
	}
	_, failure, err := f.call(ctx, id, event)
	if failure != nil {
		return failure
	}
	return err
}

// deliverChange delivers a status change of an execution to the rules that match it.
func (f *functions) deliverChange(ctx context.Context, rules []template.EventRule, e stepfunctions.Event) error {
	raw, err := json.Marshal(e)
	if err != nil {
		return err
	}
	for _, rule := range rules {
		if !rule.Pattern.Matches(raw) {
			continue
		}
		if _, failure, err := f.call(ctx, rule.Function, raw); err != nil {
			return err
		} else if failure != nil {
			return failure
		}
	}
	return nil
}
