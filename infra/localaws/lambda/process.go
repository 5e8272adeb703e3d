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

// initLimit limits the time until a process asks for work.
const initLimit = 10 * time.Second

// Config describes the process of a function.
type Config struct {
	Name      string // name of the function
	ARN       string
	Bootstrap string        // the executable
	Env       []string      // "NAME=value", the only variables besides Lambda's own
	Memory    int           // MB, set in the environment; 0: Lambda's default of 128
	LogGroup  string        // set in the environment; empty: Lambda's default, /aws/lambda/NAME
	Timeout   time.Duration // for one invocation
	Log       io.Writer     // output of the process, in whole lines; nil drops it
}

// Attached reports whether a process ends together with its parent, however that ended. Elsewhere
// it ends when its next request for work gets no response.
const Attached = attached

// Process is a bootstrap that runs behind the Runtime API. After its end or a time-out, the next
// invocation starts it again.
type Process struct {
	runtime  *Runtime
	config   Config
	listener net.Listener
	secret   string // the first segment of every path of the Runtime API
	server   *http.Server

	mu     sync.Mutex
	stop   func() // kills the running process
	ended  chan struct{}
	closed bool
}

// Start runs a bootstrap and returns when it asks for work. An error report of the process is
// returned as a *FunctionError.
func Start(ctx context.Context, config Config) (*Process, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("lambda: %w", err)
	}
	p := &Process{runtime: New(config.ARN, config.Timeout), config: config, listener: listener, secret: rand.Text()}
	p.runtime.prepare, p.runtime.expired = p.spawn, p.kill
	p.server = &http.Server{Handler: p.requireSecret(), ReadHeaderTimeout: initLimit}
	go func() { _ = p.server.Serve(listener) }() // ends with Close
	if err := p.spawn(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// requireSecret serves the Runtime API only under the secret path, which only the process gets. Any
// user of the machine can connect to loopback, and a request for work returns the event of a client
// with its token, and can set the result.
func (p *Process) requireSecret() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secret, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if subtle.ConstantTimeCompare([]byte(secret), []byte(p.secret)) != 1 {
			refuse(w, http.StatusForbidden, "AccessDenied", "this is served to one process alone")
			return
		}
		inner := r.Clone(r.Context())
		inner.URL.Path, inner.URL.RawPath = "/"+path, ""
		p.runtime.ServeHTTP(w, inner)
	})
}

// Invoke is Runtime.Invoke.
func (p *Process) Invoke(ctx context.Context, payload []byte) ([]byte, *FunctionError, error) {
	return p.runtime.Invoke(ctx, payload)
}

// Close ends the process and its Runtime API. It is not started again.
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
		case <-p.runtime.generation().gone:
			<-p.ended
		default:
			return nil
		}
	}
	p.runtime.reset()
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
		p.runtime.processEnded(how)
		close(ended)
	}()
	return p.awaitReady(ctx, stop, ended)
}

func (p *Process) awaitReady(ctx context.Context, stop func(), ended <-chan struct{}) error {
	limit := time.NewTimer(initLimit)
	defer limit.Stop()
	select {
	case <-p.runtime.generation().ready:
		return nil
	case <-ended:
		if failed := p.runtime.initFailure(); failed != nil {
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

// lambdaEnv returns the variables of Lambda itself.
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
