// Package process owns the one-process deployment. It reads template.yaml and runs the production
// handlers on embedded engines over one data folder. They call the table without HTTP (tables.go),
// and the other services through the production SDK clients.
//
// Three rules hold. A write is on disk before it is acknowledged, so that the process may be killed
// at any moment. Runs in flight continue at the next start. Only one process at a time holds a data
// folder.
package process

import (
	"cmp"
	"context"
	"errors"
	"io"
	"localaws"
	"localaws/apigateway"
	"localaws/inproc"
	"localaws/lambda"
	"localaws/provision"
	"localaws/stepfunctions"
	"localaws/template"
	"localaws/websocket"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/middleware"

	"piloto/infra/local/deployment"
	"piloto/internal/access/rate"
	"piloto/internal/boot"
	"piloto/internal/edge/gateway"
	"piloto/internal/edge/telemetry"
	"piloto/internal/ground/failpoint"
	"piloto/internal/ground/ids"
	"piloto/internal/live/realtime"
	"piloto/internal/store"
	"piloto/internal/tools/tool"
)

const (
	awsRegion = "us-east-1"
	stack     = "piloto" // the name of the deployment
)

// Options configure the deployment.
type Options struct {
	Addr     string           // address of the API and the page
	Data     string           // folder of all stored data
	Hosts    []string         // names that a proxy or a tunnel uses for this process
	Expose   bool             // other machines may reach Addr
	Passing  bool             // a command has the folder: the demonstration stays registered where the process serves it, and a taken Addr is left for a free one
	AWS      string           // address of the engines' wire protocols; empty: not served
	Template string           // a template.yaml; empty: the one in the executable
	Log      io.Writer        // JSON lines
	Clock    func() time.Time // nil: the machine's clock, the only one for functions in other processes
	Ready    func(Address)    // called once, when requests are answered; nil: nobody waits for it
	Person   Person           // the reader of the output of Serve

	// Calls wraps the HTTP client of the embedded engines, for measurements; nil: the table is called without HTTP.
	Calls func(aws.HTTPClient) aws.HTTPClient

	Lambda    string // InProcess (or empty), or AsProcess
	Functions string // folder of NAME/bootstrap, for AsProcess; empty: they are built
}

// Process is the whole deployment in one process.
type Process struct {
	Options
	Settings Settings
	Stores   store.Stores

	log         *slog.Logger
	template    *template.Template
	deployment  *template.Deployment
	names       map[string]string
	functions   *functions
	engines     *engines
	sockets     *websocket.Gateway
	awsEndpoint *awsEndpoint // nil: the functions run in this process
	origin      string       // http://127.0.0.1:8080
	began       time.Time
	watches     *realtime.Watches
	private     tool.Networks

	demonstration *demonstration
}

// Open reads the template, opens the data folder and builds the functions. Nothing runs and no
// request is served before Start. origin is the URL at which the process will be reached.
func Open(ctx context.Context, o Options, s Settings, origin string) (*Process, error) {
	stopTime, err := s.stopTime()
	if err != nil {
		return nil, err
	}
	p, err := newProcess(o, s, origin)
	if err != nil {
		return nil, err
	}
	folder := ""
	if p.Lambda == AsProcess {
		if folder, err = p.bootstrapFolder(ctx); err != nil {
			return nil, err
		}
	}
	p.functions = &functions{template: p.template, now: p.Clock, log: p.log, stopTime: stopTime}
	p.sockets, p.watches = p.newSockets(), &realtime.Watches{}
	if err := checkTable(ctx, p.Data, p.table()); err != nil { // before the services change anything in it
		return nil, ofOpening(p.Data, err)
	}
	p.engines, err = openEngines(p.Data, localaws.Options{
		Now: p.Clock, Invoke: p.functions, Concurrency: failpoint.Concurrency(), Called: called{p.functions}, Log: p.log,
		Changed: func(ctx context.Context, e stepfunctions.Event) error {
			return p.functions.deliverChange(ctx, p.deployment.Rules, e)
		},
		AsyncJournal: p.Lambda != AsProcess, // the functions of this process follow its rule (ADR 31)
	}, s.platformSecret())
	if err != nil {
		return nil, err
	}
	if err = p.furnish(ctx, folder); err != nil {
		p.closeFunctions()
		return nil, errors.Join(err, p.engines.close())
	}
	return p, nil
}

// newProcess reads the settings and the template. It opens nothing.
func newProcess(o Options, s Settings, origin string) (*Process, error) {
	var level slog.Level
	if s.LogLevel != "" {
		if err := level.UnmarshalText([]byte(s.LogLevel)); err != nil {
			return nil, refusal("up.wrong.level", "value", s.LogLevel)
		}
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Clock == nil {
		o.Clock = failpoint.Clock(boot.Clock)
	}
	o.Log = &lockedWriter{to: o.Log}
	p := &Process{Options: o, Settings: s, log: telemetry.New(o.Log, level, "piloto.local"), origin: origin, began: o.Clock()}
	p.demonstration = &demonstration{p: p}
	var err error
	if p.private, err = tool.ParseNetworks(s.Parameters["AllowPrivate"]); err != nil {
		return nil, refusal("up.wrong.private", "value", s.Parameters["AllowPrivate"])
	}
	if list := s.Parameters["CorsOrigins"]; list != "" {
		if s.Parameters["CorsOrigins"], err = normalizeOrigins(list); err != nil {
			return nil, err
		}
	}
	if p.template, err = o.readTemplate(); err != nil {
		return nil, err
	}
	if len(p.template.Tables) == 0 {
		return nil, refusal("up.wrong.no_table", "file", p.Template)
	}
	if err := s.check(p.template); err != nil {
		return nil, err
	}
	p.template.Stack = stack
	p.names = p.template.Names()
	if p.names["ReceiptKey.Arn"], err = receiptKeyPath(o.Data); err != nil {
		return nil, err
	}
	p.configure(level)
	p.deployment, err = p.template.Resolve(p.names)
	return p, err
}

// readFile reads a template. Tests read that of this tree once, because it takes longer than most of them.
var readFile = template.Read

// readTemplate reads the template that the options name.
func (o Options) readTemplate() (*template.Template, error) {
	if o.Template != "" {
		return readFile(o.Template)
	}
	files, err := deployment.Files()
	if err != nil {
		return nil, err
	}
	return template.ReadFS(files, deployment.Template)
}

// check refuses options that contradict each other.
func (o Options) check() error {
	switch {
	case o.Lambda != "" && o.Lambda != InProcess && o.Lambda != AsProcess:
		return refusal("up.wrong.lambda", "value", o.Lambda)
	case o.Lambda == AsProcess && o.Clock != nil:
		return errors.New("functions that are processes of their own have the machine's clock")
	case o.Lambda != AsProcess && o.Functions != "":
		return refusal("up.wrong.functions")
	case o.Lambda == AsProcess && o.Functions == "" && o.Template == "":
		return refusal("up.wrong.source")
	}
	return nil
}

// furnish makes the keys that the open data folder lacks, and the functions, whose executables are in a folder when
// they are processes.
func (p *Process) furnish(ctx context.Context, functions string) (err error) {
	if p.Settings.Demo {
		if p.demonstration.key, err = ensureDemoKey(p.Data); err != nil {
			return err
		}
	}
	if err := ensureReceiptKey(p.names["ReceiptKey.Arn"]); err != nil { // under the lock of the data file
		return err
	}
	return p.provision(ctx, functions)
}

// Start resumes open executions and starts the schedules. Both end with ctx.
func (p *Process) Start(ctx context.Context) error {
	if err := p.engines.Machines.Start(ctx); err != nil {
		return err
	}
	p.functions.schedule(ctx, func(id string, err error) {
		p.log.Error("schedule.failed", "function", id, "error", err)
	})
	return nil
}

// Close waits a limited time for the work under way, and closes the data folder. The context of
// Start must have ended.
func (p *Process) Close() error {
	p.functions.drain()
	_ = p.engines.Halt() // close returns the error
	p.sockets.Close()
	p.functions.busy.Wait() // nothing uses the store when it closes
	p.closeFunctions()
	return p.engines.close()
}

// closeFunctions ends the functions that are processes of their own, and then the endpoint that
// they use.
func (p *Process) closeFunctions() {
	p.functions.close()
	if p.awsEndpoint != nil {
		p.awsEndpoint.close()
	}
}

// configure sets the template's parameters from the process's environment.
func (p *Process) configure(level slog.Level) {
	set := func(name, value string) {
		if value != "" {
			p.names[name] = value
		}
	}
	set("LogLevel", level.String())
	if p.Settings.platformSecret() != "" {
		set("SecretArn", platformSecretARN)
	}
	set("GroqBaseUrl", cmp.Or(p.Settings.GroqBaseURL, groqBaseURL))
	set("BusinessContextUrl", p.Settings.ContextURL)
	if p.Lambda != AsProcess { // an invocation in this process costs nothing, and learns when the process stops
		set("StepsPerInvocation", "50")
	}
	for parameter, value := range p.Settings.Parameters {
		set(parameter, value)
	}
	set("ChargeCredits", strconv.FormatBool(p.Settings.Credits))
	if p.Settings.usesDemoModel() {
		set("ModelProviderBaseUrl", p.origin+demoModelPath+"/v1")
		set("Model", demoModelName)
		return
	}
	if p.Settings.usesGroqOnly() {
		set("ModelProviderBaseUrl", p.names["GroqBaseUrl"])
		set("Model", cmp.Or(p.Settings.GroqModel, groqModel))
		return
	}
	set("ModelProviderBaseUrl", p.Settings.BaseURL)
	set("Model", p.Settings.Model)
}

func (p *Process) provision(ctx context.Context, folder string) error {
	config := p.clientConfig()
	if err := provision.Tables(ctx, config, p.template, p.names); err != nil {
		return err
	}
	if err := provision.Buckets(ctx, config, p.template, p.names); err != nil {
		return err
	}
	if err := provision.Machines(ctx, config, p.template, p.deployment, p.names); err != nil {
		return err
	}
	if err := p.prepareFunctions(ctx, folder); err != nil {
		return err
	}
	p.Stores = store.New(p.tableClient(nil), p.table())
	p.functions.tokens = gateway.LogRenewals(p.Stores.Access, p.log)
	return p.Stores.WriteFormat(ctx)
}

// transport returns the client of the embedded engines.
func (p *Process) transport() aws.HTTPClient {
	direct := inproc.Transport{Handler: p.engines}
	if p.Calls == nil {
		return direct
	}
	return p.Calls(direct)
}

// clientConfig returns the configuration of the production clients, with the embedded engines as
// transport. Requests that stay in the process are not signed.
func (p *Process) clientConfig() aws.Config {
	return aws.Config{
		Region: awsRegion, Credentials: aws.AnonymousCredentials{},
		HTTPClient: p.transport(), BaseEndpoint: aws.String("http://engines.local"),
		APIOptions: []func(*middleware.Stack) error{direct},
	}
}

func (p *Process) world() boot.World {
	w := boot.World{
		Tables: p.tableClient(nil), StepFunctions: p.clientConfig(), Secrets: p.clientConfig(), Push: p.pushConfig(),
		Objects: p.clientConfig(), Functions: p.clientConfig(),
		Now: p.Clock, IDs: ids.NewSource(nil), Counted: rate.NewMemory(),
		Patient: p.Lambda != AsProcess, Private: p.private, Watches: p.watches, Stopping: p.functions.halted, Idle: p.sockets.Idle,
		Log: func(slog.Level) *slog.Logger { return p.log },
	}.On(p.localSettings())
	if p.Lambda != AsProcess {
		w.Answers = openAnswers(p.Data, p.Clock())
	}
	return w
}

// localSettings returns the settings that functions need on one machine.
func (p *Process) localSettings() boot.Local {
	l := boot.Local{AllowLoopback: true, AloneSince: p.began, Demo: p.Settings.usesDemoModel(), DemoKey: p.demonstration.modelKey(), Keyless: p.Settings.needsNoKey(), SocketPath: socketPath}
	if p.Lambda == AsProcess && !lambda.Attached { // functions of a killed process may still be calling
		l.AloneSince = time.Time{}
	}
	return l
}

// Handler serves the API and the demonstration.
func (p *Process) Handler() (http.Handler, error) {
	allowed := p.deployment.CORS
	api := apigateway.CORS{
		Origins: allowed.Origins, Methods: allowed.Methods, Headers: allowed.Headers, Expose: allowed.Expose, MaxAge: allowed.MaxAge,
	}.Serve(p.withSockets(p.functions))
	if !p.Settings.Demo {
		return api, nil
	}
	return p.demonstration.mount(api)
}

// provider returns the model in use and its base URL.
func (p *Process) provider() (model, base string) {
	for _, fn := range p.template.Functions {
		if e := p.deployment.Environment[fn.ID]; e["OPENAI_MODEL"] != "" {
			return e["OPENAI_MODEL"], e["OPENAI_BASE_URL"]
		}
	}
	return "", ""
}
