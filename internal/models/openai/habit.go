package openai

import (
	"errors"
	"net/http"
	"strings"
	"sync"

	sdk "github.com/sashabaranov/go-openai"

	"piloto/internal/models/llm"
)

// mostModels bounds the models that a client knows something of; a model's name
// is what an account wrote.
const mostModels = 256

// habit is what a model refuses of a request.
type habit struct {
	noOptions        bool // stream_options: then the usage is estimated
	noTemperature    bool // any but its own
	completionTokens bool // max_tokens: it wants max_completion_tokens
	noReasoning      bool // tools, unless it is told not to reason
	format           way  // the ways before it to ask for an answer in a form
}

// habits is what a client has learned of its models.
type habits struct {
	mu    sync.Mutex
	known map[string]habit
}

func (h *habits) of(model string) habit {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known[model]
}

func (h *habits) learn(model string, now habit) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known == nil || len(h.known) >= mostModels {
		h.known = map[string]habit{}
	}
	h.known[model] = now
}

// after returns the habit that a failure shows, and whether there is one that the
// request did not follow yet. Each can be learned once, so that asking again ends.
func (h habit) after(err error, r llm.Request) (habit, bool) {
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

// read learns from what a provider wrote.
func (h *habit) read(err error, r llm.Request) {
	var no *refusal
	if !errors.As(err, &no) {
		return
	}
	if r.Format != nil {
		if next := h.format.after(no); next != h.format {
			h.format = next
			return
		}
	}
	if no.status != http.StatusBadRequest && no.status != http.StatusUnprocessableEntity {
		return
	}
	said := strings.ToLower(no.code + " " + no.kind + " " + no.about + " " + no.message)
	unsupported := false
	for _, mark := range unsupportedMarks {
		unsupported = unsupported || strings.Contains(said, mark)
	}
	switch {
	case r.Sink != nil && (strings.Contains(said, "stream_options") || strings.Contains(said, "include_usage")):
		h.noOptions = true
	case r.MaxTokens > 0 && strings.Contains(said, "max_tokens") && (unsupported || strings.Contains(said, "max_completion_tokens")):
		h.completionTokens = true
	case strings.Contains(said, "temperature") && unsupported:
		h.noTemperature = true
	}
}

// unsupportedMarks are the words with which providers refuse a parameter, and not
// its value alone.
var unsupportedMarks = []string{
	"unsupported", "not support", "n't support", "only the default", "not permitted", "not allowed", "not accepted",
	"unrecognized", "unknown", "unexpected", "extra_forbidden", "deprecated",
}
