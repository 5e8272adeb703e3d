package lambda

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Pool is a function with as many execution environments as are asked of it at
// once. An invocation takes one that is idle, or starts another; when there are as
// many as there may be, it waits. The one that was used last is used first; those that
// nobody used for IdleLife end, as Lambda ends them. One whose process ended starts
// another when it is next used.
type Pool struct {
	config Config
	places chan struct{} // holds a token for each environment that is used

	alive context.Context // ends with Close
	stop  context.CancelFunc

	mu   sync.Mutex
	idle []resting // in the order of their last use
	used map[*Process]bool
	busy sync.WaitGroup // environments in use, from their start to their return

	reaper *time.Timer // runs as long as there are environments
}

// IdleLife is how long an environment stays that nobody uses: what a burst needed is
// memory that the machine has back.
const IdleLife = 5 * time.Minute

// resting is an environment that is idle.
type resting struct {
	*Process
	since time.Time
}

// ErrClosed is the error of a pool that was closed.
var ErrClosed = errors.New("lambda: the function has been stopped")

// NewPool returns a pool of at most most environments. None is started yet.
func NewPool(config Config, most int) *Pool {
	alive, stop := context.WithCancel(context.Background())
	return &Pool{config: config, places: make(chan struct{}, most), alive: alive, stop: stop, used: map[*Process]bool{}}
}

// Invoke is Runtime.Invoke with an environment of the pool. The function's time
// begins when it has one. A caller that stops waiting does not stop the function.
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

// take returns an environment that is idle, or starts one.
func (p *Pool) take(ctx context.Context) (*Process, error) {
	p.mu.Lock()
	if last := len(p.idle) - 1; last >= 0 {
		env := p.idle[last].Process
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
	p.idle = append(p.idle, resting{env, time.Now()})
	if p.reaper == nil && p.alive.Err() == nil {
		p.reaper = time.AfterFunc(IdleLife, func() { p.Reap(time.Now()) })
	}
}

// Reap ends the environments that nobody has used for IdleLife, as of a moment.
func (p *Pool) Reap(at time.Time) {
	if !p.enter() {
		return
	}
	defer p.busy.Done() // Close waits for those that end here
	p.mu.Lock()
	over := 0
	for over < len(p.idle) && at.Sub(p.idle[over].since) >= IdleLife {
		over++
	}
	ended := slices.Clone(p.idle[:over])
	p.idle = slices.Delete(p.idle, 0, over)
	switch {
	case p.reaper == nil || p.alive.Err() != nil: // nobody waits for it
	case len(p.idle) > 0:
		p.reaper.Reset(IdleLife - at.Sub(p.idle[0].since))
	case len(p.used) > 0:
		p.reaper.Reset(IdleLife)
	default:
		p.reaper = nil // the next that is idle starts it anew
	}
	p.mu.Unlock()
	for _, env := range ended {
		env.Close()
	}
}

// Close ends every environment, and with it what it was doing, and returns when all
// have ended.
func (p *Pool) Close() {
	p.mu.Lock()
	p.stop()
	if p.reaper != nil {
		p.reaper.Stop()
	}
	for env := range p.used {
		go env.Close() // what it does has failed
	}
	p.mu.Unlock()
	p.busy.Wait() // from here on all are idle
	var ends sync.WaitGroup
	for _, env := range p.idle {
		ends.Go(env.Close)
	}
	ends.Wait()
}

// Warm starts an environment, unless one is there, and leaves it idle. The error is
// what keeps the function from starting.
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
