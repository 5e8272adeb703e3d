package demo

import (
	"os"
	"strings"
	"testing"

	openai "github.com/sashabaranov/go-openai"
)

// looking is the prompt of a chat in which the first service may be read, and was: rooms for six on Saturday, and then a
// reservation was made.
func looking(t *testing.T) openai.ChatCompletionMessage {
	t.Helper()
	prompt := system(t)
	known, err := os.ReadFile("testdata/known.txt")
	if err != nil {
		t.Fatal(err)
	}
	rooms, shop, _ := strings.Cut(prompt.Content, "server mcp_shop")
	prompt.Content = strings.ReplaceAll(rooms, "- asks GET", "- reads GET") + "server mcp_shop" + shop + string(known)
	return prompt
}

// What the catalogue marks as one that reads is looked at, and its answer is told in rows.
func TestAMarkedServiceIsLookedAt(t *testing.T) {
	plain, marked := system(t), looking(t)
	ask := func(first openai.ChatCompletionMessage, tools []openai.Tool, rest ...openai.ChatCompletionMessage) openai.ChatCompletionMessage {
		t.Helper()
		messages := append([]openai.ChatCompletionMessage{first, {Role: "user", Content: "¿Qué salas libres hay mañana para 6?"}}, rest...)
		got, err := client(t).CreateChatCompletion(t.Context(), openai.ChatCompletionRequest{Model: ModelName, Messages: transcript(t, messages), Tools: tools})
		if err != nil {
			t.Fatal(err)
		}
		return got.Choices[0].Message
	}
	with := append(append([]openai.Tool{}, offered...), newTool("look"))
	called := ask(marked, with)
	if len(called.ToolCalls) != 1 || called.ToolCalls[0].Function.Name != "look" || !strings.Contains(called.ToolCalls[0].Function.Arguments, `"path":"/rooms`) {
		t.Fatalf("%+v", called)
	}
	for _, other := range []openai.ChatCompletionMessage{ask(plain, with), ask(marked, offered)} {
		if len(other.ToolCalls) != 1 || other.ToolCalls[0].Function.Name == "look" {
			t.Errorf("%+v", other)
		}
	}
	for result, want := range map[string]string{
		`{"id":"l1","called":"GET /rooms","status":200,"answer":"{\"items\":[{\"name\":\"Sala Norte\",\"capacity\":8},{\"name\":\"Sala Este\",\"capacity\":6}]}"}`: "En Reservas hay 2:\n- Sala Norte (plazas: 8)\n- Sala Este (plazas: 6)",
		`{"id":"l1","called":"GET /rooms","status":200,"answer":"{\"items\":[]}"}`:                                                                                 "En Reservas no hay ninguno.",
		`{"id":"l1","called":"GET /rooms","status":404,"answer":"{}"}`:                                                                                             "Reservas no lo enseña (404).",
		`{"id":"l1","called":"GET /rooms","error":"no answer came"}`:                                                                                               "Reservas no lo enseña (0).",
		`{"id":"l1","called":"GET /rooms","status":200,"answer":"hola"}`:                                                                                           "Reservas responde: hola",
	} {
		got := ask(marked, with, called, openai.ChatCompletionMessage{Role: "tool", ToolCallID: called.ToolCalls[0].ID, Content: result})
		if got.Content != want {
			t.Errorf("%s\nis told as %q", result, got.Content)
		}
	}
}
