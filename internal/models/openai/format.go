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

// way is how an answer in a form is asked for. A model that refuses one is asked
// in the next.
type way int

const (
	bySchema  way = iota // response_format holds the schema
	byTool               // it is the schema of the only tool, which is to be called
	byAnyTool            // some tool is to be called, and there is no other
	byOffer              // there is the tool: models that reason take no choice of one
	byWords              // the prompt alone says it
)

// ask writes the form into a request.
func (w way) ask(out *sdk.ChatCompletionRequest, f llm.Format) {
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

// The words in which providers speak of a way: OpenAI, Groq, DeepSeek, Mistral,
// xAI, Gemini, vLLM, llama.cpp and Ollama.
var (
	schemaMarks = []string{
		"response_format", "response format", "responseformat", "response_schema", "responseschema", "json_schema", "json schema",
		"structured output", "structured_output", "json mode", "output_format", "guided", "grammar", "invalid format",
	}
	choiceMarks = []string{"tool_choice", "tool choice", "toolchoice"}
	toolMarks   = []string{"tool", "function"}
)

// after is the way to ask when no was the answer to w: w itself when it is not
// what was refused.
func (w way) after(no *refusal) way {
	switch no.meant() {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity:
	default:
		return w
	}
	said := strings.ToLower(no.about + " " + no.code + " " + no.kind + " " + no.message)
	speaks := func(marks []string) bool {
		return slices.ContainsFunc(marks, func(m string) bool { return strings.Contains(said, m) })
	}
	switch {
	case w == bySchema && speaks(schemaMarks), w != bySchema && w != byWords && speaks(choiceMarks):
		return w + 1
	case w != bySchema && w != byWords && speaks(toolMarks):
		return byWords
	}
	return w
}

// unfit returns what a model wrote that is not of the form, from an error that
// says so: who asked reads it, sees that it does not fit, and asks again. Groq
// answers with such an error where others answer with what was written.
func unfit(err error) (string, bool) {
	var no *refusal
	if !errors.As(err, &no) || !no.is("json_validate_failed", "tool_use_failed") {
		return "", false
	}
	return no.generation, true
}

// formed is the text of an answer in a form, when it came as the arguments of a
// tool.
func formed(reply llm.Reply, name string) string {
	if len(reply.Calls) == 0 {
		return reply.Text
	}
	at := max(0, slices.IndexFunc(reply.Calls, func(c llm.Call) bool { return c.Name == name }))
	return cmp.Or(strings.TrimSpace(reply.Calls[at].Arguments), reply.Text)
}
