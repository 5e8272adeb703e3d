package agent

import (
	"strings"
	"testing"

	"piloto/infra/local/fixture/cost"
)

// TestReadDecisionTakesLinearTime: the input comes from a model.
func TestReadDecisionTakesLinearTime(t *testing.T) {
	if testing.Short() {
		t.Skip("large answers")
	}
	const n = 1 << 20
	agents := make([]Agent, 50)
	for i := range agents {
		agents[i].Name = strings.Repeat("a", i+1)
	}
	respond := func(text string) string { return `{"action":"respond","response":"` + text + `"}` }
	hostile := map[string]string{
		"a long name":    `{"action":"delegate","agent_name":"` + strings.Repeat("A", n) + `"}`,
		"a long action":  `{"action":"` + strings.Repeat(" ", n) + `"}`,
		"long folds":     `{"action":"delegate","agent_name":"` + strings.Repeat("\u212a", n/3) + `"}`,
		"many members":   `{` + strings.Repeat(`"a":1,`, n/6) + `"action":"respond","response":"x"}`,
		"one over again": `{` + strings.Repeat(`"response":"x",`, n/15) + `"action":"respond"}`,
		"lists":          `{"action":` + strings.Repeat("[", n/2) + strings.Repeat("]", n/2) + `}`,
		"open lists":     strings.Repeat("[", n),
		"open objects":   strings.Repeat(`{"a":`, n/5),
	}
	for unit, text := range cost.Repeated(n, `\u202e`, `\\`, `\"`, `\ufeff`, "\u202e", "\ufeff", " ", `\u0000`, `\ud800`, "<a ", "a\u0301", `\n`) {
		hostile[unit] = respond(text)
	}
	cost.Alike(t, "a decision", func(raw string) { _, _ = ReadDecision([]byte(raw), agents) }, respond(strings.Repeat("Hola, ¿qué tal? ", n/18)), hostile)
}
