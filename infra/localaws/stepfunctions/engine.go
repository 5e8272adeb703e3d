package stepfunctions

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"localaws/disk"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Engine runs state machines and serves the Step Functions API.
type Engine struct {
	invoke  Invoker
	log     *slog.Logger
	account account

	journal    *journal
	machines   *registry
	dispatcher *dispatcher
	outbox     *outbox
	operations map[string]operation
	nextSeq    atomic.Uint64

	ctx    context.Context // ends when the engine stops
	cancel context.CancelFunc

	mu      sync.Mutex
	halted  bool
	started bool
	held    sync.WaitGroup
	open    map[uint64]*execution
	sweeper *time.Timer
}

// An Option changes how an Engine works.
type Option func(*Engine)

// WithLogger sets the logger; the default is slog.Default().
func WithLogger(log *slog.Logger) Option { return func(e *Engine) { e.log, e.journal.log = log, log } }

// WithConcurrency bounds how many functions are called at once; default 64.
func WithConcurrency(limit int) Option {
	return func(e *Engine) { e.dispatcher.limit = max(limit, 1) }
}

// WithStatusChange calls fn for every status change of an execution, at least once, also across
// restarts. While fn returns an error, it is called again later. Calls run concurrently with the
// engine. Calls about one execution do not overlap, and are in order except for repeated calls.
func WithStatusChange(fn func(context.Context, Event) error) Option {
	return func(e *Engine) { e.outbox.handle = fn }
}

// WithAsyncJournal lets a transition take effect when it is in order in the store, and before it is on
// disk: the next write to the store that somebody waits for has it on disk, too. A crash can lose the
// newest transitions, and then every write after them. An execution then continues at an earlier
// transition, and calls tasks again.
//
// It is only for functions, and a handler of status changes, that run in this process and that follow
// one rule: every effect outside of the process, but one that may happen once more for nothing, comes
// after a write of the function to the same store. Everything that the API tells is on disk before.
func WithAsyncJournal() Option { return func(e *Engine) { e.journal.async = true } }

// Open prepares an engine over the store. Nothing runs before Start.
func Open(store *disk.Store, invoke Invoker, opts ...Option) (*Engine, error) {
	e := &Engine{
		invoke: invoke, log: slog.Default(), account: account{"123456789012", "us-east-1"}, open: map[uint64]*execution{},
	}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.journal = &journal{store: store, log: e.log, ctx: e.ctx, committed: func() {}}
	e.machines = &registry{store: store, account: e.account, byName: map[string]*machine{}, defs: map[string]*Definition{}}
	e.operations = e.allOperations()
	e.dispatcher = &dispatcher{eng: e, limit: 64, queues: map[*execution][]*job{}}
	e.outbox = &outbox{eng: e, active: map[string]bool{}}
	for _, o := range opts {
		o(e)
	}
	if err := store.Update(createBuckets); err != nil {
		return nil, fmt.Errorf("stepfunctions: %w", err)
	}
	if err := store.View(e.restore); err != nil {
		return nil, fmt.Errorf("stepfunctions: %w", err)
	}
	return e, nil
}

// restore reads counters and machines.
func (e *Engine) restore(tx *disk.Tx) error {
	if k, _ := bucket(tx, bucketExecutions).Cursor().Last(); k != nil {
		e.nextSeq.Store(binary.BigEndian.Uint64(k))
	}
	if err := e.outbox.restore(tx); err != nil {
		return err
	}
	return e.machines.restore(tx)
}

// Start resumes every open execution where the journal left it, and delivers
// status changes that were not delivered. It returns once they are under way.
// Until then executions can be read, but neither started nor moved.
func (e *Engine) Start(ctx context.Context) error {
	if !e.hold() {
		return errStopping
	}
	defer e.release()
	e.machines.admin.Lock()
	defer e.machines.admin.Unlock()
	if e.isStarted() {
		return errors.New("stepfunctions: started twice")
	}
	e.sweep()
	resumed, err := e.loadOpen(ctx)
	if err != nil {
		return fmt.Errorf("stepfunctions: resume: %w", err)
	}
	e.mu.Lock()
	for _, x := range resumed {
		x.busy = true // until resume, so that no signal moves it before
		e.open[x.seq] = x
	}
	e.started = true
	e.mu.Unlock()
	for _, x := range resumed {
		x.resume()
	}
	e.outbox.start()
	return nil
}

func (e *Engine) loadOpen(ctx context.Context) (list []*execution, err error) {
	err = e.journal.store.View(func(tx *disk.Tx) error {
		list = nil
		return bucket(tx, bucketOpen).ForEach(func(k, _ []byte) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			x, err := e.load(tx, binary.BigEndian.Uint64(k))
			if err == nil {
				list = append(list, x)
			}
			return err
		})
	})
	return list, err
}

// isStarted reports whether Start has loaded the open executions.
func (e *Engine) isStarted() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.started
}

// resume sets the timers of waiting threads, dispatches tasks that were under way, and runs ready
// threads.
func (x *execution) resume() {
	x.start()
	all := newTransition(x, time.Now())
	for _, th := range x.threads {
		all.touch(th)
	}
	var ready []*thread
	for _, th := range byID(all.dirty) {
		x.arm(th)
		if th.phase == phaseReady {
			ready = append(ready, th)
		}
	}
	x.dispatch(all)
	x.eng.inBackground(func() { x.drain(ready) })
}

// Close stops the engine. It dispatches nothing new, cancels the calls under way, and records the
// answers that arrived by then. It returns when all goroutines have ended. The store stays open.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.halted = true
	if e.sweeper != nil {
		e.sweeper.Stop()
	}
	e.mu.Unlock()
	e.cancel()
	e.held.Wait()
	for _, x := range e.openExecutions("") {
		for _, th := range x.threads {
			th.halt()
		}
		if x.timer != nil {
			x.timer.Stop()
		}
	}
	return e.outbox.close()
}

// hold keeps Close waiting until release; it is false once the engine stops.
func (e *Engine) hold() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.halted {
		return false
	}
	e.held.Add(1)
	return true
}

func (e *Engine) release() { e.held.Done() }

// inBackground runs fn in a goroutine that Close waits for; it is false once the engine stops.
func (e *Engine) inBackground(fn func()) bool {
	if !e.hold() {
		return false
	}
	go func() {
		defer e.release()
		fn()
	}()
	return true
}

func (e *Engine) isStopping() bool { return e.ctx.Err() != nil }

// adopt registers an open execution.
func (e *Engine) adopt(x *execution) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open[x.seq] = x
}

func (e *Engine) forget(x *execution) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.open, x.seq)
}

func (e *Engine) find(seq uint64) *execution {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open[seq]
}

// openExecutions returns the open executions of a machine, or of all machines.
func (e *Engine) openExecutions(machine string) []*execution {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []*execution
	for _, x := range e.open {
		if machine == "" || x.record.Machine == machine {
			out = append(out, x)
		}
	}
	return out
}
