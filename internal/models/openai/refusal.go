package openai

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/lazy"
	"piloto/internal/ground/meaning"
	"piloto/internal/models/llm"
)

// maxCause is the longest part of a provider's error text that is logged, in bytes.
const maxCause = 600

// refusal is an error response: by its status, or by an error inside of an answer or a stream with status 200.
type refusal struct {
	status              int
	code, kind, message string
	about               string // the refused parameter
	generation          string // the model's text, when it is the cause of the refusal
	after               time.Duration
	wait                bool // the provider sent after
}

func (e *refusal) Error() string {
	parts := []string{"status " + strconv.Itoa(e.status)}
	for _, p := range []string{e.code, e.kind, e.about, e.message} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return clip.Bytes(strings.Join(parts, ": "), maxCause)
}

// isMalformed reports whether the provider refuses the form of the request.
func (e *refusal) isMalformed() bool {
	return e.status == http.StatusBadRequest || e.status == http.StatusUnprocessableEntity
}

// words returns the words of the refusal, in lower case.
func (e *refusal) words() string {
	return strings.ToLower(e.code + " " + e.kind + " " + e.about + " " + e.message)
}

// readRefusal reads a response with an error status.
func (c *Client) readRefusal(res *http.Response) *refusal {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxRefusal)) // a truncated explanation is useful, too
	e := &refusal{status: res.StatusCode}
	e.explain(body, c.key)
	if to := res.Header.Get("Location"); to != "" && meaning.Redirects(res.StatusCode) {
		e.message = "redirected, which is not followed, to " + withoutKey(clip.Bytes(to, 200), c.key)
	}
	e.after, e.wait = meaning.Wait(res.Header.Get, c.now())
	return e
}

// explain reads the error in a body, in any of the shapes that providers use: {"error":{…}}, {"error":"…"},
// [{"error":{…}}], {"message":…}, {"detail":…}, or text. It removes the key, which some providers repeat.
func (e *refusal) explain(body []byte, key string) {
	var v any
	if json.Unmarshal(body, &v) != nil {
		v = string(body)
	}
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0]
	}
	if object, ok := v.(map[string]any); ok {
		if inner, ok := object["error"]; ok && inner != nil {
			v = inner
		}
	}
	if object, ok := v.(map[string]any); ok {
		e.code, e.kind, e.about = textOf(object["code"]), textOf(object["type"]), textOf(object["param"])
		if e.kind == "" {
			e.kind = textOf(object["status"])
		}
		e.message, e.generation = textOf(object["message"]), textOf(object["failed_generation"])
		for _, more := range []string{"detail", "details", "metadata"} {
			if text := textOf(object[more]); text != "" {
				e.message = strings.TrimSpace(e.message + " " + text)
			}
		}
	} else {
		e.message = textOf(v)
	}
	for _, field := range []*string{&e.code, &e.kind, &e.about, &e.message, &e.generation} {
		*field = withoutKey(*field, key)
	}
}

// withoutKey replaces the key in a text.
func withoutKey(text, key string) string {
	if key == "" {
		return text
	}
	return strings.ReplaceAll(text, key, "[key]")
}

// textOf returns a JSON value as text: a string unchanged, "" for null.
func textOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return strings.TrimSpace(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(text)
}

// hasCode reports whether the code or the type of the refusal is one of the names.
func (e *refusal) hasCode(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return strings.EqualFold(e.code, name) || strings.EqualFold(e.kind, name)
	})
}

// isBrokenCall reports whether the provider could not read a call that the model wrote: llama.cpp, Ollama, vLLM and Groq. The
// request is not at fault.
func (e *refusal) isBrokenCall() bool {
	return e.hasCode("tool_use_failed") || speaks(e.words(), "tool call", "tool_call", "function call") && speaks(e.words(), brokenMarks...)
}

// fault returns the fault for the refusal. An account without money is ErrRefused and not ErrLimited, because a
// retry does not help.
func (e *refusal) fault() *fault.Error {
	f := e.sentinel().Because(e)
	if e.wait {
		f = llm.WithRetryAfter(f, e.after)
	}
	return f
}

// effectiveStatus returns the HTTP status, or the status that an answer with status 200 contains as its code.
func (e *refusal) effectiveStatus() int {
	if n, err := strconv.Atoi(e.code); meaning.Of(e.status, false) == meaning.Done && err == nil && n >= 400 && n <= 599 {
		return n
	}
	return e.status
}

// isTooLong reports whether a refusal says that the request is longer than the window of the model.
func (e *refusal) isTooLong() bool {
	switch e.effectiveStatus() {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusPaymentRequired:
		return false
	case http.StatusTooManyRequests: // a wait does not help a request that is larger than what a minute may have
		return speaks(e.words(), "request too large")
	case http.StatusRequestEntityTooLarge:
		return true
	}
	return speaks(e.words(), tooLongMarks...)
}

// Marks of the causes of a refusal, and of a call that could not be read.
var (
	brokenMarks = []string{
		"failed to parse", "error parsing", "could not parse", "parse error", "unmarshal", "unexpected end of", "validation failed", "failed to call",
		"malformed",
	}
	unpaidMarks = []string{
		"insufficient_quota", "insufficient_balance", "insufficient balance", "insufficient credits", "insufficient_user_quota", "exceeded_current_quota",
		"billing_hard_limit", "billing hard limit", "billing_not_active", "credit balance is too low", "out of credits", "used all available credits",
	}
	filterMarks = []string{
		"content_filter", "content_policy", "content management policy", "flagged_input", "content exists risk", "data_inspection_failed",
		"datainspectionfailed", "prohibited_content", "responsibleaipolicyviolation", "invalid_prompt",
	}
	noModelMarks = []string{
		"model_not_found", "model not exist", "model does not exist", "model_decommissioned", "invalid_model", "invalid model", "unknown model",
		"not a valid model", "deploymentnotfound", "model is not found", "no endpoints found", "unknown_model",
		"invalidendpointormodel", "模型不存在",
	}
	noModelWords = lazy.Pattern(`\bmodels?\b[^\n]{0,100}?(?:does(?: not|n't) exist|not found|decommissioned|no longer (?:available|supported)|has been (?:retired|removed|deprecated))`)
)

func (e *refusal) sentinel() *fault.Error {
	status := e.effectiveStatus()
	switch {
	case e.isTooLong():
		return llm.Refused(llm.TooLong)
	case status == http.StatusPaymentRequired, speaks(e.words(), unpaidMarks...):
		return llm.Refused(llm.Unpaid)
	case speaks(e.words(), filterMarks...): // the cause is a text, not the key
		return llm.Refused(llm.Filtered)
	case meaning.Of(status, false) != meaning.Done && !meaning.Limits(status) && (speaks(e.words(), noModelMarks...) || e.isMalformed() && noModelWords().MatchString(e.words())):
		return llm.Refused(llm.NoModel)
	case status == http.StatusUnauthorized,
		e.hasCode("invalid_api_key", "authentication_error", "unauthenticated"),
		speaks(e.words(), "api_key_invalid", "api key not valid", "incorrect api key", "invalid api key"):
		return llm.ErrNoKey
	case status == http.StatusForbidden:
		return llm.ErrNoKey
	case meaning.Limits(status), status == 498: // Groq has no capacity for this tier
		return llm.ErrLimited
	case meaning.Passes(status, e.wait), meaning.Conflicts(status), meaning.Redirects(status), // the request is not at fault
		e.isBrokenCall():
		return llm.ErrUnreachable
	case status == http.StatusNotFound:
		return llm.Refused(llm.NoModel)
	case meaning.Of(status, false) != meaning.Done:
		return llm.ErrRefused
	case e.hasCode("rate_limit_exceeded", "rate_limit_error", "rate_limited", "too_many_requests", "resource_exhausted"):
		return llm.ErrLimited
	case e.hasCode("invalid_request_error", "invalid_argument", "BadRequestError"):
		return llm.ErrRefused
	}
	return llm.ErrUnreachable
}

// isNoAPI reports whether an answer shows that the address is not that of such an API: a page, or a path that is not there.
func isNoAPI(status int, header http.Header, body []byte) bool {
	text := strings.ToLower(strings.TrimSpace(string(body)))
	page := strings.Contains(header.Get("Content-Type"), "text/html") || strings.HasPrefix(text, "<!doctype") || strings.HasPrefix(text, "<html")
	e := refusal{status: status}
	e.explain(body, "")
	switch {
	case meaning.Of(status, false) == meaning.Done:
		return page || !json.Valid(body) && !strings.HasPrefix(text, "{") && !strings.Contains(text, "data:")
	case page && status < http.StatusInternalServerError, meaning.Redirects(status): // a gateway has a page for a server that is down
		return true
	}
	return status == http.StatusNotFound && !speaks(e.words(), "model") && !speaks(e.words(), noModelMarks...)
}
