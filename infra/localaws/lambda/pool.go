package lambda

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Pool is a function with as many execution environments as it has concurrent invocations. An
// invocation takes an idle environment, or starts another; at the limit it waits. The environment
// that was used last is used first; one that was idle for IdleLife ends, as on Lambda. One whose
// process ended starts another process at its next use.
type Pool struct {
	config Config
	places chan struct{} // holds a token for each environment in use

	alive context.Context // ends with Close
	stop  context.CancelFunc

	mu   sync.Mutex
	idle []idleEnvironment // in the order of their last use
	used map[*Process]bool
	busy sync.WaitGroup // environments in use, from their start to their return

	reaper *time.Timer // runs while there are environments
}

// IdleLife is the time after which an idle environment ends, so that the memory of a burst is
// released.
const IdleLife = 5 * time.Minute

// idleEnvironment is an environment that is idle.
type idleEnvironment struct {
	process *Process
	since   time.Time
}

// ErrClosed is the error of a pool that was closed.
var ErrClosed = errors.New("lambda: the function has been stopped")

// NewPool returns a pool of at most most environments. None is started yet.
func NewPool(config Config, most int) *Pool {
	alive, stop := context.WithCancel(context.Background())
	return &Pool{config: config, places: make(chan struct{}, most), alive: alive, stop: stop, used: map[*Process]bool{}}
}

// Invoke is Runtime.Invoke with an environment of the pool. The function's time begins when it has
// one. The function continues when the caller stops waiting.
func (p *Pool) Invoke(ctx context.Context, payload []byte) ([]byte, *FunctionError, error) {
	select {
	case p.places <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	if !p.enter() {
		<-p.places
		return nil, nil, ErrClosed
	}
	type outcome struct {
		answer []byte
		failed *FunctionError
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		defer func() {
			p.busy.Done()
			<-p.places
		}()
		var o outcome
		o.answer, o.failed, o.err = p.invoke(context.WithoutCancel(ctx), payload)
		done <- o
	}()
	select {
	case o := <-done:
		return o.answer, o.failed, o.err
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

func (p *Pool) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.alive.Err() != nil {
		return false
	}
	p.busy.Add(1)
	return true
}

func (p *Pool) invoke(ctx context.Context, payload []byte) ([]byte, *FunctionError, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.alive, cancel)()
	env, err := p.take(ctx)
	var failed *FunctionError
	if errors.As(err, &failed) {
		return nil, failed, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer p.give(env)
	return env.Invoke(ctx, payload)
}

// take returns an idle environment, or starts one.
func (p *Pool) take(ctx context.Context) (*Process, error) {
	p.mu.Lock()
	if last := len(p.idle) - 1; last >= 0 {
		env := p.idle[last].process
		p.idle, p.used[env] = p.idle[:last], true
		p.mu.Unlock()
		return env, nil
	}
	p.mu.Unlock()
	env, err := Start(ctx, p.config)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used[env] = true
	return env, nil
}

func (p *Pool) give(env *Process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.used, env)
	p.idle = append(p.idle, idleEnvironment{env, time.Now()})
	if p.reaper == nil && p.alive.Err() == nil {
		p.reaper = time.AfterFunc(IdleLife, func() { p.Reap(time.Now()) })
	}
}

// Reap ends the environments that have been idle for IdleLife at the time at.
func (p *Pool) Reap(at time.Time) {
	if !p.enter() {
		return
	}
	defer p.busy.Done() // Close waits for the environments that end here
	p.mu.Lock()
	over := 0
	for over < len(p.idle) && at.Sub(p.idle[over].since) >= IdleLife {
		over++
	}
	ended := slices.Clone(p.idle[:over])
	p.idle = slices.Delete(p.idle, 0, over)
	switch {
	case p.reaper == nil || p.alive.Err() != nil: // its return is not needed any more
	case len(p.idle) > 0:
		p.reaper.Reset(IdleLife - at.Sub(p.idle[0].since))
	case len(p.used) > 0:
		p.reaper.Reset(IdleLife)
	default:
		p.reaper = nil // the next idle environment starts it again
	}
	p.mu.Unlock()
	for _, env := range ended {
		env.process.Close()
	}
}

// Close ends every environment with its invocation, and returns when all have ended.
func (p *Pool) Close() {
	p.mu.Lock()
	p.stop()
	if p.reaper != nil {
		p.reaper.Stop()
	}
	for env := range p.used {
		go env.Close() // its invocation fails
	}
	p.mu.Unlock()
	p.busy.Wait() // now all are idle
	var ends sync.WaitGroup
	for _, env := range p.idle {
		ends.Go(env.process.Close)
	}
	ends.Wait()
}

// Warm starts an environment, unless there is one, and leaves it idle. It returns the error of a
// function that does not start.
func (p *Pool) Warm(ctx context.Context) error {
	if !p.enter() {
		return ErrClosed
	}
	defer p.busy.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.alive, cancel)()
	env, err := p.take(ctx)
	if err != nil {
		return err
	}
	p.give(env)
	return nil
}
