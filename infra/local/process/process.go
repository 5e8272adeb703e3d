// Package process owns the one-process deployment: template.yaml read and put
// to work, with the production handlers, the production SDK clients, and two
// embedded engines over one data folder.
//
// What stays true: what was acknowledged is on disk first, so that the process
// may be killed at any moment; runs in flight go on at the next start; and only
// one process at a time has a data folder.
package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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

	"piloto/internal/access/rate"
	"piloto/internal/boot"
	"piloto/internal/edge/gateway"
	"piloto/internal/edge/telemetry"
	"piloto/internal/ground/failpoint"
	"piloto/internal/ground/ids"
	"piloto/internal/store"
	"piloto/internal/tools/tool"
)

const awsRegion = "us-east-1"

// Options say where the deployment lives.
type Options struct {
	Addr     string           // of the API and the page
	Data     string           // folder of everything that lasts
	Hosts    []string         // by which a proxy or a tunnel names this process, besides its own
	Expose   bool             // other machines may reach Addr
	AWS      string           // of the engines' wire protocols; empty: not served
	Template string           // template.yaml
	Log      io.Writer        // JSON lines
	Clock    func() time.Time // nil: the machine's; functions in processes of their own have no other

	Lambda    string // how functions run: InProcess (or empty), AsProcess
	Functions string // folder of NAME/bootstrap, for AsProcess; empty: they are built
}

// Process is the whole deployment.
type Process struct {
	Options
	Settings
	Stores store.Stores

	log        *slog.Logger
	template   *template.Template
	deployment *template.Deployment
	names      map[string]string
	functions  *functions
	engines    *engines
	sockets    *websocket.Gateway
	backstage  *backstage // nil: the functions are in this process
	origin     string     // http://127.0.0.1:8080
	demoKey    string     // what the demonstration asks of whoever calls it; empty: there is none
	began      time.Time
	private    tool.Networks
}

// Open reads the template, opens the data folder and builds the functions.
// Nothing runs, and nobody is answered, before Start. origin is where the
// process will be reached.
func Open(ctx context.Context, o Options, s Settings, origin string) (*Process, error) {
	var level slog.Level
	if s.LogLevel != "" {
		if err := level.UnmarshalText([]byte(s.LogLevel)); err != nil {
			return nil, fmt.Errorf("LOG_LEVEL: %w", err)
		}
	}
	switch {
	case o.Lambda != "" && o.Lambda != InProcess && o.Lambda != AsProcess:
		return nil, fmt.Errorf("-lambda=%s: functions run %s or as %s", o.Lambda, InProcess, AsProcess)
	case o.Lambda == AsProcess && o.Clock != nil:
		return nil, errors.New("functions that are processes of their own have the machine's clock")
	case o.Lambda != AsProcess && o.Functions != "":
		return nil, fmt.Errorf("-functions is for -lambda=%s", AsProcess)
	}
	if o.Clock == nil {
		o.Clock = failpoint.Clock(boot.Clock)
	}
	o.Log = &shared{to: o.Log}
	p := &Process{Options: o, Settings: s, log: telemetry.New(o.Log, level, "piloto.local"), origin: origin, began: o.Clock()}
	var err error
	if p.private, err = tool.ParseNetworks(s.Parameters["AllowPrivate"]); err != nil {
		return nil, fmt.Errorf("PILOTO_ALLOW_PRIVATE: %w", err)
	}
	if said := s.Parameters["CorsOrigins"]; said != "" {
		if s.Parameters["CorsOrigins"], err = origins(said); err != nil {
			return nil, fmt.Errorf("PILOTO_CORS_ORIGINS: %w", err)
		}
	}
	if p.template, err = template.Read(o.Template); err != nil {
		return nil, err
	}
	p.template.Stack = "piloto"
	p.names = p.template.Names()
	if p.names["ReceiptKey.Arn"], err = receiptKeyPath(o.Data); err != nil {
		return nil, err
	}
	p.configure(level)
	if p.deployment, err = p.template.Resolve(p.names); err != nil {
		return nil, err
	}
	folder := ""
	if p.Lambda == AsProcess {
		if folder, err = p.binaries(ctx); err != nil {
			return nil, err
		}
	}
	p.functions = &functions{template: p.template, now: o.Clock, log: p.log}
	p.sockets = p.newSockets()
	p.engines, err = openEngines(o.Data, o.Clock, p.functions, p.log, func(ctx context.Context, e stepfunctions.Event) error {
		return p.functions.changed(ctx, p.deployment.Rules, e)
	}, s.platformSecret())
	if err != nil {
		return nil, err
	}
	if s.Demo {
		p.demoKey, err = keptDemoKey(o.Data)
	}
	if err == nil {
		err = ensureReceiptKey(p.names["ReceiptKey.Arn"]) // under the lock of the data file
	}
	if err == nil {
		err = p.provision(ctx, folder)
	}
	if err != nil {
		p.retire()
		return nil, errors.Join(err, p.engines.close())
	}
	return p, nil
}

// Start resumes open executions and begins the schedules; they end with ctx.
func (p *Process) Start(ctx context.Context) error {
	if err := p.engines.Machines.Start(ctx); err != nil {
		return err
	}
	p.functions.schedule(ctx, func(id string, err error) {
		p.log.Error("schedule.failed", "function", id, "error", err)
	})
	return nil
}

// Close lets what is under way end, for a while, and closes the data folder. The
// context given to Start must have ended.
func (p *Process) Close() error {
	p.functions.drain()
	_ = p.engines.Halt() // close says it
	p.sockets.Close()
	p.functions.busy.Wait() // the store closes under nobody
	p.retire()
	return p.engines.close()
}

// retire ends the functions that are processes of their own, and then what they ask.
func (p *Process) retire() {
	p.functions.close()
	if p.backstage != nil {
		p.backstage.close()
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
	if p.platformSecret() != "" {
		set("SecretArn", platformSecretARN)
	}
	set("GroqBaseUrl", cmp.Or(p.GroqBaseURL, groqBaseURL))
	set("BusinessContextUrl", p.ContextURL)
	for parameter, value := range p.Parameters {
		set(parameter, value)
	}
	set("ChargeCredits", strconv.FormatBool(p.Credits))
	if p.demoModel() {
		set("ModelProviderBaseUrl", p.origin+demoModelPath+"/v1")
		set("Model", demoModelName)
		return
	}
	if p.groqAlone() {
		set("ModelProviderBaseUrl", p.names["GroqBaseUrl"])
		set("Model", cmp.Or(p.GroqModel, groqModel))
		return
	}
	set("ModelProviderBaseUrl", p.BaseURL)
	set("Model", p.Model)
}

func (p *Process) provision(ctx context.Context, folder string) error {
	config := p.clients()
	if len(p.template.Tables) == 0 {
		return fmt.Errorf("%s declares no table", p.Template)
	}
	if err := provision.Tables(ctx, config, p.template, p.names); err != nil {
		return err
	}
	if err := provision.Machines(ctx, config, p.template, p.deployment, p.names); err != nil {
		return err
	}
	if err := p.staff(ctx, folder); err != nil {
		return err
	}
	p.Stores = store.New(config, p.names[p.template.Tables[0].ID])
	p.functions.tokens = gateway.Kept(p.Stores.Access, p.log)
	return nil
}

// clients is the production clients' configuration with the embedded engines as
// its transport. What does not leave the process is not signed.
func (p *Process) clients() aws.Config {
	return aws.Config{
		Region: awsRegion, Credentials: aws.AnonymousCredentials{},
		HTTPClient: inproc.Transport{Handler: p.engines}, BaseEndpoint: aws.String("http://engines.local"),
	}
}

func (p *Process) world() boot.World {
	return boot.World{
		DynamoDB: p.clients(), StepFunctions: p.clients(), Secrets: p.clients(), Push: p.pushing(),
		Now: p.Clock, IDs: ids.NewSource(nil), Counted: rate.NewMemory(),
		Patient: p.Lambda != AsProcess, Private: p.private,
		Log: func(slog.Level) *slog.Logger { return p.log },
	}.On(p.local())
}

// local is what functions must know of one machine.
func (p *Process) local() boot.Local {
	l := boot.Local{AllowLoopback: true, AloneSince: p.began, Demo: p.demoModel(), DemoKey: p.demoModelKey(), Keyless: p.keyless(), SocketPath: socketPath}
	if p.Lambda == AsProcess && !lambda.Attached { // those of a process that was killed may still be calling
		l.AloneSince = time.Time{}
	}
	return l
}

// Handler is everything that is served: the API, and the demonstration.
func (p *Process) Handler() (http.Handler, error) {
	allowed := p.deployment.CORS
	api := apigateway.CORS{
		Origins: allowed.Origins, Methods: allowed.Methods, Headers: allowed.Headers, Expose: allowed.Expose, MaxAge: allowed.MaxAge,
	}.Serve(p.withSockets(p.functions))
	if !p.Demo {
		return api, nil
	}
	return p.mountDemo(api)
}

// provider is the model that answers, and where it is.
func (p *Process) provider() (model, base string) {
	for _, fn := range p.template.Functions {
		if e := p.deployment.Environment[fn.ID]; e["OPENAI_MODEL"] != "" {
			return e["OPENAI_MODEL"], e["OPENAI_BASE_URL"]
		}
	}
	return "", ""
}
