package process

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"

	"piloto/internal/models/secrets"
)

// Settings are what a person may set in the environment of the process.
type Settings struct {
	Token    string      // PILOTO_TOKEN: of the default account
	Demo     bool        // the demonstration model, service and agent are there: PILOTO_DEMO, else where no provider is named
	Key      secrets.Key // OPENAI_API_KEY
	BaseURL  string      // OPENAI_BASE_URL
	Model    string      // OPENAI_MODEL
	LogLevel string      // LOG_LEVEL
	KeepGC   bool        // GOGC is set, and decides how often garbage is collected

	GroqKey     secrets.Key // GROQ_API_KEY
	GroqBaseURL string      // GROQ_BASE_URL
	GroqModel   string      // GROQ_MODEL

	Agents map[string]string // MCP_RESERVA_URL, MCP_CITA_URL, MCP_VENTA_URL: an agent's address by its name

	ContextURL string // PILOTO_CONTEXT_URL: where the router asks what is known of a company

	// Parameters is what the environment says of how agents are called, of what may be reached
	// and of how often somebody may ask, by the parameter of the template that it sets.
	Parameters map[string]string

	// Credits is PILOTO_CREDITS: what the keys above pay for costs credits. On one's own
	// machine they are one's own.
	Credits bool
}

// What Groq is where nothing else was said.
const (
	groqBaseURL = "https://api.groq.com/openai/v1"
	groqModel   = "llama-3.3-70b-versatile"
)

// parameters are the variables that set a parameter of the template: of how agents are
// called, as document 001 names them, of the private networks that may be reached, of the origins
// whose pages may ask, and of how often somebody may ask in a minute.
var parameters = map[string]string{
	"MCP_CIRCUIT_BREAKER_FAILURE_THRESHOLD": "AgentFailures", "MCP_CIRCUIT_BREAKER_RESET_TIMEOUT": "AgentPauseSeconds",
	"MCP_MAX_RETRIES": "AgentAttempts", "MCP_TIMEOUT": "AgentTimeoutSeconds",
	"OPENAI_TIMEOUT": "ModelTimeoutSeconds", "CONTEXTO_NEGOCIO_TIMEOUT": "ContextTimeoutSeconds",
	"PILOTO_ALLOW_PRIVATE": "AllowPrivate", "PILOTO_CORS_ORIGINS": "CorsOrigins",
	"PILOTO_TURNS_PER_MINUTE": "TurnsPerMinute", "PILOTO_WRITES_PER_MINUTE": "WritesPerMinute",
	"PILOTO_REQUESTS_PER_MINUTE": "RequestsPerMinute", "PILOTO_BAD_TOKENS_PER_MINUTE": "BadTokensPerMinute",
}

// SettingsFrom reads the settings. A switch that is neither on nor off is an error.
func SettingsFrom(getenv func(string) string) (Settings, error) {
	set := map[string]string{}
	for variable, parameter := range parameters {
		set[parameter] = getenv(variable)
	}
	agents := map[string]string{}
	for _, name := range []string{"reserva", "cita", "venta"} {
		if at := getenv("MCP_" + strings.ToUpper(name) + "_URL"); at != "" {
			agents[name] = at
		}
	}
	s := Settings{
		Agents: agents, Token: getenv("PILOTO_TOKEN"),
		Key: secrets.Key(getenv("OPENAI_API_KEY")), BaseURL: getenv("OPENAI_BASE_URL"), Model: getenv("OPENAI_MODEL"),
		LogLevel: getenv("LOG_LEVEL"), KeepGC: getenv("GOGC") != "",
		GroqKey: secrets.Key(getenv("GROQ_API_KEY")), GroqBaseURL: getenv("GROQ_BASE_URL"), GroqModel: getenv("GROQ_MODEL"),
		ContextURL: getenv("PILOTO_CONTEXT_URL"), Parameters: set,
	}
	var demo, credits error
	s.Demo, demo = on(getenv, "PILOTO_DEMO", s.Key == "" && s.BaseURL == "" && s.GroqKey == "")
	s.Credits, credits = on(getenv, "PILOTO_CREDITS", false)
	return s, errors.Join(demo, credits)
}

// origins reads a list of origins as people write it (spaces, a slash at the end) and
// writes them as a browser does, separated by commas.
func origins(said string) (string, error) {
	var list []string
	for _, text := range strings.FieldsFunc(said, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		u, err := url.Parse(strings.ToLower(strings.TrimSuffix(text, "/")))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.String() != u.Scheme+"://"+u.Host {
			return "", fmt.Errorf("%q is no origin: write it as https://app.example.com", text)
		}
		usual := map[string]string{"http": ":80", "https": ":443"}[u.Scheme] // which a browser leaves out
		list = append(list, strings.TrimSuffix(u.String(), usual))
	}
	return strings.Join(list, ","), nil
}

// words are what people write for on and off.
var words = map[string]bool{
	"on": true, "true": true, "1": true, "yes": true, "y": true, "sí": true, "si": true, "t": true,
	"off": false, "false": false, "0": false, "no": false, "n": false, "f": false,
}

// on reads a switch; unset is what it is where nothing was said.
func on(getenv func(string) string, name string, unset bool) (bool, error) {
	said := strings.ToLower(strings.TrimSpace(getenv(name)))
	if said == "" {
		return unset, nil
	}
	is, known := words[said]
	if !known {
		return false, fmt.Errorf("%s is %q: write on or off", name, getenv(name))
	}
	return is, nil
}

// demoModel reports whether the built-in demonstration model answers: nothing
// else was configured, and it was not left out.
func (s Settings) demoModel() bool {
	return s.Demo && s.Key == "" && s.BaseURL == "" && s.GroqKey == ""
}

// groqAlone reports whether Groq is all that was configured.
func (s Settings) groqAlone() bool { return s.GroqKey != "" && s.Key == "" && s.BaseURL == "" }

// keyless reports whether the provider needs no key: one that was named, as a
// model served on one's own machine is, or the demonstration model.
func (s Settings) keyless() bool { return s.Key == "" && (s.BaseURL != "" || s.demoModel()) }

// Unlimited returns Parameters without rates, for measurements.
func Unlimited() map[string]string {
	return map[string]string{"TurnsPerMinute": "0", "WritesPerMinute": "0", "RequestsPerMinute": "0", "BadTokensPerMinute": "0"}
}
