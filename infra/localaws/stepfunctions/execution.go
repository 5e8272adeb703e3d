package stepfunctions

import (
	"errors"
	"localaws/disk"
	"localaws/moment"
	"slices"
	"sync"
	"time"
)

// execution is an open execution. One goroutine at a time, the one that set busy, owns all fields
// but the inbox; without work no goroutine owns them.
type execution struct {
	eng    *Engine
	seq    uint64
	record *executionRecord // as it started
	input  *document
	def    *Definition

	threads    map[uint32]*thread
	lastThread uint32
	lastEvent  uint64
	timer      *time.Timer // of the execution's own time-out

	mu    sync.Mutex
	inbox []signal
	busy  bool
	over  bool
}

// A signal is an event from outside of an execution.
type signal struct {
	kind     signalKind
	thread   uint32
	gen      uint64
	response Response // of signalReturned
	result   []byte   // of signalSuccess
	fail     *failure
	token    string
	reply    chan<- error // answered once the signal's effect is durable
}

type signalKind int

const (
	signalResume    signalKind = iota // run the ready threads
	signalReturned                    // the function answered
	signalTimer                       // a thread's deadline passed
	signalSuccess                     // SendTaskSuccess
	signalFailure                     // SendTaskFailure
	signalHeartbeat                   // SendTaskHeartbeat
	signalStop                        // StopExecution
	signalExpired                     // the execution timed out
)

var (
	errOver     = errors.New("execution is over")
	errStopping = errors.New("the engine is not running")
	errNoToken  = errors.New("no task waits for this token")
)

func newExecution(e *Engine, rec *executionRecord, def *Definition) *execution {
	return &execution{
		eng: e, seq: rec.Seq, record: rec, input: textDocument([]byte(rec.Input)), def: def,
		threads: map[uint32]*thread{},
	}
}

// post adds a signal to the inbox. When no goroutine owns the execution, it also runs the
// execution. The caller must hold the engine (Engine.hold).
func (x *execution) post(s signal) {
	x.mu.Lock()
	if x.over {
		x.mu.Unlock()
		s.answer(errOver)
		return
	}
	x.inbox = append(x.inbox, s)
	if x.busy {
		x.mu.Unlock()
		return
	}
	x.busy = true
	x.mu.Unlock()
	x.drain(nil)
}

func (s *signal) answer(err error) {
	if s.reply != nil {
		s.reply <- err
	}
}

// drain applies the signals of the inbox, each batch as one transition, until the inbox is empty.
func (x *execution) drain(ready []*thread) {
	for {
		x.mu.Lock()
		batch := x.inbox
		x.inbox = nil
		if len(batch) == 0 && (len(ready) == 0 || x.eng.isStopping()) {
			x.busy = false
			x.mu.Unlock()
			return
		}
		x.mu.Unlock()

		t := newTransition(x, time.Now())
		t.ready = ready
		if x.isExpired(t.now) { // the time-out came before all other signals
			t.finish(&outcome{status: statusTimedOut}, 0)
		}
		results := make([]error, len(batch))
		for i := range batch {
			results[i] = t.apply(&batch[i])
		}
		t.run()
		ready = t.ready
		write := x.eng.journal.write
		if slices.ContainsFunc(batch, func(s signal) bool { return s.reply != nil }) {
			write = x.eng.journal.store.Update // a caller is told
		}
		e, err := x.commit(t, write, func(err error) {
			for i := range batch { // callers do not wait for the disk, but their signals stay queued
				batch[i].answer(err)
				batch[i].reply = nil
			}
		})
		if err == nil {
			x.effect(t, e)
		}
		for i := range batch {
			batch[i].answer(firstError(err, results[i]))
		}
		if err != nil || t.end != nil {
			x.close(err)
			return
		}
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// commit writes the transition. While the store fails, it retries until the engine stops, so that the
// computed transition is neither lost nor acted upon.
func (x *execution) commit(t *transition, write func(func(*disk.Tx) error) error, refused func(error)) (*entry, error) {
	e, err := t.entry()
	if err != nil || e.empty() {
		return e, err
	}
	if moment.On {
		moment.Here("states." + momentOf(t) + ".before")
		defer moment.Here("states." + momentOf(t) + ".after")
	}
	return e, x.eng.journal.retry(write, e.write, refused)
}

// close ends the execution's life in memory.
func (x *execution) close(err error) {
	x.mu.Lock()
	x.over = true
	rest := x.inbox
	x.inbox = nil
	x.mu.Unlock()
	if err == nil {
		err = errOver
	}
	for i := range rest {
		rest[i].answer(err)
	}
	for _, th := range x.threads {
		th.halt()
	}
	if x.timer != nil {
		x.timer.Stop()
	}
	x.eng.forget(x)
}

// apply lets a signal act on the transition.
func (t *transition) apply(s *signal) error {
	if t.end != nil {
		return errOver
	}
	switch s.kind {
	case signalResume:
		return nil
	case signalStop:
		t.finish(&outcome{status: statusAborted, err: s.fail.name, cause: s.fail.cause}, 0)
		return nil
	case signalExpired: // drain checks the time-out, unless the clock was set back
		t.finish(&outcome{status: statusTimedOut}, 0)
		return nil
	}
	th := t.x.threads[s.thread]
	if th == nil {
		return errNoToken
	}
	st := th.scope.states[th.state]
	switch s.kind {
	case signalReturned:
		if s.gen == th.gen && th.phase == phaseTask {
			t.handleResponse(th, st, s.response, s.fail)
		}
		return nil
	case signalTimer:
		if s.gen == th.gen {
			t.passDeadline(th, st)
		}
		return nil
	}
	if !th.holds(s.token) {
		return errNoToken
	}
	switch s.kind {
	case signalSuccess:
		output := textDocument(s.result)
		t.endTask(th, st, "Succeeded", inputDetail("output", output.Text()))
		t.succeed(th, st, output)
	case signalFailure:
		t.failTask(th, st, s.fail)
	case signalHeartbeat:
		if th.beat > 0 && th.phase == phaseSubmitted {
			th.heartbeat = t.now.Add(th.beat)
			t.touch(th)
		}
	}
	return nil
}

// passDeadline continues a thread whose deadline has passed.
func (t *transition) passDeadline(th *thread, st *state) {
	d := th.deadline()
	if d.IsZero() {
		return
	}
	if d.After(t.now) { // moved on since the timer was set
		t.touch(th)
		return
	}
	switch th.phase {
	case phaseWait:
		t.execute(th, st)
	case phaseRetry:
		th.wake, th.phase = zeroTime, phaseReady
		t.touch(th)
		t.execute(th, st)
	case phaseTask, phaseSubmitted:
		t.timeOutTask(th, st)
	}
}

// effect starts the calls and timers of a transition that was written.
func (x *execution) effect(t *transition, e *entry) {
	for _, th := range t.gone {
		th.halt()
	}
	if t.end == nil {
		for th := range t.dirty {
			x.arm(th)
		}
		x.dispatch(t)
	}
	x.eng.outbox.deliver(e.changes)
}

// arm sets the timer for the thread's deadline.
func (x *execution) arm(th *thread) {
	if th.timer != nil {
		th.timer.Stop()
		th.timer = nil
	}
	d := th.deadline()
	if d.IsZero() || x.eng.isStopping() {
		return
	}
	th.timer = x.postAt(d, signal{kind: signalTimer, thread: th.id, gen: th.gen})
}

// postAt posts a signal at a time, unless the engine stops before.
func (x *execution) postAt(at time.Time, s signal) *time.Timer {
	return time.AfterFunc(time.Until(at), func() {
		if x.eng.hold() {
			defer x.eng.release()
			x.post(s)
		}
	})
}

// dispatch queues the tasks that were scheduled and are not under way, in the order of their
// threads.
func (x *execution) dispatch(t *transition) {
	for _, th := range byID(t.dirty) {
		if th.phase == phaseTask && th.cancel == nil {
			th.cancel = x.eng.dispatcher.add(x, th)
		}
	}
}

// deadline returns when the whole execution times out; zero means never.
func (x *execution) deadline() time.Time {
	if x.def.timeout == 0 {
		return zeroTime
	}
	return fromNanos(x.record.Start).Add(x.def.timeout)
}

func (x *execution) isExpired(now time.Time) bool {
	d := x.deadline()
	return !d.IsZero() && !d.After(now)
}

// start sets the timer of the execution's own time-out, as a restart does too.
func (x *execution) start() {
	d := x.deadline()
	if d.IsZero() || x.eng.isStopping() {
		return
	}
	x.timer = x.postAt(d, signal{kind: signalExpired})
}
