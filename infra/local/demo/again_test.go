package demo

import (
	"maps"
	"slices"
	"strings"
	"testing"

	openai "github.com/sashabaranov/go-openai"
)

// translated is the looking prompt in which the catalogue, or else what is known, is in English.
func translated(t *testing.T, catalogue bool) openai.ChatCompletionMessage {
	t.Helper()
	prompt := looking(t)
	before, known, _ := strings.Cut(prompt.Content, "<reads>")
	var pairs []string
	for _, es := range slices.Backward(slices.Sorted(maps.Keys(words[true]))) { // «Sala Norte» comes before «Sala»
		pairs = append(pairs, es, words[true][es])
	}
	if english := strings.NewReplacer(pairs...); catalogue {
		before = english.Replace(before)
	} else {
		known = english.Replace(known)
	}
	prompt.Content = before + "<reads>" + known
	return prompt
}

// oneRoom is an earlier look at one room.
const oneRoom = `{"id":"l0","service":"Reservas","called":"GET http://127.0.0.1:8091/rooms/cabina","status":200,"answer":"{\"id\":\"cabina\",\"name\":\"Cabina\",\"features\":[]}"}` + "\n"

// TestWhatWasReadInTheOtherLanguageIsReadAgain, in both directions, before anything that writes is proposed: the card of a
// plan says of its things what the newest answer says.
func TestWhatWasReadInTheOtherLanguageIsReadAgain(t *testing.T) {
	tools := append(slices.Clone(offered), newTool(toolLook))
	draft := strings.NewReplacer("${s1.body.items[0].id}", "norte", `{"id":"s2"`, `{"title":"Book a room","id":"s2"`).Replace(waiting)
	const list, room = `look {"mcp_id":"mcp_res","path":"/rooms","query":{"capacity":6,"free_on":"2026-11-21"}}`, `look {"mcp_id":"mcp_res","path":"/rooms/cabina"}`
	for _, c := range []struct {
		message, more string
		tools         []openai.Tool
		look, want    string
	}{
		{"reserva la más barata", "", tools, list, `"room_id": "sur"`},
		{"Book the cheapest", "", tools, list, `"room_id": "sur"`},
		{"book the second at 12", "", tools, list, `"start": "12:00"`},
		{"reserva la sala norte el lunes a las 12 para 4", "", tools, list, `"room_id": "norte"`},
		{"reserva la cabina el lunes a las 12 para 1", "", tools, room, `"room_id": "cabina"`},
		{"mueve la reserva r-1 a la sala sur", "", tools, list, `"room_id":"sur"`},
		{"mejor la más barata", draft, append(slices.Clone(tools), newTool(toolRevise)), list, `"title": "Crea una reserva de sala"`},
		{"better at 12", draft, append(slices.Clone(tools), newTool(toolRevise)), list, `"start": "12:00"`},
		{"reserva la sala este el lunes a las 12 para 2", "", tools, "", `"room_id": "este"`}, // nothing was read of it
		{"cancela la r-1", "", tools, "", `/reservations/r-1`},
		{"¿y la segunda?", "", tools, "", "Sala Sur ("},
		{"and the second?", "", tools, "", "South Room ("},
		{"reserva la más barata", "", offered, "", `"room_id": "sur"`}, // nothing may be read
	} {
		for _, prompt := range []openai.ChatCompletionMessage{translated(t, true), translated(t, false)} {
			said := oneRoom
			if strings.Contains(prompt.Content, "Lista las reservas") {
				said = strings.NewReplacer("Reservas", "Bookings", "Cabina", "Booth").Replace(oneRoom)
			}
			prompt.Content = strings.Replace(prompt.Content, "<reads>\n", "<reads>\n"+said, 1) + c.more
			messages := []openai.ChatCompletionMessage{prompt, {Role: "user", Content: c.message}}
			got := next(t, messages, c.tools)
			if c.look != "" {
				if show(got) != c.look {
					t.Errorf("%s: %s, want %s", c.message, show(got), c.look)
					continue
				}
				answer := strings.TrimSpace(oneRoom)
				if c.look == list {
					_, answer, _ = strings.Cut(looking(t).Content, "<reads>\n")
					answer, _, _ = strings.Cut(answer, "\n")
				}
				messages = append(messages, got, openai.ChatCompletionMessage{Role: "tool", ToolCallID: got.ToolCalls[0].ID, Content: answer})
				got = next(t, messages, c.tools)
			}
			if text := show(got); !strings.Contains(text, c.want) || strings.HasPrefix(text, "look ") {
				t.Errorf("%s: %s, want %s", c.message, text, c.want)
			}
		}
	}
}

// TestWhatWasReadInTheLanguageOfTheServiceStays: it is not read again, whatever the language of the message.
func TestWhatWasReadInTheLanguageOfTheServiceStays(t *testing.T) {
	both := translated(t, false)
	spanish, _, _ := strings.Cut(textBetween(looking(t).Content, "<reads>\n", "\n</reads>"), "\n")
	both.Content = strings.Replace(both.Content, "\n</reads>", "\n"+spanish+"\n</reads>", 1) // the newest is in Spanish again
	for _, prompt := range []openai.ChatCompletionMessage{looking(t), both} {
		for _, message := range []string{"reserva la más barata", "book the cheapest"} {
			if got := show(next(t, []openai.ChatCompletionMessage{prompt, {Role: "user", Content: message}}, append(slices.Clone(offered), newTool(toolLook)))); !strings.HasPrefix(got, "mcp_request") {
				t.Errorf("%s: %s", message, got)
			}
		}
	}
}

// TestWhatIsOfferedIsUnderstood says each line of the list of operations as it stands, in both languages.
func TestWhatIsOfferedIsUnderstood(t *testing.T) {
	for _, prompt := range []openai.ChatCompletionMessage{looking(t), translated(t, true)} {
		prompt.Content, _, _ = strings.Cut(prompt.Content, "<reads>")
		for _, op := range readCatalogue(prompt.Content)[:8] {
			for _, s := range []speech{{false}, {true}} {
				message := words[s.en][op.Summary]
				if message == "" {
					message = op.Summary
				}
				got := show(next(t, []openai.ChatCompletionMessage{prompt, {Role: "user", Content: message}}, append(slices.Clone(offered), newTool(toolLook))))
				if asks := strings.Contains(got, message); asks == (op.Method == "GET") || !asks && !strings.HasPrefix(got, "look ") {
					t.Errorf("%s: %s", message, got)
				}
			}
		}
	}
}

// next returns the model's next message of a dialogue.
func next(t *testing.T, messages []openai.ChatCompletionMessage, tools []openai.Tool) openai.ChatCompletionMessage {
	t.Helper()
	answer, err := client(t).CreateChatCompletion(t.Context(), openai.ChatCompletionRequest{Model: ModelName, Tools: tools, Messages: transcript(t, messages)})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Choices[0].Message
}
