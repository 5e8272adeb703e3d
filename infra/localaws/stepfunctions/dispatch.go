package stepfunctions

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// A dispatcher calls functions, at most limit at once. Executions take turns, so
// that one with a thousand items does not hold up the others.
type dispatcher struct {
	eng   *Engine
	limit int

	mu      sync.Mutex
	running int
	queues  map[*execution][]*job
	turns   []*execution // executions with a queue, in order of their turn
}

type job struct {
	x      *execution
	thread uint32
	gen    uint64
	in     Invocation
	ctx    context.Context
	cancel context.CancelFunc
}

// add queues the thread's task and returns a function that cancels it.
func (d *dispatcher) add(x *execution, th *thread) context.CancelFunc {
	ctx, cancel := context.WithCancel(d.eng.ctx)
	j := &job{x: x, thread: th.id, gen: th.gen, ctx: ctx, cancel: cancel, in: Invocation{
		Function: th.function, Payload: th.payload, Manner: th.manner,
	}}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.queues[x]) == 0 {
		d.turns = append(d.turns, x)
	}
	d.queues[x] = append(d.queues[x], j)
	d.next()
	return cancel
}

// next starts jobs while there is room; the caller holds mu.
func (d *dispatcher) next() {
	for d.running < d.limit && len(d.turns) > 0 {
		x := d.turns[0]
		d.turns = d.turns[1:]
		queue := d.queues[x]
		j := queue[0]
		if len(queue) == 1 {
			delete(d.queues, x)
		} else {
			d.queues[x] = queue[1:]
			d.turns = append(d.turns, x)
		}
		if j.ctx.Err() != nil || !d.eng.hold() {
			j.cancel()
			continue
		}
		d.running++
		go d.run(j)
	}
}

// run calls the function and sends the result to the execution. A cancelled call has no result.
// When the engine stops, only an answer of the function counts.
func (d *dispatcher) run(j *job) {
	defer d.eng.release()
	response, failure, err := d.call(j)
	cancelled := j.ctx.Err() != nil
	j.cancel()
	d.mu.Lock()
	d.running--
	d.next()
	d.mu.Unlock()
	s := signal{kind: signalReturned, thread: j.thread, gen: j.gen, response: response}
	switch {
	case failure != nil || err != nil:
		if cancelled {
			return
		}
		s.fail = callFailure(failure, err)
	}
	j.x.post(s)
}

// call invokes the function; a panic of the Invoker becomes a fault of the service.
func (d *dispatcher) call(j *job) (out Response, failure *FunctionError, err error) {
	defer func() {
		if p := recover(); p != nil {
			d.eng.log.Error("stepfunctions: invoker panicked", "function", j.in.Function, "panic", p)
			out, failure, err = Response{}, nil, fmt.Errorf("invoking %s panicked", j.in.Function)
		}
	}()
	return d.callAny(j.ctx, j.in)
}

// byID returns threads in the order they were made.
func byID(set map[*thread]bool) []*thread {
	out := make([]*thread, 0, len(set))
	for th := range set {
		out = append(out, th)
	}
	slices.SortFunc(out, func(a, b *thread) int { return int(a.id) - int(b.id) })
	return out
}
