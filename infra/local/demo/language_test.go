package demo

import (
	"strings"
	"testing"

	openai "github.com/sashabaranov/go-openai"

	"piloto/internal/chats/agent"
	"piloto/internal/ground/locale"
)

// promptsIn returns the prompts of Piloto in a language, with services that describe themselves in the other one.
func promptsIn(t *testing.T, tag locale.Tag) map[string]string {
	t.Helper()
	catalogue := strings.ReplaceAll(textBetween(system(t).Content, "<catalogue>\n", "\n</catalogue>"), "Crea una reserva de sala", "Book a room please")
	out := map[string]string{}
	for _, name := range []string{"turn", "conclude"} {
		text, err := locale.Prompt(tag, name, map[string]any{
			"Persona": "", "Agent": "", "Project": "", "Workspace": "", "Session": "", "Catalogue": catalogue, "Total": 0, "Named": false, "Look": true,
			"Asks": true, "Files": true, "Writes": true, "Read": "", "Today": "2026-11-20", "Requests": "",
			"Ended": `{"goal":"r-1","status":"cancelled"}`,
		})
		if err != nil {
			t.Fatal(err)
		}
		out[name] = text
	}
	var err error
	if out["router"], err = agent.Prompt(tag, agent.Scene{Today: "2026-11-20", Agents: []agent.Agent{{Name: "venta"}}}); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestMessageWithoutLanguageIsAnsweredInThatOfThePrompt: so a reader's first «ok» is answered in their language. A message that
// shows its language decides, also for those after it.
func TestMessageWithoutLanguageIsAnsweredInThatOfThePrompt(t *testing.T) {
	for _, tag := range locale.Tags() {
		for name, prompt := range promptsIn(t, tag) {
			for _, message := range []string{"ok", "no", "?", "123", "xyz", "👍", "r-1"} {
				check := func(want locale.Tag, messages ...string) {
					t.Helper()
					c := completion{Messages: []openai.ChatCompletionMessage{{Role: "system", Content: prompt}}}
					for _, text := range messages {
						c.Messages = append(c.Messages, openai.ChatCompletionMessage{Role: "user", Content: text})
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
