package demo

import (
	"strings"
	"testing"

	openai "github.com/sashabaranov/go-openai"

	"piloto/internal/chats/agent"
	"piloto/internal/ground/locale"
)

// promptsIn returns the system messages of Piloto for a person whose client has a language, with services that describe themselves in
// the other one.
func promptsIn(t *testing.T, tag locale.Tag) map[string][]string {
	t.Helper()
	catalogue := strings.ReplaceAll(textBetween(system(t).Content, "<catalogue>\n", "\n</catalogue>"), "Crea una reserva de sala", "Book a room please")
	text, err := locale.ModelPrompt("turn", map[string]any{
		"Persona": "", "Agent": "", "Project": "", "Workspace": "", "Session": "", "Catalogue": catalogue, "Total": 0, "Named": false, "Look": true,
		"Asks": true, "Files": true, "Writes": true, "Client": "",
	})
	if err != nil {
		t.Fatal(err)
	}
	now := "Now: Friday 2026-11-20 09:00 (UTC). " + locale.ModelText("prompt.someone", "language", locale.ModelText("prompt.language."+string(tag))) + "\nNo plan waits for a confirmation."
	router, err := agent.Prompt(tag, agent.Scene{Today: "2026-11-20", Agents: []agent.Agent{{Name: "venta"}}})
	if err != nil {
		t.Fatal(err)
	}
	ended := "<event>\n" + `{"plan_ended":{"run_id":"run1","goal":"r-1","status":"cancelled"}}` + "\n</event>"
	return map[string][]string{"turn": {text, now}, "conclude": {text, ended, now}, "router": {router}}
}

// TestMessageWithoutLanguageIsAnsweredInThatOfThePrompt: so a reader's first «ok» is answered in the language of their client, which the
// state of the turn names, because prompts have one language. A message that
// shows its language decides, also for those after it.
func TestMessageWithoutLanguageIsAnsweredInThatOfThePrompt(t *testing.T) {
	for _, tag := range locale.Tags() {
		for name, prompt := range promptsIn(t, tag) {
			for _, message := range []string{"ok", "no", "?", "123", "xyz", "👍", "r-1"} {
				check := func(want locale.Tag, messages ...string) {
					t.Helper()
					var c completion
					said := func(role, text string) {
						c.Messages = append(c.Messages, openai.ChatCompletionMessage{Role: role, Content: text})
					}
					for _, text := range prompt {
						said("system", text)
					}
					for _, text := range messages {
						said("user", text)
					}
					if name == "conclude" {
						said("user", order)
						c.ToolChoice = "none"
					}
					if name == "router" {
						c.Format = &openai.ChatCompletionResponseFormat{JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{
							Schema: agent.Format([]agent.Agent{{Name: "venta"}}).Schema,
						}}
					}
					d, err := c.decide(friday)
					text, _, _ := strings.Cut(d.text, "\n") // what the services say of themselves follows
					if err != nil || spanishText.MatchString(text) != (want == locale.Spanish) {
						t.Errorf("%s in %s, %q: %q, %v", name, tag, messages, text, err)
					}
				}
				check(tag, message)
				check(locale.Spanish, "Hola, busca una sala", message)
				check(locale.English, "Hello, find a room please", message)
			}
		}
	}
}
