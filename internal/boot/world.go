package boot

import (
	"log/slog"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"piloto/internal/access/rate"
	"piloto/internal/edge/telemetry"
	"piloto/internal/ground/failpoint"
	"piloto/internal/ground/ids"
	"piloto/internal/live/realtime"
	"piloto/internal/models/cache"
	"piloto/internal/store"
	"piloto/internal/tools/outbound"
	"piloto/internal/tools/tool"
)

// World is the environment that a deployment gives to each function.
type World struct {
	Tables        store.Client
	StepFunctions aws.Config
	Secrets       aws.Config
	Push          aws.Config // management API of the WebSocket API
	Keys          aws.Config // KMS
	Objects       aws.Config // S3
	Functions     aws.Config // Lambda: functions that call another one

	Now func() time.Time
	IDs *ids.Source
	Log func(slog.Level) *slog.Logger

	// AllowLoopback allows servers on this machine to be registered and called.
	AllowLoopback bool
	// Private are the private networks in which servers may be.
	Private tool.Networks
	// Demo means that the built-in demonstration model answers callers with DemoKey.
	Demo    bool
	DemoKey string
	// Local means that the deployment is one process on one machine.
	Local bool
	// Patient means that no gateway times out a request.
	Patient bool
	// within is the time limit of a turn that no gateway waits for; zero: the limit of a route.
	within time.Duration
	// AloneSince is the start time of a deployment with one process; zero for any other.
	AloneSince time.Time
	// Stopping reports that the process is about to end; nil: nobody knows.
	Stopping func() bool
	// Idle reports that no socket is open; nil: nobody knows.
	Idle func() bool
	// Watches wakes requests that wait for a run; nil where the functions are processes of their own.
	Watches *realtime.Watches
	// SocketPath is the path of sockets, when they are on the API's own host.
	SocketPath string
	// Counted counts the requests of all functions in one process; nil: each function counts its own, and they
	// share the table.
	Counted *rate.Memory
	// Answers keeps the models' answers to jobs with a cache; nil: no job has one.
	Answers cache.Store
	// Keyless means that the deployment's provider needs no key.
	Keyless bool
}

// outbound returns the guards for calls to registered servers.
func (w World) outbound(timeout time.Duration) outbound.Options {
	return outbound.Options{AllowLoopback: w.AllowLoopback, Private: w.Private, Timeout: timeout}
}

// Client returns the guarded HTTP client for calls to registered servers.
func (w World) Client(timeout time.Duration) *http.Client {
	return outbound.NewClient(w.outbound(timeout))
}

// Discovery holds the clients and limits for the discovery of a server.
type Discovery struct {
	Client *http.Client
	Bearer *outbound.Tokens
	Total  time.Duration // limit of all requests to one server
	Policy tool.Policy
}

// Discovery returns the clients and limits for discovery in this world.
func (w World) Discovery() Discovery {
	return Discovery{w.Client(discoverTimeout), w.tokens(), discoverTotal, w.policy()}
}

func (w World) policy() tool.Policy {
	return tool.Policy{AllowLoopback: w.AllowLoopback, Private: w.Private}
}

// Clock returns the current time in UTC, truncated to the millisecond, because that is stored.
func Clock() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// lambdaWorld returns the world of a Lambda function: AWS, as configured by its environment. AWS_ENDPOINT_URL and
// AWS_ENDPOINT_URL_SERVICE change the endpoints of the clients.
func lambdaWorld(e Environment) World {
	service := func(name string) aws.Config {
		c := aws.Config{
			Region:      e["AWS_REGION"],
			Credentials: credentials.NewStaticCredentialsProvider(e["AWS_ACCESS_KEY_ID"], e["AWS_SECRET_ACCESS_KEY"], e["AWS_SESSION_TOKEN"]),
		}
		for _, variable := range []string{"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_" + name} {
			if endpoint := e[variable]; endpoint != "" {
				c.BaseEndpoint = &endpoint
			}
		}
		return c
	}
	return World{
		Tables: store.Dial(service("DYNAMODB")), StepFunctions: service("SFN"), Secrets: service("SECRETS_MANAGER"),
		Push: service("APIGATEWAYMANAGEMENTAPI"), Keys: service("KMS"),
		Objects: service("S3"), Functions: service("LAMBDA"),
		Now: failpoint.Clock(Clock), IDs: ids.NewSource(nil),
		Log: func(level slog.Level) *slog.Logger { return telemetry.New(os.Stdout, level, loggerOf(e)) },
	}
}

// loggerOf returns the logger name of a function: the last part of its log group, so "/piloto/STACK/chat" gives
// piloto.chat.
func loggerOf(e Environment) string {
	return strings.TrimRight("piloto."+path.Base(e["AWS_LAMBDA_LOG_GROUP_NAME"]), ".")
}

// environ returns the environment of the process.
func environ() Environment {
	e := Environment{}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		e[name] = value
	}
	return e
}
