package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"localaws"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"piloto/internal/boot"
	"piloto/internal/boot/registry"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
)

// stopGrace limits the wait for requests that only read when the process stops, and is the time in which a call under way stores its result.
const stopGrace = 3 * time.Second

// anyAddress is that of a command whose own address is taken: any that is free.
const anyAddress = "127.0.0.1:0"

// Serve runs the deployment until ctx ends, and prints the next steps for the person to out.
func Serve(ctx context.Context, o Options, s Settings, out io.Writer) error {
	if err := cmp.Or(o.checkAddress(ctx), o.checkReach()); err != nil {
		return err
	}
	if !s.KeepGC {
		boot.PaceGC(ctx)
	}
	listener, err := net.Listen("tcp", o.Addr)
	if o.Passing && errors.Is(err, syscall.EADDRINUSE) { // since it was found free
		listener, err = net.Listen("tcp", anyAddress)
	}
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return runsAlready(ctx, o.Data, taken(ctx, o))
		}
		return refusal("up.wrong.listen", "value", o.Addr).Because(err)
	}
	defer func() { _ = listener.Close() }()
	p, err := Open(ctx, o, s, "http://"+reachableAddress(listener.Addr()))
	if err != nil {
		return runsAlready(ctx, o.Data, err)
	}
	err = errors.Join(p.serve(ctx, listener, out), p.engines.store.Err(), p.Close())
	if ctx.Err() != nil && err == nil {
		if o.Person.Terminal {
			fmt.Fprintln(out, o.Person.text("up.stopped"))
		} else {
			fmt.Fprintln(out, "piloto: stopped") // programs read this line
		}
	}
	return err
}

// taken returns the error of an address at which another program listens, with the command of the person at a free one.
func taken(ctx context.Context, o Options) error {
	free := nextFree(ctx, o.Addr)
	command := "piloto up --addr " + free
	if o.Person.At != nil {
		command = o.Person.At(free)
	}
	return refusal("up.taken", "addr", o.Addr, "free", free, "command", command)
}

// nextFree returns the first address after addr, of the same host, at which nobody listens.
func nextFree(ctx context.Context, addr string) string {
	host, text, _ := net.SplitHostPort(addr)
	port, err := net.DefaultResolver.LookupPort(ctx, "tcp", text)
	for next := port + 1; err == nil && next <= min(port+100, 65535); next++ {
		at := net.JoinHostPort(host, strconv.Itoa(next))
		if l, err := new(net.ListenConfig).Listen(ctx, "tcp", at); err == nil {
			_ = l.Close()
			return at
		}
	}
	return net.JoinHostPort(host, "0") // any
}

// runsAlready returns the reason why a process did not start: that one has the folder, and where it is reached, if so.
func runsAlready(ctx context.Context, folder string, reason error) error {
	ctx, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	is, err := Find(ctx, folder)
	if err != nil {
		return reason
	}
	return fault.New(fault.Conflict, "up.runs").With("origin", is.Origin).With("folder", folder)
}

func (p *Process) serve(ctx context.Context, listener net.Listener, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(ctx, p.functions.halt)()
	p.engines.stopWhenFailed(ctx, stop)
	token, file, err := installToken(ctx, p.Stores.Access, p.Data, p.Settings.Token, p.Clock())
	if err != nil {
		return err
	}
	handler, err := p.Handler()
	if err != nil {
		return err
	}
	closing, closeAll := context.WithCancel(context.WithoutCancel(ctx))
	defer closeAll()
	go func() { // the listeners are open while calls are under way: the process serves a part of them itself
		<-ctx.Done()
		p.functions.tellUnderWay(out, p.Person)
		p.functions.drain()
		closeAll()
	}()
	failed := make(chan error, 2)
	listening := 1
	named := hostsOf(listener.Addr(), p.Addr, p.Hosts)
	var ready atomic.Bool
	go func() { failed <- serve(closing, listener, named.guard(withStartingHealth(&ready, handler)), p.log) }()
	if p.AWS != "" {
		engines, err := net.Listen("tcp", p.AWS)
		if err != nil {
			return err
		}
		listening++
		go func() {
			failed <- serve(closing, engines, localaws.OnLoopback(localaws.WithoutSecrets(p.engines)), p.log)
		}()
	}
	if err := p.registerServers(ctx); err != nil { // before Start, because resumed runs may call these servers
		return err
	}
	if err := p.Start(ctx); err != nil {
		return err
	}
	ready.Store(true)
	p.engines.control.serveSignIn(func(ctx context.Context) (string, error) {
		return p.signInURL(ctx, token, codeLife)
	})
	reached := Address{Origin: p.origin, Token: token}
	p.engines.control.serveAddress(reached)
	p.engines.control.serveTokens(tokenAdmin{table: p.Stores.Access, client: awsdynamodb.NewFromConfig(p.clientConfig()), name: p.table(), owner: ids.Hash(token), now: p.Clock})
	if err := p.greet(ctx, out, token, file); err != nil {
		return err
	}
	if p.Ready != nil {
		p.Ready(reached)
	}
	err = <-failed // the first one ended, so the others are stopped
	stop()
	for range listening - 1 {
		err = errors.Join(err, <-failed)
	}
	return err
}

// withStartingHealth makes GET /health report that the process is starting, until it is ready. The
// process serves before that, because its own services are discovered over HTTP.
func withStartingHealth(ready *atomic.Bool, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/health" || ready.Load() {
			h.ServeHTTP(w, r)
			return
		}
		refuseFor(w, "starting")
	})
}

// registerServers registers the agents that the environment names, and the service and the agent of
// the demonstration. An agent of the environment replaces the demonstration's agent with the same
// name.
func (p *Process) registerServers(ctx context.Context) error {
	servers := registry.Of(p.world(), p.Stores.Registry)
	if err := p.registerAgents(ctx, servers); err != nil {
		return err
	}
	answers := p.Settings.Demo && !(p.Passing && p.demonstration.isElsewhere())
	if err := p.demonstration.switchServers(ctx, servers, answers); err != nil || !answers {
		return err
	}
	for _, part := range demoParts {
		as := part.as
		as.URL, as.Key = p.origin+part.path, p.demonstration.credential()
		if err := registerDemo(ctx, servers, firstStart{filepath.Join(p.Data, part.mark)}, as, p.Clock()); err != nil {
			return refusal("up.demo", "path", part.path).Because(err)
		}
		if err := updateDemoKey(ctx, servers, as, p.Clock()); err != nil {
			return refusal("up.demo", "path", part.path).Because(err)
		}
	}
	return p.demonstration.speak(ctx, p.demonstration.service.Language())
}

// servingKey is the context key of the context that ends when the server gives up its requests.
type servingKey struct{}

// serve answers requests until ctx ends, then lets the requests under way finish. A client has ten
// seconds to send the head of a request, and a minute to send all of it.
func serve(ctx context.Context, listener net.Listener, h http.Handler, log *slog.Logger) error {
	serving, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	server := &http.Server{
		BaseContext: func(net.Listener) context.Context {
			return context.WithValue(context.Background(), servingKey{}, serving)
		},
		Handler: afterBodies(h), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: readTimeout, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, DisableGeneralOptionsHandler: true, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(newLimitedListener(listener, usualLimits)) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	err := server.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		return server.Close()
	}
	return err
}

// reachableAddress returns the address at which this machine reaches a listener.
func reachableAddress(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return addr.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// firstStart is a file in which an earlier start left a note.
type firstStart struct{ file string }

func (m firstStart) read() (string, error) {
	text, err := os.ReadFile(m.file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

func (m firstStart) write(text string) error { return writeAtomically(m.file, text+"\n") }
