package main

// settings are what a person may set in the environment of the process.
type settings struct {
	token    string // PILOTO_TOKEN: of the default account
	demo     bool   // PILOTO_DEMO=off leaves out the demonstration model and service
	key      string // OPENAI_API_KEY
	baseURL  string // OPENAI_BASE_URL
	model    string // OPENAI_MODEL
	logLevel string // LOG_LEVEL
}

func settingsFrom(getenv func(string) string) settings {
	return settings{
		token: getenv("PILOTO_TOKEN"), demo: getenv("PILOTO_DEMO") != "off",
		key: getenv("OPENAI_API_KEY"), baseURL: getenv("OPENAI_BASE_URL"), model: getenv("OPENAI_MODEL"),
		logLevel: getenv("LOG_LEVEL"),
	}
}

// demoModel reports whether the built-in demonstration model answers: nothing
// else was configured, and it was not left out.
func (s settings) demoModel() bool { return s.demo && s.key == "" && s.baseURL == "" }

// keyless reports whether the provider needs no key: one that was named, as a
// model served on one's own machine is, or the demonstration model.
func (s settings) keyless() bool { return s.key == "" && (s.baseURL != "" || s.demoModel()) }
