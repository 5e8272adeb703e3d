package stepfunctions

import "time"

// A transition is one journalled move of an execution: its events, the changed and removed threads
// (dirty, gone), and the end of the execution, if any (end). It is computed in memory, written in
// one update, and only then takes effect.
type transition struct {
	x   *execution
	now time.Time

	first  uint64 // id of events[0]
	events [][]byte
	dirty  map[*thread]bool
	gone   []*thread
	ready  []*thread // threads that can run, in order
	end    *outcome
}

// An outcome holds the end of an execution.
type outcome struct {
	status string
	output []byte
	err    string
	cause  string
}

// Execution statuses.
const (
	statusRunning   = "RUNNING"
	statusSucceeded = "SUCCEEDED"
	statusFailed    = "FAILED"
	statusTimedOut  = "TIMED_OUT"
	statusAborted   = "ABORTED"
)

// maxEvents is AWS's bound on the history of one execution; the last event is reserved for the
// failure that reports it.
const maxEvents = 25_000

// chunk bounds the number of events in one journal write, so that a long chain of states without
// outside effects does not make one write too large.
const chunk = 500

func newTransition(x *execution, now time.Time) *transition {
	return &transition{x: x, now: now, first: x.lastEvent + 1, dirty: map[*thread]bool{}}
}

// record adds an event and returns its id. When the history is full, it ends the execution instead.
func (t *transition) record(kind string, prev uint64, d detail) uint64 {
	if t.end != nil {
		return t.x.lastEvent
	}
	if t.x.lastEvent >= maxEvents-1 {
		t.finish(&outcome{
			status: statusFailed, err: errRuntime,
			cause: "The execution reached the maximum number of history events (25000).",
		}, prev)
		return t.x.lastEvent
	}
	return t.append(kind, prev, d)
}

func (t *transition) append(kind string, prev uint64, d detail) uint64 {
	t.x.lastEvent++
	t.events = append(t.events, encodeEvent(kind, t.x.lastEvent, prev, t.now, d))
	return t.x.lastEvent
}

// step adds an event to a thread's own chain.
func (t *transition) step(th *thread, kind string, d detail) uint64 {
	th.prev = t.record(kind, th.prev, d)
	return th.prev
}

// finish ends the execution with an event that follows prev.
func (t *transition) finish(o *outcome, prev uint64) {
	if t.end != nil {
		return
	}
	if o.status == statusSucceeded {
		t.append("ExecutionSucceeded", prev, detail{"executionSucceededEventDetails", inputDetail("output", o.output)})
	} else {
		kind, field := "ExecutionFailed", "executionFailedEventDetails"
		switch o.status {
		case statusTimedOut:
			kind, field = "ExecutionTimedOut", "executionTimedOutEventDetails"
		case statusAborted:
			kind, field = "ExecutionAborted", "executionAbortedEventDetails"
		}
		name := o.err
		if o.status == statusTimedOut {
			name = errTimeout // only the event has this name
		}
		t.append(kind, prev, detail{field, errorDetail(name, o.cause)})
	}
	t.end = o
	t.ready = nil
	for _, th := range t.x.threads {
		t.drop(th)
	}
}

// drop removes a thread, and all below it, from the execution.
func (t *transition) drop(th *thread) {
	if t.x.threads[th.id] != th {
		return
	}
	for _, child := range th.children {
		t.drop(child)
	}
	delete(t.dirty, th)
	delete(t.x.threads, th.id)
	t.gone = append(t.gone, th)
}

// run moves every ready thread on until it waits. It stops early, with ready threads left, when the
// transition has a full chunk.
func (t *transition) run() {
	for len(t.ready) > 0 && t.end == nil && len(t.events) < chunk {
		th := t.ready[0]
		t.ready = t.ready[1:]
		if t.x.threads[th.id] == th && th.phase == phaseReady {
			t.enter(th)
		}
	}
}

// wake queues a thread whose phase is phaseReady.
func (t *transition) wake(th *thread) {
	th.phase = phaseReady
	t.touch(th)
	t.ready = append(t.ready, th)
}

// touch marks a thread as changed: it is written, and its timer is set anew.
func (t *transition) touch(th *thread) {
	if t.end == nil {
		t.dirty[th] = true
	}
}

// block leaves a thread waiting in a phase.
func (t *transition) block(th *thread, p phase) {
	th.phase = p
	t.touch(th)
}

// spawn starts a child thread of parent in scope s.
func (t *transition) spawn(parent *thread, s *scope, index int, input *document, item []byte) *thread {
	t.x.lastThread++
	th := &thread{
		x: t.x, id: t.x.lastThread, parent: parent.id, index: index, state: s.startAt, input: input,
		prev: parent.prev, item: item, up: parent, scope: s,
	}
	t.x.threads[th.id] = th
	parent.children = append(parent.children, th)
	t.wake(th)
	return th
}
