package demo

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	openai "github.com/sashabaranov/go-openai"
)

// The files of these tests write a read on one line, with the address that was called, and a prompt with lines of what was read and
// run before. Piloto sends a transcript.

// transcript returns messages as Piloto sends them: a read is a call and its result, the end of a plan is an event, and what is true of
// the turn stands before the person's message.
func transcript(t testing.TB, messages []openai.ChatCompletionMessage) []openai.ChatCompletionMessage {
	t.Helper()
	var out []openai.ChatCompletionMessage
	system := messages[0].Content
	cut := func(tag string) []string {
		inside := textBetween(system, "<"+tag+">\n", "</"+tag+">")
		system = strings.Replace(system, "<"+tag+">\n"+inside+"</"+tag+">", "", 1)
		return strings.FieldsFunc(inside, func(c rune) bool { return c == '\n' })
	}
	reads, runs := cut("reads"), cut("runs")
	system, state, _ := strings.Cut(system, "<draft>")
	out = append(out, openai.ChatCompletionMessage{Role: "system", Content: strings.TrimSpace(system)})
	for i, line := range reads {
		call, result := lookedAt(t, line)
		call.ID = fmt.Sprint("before", i)
		out = append(out, openai.ChatCompletionMessage{Role: "assistant", ToolCalls: []openai.ToolCall{call}}, openai.ChatCompletionMessage{Role: "tool", ToolCallID: call.ID, Content: result})
	}
	for _, line := range runs {
		out = append(out, openai.ChatCompletionMessage{Role: "system", Content: "<event>\n{\"plan_ended\":" + line + "}\n</event>"})
	}
	out = append(out, openai.ChatCompletionMessage{Role: "system", Content: "Now: Friday 2026-11-20 09:00 (UTC)."})
	if state != "" {
		out[len(out)-1].Content += "\n<draft>" + state
	}
	for _, m := range messages[1:] {
		if m.Role == "tool" && strings.Contains(m.Content, `"called":`) {
			call, result := lookedAt(t, m.Content)
			at := len(out) - 1
			if calls := slices.Clone(out[at].ToolCalls); len(calls) > 0 && calls[0].Function.Name != toolLook {
				call.ID, calls[0] = calls[0].ID, call
				calls[0].ID, out[at].ToolCalls = call.ID, calls
			}
			m.Content = result
		}
		out = append(out, m)
	}
	return out
}

// lookedAt returns the call and the result of a read.
func lookedAt(t testing.TB, line string) (openai.ToolCall, string) {
	t.Helper()
	var read struct {
		ID, Service, Called, At, Answer, Error string
		Status                                 int
	}
	if err := json.Unmarshal([]byte(line), &read); err != nil {
		t.Fatal(err, line)
	}
	asked := look{Server: "mcp_res", Query: map[string]any{}}
	address, query, _ := strings.Cut(strings.TrimPrefix(read.Called, "GET "), "?")
	if path, isShop := strings.CutPrefix(address, "https://shop.example.com/v2"); isShop {
		asked.Server, address = "mcp_shop", path
	}
	asked.Path = strings.TrimPrefix(address, "http://127.0.0.1:8091")
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	for name := range values {
		asked.Query[name] = values.Get(name)
	}
	result := map[string]any{"id": "l1", "at": "2026-11-20 09:00:00Z", "status": read.Status, "calls_left": 9}
	if result["answer"] = read.Answer; json.Valid([]byte(read.Answer)) {
		result["answer"] = json.RawMessage(read.Answer)
	}
	if read.Error != "" {
		result["error"] = read.Error
	}
	return openai.ToolCall{Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: toolLook, Arguments: string(encode(asked))}}, string(encode(result))
}
