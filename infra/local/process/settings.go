package process

import "piloto/internal/secrets"

// Settings are what a person may set in the environment of the process.
type Settings struct {
	Token    string      // PILOTO_TOKEN: of the default account
	Demo     bool        // PILOTO_DEMO=off leaves out the demonstration model, service and agent
	Key      secrets.Key // OPENAI_API_KEY
	BaseURL  string      // OPENAI_BASE_URL
	Model    string      // OPENAI_MODEL
	LogLevel string      // LOG_LEVEL
	KeepGC   bool        // GOGC is set, and decides how often garbage is collected

	GroqKey     secrets.Key // GROQ_API_KEY
	GroqBaseURL string      // GROQ_BASE_URL
	GroqModel   string      // GROQ_MODEL

	ContextURL string // PILOTO_CONTEXT_URL: where the router asks what is known of a company

	// Delegation is what the environment says of how agents are called, by the
	// parameter of the template that it sets.
	Delegation map[string]string

	// Credits is PILOTO_CREDITS=on: what the keys above pay for costs credits. On
	// one's own machine they are one's own.
	Credits bool
}

// What Groq is where nothing else was said.
const (
	groqBaseURL = "https://api.groq.com/openai/v1"
	groqModel   = "llama-3.3-70b-versatile"
)

// delegation are the variables of how agents are called, as document 001 names them,
// and the template's parameters.
var delegation = map[string]string{
	"MCP_CIRCUIT_BREAKER_FAILURE_THRESHOLD": "AgentFailures", "MCP_CIRCUIT_BREAKER_RESET_TIMEOUT": "AgentPauseSeconds",
	"MCP_MAX_RETRIES": "AgentAttempts", "MCP_TIMEOUT": "AgentTimeoutSeconds",
}

// SettingsFrom reads the settings.
func SettingsFrom(getenv func(string) string) Settings {
	agents := map[string]string{}
	for variable, parameter := range delegation {
		agents[parameter] = getenv(variable)
	}
	return Settings{
		Token: getenv("PILOTO_TOKEN"), Demo: getenv("PILOTO_DEMO") != "off",
		Key: secrets.Key(getenv("OPENAI_API_KEY")), BaseURL: getenv("OPENAI_BASE_URL"), Model: getenv("OPENAI_MODEL"),
		LogLevel: getenv("LOG_LEVEL"), KeepGC: getenv("GOGC") != "",
		GroqKey: secrets.Key(getenv("GROQ_API_KEY")), GroqBaseURL: getenv("GROQ_BASE_URL"), GroqModel: getenv("GROQ_MODEL"),
		ContextURL: getenv("PILOTO_CONTEXT_URL"), Delegation: agents, Credits: getenv("PILOTO_CREDITS") == "on",
	}
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
