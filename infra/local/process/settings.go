package process

import (
	"cmp"
	"errors"
	"localaws/template"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"piloto/internal/models/secrets"
)

// Settings holds the configuration from the environment of the process.
type Settings struct {
	Token    string      // PILOTO_TOKEN: token of the default account
	Demo     bool        // PILOTO_DEMO: serve the demonstration; by default when no provider is set
	Browse   bool        // PILOTO_OPEN: open the page at a start, where Person can; on by default
	Key      secrets.Key // OPENAI_API_KEY
	BaseURL  string      // OPENAI_BASE_URL
	Model    string      // OPENAI_MODEL
	LogLevel string      // LOG_LEVEL
	KeepGC   bool        // GOGC is set: do not change the garbage collector

	GroqKey     secrets.Key // GROQ_API_KEY
	GroqBaseURL string      // GROQ_BASE_URL
	GroqModel   string      // GROQ_MODEL

	Agents map[string]string // MCP_RESERVA_URL, MCP_CITA_URL, MCP_VENTA_URL: agent addresses by name

	ContextURL string // PILOTO_CONTEXT_URL: where the router requests the business context

	// Parameters holds values of template parameters, by name: timeouts of agents, allowed
	// networks, origins and rates.
	Parameters map[string]string

	StopTimeout string // PILOTO_STOP_TIMEOUT: seconds that calls under way have to end when the process stops

	// Credits is PILOTO_CREDITS: calls with the keys above cost credits. The default is false,
	// because on one machine the keys belong to the person who runs it.
	Credits bool
}

// The defaults for Groq.
const (
	groqBaseURL = "https://api.groq.com/openai/v1"
	groqModel   = "llama-3.3-70b-versatile"
)

// parameters maps environment variables to parameters of the template: the calls of agents
// (document 001), the private networks that may be reached, the origins of pages that may send
// requests, the steps of a run that one invocation carries out, and the requests per minute.
var parameters = map[string]string{
	"MCP_CIRCUIT_BREAKER_FAILURE_THRESHOLD": "AgentFailures", "MCP_CIRCUIT_BREAKER_RESET_TIMEOUT": "AgentPauseSeconds",
	"MCP_MAX_RETRIES": "AgentAttempts", "MCP_TIMEOUT": "AgentTimeoutSeconds",
	"OPENAI_TIMEOUT": "ModelTimeoutSeconds", "CONTEXTO_NEGOCIO_TIMEOUT": "ContextTimeoutSeconds",
	"PILOTO_ALLOW_PRIVATE": "AllowPrivate", "PILOTO_CORS_ORIGINS": "CorsOrigins",
	"PILOTO_TURNS_PER_MINUTE": "TurnsPerMinute", "PILOTO_WRITES_PER_MINUTE": "WritesPerMinute",
	"PILOTO_STEPS_PER_INVOCATION": "StepsPerInvocation", "PILOTO_TOOL_TIMEOUT": "ToolTimeoutSeconds",
	"PILOTO_REQUESTS_PER_MINUTE": "RequestsPerMinute", "PILOTO_BAD_TOKENS_PER_MINUTE": "BadTokensPerMinute",
	"PILOTO_FILE_MB_PER_MINUTE": "FileMBPerMinute", "PILOTO_FILES_MB": "FilesMB",
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
		ContextURL: getenv("PILOTO_CONTEXT_URL"), StopTimeout: getenv("PILOTO_STOP_TIMEOUT"), Parameters: set,
	}
	var demo, browse, credits error
	s.Demo, demo = readSwitch(getenv, "PILOTO_DEMO", s.Key == "" && s.BaseURL == "" && s.GroqKey == "")
	s.Browse, browse = readSwitch(getenv, "PILOTO_OPEN", true)
	s.Credits, credits = readSwitch(getenv, "PILOTO_CREDITS", false)
	return s, errors.Join(demo, browse, credits)
}

// check returns an error that names the variable whose value the template's parameter cannot have.
func (s Settings) check(t *template.Template) error {
	for _, variable := range slices.Sorted(maps.Keys(parameters)) {
		name := parameters[variable]
		i := slices.IndexFunc(t.Parameters, func(p template.Parameter) bool { return p.Name == name })
		if value := s.Parameters[name]; value != "" && i >= 0 {
			p := t.Parameters[i]
			switch err := p.Accept(value); {
			case err != nil && p.Number:
				return refusal("up.wrong.number", "name", variable, "value", value, "least", p.Min, "most", p.Max)
			case err != nil:
				return refusal("up.wrong.setting", "name", variable, "value", value, "why", err.Error())
			}
		}
	}
	return nil
}

// mostStop is the longest time that may be set for calls under way, in seconds.
const mostStop = 3600

// usualLimit is the time of a step's call, and of a turn's calls of the model, when no setting says otherwise, in seconds.
const usualLimit = 60

// stopTime returns how long calls under way may take to end. Unless it is set, that is the longest time limit of a call of a
// step or of a turn, and stopGrace to store its result. Settings of no environment have stopGrace alone.
func (s Settings) stopTime() (time.Duration, error) {
	if text := strings.TrimSpace(s.StopTimeout); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > mostStop {
			return 0, refusal("up.wrong.seconds", "name", "PILOTO_STOP_TIMEOUT", "value", text, "most", strconv.Itoa(mostStop))
		}
		return max(time.Duration(n)*time.Second, time.Nanosecond), nil
	}
	if s.Parameters == nil {
		return stopGrace, nil
	}
	longest := 0
	for _, name := range []string{"ToolTimeoutSeconds", "ModelTimeoutSeconds"} {
		n, err := strconv.Atoi(strings.TrimSpace(s.Parameters[name]))
		if err != nil || n < 1 { // the reader of the value reports the error
			n = usualLimit
		}
		longest = max(longest, n)
	}
	return time.Duration(min(longest, mostStop))*time.Second + stopGrace, nil
}

// normalizeOrigins reads a list of origins as people write it (spaces, a slash at the end). It
// returns them as a browser writes them, separated by commas.
func normalizeOrigins(given string) (string, error) {
	var list []string
	for _, text := range strings.FieldsFunc(given, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		u, err := url.Parse(strings.ToLower(strings.TrimSuffix(text, "/")))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.String() != u.Scheme+"://"+u.Host {
			return "", refusal("up.wrong.origin", "name", "PILOTO_CORS_ORIGINS", "value", text)
		}
		usual := map[string]string{"http": ":80", "https": ":443"}[u.Scheme] // a browser leaves out the default port
		list = append(list, strings.TrimSuffix(u.String(), usual))
	}
	return strings.Join(list, ","), nil
}

// switchWords maps the words that people write to on and off.
var switchWords = map[string]bool{
	"on": true, "true": true, "1": true, "yes": true, "y": true, "sí": true, "si": true, "t": true,
	"off": false, "false": false, "0": false, "no": false, "n": false, "f": false,
}

// readSwitch reads a switch; unset is the value when the variable is empty.
func readSwitch(getenv func(string) string, name string, unset bool) (bool, error) {
	text := strings.ToLower(strings.TrimSpace(getenv(name)))
	if text == "" {
		return unset, nil
	}
	is, known := switchWords[text]
	if !known {
		return false, refusal("up.wrong.switch", "name", name, "value", getenv(name))
	}
	return is, nil
}

// usesDemoModel reports whether the built-in demonstration model answers: the demonstration is on,
// and no other provider is set.
func (s Settings) usesDemoModel() bool {
	return s.Demo && s.Key == "" && s.BaseURL == "" && s.GroqKey == ""
}

// usesGroqOnly reports whether Groq is the only provider.
func (s Settings) usesGroqOnly() bool { return s.GroqKey != "" && s.Key == "" && s.BaseURL == "" }

// needsNoKey reports whether the provider needs no key: a provider with a base URL, such as a model
// on this machine, or the demonstration model.
func (s Settings) needsNoKey() bool { return s.Key == "" && (s.BaseURL != "" || s.usesDemoModel()) }

// Unlimited returns Parameters without rates, for measurements.
func Unlimited() map[string]string {
	return map[string]string{"TurnsPerMinute": "0", "WritesPerMinute": "0", "RequestsPerMinute": "0", "BadTokensPerMinute": "0", "FileMBPerMinute": "0"}
}

// Provider is the provider of models that the settings name.
type Provider struct {
	BaseURL, Model string // empty: the demonstration
	Key            secrets.Key
}

// Provider returns the provider that answers turns.
func (s Settings) Provider() Provider {
	switch {
	case s.usesDemoModel():
		return Provider{}
	case s.usesGroqOnly():
		return Provider{cmp.Or(s.GroqBaseURL, groqBaseURL), cmp.Or(s.GroqModel, groqModel), s.GroqKey}
	default:
		return Provider{cmp.Or(s.BaseURL, openAIBaseURL), cmp.Or(s.Model, openAIModel), s.Key}
	}
}

// The defaults of the template for a provider.
const (
	openAIBaseURL = "https://api.openai.com/v1"
	openAIModel   = "gpt-4o-mini"
)
