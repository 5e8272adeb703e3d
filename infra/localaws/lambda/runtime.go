// Package lambda serves the Lambda Runtime API (2018-06-01) on loopback, so that the deployed
// bootstrap can be started and called on one machine.
//
// These rules hold:
//
//   - A process has one invocation at a time, like an execution environment.
//   - An invocation ends once: with the answer of the function, with its error
//     report, or with the error of Lambda, under Lambda's own names
//     (Sandbox.Timedout, Runtime.ExitError, Function.ResponseSizeTooLarge).
//   - Only the process gets its invocations, because they hold the tokens of users.
//   - A function continues when its caller stops waiting, and keeps its process
//     until it has answered or its time is up.
package lambda

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// The greatest sizes of a function's input and answer, in bytes. Lambda's 6 MB for an answer are a
// little more than that.
const (
	MaxPayload = 6 << 20
	maxAnswer  = MaxPayload + 100
)

// maxStarts is the number of processes that may end before one takes an invocation.
const maxStarts = 3

// The error types of Lambda itself.
const (
	ErrorTimeout  = "Sandbox.Timedout"
	ErrorExit     = "Runtime.ExitError"
	ErrorTooLarge = "Function.ResponseSizeTooLarge"
	ErrorUnknown  = "Runtime.Unknown" // an error report without a type
)

// FunctionError is the failure of a function. Payload is the JSON result of the invocation:
// {"errorMessage", "errorType", …}.
type FunctionError struct {
	Type    string
	Message string
	Payload json.RawMessage
}

func (e *FunctionError) Error() string { return e.Type + ": " + e.Message }

func functionError(kind, message string) *FunctionError {
	payload, err := json.Marshal(map[string]string{"errorMessage": message, "errorType": kind})
	if err != nil { // strings can always be encoded
		panic(err)
	}
	return &FunctionError{Type: kind, Message: message, Payload: payload}
}

// Runtime is the Runtime API of one function process: an http.Handler on one
// side, Invoke on the other.
type Runtime struct {
	arn     string
	timeout time.Duration
	routes  *http.ServeMux
	turn    chan struct{} // holds one token: its holder may invoke
	prepare func(context.Context) error
	expired func() // the process of a timed-out invocation must end

	mu      sync.Mutex
	current *invocation
	failed  *FunctionError // failure of the initialisation
	process generation
}

// generation holds the channels of one process, so that a request of an ended process can take
// nothing from the next.
type generation struct {
	next  chan *invocation // passes an invocation from Invoke to the process
	gone  chan struct{}    // closed when the process ended
	ready chan struct{}    // closed when the process first asked for work
}

// invocation is one call of the function. done receives its only outcome.
type invocation struct {
	id       string
	trace    string // trace id of its request
	payload  []byte
	deadline time.Time
	done     chan ending
}

type ending struct {
	answer []byte
	failed *FunctionError
}

// New returns the Runtime API of a function with this time limit.
func New(arn string, timeout time.Duration) *Runtime {
	r := &Runtime{
		arn:     arn,
		timeout: timeout,
		routes:  http.NewServeMux(),
		turn:    make(chan struct{}, 1),
		prepare: func(context.Context) error { return nil },
		expired: func() {},
	}
	r.reset()
	const base = "/2018-06-01/runtime/"
	r.routes.HandleFunc("GET "+base+"invocation/next", r.serveNext)
	r.routes.HandleFunc("POST "+base+"invocation/{id}/response", r.serveResponse)
	r.routes.HandleFunc("POST "+base+"invocation/{id}/error", r.serveError)
	r.routes.HandleFunc("POST "+base+"init/error", r.serveInitError)
	r.routes.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusNotFound, "ResourceNotFound", "the Runtime API has no such resource")
	})
	return r
}

type traceKey struct{}

// WithTrace returns a context whose invocations are part of a request: id is the value of
// X-Amzn-Trace-Id, "Root=…". Without one each invocation begins a trace.
func WithTrace(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, traceKey{}, id)
}

// ServeHTTP serves the requests of the process.
func (r *Runtime) ServeHTTP(w http.ResponseWriter, req *http.Request) { r.routes.ServeHTTP(w, req) }

// Invoke passes payload to the function and returns its answer. The error is one of the runtime (no
// process, or ctx ended); a failure of the function is a FunctionError.
func (r *Runtime) Invoke(ctx context.Context, payload []byte) ([]byte, *FunctionError, error) {
	if len(payload) > MaxPayload {
		return nil, nil, fmt.Errorf("lambda: a payload of %d bytes is over the limit of %d", len(payload), MaxPayload)
	}
	select {
	case r.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	inv, failed, err := r.hand(ctx, payload)
	if inv == nil {
		<-r.turn
		return nil, failed, err
	}
	ended := make(chan ending, 1)
	go func() {
		ended <- r.await(inv)
		<-r.turn
	}()
	select {
	case e := <-ended:
		return e.answer, e.failed, nil
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

// hand passes an invocation to the process. It starts another process when the current one ends
// before it takes the invocation.
func (r *Runtime) hand(ctx context.Context, payload []byte) (*invocation, *FunctionError, error) {
	inv := &invocation{id: requestID(), payload: payload, done: make(chan ending, 1)}
	if inv.trace, _ = ctx.Value(traceKey{}).(string); inv.trace == "" {
		inv.trace = NewTrace(time.Now())
	}
	for range maxStarts {
		if err := r.prepare(ctx); err != nil {
			var failed *FunctionError
			if errors.As(err, &failed) {
				return nil, failed, nil
			}
			return nil, nil, err
		}
		process := r.generation()
		inv.deadline = time.Now().Add(r.timeout)
		select {
		case process.next <- inv:
			return inv, nil, nil
		case <-process.gone:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
	return nil, exit(inv, "it did not ask for work"), nil
}

// await returns the outcome of an invocation, at its deadline at the latest.
func (r *Runtime) await(inv *invocation) ending {
	timer := time.NewTimer(time.Until(inv.deadline))
	defer timer.Stop()
	select {
	case e := <-inv.done:
		return e
	case <-timer.C:
	}
	text := fmt.Sprintf("RequestId: %s Error: Task timed out after %.2f seconds", inv.id, r.timeout.Seconds())
	r.end(inv.id, ending{failed: functionError(ErrorTimeout, text)})
	r.expired()
	return <-inv.done
}

// end ends the current invocation, if it is the one with this id.
func (r *Runtime) end(id string, e ending) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == nil || r.current.id != id {
		return false
	}
	r.current.done <- e
	r.current = nil
	return true
}

// exit returns the failure of an invocation whose process ended.
func exit(inv *invocation, how string) *FunctionError {
	return functionError(ErrorExit, "RequestId: "+inv.id+" Error: Runtime exited: "+how)
}

// reset prepares the runtime for a new process.
func (r *Runtime) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = nil
	r.process = generation{make(chan *invocation), make(chan struct{}), make(chan struct{})}
}

func (r *Runtime) generation() generation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.process
}

// initFailure returns the error that the process reported during its initialisation, or nil.
func (r *Runtime) initFailure() *FunctionError {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// processEnded records the end of the process and its cause: the invocation under way has failed.
func (r *Runtime) processEnded(how string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current != nil {
		r.current.done <- ending{failed: exit(r.current, how)}
		r.current = nil
	}
	close(r.process.gone)
}

func (r *Runtime) serveNext(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	if r.current != nil {
		r.mu.Unlock()
		refuse(w, http.StatusForbidden, "InvalidStateTransition", "the last invocation is not answered")
		return
	}
	process := r.process
	select {
	case <-process.ready:
	default:
		close(process.ready)
	}
	r.mu.Unlock()
	select {
	case inv := <-process.next:
		if !r.begin(inv, process) {
			return
		}
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Lambda-Runtime-Aws-Request-Id", inv.id)
		h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(inv.deadline.UnixMilli(), 10))
		h.Set("Lambda-Runtime-Invoked-Function-Arn", r.arn)
		h.Set("Lambda-Runtime-Trace-Id", inv.trace)
		_, _ = w.Write(inv.payload) // the end of the process is noticed elsewhere
	case <-req.Context().Done():
	}
}

// begin makes an invocation the current one, or ends it when its process ended in between.
func (r *Runtime) begin(inv *invocation, process generation) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-process.gone:
		inv.done <- ending{failed: exit(inv, "it ended as it was asked")}
		return false
	default:
		r.current = inv
		return true
	}
}

// NewTrace returns the header of a new trace, in X-Ray's form; nothing is sampled here.
func NewTrace(at time.Time) string {
	id := random()
	return fmt.Sprintf("Root=1-%08x-%x;Parent=%x;Sampled=0", at.Unix(), id[:12], id[8:])
}

// requestID returns a random id in the form of a UUID, as Lambda's.
func requestID() string {
	id := random()
	return fmt.Sprintf("%x-%x-4%03x-%x-%x", id[:4], id[4:6], uint16(id[6])<<4|uint16(id[7])>>4, id[8:10], id[10:])
}

func random() (id [16]byte) {
	_, _ = rand.Read(id[:]) // never fails: it aborts the program instead
	return id
}
