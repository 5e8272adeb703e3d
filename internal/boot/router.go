package boot

import (
	"cmp"
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/access/replay"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/turn"
	"piloto/internal/chats/usage"
	"piloto/internal/edge/httpapi"
	"piloto/internal/edge/telemetry"
	"piloto/internal/models/secrets"
	"piloto/internal/store"
	"piloto/internal/tools/outbound"
)

// Business says where the router asks what is known of a company.
type Business struct {
	URL  string `env:"BUSINESS_CONTEXT_URL"`                     // for accounts that name no other; empty: nowhere
	Wait int    `env:"CONTEXTO_NEGOCIO_TIMEOUT" envDefault:"10"` // seconds
}

// Delegation says how agents are called, in document 001's names.
type Delegation struct {
	Failures int `env:"MCP_CIRCUIT_BREAKER_FAILURE_THRESHOLD" envDefault:"5"` // in a row, that open a breaker
	Reset    int `env:"MCP_CIRCUIT_BREAKER_RESET_TIMEOUT" envDefault:"60"`    // seconds that it stays open
	Attempts int `env:"MCP_MAX_RETRIES" envDefault:"3"`                       // at one message
	Timeout  int `env:"MCP_TIMEOUT" envDefault:"30"`                          // seconds of all of them
}

func (d Delegation) policy() agent.Policy {
	p := agent.Usual
	p.Failures, p.Open = d.Failures, seconds(d.Reset)
	p.Probe = max(p.Probe, seconds(d.Timeout)+agentMargin)
	return p
}

// Signing says where the secrets of webhooks are.
type Signing struct {
	KeyPrefix string `env:"KEY_PREFIX,required,notEmpty"`
}

const (
	agentPause  = time.Second      // after the first attempt at most, and twice that after each further one
	agentTrust  = 30 * time.Second // in what is known of an agent's tools: only words come back from it
	agentMargin = 10 * time.Second // that a probe has to end, after its call had to
	routeTime   = 25 * time.Second // of a turn whose answer an HTTP API waits for: it gives up at 30
	lambdaTime  = 14 * time.Minute // of one that nobody waits for: Lambda ends a function after 15
	turnMargin  = 15 * time.Second // to read and to store, beside what a turn waits for
)

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// limits are how long a turn may take: where nobody gives up waiting as long as is
// set, elsewhere no longer than an HTTP API waits, or a function is given.
func (w World) limits(c Waits) turn.Limits {
	if w.Patient {
		return turn.Limits{Model: seconds(c.ModelWait)}
	}
	most := cmp.Or(w.within, routeTime)
	return turn.Limits{Model: min(seconds(c.ModelWait), most), Route: most}
}

// TurnTime is what a turn may take at most in a Patient world, with the environment
// of a function that answers turns.
func TurnTime(e Environment) (time.Duration, error) {
	c, err := read[struct {
		Waits
		Business
		Delegation
	}](e)
	return seconds(c.ModelWait) + seconds(c.Wait) + seconds(c.Timeout) + turnMargin, err
}

// tokens exchanges the credentials of OAuth clients.
func (w World) tokens() *outbound.Tokens {
	return outbound.NewTokens(w.outbound(discoverTimeout), w.Now)
}

// router builds what routing needs.
func (s site) router(b Business, d Delegation, t Tools) turn.Router {
	timeout, asking := seconds(d.Timeout), seconds(b.Wait)
	return turn.Router{
		Memory: s.sessions(), Settings: s.stores.Router, Context: b.URL,
		Business: &agent.Businesses{
			Store: s.stores.Router, Source: outbound.NewBusinesses(s.outbound(asking)), Limit: asking,
			Now: s.Now, Log: s.log,
		},
		Agents: &agent.Delegator{
			Caller: t.Caller(s.World, timeout, s.tokens()), Schemas: t.Schemas, Keys: s.stores.Registry, Freeze: s.stores.Registry, Attempts: d.Attempts,
			Gate: s.gate(d.policy()),
			Base: agentPause, Timeout: timeout, Trust: agentTrust, Now: s.Now, Rand: rand.N[time.Duration], Log: s.log,
		},
	}
}

func (s site) gate(p agent.Policy) *agent.Gate {
	return &agent.Gate{Store: s.stores.Router, Policy: p, Now: s.Now, NewID: s.IDs.New, Log: s.log}
}

// standings are an account's servers, and how those of them stand that are agents.
type standings struct {
	*store.RegistryStore
	*agent.Gate
}

// Breakers implements httpapi.Agents: failures too old to count are left out.
func (s standings) Breakers(ctx context.Context, account string) ([]agent.Breaker, error) {
	return s.Gate.Breakers(ctx, account)
}

func (s site) sessions() agent.Sessions { return agent.Sessions{Store: s.stores.Router, Now: s.Now} }

// counting counts turns; on AWS also in its metrics.
func (s site) counting() usage.Recorder {
	r := usage.Recorder{Store: s.stores.Wallet, Now: s.Now, Log: s.log}
	if !s.Local {
		r.Emit = telemetry.Metrics(os.Stdout, s.Now)
	}
	return r
}

// signing knows who signs requests, and what they were answered.
func (s site) signing(c Signing) site {
	s.http.Webhooks = s.webhooks(c)
	s.http.Once = &replay.Once{Store: s.stores.Access, NewID: s.IDs.New, Now: s.Now, Log: s.log, AloneSince: s.AloneSince}
	return s
}

func (s site) webhooks(c Signing) *auth.Webhooks {
	return &auth.Webhooks{
		Store: s.stores.Access, Secrets: secrets.NewWebhooks(secrets.NewManager(s.Secrets, c.KeyPrefix), s.Now), NewID: s.IDs.New, Now: s.Now,
	}
}

// companies is what accounts set of the router.
func (s site) companies() *agent.Manager {
	return &agent.Manager{Store: companyStores{s.stores.Router, s.stores.Registry}, Addresses: s.addresses, Now: s.Now}
}

// operations is what is told of the deployment.
func (s site) operations(c RecordsConfig) httpapi.Ops {
	return httpapi.Ops{
		Version: Version, Counted: &usage.Reader{Store: s.stores.Wallet, Now: s.Now}, Agents: standings{s.stores.Registry, s.gate(c.policy())}, Effective: s.effective(c),
	}
}

// Version is that of the product.
const Version = "0.5.0"

// effective is the configuration in force, under document 001's names where it has
// one.
func (s site) effective(c RecordsConfig) httpapi.Effective {
	return httpapi.Effective{
		{Group: "service", Name: "version", Value: Version},
		{Group: "service", Name: "log_level", Value: c.LogLevel.String()},
		{Group: "service", Name: "draft_hours", Value: strconv.Itoa(c.DraftHours)},
		{Group: "rates", Name: "turns_per_minute", Value: perMinute(c.Turns)},
		{Group: "rates", Name: "writes_per_minute", Value: perMinute(c.Writes)},
		{Group: "rates", Name: "requests_per_minute", Value: perMinute(c.Requests)},
		{Group: "rates", Name: "bad_tokens_per_minute", Value: perMinute(c.BadTokens)},
		{Group: "openai", Name: "openai_model", Value: c.Model},
		{Group: "openai", Name: "openai_base_url", Value: c.BaseURL},
		{Group: "openai", Name: "openai_api_key", Value: c.SecretARN, Secret: true},
		{Group: "openai", Name: "openai_timeout", Value: strconv.Itoa(c.ModelWait)},
		{Group: "openai", Name: "openai_temperature", Value: strconv.FormatFloat(agent.Temperature, 'g', -1, 64)},
		{Group: "openai", Name: "groq_base_url", Value: c.GroqURL},
		{Group: "openai", Name: "charge_credits", Value: strconv.FormatBool(c.Charge)},
		{Group: "mcp", Name: "mcp_timeout", Value: strconv.Itoa(c.Delegation.Timeout)},
		{Group: "mcp", Name: "mcp_max_retries", Value: strconv.Itoa(c.Attempts)},
		{Group: "mcp", Name: "mcp_circuit_breaker_failure_threshold", Value: strconv.Itoa(c.Failures)},
		{Group: "mcp", Name: "mcp_circuit_breaker_reset_timeout", Value: strconv.Itoa(c.Reset)},
		{Group: "contexto_negocio", Name: "contexto_negocio_url", Value: c.URL},
		{Group: "contexto_negocio", Name: "contexto_negocio_timeout", Value: strconv.Itoa(c.Wait)},
		{Group: "memory", Name: "memory_max_turns", Value: strconv.Itoa(agent.Kept)},
		{Group: "memory", Name: "memory_shown_turns", Value: strconv.Itoa(agent.Shown)},
		{Group: "memory", Name: "memory_ttl", Value: strconv.Itoa(int(agent.MemoryLife / time.Second))},
	}
}

// perMinute is a limit as it is shown.
func perMinute(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
