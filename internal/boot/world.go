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
	"piloto/internal/ground/ids"
	"piloto/internal/tools/outbound"
	"piloto/internal/tools/tool"
)

// World is what a deployment gives every function.
type World struct {
	DynamoDB      aws.Config
	StepFunctions aws.Config
	Secrets       aws.Config
	Push          aws.Config // of the WebSocket API's management
	Keys          aws.Config // of KMS

	Now func() time.Time
	IDs *ids.Source
	Log func(slog.Level) *slog.Logger

	// AllowLoopback lets servers be registered and called on this machine.
	AllowLoopback bool
	// Private are the private networks in which they may be.
	Private tool.Networks
	// Demo says that the built-in demonstration model answers, to who has DemoKey.
	Demo    bool
	DemoKey string
	// Local says that this is one process on one machine.
	Local bool
	// Patient says that no gateway gives up waiting for an answer.
	Patient bool
	// within is how long a turn may take that no gateway waits for; zero: as one does.
	within time.Duration
	// AloneSince is when a deployment of one process began; zero for any other.
	AloneSince time.Time
	// SocketPath is where sockets are opened, when that is on the API's own host.
	SocketPath string
	// Counted is where all functions of a process count what comes; nil: each counts by
	// itself, and they share the table.
	Counted *rate.Memory
	// Keyless says that the provider which the deployment names needs no key.
	Keyless bool
}

// outbound are the guards of calls to registered servers.
func (w World) outbound(timeout time.Duration) outbound.Options {
	return outbound.Options{AllowLoopback: w.AllowLoopback, Private: w.Private, Timeout: timeout}
}

// Client is the guarded client of calls to registered servers.
func (w World) Client(timeout time.Duration) *http.Client {
	return outbound.NewClient(w.outbound(timeout))
}

// Discovery is how a server is asked what it can do.
type Discovery struct {
	Client *http.Client
	Bearer *outbound.Tokens
	Total  time.Duration // of all that one server is asked
	Policy tool.Policy
}

// Discovery returns how servers are asked in this world.
func (w World) Discovery() Discovery {
	return Discovery{w.Client(discoverTimeout), w.tokens(), discoverTotal, w.policy()}
}

func (w World) policy() tool.Policy {
	return tool.Policy{AllowLoopback: w.AllowLoopback, Private: w.Private}
}

// Clock is the time, to the millisecond that is stored, in UTC.
func Clock() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// lambdaWorld is the world of a Lambda function: AWS, as its environment says.
// AWS_ENDPOINT_URL and AWS_ENDPOINT_URL_SERVICE point the clients elsewhere.
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
		DynamoDB: service("DYNAMODB"), StepFunctions: service("SFN"), Secrets: service("SECRETS_MANAGER"),
		Push: service("APIGATEWAYMANAGEMENTAPI"), Keys: service("KMS"),
		Now: Clock, IDs: ids.NewSource(nil),
		Log: func(level slog.Level) *slog.Logger { return telemetry.New(os.Stdout, level, loggerOf(e)) },
	}
}

// loggerOf is what a function's log lines call it. Each has a log group of its own,
// whose last part is its name: "/piloto/STACK/chat" is piloto.chat.
func loggerOf(e Environment) string {
	return strings.TrimRight("piloto."+path.Base(e["AWS_LAMBDA_LOG_GROUP_NAME"]), ".")
}

// environ is the process's environment.
func environ() Environment {
	e := Environment{}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		e[name] = value
	}
	return e
}
