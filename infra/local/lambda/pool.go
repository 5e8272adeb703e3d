package lambda

import (
	"context"
	"errors"
	"sync"
)

// Pool is a function with as many execution environments as are asked of it at
// once. An invocation takes one that is idle, or starts another; when there are as
// many as there may be, it waits. Those that are idle stay, and the one that was
// used last is used first. One whose process ended starts another when it is next
// used.
type Pool struct {
	config Config
	places chan struct{} // holds a token for each environment that is used

	alive context.Context // ends with Close
	stop  context.CancelFunc

	mu   sync.Mutex
	idle []*Process
	used map[*Process]bool
	busy sync.WaitGroup // environments in use, from their start to their return
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
		env := p.idle[last]
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
	p.idle = append(p.idle, env)
}

// Close ends every environment, and with it what it was doing, and returns when all
// have ended.
func (p *Pool) Close() {
	p.mu.Lock()
	p.stop()
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
