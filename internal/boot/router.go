package boot

import (
	"cmp"
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
	"piloto/internal/ground/version"
	"piloto/internal/models/credit"
	"piloto/internal/models/secrets"
	"piloto/internal/tools/outbound"
)

// Business is the source of the business context of a company.
type Business struct {
	URL  string `env:"BUSINESS_CONTEXT_URL"`                     // for accounts that set no other; empty: none
	Wait int    `env:"CONTEXTO_NEGOCIO_TIMEOUT" envDefault:"10"` // seconds
}

// Delegation holds the limits of agent calls, with document 001's names.
type Delegation struct {
	Failures int `env:"MCP_CIRCUIT_BREAKER_FAILURE_THRESHOLD" envDefault:"5"` // failures in a row that open a breaker
	Reset    int `env:"MCP_CIRCUIT_BREAKER_RESET_TIMEOUT" envDefault:"60"`    // seconds that a breaker stays open
	Attempts int `env:"MCP_MAX_RETRIES" envDefault:"3"`                       // attempts for one message
	Timeout  int `env:"MCP_TIMEOUT" envDefault:"30"`                          // seconds for all attempts
}

func (d Delegation) policy() agent.Policy {
	p := agent.Usual
	p.Failures, p.Open = d.Failures, seconds(d.Reset)
	p.Probe = max(p.Probe, seconds(d.Timeout)+agentMargin)
	return p
}

// Signing is the prefix of the secrets of webhooks.
type Signing struct {
	KeyPrefix string `env:"KEY_PREFIX,required,notEmpty"`
}

const (
	agentPause  = time.Second      // longest pause after the first attempt; it doubles after each further one
	agentTrust  = 30 * time.Second // life of the list of an agent's tools; an agent's answer is only text
	agentMargin = 10 * time.Second // time for a probe to end, after the deadline of its call
	routeTime   = 25 * time.Second // limit of a turn whose answer an HTTP API waits for: the API times out at 30 s
	lambdaTime  = 14 * time.Minute // limit of a turn that no route waits for: Lambda ends a function after 15 min
	turnMargin  = 15 * time.Second // for reading and storing, in addition to the waits of a turn
)

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// limits returns the time limits of a turn: the configured one where nothing times out, else at most that of the
// HTTP API or of the function.
func (w World) limits(c Waits) turn.Limits {
	if w.Patient {
		return turn.Limits{Model: seconds(c.ModelWait)}
	}
	most := cmp.Or(w.within, routeTime)
	return turn.Limits{Model: min(seconds(c.ModelWait), most), Route: most}
}

// holdLife returns the life of a turn's hold. more is the time for which a turn may wait for others than its model.
func holdLife(l turn.Limits, more time.Duration) time.Duration {
	return max(credit.HoldLife, l.Model+more+turnMargin)
}

// TurnTime returns the longest time of a turn in a Patient world, for the environment of a function that answers
// turns.
func TurnTime(e Environment) (time.Duration, error) {
	c, err := read[struct {
		Waits
		Business
		Delegation
	}](e)
	return seconds(c.ModelWait) + seconds(c.Wait) + seconds(c.Timeout) + turnMargin, err
}

// tokens returns the client that exchanges OAuth client credentials for tokens.
func (w World) tokens() *outbound.Tokens {
	return outbound.NewTokens(w.outbound(discoverTimeout), w.Now)
}

// router returns the services that routing needs.
func (s site) router(b Business, d Delegation, t Tools) turn.Router {
	timeout, asking := seconds(d.Timeout), seconds(b.Wait)
	return turn.Router{
		Memory: s.sessions(), Context: b.URL,
		Business: &agent.Businesses{
			Store: s.stores.Router, Source: outbound.NewBusinesses(s.world.outbound(asking)), Limit: asking,
			Now: s.world.Now, Log: s.log,
		},
		Agents: &agent.Delegator{
			Caller: t.Caller(s.world, timeout, s.world.tokens()), Schemas: t.Schemas, Keys: s.stores.Registry, Freeze: s.stores.Registry, Attempts: d.Attempts,
			Gate: s.gate(d.policy()),
			Base: agentPause, Timeout: timeout, Trust: agentTrust, Now: s.world.Now, Rand: rand.N[time.Duration], Log: s.log,
		},
	}
}

func (s site) gate(p agent.Policy) *agent.Gate {
	return &agent.Gate{Store: s.stores.Router, Policy: p, Now: s.world.Now, NewID: s.world.IDs.New, Log: s.log}
}

func (s site) sessions() agent.Sessions {
	return agent.Sessions{Store: s.stores.Router, Now: s.world.Now}
}

// usageRecorder returns the recorder of turns. On AWS it also writes CloudWatch metrics.
func (s site) usageRecorder() usage.Recorder {
	r := usage.Recorder{Store: s.stores.Usage, Now: s.world.Now, Log: s.log}
	if !s.world.Local {
		r.Emit = telemetry.Metrics(os.Stdout, s.world.Now)
	}
	return r
}

// withSigning returns the site with the services that verify signed requests and replay their answers.
func (s site) withSigning(c Signing) site {
	s.http.Webhooks = s.webhooks(c)
	s.http.Once = s.replays()
	return s
}

// replays returns the service that answers a request with a key once.
func (s site) replays() *replay.Once {
	return &replay.Once{Store: s.stores.Access, NewID: s.world.IDs.New, Now: s.world.Now, Log: s.log, AloneSince: s.world.AloneSince}
}

func (s site) webhooks(c Signing) *auth.Webhooks {
	return &auth.Webhooks{
		Store: s.stores.Access, Secrets: secrets.NewWebhooks(secrets.NewManager(s.world.Secrets, c.KeyPrefix), s.world.Now), NewID: s.world.IDs.New, Now: s.world.Now,
	}
}

// companies returns the manager of the router's settings.
func (s site) companies() *agent.Manager {
	return &agent.Manager{Store: s.stores.Router, Agents: s.stores.Registry, Addresses: s.world.addresses, Now: s.world.Now}
}

// operations returns the services of /health, /config and /metrics.
func (s site) operations(c RecordsConfig) httpapi.Ops {
	return httpapi.Ops{
		Version: version.String(), Counted: &usage.Reader{Store: s.stores.Usage, Now: s.world.Now}, Servers: s.stores.Registry, Breakers: s.gate(c.policy()), Effective: s.effective(c),
	}
}

// effective returns the configuration in force, with document 001's names where it has them.
func (s site) effective(c RecordsConfig) httpapi.Effective {
	return httpapi.Effective{
		{Group: "service", Name: "version", Value: version.String()},
		{Group: "service", Name: "log_level", Value: c.LogLevel.String()},
		{Group: "service", Name: "draft_hours", Value: strconv.Itoa(c.DraftHours)},
		{Group: "rates", Name: "turns_per_minute", Value: perMinute(c.Turns)},
		{Group: "rates", Name: "writes_per_minute", Value: perMinute(c.Writes)},
		{Group: "rates", Name: "requests_per_minute", Value: perMinute(c.Requests)},
		{Group: "rates", Name: "bad_tokens_per_minute", Value: perMinute(c.BadTokens)},
		{Group: "rates", Name: "file_mb_per_minute", Value: perMinute(c.FileMB)},
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

// perMinute formats a limit for GET /config.
func perMinute(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
