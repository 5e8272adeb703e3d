package lambda

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
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
	Memory    int           // MB, which the function is told; 0: Lambda's default of 128
	LogGroup  string        // which it is told; empty: Lambda's default, /aws/lambda/NAME
	Timeout   time.Duration // of one invocation
	Log       io.Writer     // what the process writes, in whole lines; nil drops it
}

// Attached says that a process ends with the one that started it, however that
// ended. Elsewhere it ends when it next asks for work, and nobody answers.
const Attached = attached

// Process is a bootstrap that runs behind the Runtime API. One that ended or ran
// out of time is started anew by the next invocation.
type Process struct {
	*Runtime
	config   Config
	listener net.Listener
	secret   string // the first segment of every path of the Runtime API
	server   *http.Server

	mu     sync.Mutex
	stop   func() // kills what runs
	ended  chan struct{}
	closed bool
}

// Start runs a bootstrap and returns when it asks for work. What it reported
// instead is a *FunctionError.
func Start(ctx context.Context, config Config) (*Process, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("lambda: %w", err)
	}
	p := &Process{Runtime: New(config.ARN, config.Timeout), config: config, listener: listener, secret: rand.Text()}
	p.prepare, p.expired = p.spawn, p.kill
	p.server = &http.Server{Handler: p.guarded(), ReadHeaderTimeout: initLimit}
	go func() { _ = p.server.Serve(listener) }() // ends with Close
	if err := p.spawn(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// guarded serves the Runtime API to whoever knows where it is: the process, in the
// address that it is told. Anybody on the machine can connect to loopback, and whoever
// asks for work there is given what somebody sent, with the token that it was sent with,
// and says how it ends.
func (p *Process) guarded() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if subtle.ConstantTimeCompare([]byte(said), []byte(p.secret)) != 1 {
			refuse(w, http.StatusForbidden, "AccessDenied", "this is served to one process alone")
			return
		}
		inner := r.Clone(r.Context())
		inner.URL.Path, inner.URL.RawPath = "/"+path, ""
		p.Runtime.ServeHTTP(w, inner)
	})
}

// Close ends the process and stops answering it. Nothing starts it anew.
func (p *Process) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
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
	if p.closed {
		return ErrClosed
	}
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
	out := &lines{to: p.config.Log}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = time.Second
	attach(cmd)
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
		out.flush()
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
		"AWS_LAMBDA_RUNTIME_API=" + p.listener.Addr().String() + "/" + p.secret,
		"AWS_LAMBDA_FUNCTION_NAME=" + p.config.Name,
		"AWS_LAMBDA_FUNCTION_VERSION=$LATEST",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=" + strconv.Itoa(cmp.Or(p.config.Memory, 128)),
		"AWS_LAMBDA_INITIALIZATION_TYPE=on-demand",
		"AWS_LAMBDA_LOG_GROUP_NAME=" + cmp.Or(p.config.LogGroup, "/aws/lambda/"+p.config.Name),
		fmt.Sprintf("AWS_LAMBDA_LOG_STREAM_NAME=%s/[$LATEST]%x", time.Now().UTC().Format("2006/01/02"), random()),
		"LAMBDA_TASK_ROOT=" + filepath.Dir(p.config.Bootstrap),
		"_HANDLER=bootstrap",
		"LANG=en_US.UTF-8",
		"PATH=/usr/local/bin:/usr/bin/:/bin:/opt/bin",
		"TZ=:UTC",
	}
}
