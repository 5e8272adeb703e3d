package lambda

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// initLimit is how long a process may take until it asks for work.
const initLimit = 10 * time.Second

// Config says what to run.
type Config struct {
	Name      string // the function's
	ARN       string
	Bootstrap string        // the executable
	Env       []string      // "NAME=value", all that the process gets beside Lambda's own
	Timeout   time.Duration // of one invocation
	Log       io.Writer     // what the process writes; nil drops it
}

// Process is a bootstrap that runs behind the Runtime API. One that ended or ran
// out of time is started anew by the next invocation.
type Process struct {
	*Runtime
	config   Config
	listener net.Listener
	server   *http.Server

	mu    sync.Mutex
	stop  func() // kills what runs
	ended chan struct{}
}

// Start runs a bootstrap and returns when it asks for work. What it reported
// instead is a *FunctionError.
func Start(ctx context.Context, config Config) (*Process, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("lambda: %w", err)
	}
	p := &Process{Runtime: New(config.ARN, config.Timeout), config: config, listener: listener}
	p.prepare, p.expired = p.spawn, p.kill
	p.server = &http.Server{Handler: p.Runtime, ReadHeaderTimeout: initLimit}
	go func() { _ = p.server.Serve(listener) }() // ends with Close
	if err := p.spawn(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Close ends the process and stops answering it.
func (p *Process) Close() {
	p.kill()
	_ = p.server.Close()
}

// kill ends the process, if one runs, and returns when it has ended.
func (p *Process) kill() {
	p.mu.Lock()
	stop, ended := p.stop, p.ended
	p.mu.Unlock()
	if stop != nil {
		stop()
		<-ended
	}
}

// spawn starts the process unless it runs, and waits until it asks for work.
func (p *Process) spawn(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended != nil {
		select {
		case <-p.generation().gone:
			<-p.ended
		default:
			return nil
		}
	}
	p.reset()
	alive, stop := context.WithCancel(context.WithoutCancel(ctx))
	cmd := exec.CommandContext(alive, p.config.Bootstrap)
	cmd.Dir = filepath.Dir(p.config.Bootstrap)
	cmd.Env = append(p.lambdaEnv(), p.config.Env...)
	cmd.Stdout, cmd.Stderr = p.config.Log, p.config.Log
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		stop()
		return fmt.Errorf("lambda: start %s: %w", p.config.Name, err)
	}
	ended := make(chan struct{})
	p.stop, p.ended = stop, ended
	go func() {
		how := "exit status 0"
		if err := cmd.Wait(); err != nil {
			how = err.Error()
		}
		stop()
		p.exited(how)
		close(ended)
	}()
	return p.awaitReady(ctx, stop, ended)
}

func (p *Process) awaitReady(ctx context.Context, stop func(), ended <-chan struct{}) error {
	limit := time.NewTimer(initLimit)
	defer limit.Stop()
	select {
	case <-p.generation().ready:
		return nil
	case <-ended:
		if failed := p.initFailure(); failed != nil {
			return failed
		}
		return functionError(ErrorExit, p.config.Name+" exited before it asked for work")
	case <-limit.C:
		stop()
		return functionError(ErrorTimeout, p.config.Name+" did not ask for work in "+initLimit.String())
	case <-ctx.Done():
		stop()
		return ctx.Err()
	}
}

// lambdaEnv is what Lambda itself puts into the environment.
func (p *Process) lambdaEnv() []string {
	return []string{
		"AWS_LAMBDA_RUNTIME_API=" + p.listener.Addr().String(),
		"AWS_LAMBDA_FUNCTION_NAME=" + p.config.Name,
		"AWS_LAMBDA_FUNCTION_VERSION=$LATEST",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=" + strconv.Itoa(256),
		"AWS_LAMBDA_INITIALIZATION_TYPE=on-demand",
		"LAMBDA_TASK_ROOT=" + filepath.Dir(p.config.Bootstrap),
		"_HANDLER=bootstrap",
		"TZ=:UTC",
	}
}
