package openai

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"piloto/internal/ground/lazy"
	"piloto/internal/models/llm"
)

// mostModels is the largest number of models in the cache. It is bounded because accounts choose the names of
// models.
const mostModels = 256

// Quirks say how a model differs from the protocol. The zero value is a model that takes everything. They can be stored as
// JSON, and compared.
type Quirks struct {
	NoStream         bool     `json:"no_stream,omitempty"`         // it refuses to stream: its answer comes at once
	OnlyStream       bool     `json:"only_stream,omitempty"`       // it refuses to answer without a stream
	NoStreamOptions  bool     `json:"no_stream_options,omitempty"` // it refuses stream_options: then the usage is estimated
	NoTemperature    bool     `json:"no_temperature,omitempty"`    // it refuses any temperature but its default
	CompletionTokens bool     `json:"completion_tokens,omitempty"` // it refuses max_tokens, and needs max_completion_tokens
	MaxOutput        int      `json:"max_output,omitempty"`        // the largest limit of an answer that it takes, in tokens; 0: it refused none
	NoReasoning      bool     `json:"no_reasoning,omitempty"`      // it refuses tools unless reasoning is switched off
	SystemFirst      bool     `json:"system_first,omitempty"`      // it refuses a system message after the first message
	Thought          string   `json:"thought,omitempty"`           // the name under which its thoughts come, and go back
	OpensThought     bool     `json:"opens_thought,omitempty"`     // its template opens a thought, so that the text has only its end
	Plain            bool     `json:"plain,omitempty"`             // it answered, and its template opens no thought: its text is not held back
	AllThoughts      bool     `json:"all_thoughts,omitempty"`      // it wants each message of its back with a thought
	NoThoughts       bool     `json:"no_thoughts,omitempty"`       // it refuses them
	NoExtra          bool     `json:"no_extra,omitempty"`          // it refuses the further members of its messages and calls
	Signed           bool     `json:"signed,omitempty"`            // it wants a signature with the first call of a message
	ShortIDs         bool     `json:"short_ids,omitempty"`         // it takes ids of calls of nine letters and digits only
	NoToolChoice     bool     `json:"no_tool_choice,omitempty"`    // it refuses tool_choice: a request that may call nothing has no tools
	PlainTools       bool     `json:"plain_tools,omitempty"`       // it refuses the schemas of tools that are more than a list of names
	NoTools          bool     `json:"no_tools,omitempty"`          // it refuses tools: it can only talk
	Window           int      `json:"window,omitempty"`            // the most tokens of a prompt and its answer together, as it said; 0: it did not
	Format           Strategy `json:"format,omitempty"`            // how it is asked for JSON: strategies before this one are refused
}

// openers are parts of the names of models whose template opens the thought.
var openers = []string{
	"deepseek-r1", "r1-distill", "qwq", "-thinking", "-think", "glm-z1", "minimax-m1", "minimax-m2", "exaone-deep", "openthinker", "skywork-or1",
}

// usual returns the quirks of models that are known by their names, which saves a refused request, and a text that is held back.
func usual(model string) Quirks {
	begins := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(model, name) })
	}
	model = strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	switch {
	case speaks(model, openers...):
		return Quirks{OpensThought: true}
	case begins("o1", "o3", "o4", "gpt-5"):
		return Quirks{CompletionTokens: true, NoTemperature: true, Plain: true}
	case begins("gpt-6-sol", "gpt-6-luna"):
		return Quirks{CompletionTokens: true, NoReasoning: true, Plain: true}
	}
	return Quirks{Plain: begins("gpt-", "chatgpt-", "claude-", "gemini-", "piloto-demo")}
}

// quirkCache holds the known quirks of a client's models.
type quirkCache struct {
	mu    sync.Mutex
	known map[string]Quirks
}

func (c *quirkCache) of(model string) Quirks {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.known[model]; ok {
		return known
	}
	return usual(model)
}

func (c *quirkCache) learn(model string, now Quirks) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= mostModels {
		c.known = map[string]Quirks{}
	}
	c.known[model] = now
}

// after returns the quirks that a failure shows, and whether they are new. Each quirk is found at most once, so the
// retries end.
func (q Quirks) after(err error, r llm.Request) (Quirks, bool) {
	was := q
	if no, ok := errors.AsType[*refusal](err); ok {
		q.read(no, r)
	}
	return q, q != was
}

// read finds a quirk in a refusal.
func (q *Quirks) read(no *refusal, r llm.Request) {
	if no.isBrokenCall() || q.readStream(no, r) || q.readLimit(no, r) {
		return
	}
	if was := *q; no.isMalformed() {
		if q.readThoughts(no.words()); *q != was {
			return
		}
	}
	if r.Format != nil {
		if next := q.Format.next(no); next != q.Format {
			q.Format = next
			return
		}
	}
	if refusesSystem(no) && systemLater(r.Messages) { // some servers answer 500
		q.SystemFirst = true
		return
	}
	words := no.words()
	if no.isMalformed() && !q.ShortIDs && refusesID(words) {
		q.ShortIDs = true
		return
	}
	if q.readTools(no, words, r) || !no.isMalformed() {
		return
	}
	unsupported := speaks(words, unsupportedMarks...)
	switch {
	case r.Sink != nil && speaks(words, "stream_options", "include_usage"):
		q.NoStreamOptions = true
	case r.MaxTokens > 0 && speaks(words, "max_tokens") && (unsupported || speaks(words, "max_completion_tokens")):
		q.CompletionTokens = true
	case speaks(words, "reasoning_effort") && speaks(words, "tool") && !q.NoReasoning:
		q.NoReasoning = true
	case speaks(words, "temperature") && unsupported:
		q.NoTemperature = true
	}
}

// readStream finds in a refusal that the model never answers in a stream, or always.
func (q *Quirks) readStream(no *refusal, r llm.Request) bool {
	was := *q
	words := no.words()
	switch {
	case q.NoStream || q.OnlyStream || !no.isMalformed() && !slices.Contains(streamStatuses, no.status):
	case r.Sink == nil && speaks(words, onlyStreamMarks...):
		q.OnlyStream = true
	case r.Sink != nil && aStream().MatchString(words) && !speaks(words, onlyStreamMarks...) && speaks(words, noStreamMarks...):
		q.NoStream = true
	}
	return *q != was
}

// Marks of a refusal of streams, and of an answer without one: OpenAI, Azure, Bedrock, DashScope, Fireworks, Anthropic and
// gateways before them.
var (
	aStream        = lazy.Pattern(`\bstream(?:s|ing|ed)?\b`)
	streamStatuses = []int{http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusInternalServerError, http.StatusNotImplemented}
	noStreamMarks  = []string{
		"not support", "n't support", "unsupported", "not allowed", "not permitted", "not available", "not implemented", "not enabled", "disabled",
		"verified to stream", "unrecognized", "unknown parameter", "extra inputs",
	}
	onlyStreamMarks = []string{
		"only support stream", "only supports stream", "only supported in stream", "non-streaming", "non-stream ", "nonstreaming",
		"must have stream=true", "stream=true is required", "streaming is required", "requires stream", "stream must be true", "set stream to true",
	}
)

// leastOutput is the smallest limit of an answer that is tried where a refusal names none, in tokens.
const leastOutput = 128

// limit returns the limit of an answer to r in tokens; 0: the provider's own.
func (q Quirks) limit(r llm.Request) int {
	if q.MaxOutput > 0 {
		return min(r.MaxTokens, q.MaxOutput)
	}
	return r.MaxTokens
}

// readLimit finds in a refusal how long an answer may be. Where it names no smaller limit, the half is tried.
func (q *Quirks) readLimit(no *refusal, r llm.Request) bool {
	words, sent := no.words(), q.limit(r)
	if !no.isMalformed() || no.isTooLong() || sent == 0 || !speaks(words, outputMarks...) {
		return false
	}
	for i, named := range namedLimits {
		m := named().FindStringSubmatch(words)
		if m == nil {
			continue
		}
		n, err := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
		if i == 0 { // it is the first that is refused
			n--
		}
		if err == nil && n > 0 && n < sent {
			q.MaxOutput = n
			return true
		}
	}
	if speaks(words, "too large", "too high", "exceed", "must be less", "must be lower", "out of range", "valid range", "should be [") && sent/2 >= leastOutput {
		q.MaxOutput = sent / 2
		return true
	}
	return false
}

// outputMarks are the names of the limit of an answer, and namedLimits find the largest one in a refusal: of OpenAI, Groq,
// DeepSeek, DashScope, Anthropic, Google, Bedrock, GLM and Cohere.
var (
	outputMarks = []string{"max_tokens", "max_completion_tokens", "max_output_tokens", "maxoutputtokens", "max_new_tokens", "maximum tokens"}
	namedLimits = []func() *regexp.Regexp{
		lazy.Pattern(`to (\d[\d,]*) \(exclusive\)`),
		lazy.Pattern(`\[\d+, ?(\d+)\]`),
		lazy.Pattern(`> (\d[\d,]*), which is the maximum`),
		lazy.Pattern("(?:at most|less than or equal to|<=|limit of|maximum(?: value)?(?: is| of)?:?|between 1 and) [`']?(\\d[\\d,]*)"),
	}
)

// readTools finds a quirk about tools in a refusal.
func (q *Quirks) readTools(no *refusal, words string, r llm.Request) bool {
	if len(r.Tools) == 0 || !no.isMalformed() && no.status != http.StatusNotFound && no.status != http.StatusInternalServerError && no.status != http.StatusNotImplemented {
		return false
	}
	switch {
	case speaks(words, "reasoning_effort"), speaks(words, historyMarks...):
		return false
	case speaks(words, choiceMarks...) && !speaks(words, noToolsMarks...):
		q.NoToolChoice = q.NoToolChoice || r.NoCalls
		return r.NoCalls
	case no.isMalformed() && speaks(words, schemaOfToolMarks...) && !q.PlainTools:
		q.PlainTools = true
	case refusesTools(words), no.isMalformed() && speaks(words, schemaOfToolMarks...):
		q.NoTools = true
	default:
		return false
	}
	return true
}

// refusesTools reports whether a refusal says that the model takes no tools. The word tool beside any other complaint is not
// enough, because a broken call is told with it, too.
func refusesTools(words string) bool {
	switch {
	case speaks(words, "tool", "function call", "function_declarations") && (speaks(words, noToolsMarks...) || speaks(words, "not support", "n't support", "unsupported")):
		return true
	case theTools().MatchString(words) && speaks(words, unsupportedMarks...):
		return true
	}
	return theRole().MatchString(words)
}

// Marks of a refusal of the schema of a tool, of tools at all, of their messages, and of a call or a result in the conversation.
var (
	schemaOfToolMarks = []string{"function_declarations", "invalid schema", "function.parameters", "parameters.properties", "input_schema", "tool schema", "schema for function"}
	noToolsMarks      = []string{"support tool use", "not enabled", "requires --enable-auto-tool-choice", "requires --jinja"}
	theTools          = lazy.Pattern(`\btools\b(?:$|[^.\[\w])|\btools[.:] `)
	theRole           = lazy.Pattern(`(?:unknown|unexpected|invalid|unsupported)[^.]{0,20}\brole[^.]{0,10}\btool\b|\brole[^.]{0,12}\btool\b[^.]{0,12}(?:unknown|unsupported|invalid|not (?:supported|allowed|accepted))`)
	historyMarks      = []string{"messages[", "tool_calls[", "tool_result", "tool_use_id", "`tool_use`"}
)

// refusesSystem reports whether a refusal is about a system message inside of the conversation. The texts are those of
// chat templates (llama.cpp, vLLM) and of Mistral.
func refusesSystem(no *refusal) bool {
	words := strings.ToLower(no.message)
	return speaks(words, "system message must be", "roles must alternate") || speaks(words, "role") && speaks(words, "'system'")
}

// unsupportedMarks are the words with which providers refuse a parameter, and not only its value.
var unsupportedMarks = []string{
	"unsupported", "not support", "n't support", "only the default", "not permitted", "not allowed", "not accepted",
	"unrecognized", "unknown", "unexpected", "extra_forbidden", "deprecated",
}

// speaks reports whether a text has one of the marks.
func speaks(words string, marks ...string) bool {
	return slices.ContainsFunc(marks, func(m string) bool { return strings.Contains(words, m) })
}
