// Package boot builds each function from its configuration and its adapters. No other package reads the
// environment. The Lambda mains and the one-process deployment build the same handlers here; they differ only in
// their World.
package boot

import (
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/caarlos0/env/v11"

	"piloto/internal/access/rate"
	"piloto/internal/edge/gateway"
	"piloto/internal/tools/tool"
)

// Config is the configuration that every function reads.
type Config struct {
	TableName string     `env:"TABLE_NAME,required,notEmpty"`
	LogLevel  slog.Level `env:"LOG_LEVEL" envDefault:"info"`
	// Private are the private networks in which registered servers and providers may be.
	Private tool.Networks `env:"ALLOW_PRIVATE"`
	Rates
}

// Edge is the distribution in front of the API, for the functions of the API.
type Edge struct {
	PageDomain string `env:"PAGE_DOMAIN"` // empty: there is none
	EdgeSecret string `env:"EDGE_SECRET"`
}

func (e Edge) edge() gateway.Edge { return gateway.Edge{Domain: e.PageDomain, Secret: e.EdgeSecret} }

// Rates are the limits of requests per minute; 0: no limit.
type Rates struct {
	Turns     uint32 `env:"TURNS_PER_MINUTE" envDefault:"120"`
	Writes    uint32 `env:"WRITES_PER_MINUTE" envDefault:"300"`
	Requests  uint32 `env:"REQUESTS_PER_MINUTE" envDefault:"1200"`
	BadTokens uint32 `env:"BAD_TOKENS_PER_MINUTE" envDefault:"20"`
	FileMB    uint32 `env:"FILE_MB_PER_MINUTE" envDefault:"60"`
}

func (r Rates) limits() rate.Limits {
	return rate.Limits{Turns: int(r.Turns), Writes: int(r.Writes), Requests: int(r.Requests), BadTokens: int(r.BadTokens), FileMB: int(r.FileMB)}
}

// Provider names the model provider.
type Provider struct {
	BaseURL string `env:"OPENAI_BASE_URL,required,notEmpty"` // …/v1
	Model   string `env:"OPENAI_MODEL"`                      // for accounts without an assistant; empty: nobody answers them
}

// Name returns the display name of the provider: openai, groq, or its host.
func (p Provider) Name() string {
	u, err := url.Parse(p.BaseURL)
	if err != nil {
		return p.BaseURL
	}
	switch u.Hostname() {
	case "api.openai.com":
		return "openai"
	case "api.groq.com":
		return "groq"
	}
	return u.Host
}

// Socket is the address of the WebSocket API, for pages and clients.
type Socket struct {
	URL string `env:"REALTIME_URL,required,notEmpty"` // wss://…
}

// Drafts is the time that a plan can be confirmed.
type Drafts struct {
	DraftHours int `env:"DRAFT_HOURS" envDefault:"24"`
}

// Waits is the time that a turn waits for the model.
type Waits struct {
	ModelWait int `env:"OPENAI_TIMEOUT" envDefault:"60"` // seconds, for all of its calls together
}

// Machine is the ARN of the state machine of runs.
type Machine struct {
	ARN string `env:"STATE_MACHINE_ARN,required,notEmpty"`
}

// The configuration of each function. A test compares the variables of each with the function's environment in
// template.yaml.
type (
	// Answering is the configuration of the functions that answer turns.
	Answering struct {
		Config
		Machine
		Push
		AI
		Drafts
		Waits
		Workspace
	}
	// TurnMachine is the ARN of the state machine that serves requests after they were answered.
	TurnMachine struct {
		ARN string `env:"TURN_MACHINE_ARN,required,notEmpty"`
	}
	// Later is the configuration of turns that are answered after their requests.
	Later struct {
		TurnMachine
		LongTurns bool `env:"LONG_TURNS"` // answer every turn that way, so that the timeout of an HTTP API cuts none
	}
	// Routing is the configuration of the functions whose turns may be delegated to agents.
	Routing struct {
		Answering
		Business
		Delegation
	}
	// ChatConfig is the configuration of functions/chat.
	ChatConfig struct {
		Answering
		Edge
		Later
	}
	// RouterConfig is the configuration of functions/router.
	RouterConfig struct {
		Routing
		Edge
		Later
	}
	// TurnConfig is the configuration of functions/turn.
	TurnConfig struct{ Routing }
	// EligibilityConfig is the configuration of functions/eligibility.
	EligibilityConfig struct {
		Config
		Edge
		AI
		TurnMachine TurnMachine
	}
	// ConfirmConfig is the configuration of functions/confirm.
	ConfirmConfig struct {
		Config
		Edge
		Machine
		Push
	}
	// MCPConfig is the configuration of functions/mcp.
	MCPConfig struct {
		Config
		Edge
		Platform
		Signing
	}
	// RecordsConfig is the configuration of functions/records, including the values that GET /config shows.
	RecordsConfig struct {
		Config
		Edge
		Push
		Socket Socket
		Platform
		Drafts
		Waits
		Business
		Delegation
		SecretARN string `env:"MODEL_SECRET_ARN"`
	}
	// StepConfig is the configuration of functions/step.
	StepConfig struct {
		Config
		Push
		Workspace
		// StepsPerInvocation is how many effects of a run one invocation carries out.
		StepsPerInvocation int `env:"STEPS_PER_INVOCATION" envDefault:"1"`
		// ToolTimeout is how long a call may take, in seconds: a request, or a tool of an MCP server. Progress that a tool
		// reports begins the time anew.
		ToolTimeout int `env:"TOOL_TIMEOUT" envDefault:"60"`
	}
	// Receipts is the key that signs receipts.
	Receipts struct {
		// Key is the ARN of a KMS key or, on one machine, the name of a file with an Ed25519 key.
		Key string `env:"RECEIPT_KEY,required,notEmpty"`
	}

	// LifecycleConfig is the configuration of functions/lifecycle.
	LifecycleConfig struct {
		Config
		Push
		Receipts
	}
	// SweepConfig is the configuration of functions/sweep.
	SweepConfig struct {
		Config
		Machine
		Jobs Jobs
		Push
		Receipts
		Workspace
	}
	// AuthorizeConfig is the configuration of functions/authorize.
	AuthorizeConfig struct {
		Config
		Edge
	}
	// WebConfig is the configuration of functions/web.
	WebConfig struct {
		Config
		Edge
		Platform
		Socket
	}
)

// Environment holds the environment variables of one function.
type Environment map[string]string

// read parses a configuration from an environment.
func read[T any](e Environment) (T, error) {
	config, err := env.ParseAsWithOptions[T](env.Options{Environment: e})
	if err != nil {
		return config, fmt.Errorf("boot: configuration: %w", err)
	}
	return config, nil
}

func (c Drafts) draftLife() time.Duration { return time.Duration(c.DraftHours) * time.Hour }
