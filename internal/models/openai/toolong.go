package openai

import (
	"regexp"
	"strconv"
	"strings"

	"piloto/internal/ground/lazy"
	"piloto/internal/models/llm"
)

// Marks of a refusal because the prompt and its answer are longer than the window of the model, of OpenAI, Azure, vLLM,
// llama.cpp, Ollama, LM Studio, Gemini, Anthropic, Mistral, Groq, xAI, Cohere, Moonshot, GLM, Qwen, SiliconFlow, Ernie, Doubao,
// Bedrock, TGI, Copilot and gateways before them.
var tooLongMarks = []string{
	"context_length_exceeded", "exceed_context_size", "contextwindowexceeded", "max_prompt_tokens_exceeded", "model_max_length",
	"context length", "context size", "context window", "context limit", "maximum number of tokens", "maximum prompt length",
	"maximum model length", "prompt is too long", "prompt too long", "input is too long", "too many tokens", "reduce the length",
	"request too large for model", "max_new_tokens` must be <=", "model token limit", "token limit exceeded", "exceeds max length", "prompt 超长",
	"range of input length", "max_seq_len", "max input characters", "336007", "exceed max message tokens", "context overflow", "request_too_large",
	"input tokens exceed", "number of input tokens", "prompt length exceeds", "input too long", "`inputs` must have less than", "token count of",
}

// namedWindows find the window in such a refusal; the first that is there counts.
var namedWindows = []func() *regexp.Regexp{
	lazy.Pattern(`(?:maximum|max|available|supports?)[^.\d]{0,40}(?:context|prompt|model|number of tokens)[^.\d]{0,40}?(\d[\d,]{2,})`),
	lazy.Pattern(`(\d[\d,]{2,})[^.\d]{0,10}maximum context`),
	lazy.Pattern(`only (\d[\d,]{2,}) tokens`),
	lazy.Pattern(`> (\d[\d,]{2,})`),
	lazy.Pattern(`\[\d+, ?(\d{3,})\]`),
	lazy.Pattern(`(?:max_seq_len|limit) \((\d[\d,]{2,})\)`),
	lazy.Pattern(`(?:<=|cannot exceed|less than|limit(?: of| is)?:?) (\d[\d,]{2,})`),
}

// leastWindow is the smallest window that is believed, in tokens.
const leastWindow = 512

// window returns the window of the model after it refused r as too long: the one that the refusal names, if r is longer than
// that, else half of r.
func (e *refusal) window(r llm.Request) int {
	sent := r.Estimate() + r.MaxTokens
	for _, named := range namedWindows {
		m := named().FindStringSubmatch(e.words())
		if m == nil {
			continue
		}
		if n, err := strconv.Atoi(strings.ReplaceAll(m[1], ",", "")); err == nil && n >= leastWindow && n < sent {
			return n
		}
	}
	return max(sent/2, leastWindow)
}
