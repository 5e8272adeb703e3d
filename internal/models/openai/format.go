package openai

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"

	"piloto/internal/models/llm"
)

// Strategy is a way to request an answer in a Format. When a model refuses one strategy, the client tries the next.
type Strategy string

// The strategies, in the order in which they are tried.
const (
	BySchema  Strategy = ""         // response_format holds the schema
	ByTool    Strategy = "tool"     // the schema is that of the only tool, and the model must call it
	ByAnyTool Strategy = "any_tool" // the model must call some tool, and there is only this one
	ByOffer   Strategy = "offer"    // the tool is only offered: reasoning models accept no tool_choice
	ByWords   Strategy = "words"    // only the prompt describes the format
)

// after returns the strategy that is tried after w.
func (w Strategy) after() Strategy {
	switch w {
	case BySchema:
		return ByTool
	case ByTool:
		return ByAnyTool
	case ByAnyTool:
		return ByOffer
	}
	return ByWords
}

// apply adds the Format to a request.
func (w Strategy) apply(out *body, f llm.Format) {
	switch w {
	case BySchema:
		out.ResponseFormat = &responseFormat{"json_schema", namedSchema{f.Name, true, f.Schema}}
		return
	case ByWords:
		return
	case ByTool:
		out.ToolChoice = map[string]any{"type": "function", "function": map[string]string{"name": f.Name}}
	case ByAnyTool:
		out.ToolChoice = "required"
	}
	out.Tools = []tool{{"function", toolSpec{Name: f.Name, Parameters: llm.Common(f.Schema)}}}
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
func (w Strategy) next(no *refusal) Strategy {
	switch no.effectiveStatus() {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity:
	default:
		return w
	}
	words, byTool := no.words(), w != BySchema && w != ByWords
	switch {
	case w == BySchema && speaks(words, schemaMarks...), byTool && speaks(words, choiceMarks...):
		return w.after()
	case byTool && speaks(words, toolMarks...):
		return ByWords
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
