package openai

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"

	sdk "github.com/sashabaranov/go-openai"

	"piloto/internal/models/llm"
)

// mostModels is the largest number of models in the cache. It is bounded because accounts choose the names of
// models.
const mostModels = 256

// quirks are the members of a request that a model refuses.
type quirks struct {
	noOptions        bool     // it refuses stream_options: then the usage is estimated
	noTemperature    bool     // it refuses any temperature but its default
	completionTokens bool     // it refuses max_tokens, and needs max_completion_tokens
	noReasoning      bool     // it refuses tools unless reasoning is switched off
	systemFirst      bool     // it refuses a system message after the first message
	format           strategy // strategies before this one are refused
}

// quirkCache holds the known quirks of a client's models.
type quirkCache struct {
	mu    sync.Mutex
	known map[string]quirks
}

func (h *quirkCache) of(model string) quirks {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known[model]
}

func (h *quirkCache) learn(model string, now quirks) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known == nil || len(h.known) >= mostModels {
		h.known = map[string]quirks{}
	}
	h.known[model] = now
}

// after returns the quirks that a failure shows, and whether they are new. Each quirk is found at most once, so the
// retries end.
func (h quirks) after(err error, r llm.Request) (quirks, bool) {
	was := h
	switch {
	case err == nil:
	case errors.Is(err, sdk.ErrReasoningModelMaxTokensDeprecated): // the SDK knows some models by name
		h.completionTokens = true
	case errors.Is(err, sdk.ErrReasoningModelLimitationsOther), errors.Is(err, sdk.ErrReasoningSamplingUnsupported):
		h.noTemperature = true
	case errors.Is(err, sdk.ErrReasoningToolsRequireResponses):
		h.noReasoning = true
	default:
		h.read(err, r)
	}
	return h, h != was
}

// read finds a quirk in a provider's error text.
func (h *quirks) read(err error, r llm.Request) {
	var no *refusal
	if !errors.As(err, &no) {
		return
	}
	if r.Format != nil {
		if next := h.format.next(no); next != h.format {
			h.format = next
			return
		}
	}
	if refusesSystem(no) && systemLater(r.Messages) { // some servers answer 500
		h.systemFirst = true
		return
	}
	if no.status != http.StatusBadRequest && no.status != http.StatusUnprocessableEntity {
		return
	}
	words := strings.ToLower(no.code + " " + no.kind + " " + no.about + " " + no.message)
	unsupported := false
	for _, mark := range unsupportedMarks {
		unsupported = unsupported || strings.Contains(words, mark)
	}
	switch {
	case r.Sink != nil && (strings.Contains(words, "stream_options") || strings.Contains(words, "include_usage")):
		h.noOptions = true
	case r.MaxTokens > 0 && strings.Contains(words, "max_tokens") && (unsupported || strings.Contains(words, "max_completion_tokens")):
		h.completionTokens = true
	case strings.Contains(words, "temperature") && unsupported:
		h.noTemperature = true
	}
}

// refusesSystem reports whether a refusal is about a system message inside of the conversation. The texts are those of
// chat templates (llama.cpp, vLLM) and of Mistral.
func refusesSystem(no *refusal) bool {
	words := strings.ToLower(no.message)
	return strings.Contains(words, "system message must be") || strings.Contains(words, "roles must alternate") ||
		strings.Contains(words, "role") && strings.Contains(words, "'system'")
}

// systemLater reports whether a system message stands after the first message.
func systemLater(list []llm.Message) bool {
	return len(list) > 0 && slices.ContainsFunc(list[1:], func(m llm.Message) bool { return m.Role == llm.System })
}

// systemJoined returns the messages with the text of all system messages in the first one.
func systemJoined(list []llm.Message) []llm.Message {
	var texts []string
	var others []llm.Message
	for _, m := range list {
		if m.Role == llm.System {
			texts = append(texts, m.Content)
		} else {
			others = append(others, m)
		}
	}
	return append([]llm.Message{{Role: llm.System, Content: strings.Join(texts, "\n\n")}}, others...)
}

// unsupportedMarks are the words with which providers refuse a parameter, and not only its value.
var unsupportedMarks = []string{
	"unsupported", "not support", "n't support", "only the default", "not permitted", "not allowed", "not accepted",
	"unrecognized", "unknown", "unexpected", "extra_forbidden", "deprecated",
}
