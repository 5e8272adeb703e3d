package process

import (
	"context"
	"encoding/json"
	"fmt"
	"localaws/stepfunctions"
	"localaws/template"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/access/rate"
	"piloto/internal/boot"
	"piloto/internal/boot/receipts"
	"piloto/internal/boot/registry"
	"piloto/internal/boot/tools"
	"piloto/internal/boot/web"
	"piloto/internal/edge/gateway"
	"piloto/internal/edge/telemetry"
	"piloto/internal/ground/ids"
)

// httpFunctions builds each function that answers the HTTP API, by its folder.
var httpFunctions = map[string]func(boot.World, boot.Environment) (http.Handler, error){
	"chat": tools.Chat, "confirm": boot.Confirm, "eligibility": boot.Eligibility, "mcp": registry.New,
	"records": boot.Records, "web": web.New,
}

// taskFunctions builds each function that answers events, by its folder.
var taskFunctions = map[string]func(boot.World, boot.Environment) (gateway.Function, error){
	"step": tools.Step, "turn": tools.Turn, "settle": receipts.Settle, "reason": boot.Reason, "sweep": receipts.Sweep, "authorize": boot.Authorize,
	"realtime": boot.Realtime,
}

// functions are the template's functions, built as a deployment builds them.
type functions struct {
	template *template.Template
	byARN    map[string]string // function ARN → logical id
	http     map[string]http.Handler
	tasks    map[string]gateway.Function
	timeouts map[string]time.Duration

	lambdas *lambdas     // nil: the functions are in this process, above
	api     http.Handler // before the lambdas

	now    func() time.Time
	log    *slog.Logger
	tokens auth.Store
	meter  *rate.Meter    // of what is asked before a function is called
	busy   sync.WaitGroup // requests, tasks and schedules under way

	mu    sync.Mutex
	until time.Time      // set once no task of a run begins any more: when those under way are given up
	calls sync.WaitGroup // those under way
}

// build builds every function of the template with the environment a deployment
// would give it, in the world that worldOf gives it.
func (f *functions) build(worldOf func(template.Function) (boot.World, error), d *template.Deployment) (err error) {
	f.http, f.tasks, f.timeouts = map[string]http.Handler{}, map[string]gateway.Function{}, map[string]time.Duration{}
	for _, fn := range f.template.Functions {
		environment := boot.Environment(d.Environment[fn.ID])
		if f.timeouts[fn.ID], err = timeOf(fn, environment); err != nil {
			return err
		}
		world, err := worldOf(fn)
		if err != nil {
			return err
		}
		world.Log = func(slog.Level) *slog.Logger { return telemetry.Named(f.log, "piloto."+fn.Name) }
		if build, ok := httpFunctions[fn.Name]; ok {
			f.http[fn.ID], err = build(world, environment)
			if woken, ok := f.http[fn.ID].(gateway.Woken); ok {
				f.tasks[fn.ID] = woken.Function
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

// timeOf is how long a function may take. On one machine no route gives up, so that a
// turn may take what its parts are set to.
func timeOf(fn template.Function, e boot.Environment) (time.Duration, error) {
	if fn.Name != "chat" && fn.Name != "turn" {
		return fn.Timeout, nil
	}
	turn, err := boot.TurnTime(e)
	return max(fn.Timeout, turn), err
}

// Invoke implements stepfunctions.Invoker. Once the process is stopping, a call
// that has not begun is given up: the engine makes it after the restart.
func (f *functions) Invoke(ctx context.Context, arn string, payload []byte) ([]byte, *stepfunctions.FunctionError, error) {
	id, ok := f.byARN[arn]
	if !ok || f.lambdas == nil && f.tasks[id] == nil {
		return nil, &stepfunctions.FunctionError{Type: "Lambda.ResourceNotFoundException", Message: "Function not found: " + arn}, nil
	}
	if !f.begin() {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	}
	defer f.calls.Done()
	return f.task(ctx, id, payload)
}

func (f *functions) begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.until.IsZero() {
		return false
	}
	f.calls.Add(1)
	return true
}

// halt has no further task of a run begin; those under way have stopGrace to end.
func (f *functions) halt() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.until.IsZero() {
		f.until = time.Now().Add(stopGrace)
	}
}

// drain waits for the tasks under way, as long as halt gave them: one that is
// given up in the middle of an unsafe call leaves its step in doubt.
func (f *functions) drain() {
	f.halt()
	done := make(chan struct{})
	go func() {
		f.calls.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Until(f.until)):
	}
}

// close ends functions that are processes of their own.
func (f *functions) close() {
	if f.lambdas != nil {
		f.lambdas.close()
	}
}

// task calls a function within its time.
func (f *functions) task(ctx context.Context, id string, payload []byte) ([]byte, *stepfunctions.FunctionError, error) {
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
		told := gateway.FailureOf(err)
		return nil, &stepfunctions.FunctionError{Type: told.Type, Message: told.Message}, nil
	}
	return out, nil, nil
}

// invoke calls a function; one that panics has failed, and the process goes on.
func (f *functions) invoke(ctx context.Context, id string, payload []byte) (out []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			f.log.ErrorContext(ctx, "function.panic", "function", id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			out, err = nil, fmt.Errorf("%s panicked", id)
		}
	}()
	return f.tasks[id].Invoke(ctx, payload)
}

// ServeHTTP is the HTTP API. As on AWS, a call goes on when the client leaves: its
// answer is in the chat later.
func (f *functions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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

// serve chooses the route as API Gateway does, asks who is calling with the
// authorizer's own code, and calls the route's function.
func (f *functions) serve(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	route, ok := f.template.Route(r.Method, r.URL.EscapedPath())
	if !ok {
		http.NotFound(w, r)
		return
	}
	ctx, cancel := context.WithTimeout(gateway.WithCame(ctx, f.now()), f.timeouts[route.Function])
	defer cancel()
	if !route.Open {
		p, refusal := gateway.Identify(ctx, f.tokens, f.meter, f.now(), gateway.Asking{
			Method: r.Method, Header: r.Header, Host: r.Host, Address: r.RemoteAddr,
		})
		ctx = gateway.WithIdentity(ctx, p, refusal)
	}
	f.http[route.Function].ServeHTTP(w, r.WithContext(ctx))
}

// secondLook is when a schedule calls again after the start: what was answered
// just before a kill is not yet due at the first call.
const secondLook = 3 * time.Second

// schedule calls the functions that the template has called at a fixed rate, at
// once, a second time soon, and then each time it has passed, until ctx ends.
func (f *functions) schedule(ctx context.Context, failed func(id string, err error)) {
	for _, fn := range f.template.Functions {
		for _, s := range fn.Schedules {
			f.busy.Add(1)
			go func() {
				defer f.busy.Done()
				tick := time.NewTicker(min(s.Every, secondLook))
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
	_, failure, err := f.task(ctx, id, event)
	if failure != nil {
		return failure
	}
	return err
}

// changed delivers an execution's status change to the rules it matches.
func (f *functions) changed(ctx context.Context, rules []template.EventRule, e stepfunctions.Event) error {
	raw, err := json.Marshal(e)
	if err != nil {
		return err
	}
	for _, rule := range rules {
		if !rule.Pattern.Matches(raw) {
			continue
		}
		if _, failure, err := f.task(ctx, rule.Function, raw); err != nil {
			return err
		} else if failure != nil {
			return failure
		}
	}
	return nil
}
