// Package boot owns how each function is put together: its configuration, which
// it alone reads from the environment, and the adapters its domain needs. The
// Lambda mains and the one-process deployment build the very same handlers here;
// what differs between them is the World they are given.
package boot

import (
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/caarlos0/env/v11"

	"piloto/internal/access/rate"
	"piloto/internal/tools/tool"
)

// Config is what every function reads.
type Config struct {
	TableName string     `env:"TABLE_NAME,required,notEmpty"`
	LogLevel  slog.Level `env:"LOG_LEVEL" envDefault:"info"`
	// Private are the private networks that registered servers and providers may be in.
	Private tool.Networks `env:"ALLOW_PRIVATE"`
	Rates
}

// Rates says how often somebody may ask in a minute; 0: as often as they like.
type Rates struct {
	Turns     uint32 `env:"TURNS_PER_MINUTE" envDefault:"120"`
	Writes    uint32 `env:"WRITES_PER_MINUTE" envDefault:"300"`
	Requests  uint32 `env:"REQUESTS_PER_MINUTE" envDefault:"1200"`
	BadTokens uint32 `env:"BAD_TOKENS_PER_MINUTE" envDefault:"20"`
}

func (r Rates) limits() rate.Limits {
	return rate.Limits{Turns: int(r.Turns), Writes: int(r.Writes), Requests: int(r.Requests), BadTokens: int(r.BadTokens)}
}

// Provider names the model provider.
type Provider struct {
	BaseURL string `env:"OPENAI_BASE_URL,required,notEmpty"` // …/v1
	Model   string `env:"OPENAI_MODEL"`                      // of whoever has no assistant; empty: nobody answers them
}

// Name is what people call the provider: openai, groq, or its host.
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

// Socket says where the WebSocket API is, for pages and clients.
type Socket struct {
	URL string `env:"REALTIME_URL,required,notEmpty"` // wss://…
}

// Drafts says how long a plan waits for its confirmation.
type Drafts struct {
	DraftHours int `env:"DRAFT_HOURS" envDefault:"24"`
}

// Waits says how long the model is waited for in a turn.
type Waits struct {
	ModelWait int `env:"OPENAI_TIMEOUT" envDefault:"25"` // seconds, of all of its calls
}

// Machine names the state machine.
type Machine struct {
	ARN string `env:"STATE_MACHINE_ARN,required,notEmpty"`
}

// The configuration of each function. A test holds the variables of each equal
// to that function's environment in template.yaml.
type (
	// Answering is what the functions read that answer turns.
	Answering struct {
		Config
		Machine
		Push
		AI
		Drafts
		Waits
		Business
		Delegation
	}
	// ChatConfig is what functions/chat reads.
	ChatConfig struct {
		Answering
		TurnMachine string `env:"TURN_MACHINE_ARN,required,notEmpty"` // of turns that are answered apart from their requests
		LongTurns   bool   `env:"LONG_TURNS"`                         // every turn is, so that none is cut at the time of an HTTP API
	}
	// TurnConfig is what functions/turn reads.
	TurnConfig struct{ Answering }
	// EligibilityConfig is what functions/eligibility reads.
	EligibilityConfig struct {
		Config
		AI
	}
	// ConfirmConfig is what functions/confirm reads.
	ConfirmConfig struct {
		Config
		Machine
		Push
		Drafts
	}
	// MCPConfig is what functions/mcp reads.
	MCPConfig struct {
		Config
		Signing
	}
	// RecordsConfig is what functions/records reads: beside what it needs, what it
	// tells of the rest (GET /config).
	RecordsConfig struct {
		Config
		Socket Socket
		Platform
		Drafts
		Waits
		Business
		Delegation
		SecretARN string `env:"MODEL_SECRET_ARN"`
	}
	// StepConfig is what functions/step reads.
	StepConfig struct {
		Config
		Push
	}
	// Receipts names the key that signs receipts.
	Receipts struct {
		// Key is the ARN of a key of KMS; on one machine, the file of an Ed25519 key.
		Key string `env:"RECEIPT_KEY,required,notEmpty"`
	}

	// SettleConfig is what functions/settle reads.
	SettleConfig struct {
		Config
		Push
		Receipts
	}
	// SweepConfig is what functions/sweep reads.
	SweepConfig struct {
		Config
		Machine
		Push
		Receipts
	}
	// AuthorizeConfig is what functions/authorize reads.
	AuthorizeConfig struct{ Config }
	// WebConfig is what functions/web reads.
	WebConfig struct {
		Config
		Platform
		Socket
	}
)

// Environment is the variables of one function.
type Environment map[string]string

// read fills a configuration from an environment.
func read[T any](e Environment) (T, error) {
	config, err := env.ParseAsWithOptions[T](env.Options{Environment: e})
	if err != nil {
		return config, fmt.Errorf("boot: configuration: %w", err)
	}
	return config, nil
}

func (c Drafts) draftLife() time.Duration { return time.Duration(c.DraftHours) * time.Hour }
