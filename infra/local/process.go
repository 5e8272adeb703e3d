package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"piloto/infra/local/inproc"
	"piloto/infra/local/stepfunctions"
	"piloto/infra/local/template"
	"piloto/internal/boot"
	"piloto/internal/dynamo"
	"piloto/internal/ident"
	"piloto/internal/openapi"
	"piloto/internal/outbound"
	"piloto/internal/telemetry"
	"piloto/internal/tool"
)

const awsRegion = "us-east-1"

func newLog(level slog.Level) *slog.Logger { return telemetry.New(os.Stderr, level) }

// process is the whole deployment.
type process struct {
	options
	settings
	log        *slog.Logger
	template   *template.Template
	deployment *template.Deployment
	names      map[string]string
	functions  *functions
	engines    *engines
	table      *dynamo.Table
	origin     string // http://127.0.0.1:8080
}

// serveAll runs the deployment until ctx ends.
func serveAll(ctx context.Context, o options, s settings, out io.Writer) error {
	listener, err := net.Listen("tcp", o.addr)
	if err != nil {
		return fmt.Errorf("%w; choose another address with -addr", err)
	}
	defer func() { _ = listener.Close() }()
	p := &process{options: o, settings: s, origin: "http://" + reachable(listener.Addr())}
	if err := p.open(ctx); err != nil {
		return err
	}
	defer func() {
		if err := p.engines.close(); err != nil {
			p.log.Warn("process.close", "error", err)
		}
	}()
	token, file, err := installToken(ctx, p.table, p.data, p.token, time.Now())
	if err != nil {
		return err
	}
	handler, err := p.handler()
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, 2)
	go func() { failed <- serve(serving, listener, handler, p.log) }()
	if err := p.begin(serving, failed); err != nil {
		return err
	}
	if err := p.greet(ctx, out, token, file); err != nil {
		return err
	}
	select {
	case err = <-failed:
		stop()
	case <-ctx.Done():
		fmt.Fprintln(out, "piloto: stopping")
		err = <-failed
	}
	p.functions.busy.Wait()
	return err
}

// open reads the template, opens the engines and builds the functions.
func (p *process) open(ctx context.Context) error {
	var level slog.Level
	if p.logLevel != "" {
		if err := level.UnmarshalText([]byte(p.logLevel)); err != nil {
			return fmt.Errorf("LOG_LEVEL: %w", err)
		}
	}
	p.log = newLog(level)
	var err error
	if p.template, err = template.Read(p.options.template); err != nil {
		return err
	}
	p.names = p.template.Names()
	p.configure(level)
	if p.deployment, err = p.template.Resolve(p.names); err != nil {
		return err
	}
	p.functions = &functions{template: p.template}
	p.engines, err = openEngines(p.data, p.origin, p.functions, p.log, func(ctx context.Context, e stepfunctions.Event) error {
		return p.functions.changed(ctx, p.deployment.Rules, e)
	})
	if err != nil {
		return err
	}
	if err := p.provision(ctx); err != nil {
		return errors.Join(err, p.engines.close())
	}
	return nil
}

// configure sets the template's parameters from the process's environment.
func (p *process) configure(level slog.Level) {
	set := func(name, value string) {
		if value != "" {
			p.names[name] = value
		}
	}
	set("LogLevel", strings.ToLower(level.String()))
	if p.demoModel() {
		set("ModelProviderBaseUrl", p.origin+demoModelPath+"/v1")
		set("Model", demoModelName)
		return
	}
	set("ModelProviderBaseUrl", p.baseURL)
	set("Model", p.model)
}

func (p *process) provision(ctx context.Context) error {
	config := p.aws()
	if err := provisionTables(ctx, config, p.template, p.names); err != nil {
		return err
	}
	if err := provisionMachines(ctx, config, p.template, p.deployment, p.names); err != nil {
		return err
	}
	world := p.world()
	if err := p.functions.build(world, p.deployment, p.names); err != nil {
		return err
	}
	p.table = dynamo.New(config, p.names[p.template.Tables[0].ID])
	p.functions.tokens = p.table
	p.functions.failed = boot.Broken(world)
	return nil
}

// aws is the production clients' configuration with the embedded engines as
// its transport.
func (p *process) aws() aws.Config {
	return aws.Config{
		Region: awsRegion, Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		HTTPClient: inproc.Transport{Handler: p.engines}, BaseEndpoint: aws.String("http://engines.local"),
	}
}

func (p *process) world() boot.World {
	return boot.World{
		DynamoDB: p.aws(), StepFunctions: p.aws(), Secrets: p.aws(),
		Now: boot.Clock, IDs: ident.NewSource(nil),
		Log:           func(slog.Level) *slog.Logger { return p.log },
		AllowLoopback: true, Local: true, Demo: p.demoModel(), ModelKey: p.key, Keyless: p.keyless(),
	}
}

// handler is everything that is served: the API, and the demonstration.
func (p *process) handler() (http.Handler, error) {
	if !p.demo {
		return p.functions, nil
	}
	return mountDemo(p.data, p.functions)
}

// begin starts what works by itself: open executions, schedules, the engines'
// own port, and the demonstration's registration.
func (p *process) begin(ctx context.Context, failed chan<- error) error {
	if err := p.engines.machines.Start(ctx); err != nil {
		return err
	}
	p.functions.schedule(ctx, func(id string, err error) {
		p.log.Error("schedule.failed", "function", id, "error", err)
	})
	if p.options.aws != "" {
		listener, err := net.Listen("tcp", p.options.aws)
		if err != nil {
			return err
		}
		go func() {
			if err := serve(ctx, listener, p.engines, p.log); err != nil {
				failed <- err
			}
		}()
	}
	if !p.demo {
		return nil
	}
	guard := outbound.Options{AllowLoopback: true, Timeout: 10 * time.Second}
	registry := tool.Registry{
		Discover: openapi.Discoverer{Client: outbound.NewClient(guard)}, Store: p.table,
		IDs: ident.NewSource(nil), Policy: tool.Policy{AllowLoopback: true},
	}
	mark := firstStart{filepath.Join(p.data, "demo.registered")}
	if err := registerDemo(ctx, registry, mark, p.origin, time.Now()); err != nil {
		return fmt.Errorf("the demonstration service could not be registered: %w", err)
	}
	return nil
}

// greet says that all is ready, and what to do next.
func (p *process) greet(ctx context.Context, out io.Writer, token, file string) error {
	url, err := signInURL(ctx, p.table, p.origin, time.Now())
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "piloto ready on %s\n\n", p.origin)
	fmt.Fprintf(out, "  Open     %s\n           (signs you in, once)\n", url)
	if file != "" {
		fmt.Fprintf(out, "  Token    %s\n           (kept in %s)\n", token, file)
	} else {
		fmt.Fprintln(out, "  Token    the one in PILOTO_TOKEN")
	}
	switch {
	case p.demoModel():
		fmt.Fprintln(out, "  Model    the built-in demonstration model; set OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL) for a real one")
	case p.key == "" && !p.keyless():
		fmt.Fprintln(out, "  Model    none: set OPENAI_API_KEY")
	default:
		fmt.Fprintf(out, "  Model    %s at %s\n", p.names["Model"], p.names["ModelProviderBaseUrl"])
	}
	if p.options.aws != "" {
		fmt.Fprintf(out, "  Engines  aws dynamodb list-tables --endpoint-url http://%s\n", p.options.aws)
	}
	fmt.Fprintf(out, "  Data     %s\n\n  Try      curl -s %s/api/chats -H \"Authorization: Bearer $TOKEN\" -H 'Content-Type: application/json' -d '{}'\n", p.data, p.origin)
	return nil
}

// reachable is the address by which this machine reaches a listener.
func reachable(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return addr.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// firstStart is a file that remembers what was done at the first start.
type firstStart struct{ file string }

func (m firstStart) read() (string, error) {
	text, err := os.ReadFile(m.file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

func (m firstStart) write(text string) error { return os.WriteFile(m.file, []byte(text+"\n"), 0o600) }
