package openai

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"

	sdk "github.com/sashabaranov/go-openai"

	"piloto/internal/models/llm"
)

// strategy is a way to request an answer in a Format. When a model refuses one strategy, the client tries the next.
type strategy int

const (
	bySchema  strategy = iota // response_format holds the schema
	byTool                    // the schema is that of the only tool, and the model must call it
	byAnyTool                 // the model must call some tool, and there is only this one
	byOffer                   // the tool is only offered: reasoning models accept no tool_choice
	byWords                   // only the prompt describes the format
)

// apply adds the Format to a request.
func (w strategy) apply(out *sdk.ChatCompletionRequest, f llm.Format) {
	switch w {
	case bySchema:
		out.ResponseFormat = &sdk.ChatCompletionResponseFormat{
			Type:       sdk.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &sdk.ChatCompletionResponseFormatJSONSchema{Name: f.Name, Schema: f.Schema, Strict: true},
		}
		return
	case byWords:
		return
	case byTool:
		out.ToolChoice = sdk.ToolChoice{Type: sdk.ToolTypeFunction, Function: sdk.ToolFunction{Name: f.Name}}
	case byAnyTool:
		out.ToolChoice = "required"
	}
	out.Tools = []sdk.Tool{{Type: sdk.ToolTypeFunction, Function: &sdk.FunctionDefinition{Name: f.Name, Parameters: f.Schema}}}
}

// Marks by which a provider's error text shows which member it refuses: OpenAI, Groq, DeepSeek, Mistral, xAI,
// Gemini, vLLM, llama.cpp and Ollama.
var (
	schemaMarks = []string{
		"response_format", "response format", "responseformat", "response_schema", "responseschema", "json_schema", "json schema",
		"structured output", "structured_output", "json mode", "output_format", "guided", "grammar", "invalid format",
	}
	choiceMarks = []string{"tool_choice", "tool choice", "toolchoice"}
	toolMarks   = []string{"tool", "function"}
)

// next returns the strategy to try after the refusal no. It returns w when the refusal is not about w.
func (w strategy) next(no *refusal) strategy {
	switch no.effectiveStatus() {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity:
	default:
		return w
	}
	words := strings.ToLower(no.about + " " + no.code + " " + no.kind + " " + no.message)
	speaks := func(marks []string) bool {
		return slices.ContainsFunc(marks, func(m string) bool { return strings.Contains(words, m) })
	}
	switch {
	case w == bySchema && speaks(schemaMarks), w != bySchema && w != byWords && speaks(choiceMarks):
		return w + 1
	case w != bySchema && w != byWords && speaks(toolMarks):
		return byWords
	}
	return w
}

// rejectedText returns the text of a model that does not match the Format, from an error that contains it. The
// caller reads the text, finds that it does not match, and asks again. Groq returns such an error where other
// providers return the text.
func rejectedText(err error) (string, bool) {
	var no *refusal
	if !errors.As(err, &no) || !no.hasCode("json_validate_failed", "tool_use_failed") {
		return "", false
	}
	return no.generation, true
}

// formText returns the text of an answer in a Format. Some strategies bring it as the arguments of a tool call.
func formText(reply llm.Reply, name string) string {
	if len(reply.Calls) == 0 {
		return reply.Text
	}
	at := max(0, slices.IndexFunc(reply.Calls, func(c llm.Call) bool { return c.Name == name }))
	return cmp.Or(strings.TrimSpace(reply.Calls[at].Arguments), reply.Text)
}
