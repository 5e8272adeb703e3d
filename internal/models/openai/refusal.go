package openai

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"piloto/internal/ground/fault"
	"piloto/internal/models/llm"
)

// maxCause bounds what is kept, for the log, of what a provider wrote; in bytes.
const maxCause = 600

// refusal is an answer that says no: by its status, or by an error inside of an
// answer or a stream with status 200.
type refusal struct {
	status              int
	code, kind, message string
	about               string // the parameter
	generation          string // what the model wrote, when that is what is wrong
	after               time.Duration
	wait                bool // after was said
}

func (e *refusal) Error() string {
	parts := []string{"status " + strconv.Itoa(e.status)}
	for _, p := range []string{e.code, e.kind, e.about, e.message} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return bounded(strings.Join(parts, ": "), maxCause)
}

func bounded(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// refused reads an answer whose status is no success.
func refused(res *http.Response, key string) *refusal {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxRefusal)) // half of an explanation is one too
	e := &refusal{status: res.StatusCode}
	e.explain(body, key)
	if to := res.Header.Get("Location"); to != "" && res.StatusCode < 400 {
		e.message = "redirected, which is not followed, to " + hidden(bounded(to, 200), key)
	}
	e.after, e.wait = asks(res.Header)
	return e
}

// explain reads the error in a body, in any of the shapes that providers use:
// {"error":{…}}, {"error":"…"}, [{"error":{…}}], {"message":…}, {"detail":…}, or
// text. The key, which some repeat, is left out.
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
		e.code, e.kind, e.about = word(object["code"]), word(object["type"]), word(object["param"])
		if e.kind == "" {
			e.kind = word(object["status"])
		}
		e.message, e.generation = word(object["message"]), word(object["failed_generation"])
		for _, more := range []string{"detail", "details", "metadata"} {
			if text := word(object[more]); text != "" {
				e.message = strings.TrimSpace(e.message + " " + text)
			}
		}
	} else {
		e.message = word(v)
	}
	for _, field := range []*string{&e.code, &e.kind, &e.about, &e.message, &e.generation} {
		*field = hidden(*field, key)
	}
}

// hidden is a text without the key.
func hidden(text, key string) string {
	if key == "" {
		return text
	}
	return strings.ReplaceAll(text, key, "[key]")
}

// word is a JSON value in text: a string as it is, nothing for null.
func word(v any) string {
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

// is reports whether the provider calls its refusal one of these.
func (e *refusal) is(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return strings.EqualFold(e.code, name) || strings.EqualFold(e.kind, name)
	})
}

// fault says what the refusal means. An account without money is refused and not
// limited: asking again does not fill it.
func (e *refusal) fault() *fault.Error {
	f := e.sentinel().Because(e)
	if e.wait {
		f = llm.Later(f, e.after)
	}
	return f
}

// meant is the status, be it the one inside of an answer with status 200.
func (e *refusal) meant() int {
	if n, err := strconv.Atoi(e.code); e.status < 300 && err == nil && n >= 400 && n <= 599 {
		return n
	}
	return e.status
}

func (e *refusal) sentinel() *fault.Error {
	status := e.meant()
	switch {
	case status == http.StatusPaymentRequired,
		e.is("insufficient_quota", "insufficient_balance", "billing_hard_limit_reached", "billing_not_active"):
		return llm.ErrRefused
	case status == http.StatusUnauthorized,
		e.is("invalid_api_key", "authentication_error", "unauthenticated"),
		strings.Contains(e.message, "API_KEY_INVALID"):
		return llm.ErrNoKey
	case status == http.StatusForbidden && strings.Contains(e.message, "flagged_input"):
		return llm.ErrRefused // what the person wrote, not the key
	case status == http.StatusForbidden:
		return llm.ErrNoKey
	case status == http.StatusTooManyRequests, status == 498: // 498: Groq has no capacity for this tier
		return llm.ErrLimited
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly,
		e.is("tool_use_failed"): // the model wrote a broken tool call, and may not the next time
		return llm.ErrUnreachable
	case status >= 500:
		return llm.ErrUnreachable
	case status >= 300:
		return llm.ErrRefused
	case e.is("rate_limit_exceeded", "rate_limit_error", "rate_limited", "too_many_requests", "resource_exhausted"):
		return llm.ErrLimited
	case e.is("invalid_request_error", "context_length_exceeded", "model_not_found", "invalid_argument", "content_filter", "BadRequestError"):
		return llm.ErrRefused
	}
	return llm.ErrUnreachable
}

// asks reads what a provider asks to wait: retry-after-ms, or Retry-After in
// seconds or as a date, which is taken from the answer's own Date. What cannot be
// read is nothing asked, as is what is negative (llm.Later).
func asks(h http.Header) (time.Duration, bool) {
	if d, ok := span(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d, true
	}
	said := h.Get("Retry-After")
	if d, ok := span(said, time.Second); ok {
		return d, true
	}
	until, err := http.ParseTime(said)
	if err != nil {
		return 0, false
	}
	from, err := http.ParseTime(h.Get("Date"))
	return until.Sub(from), err == nil
}

// span is a number of units, not negative, and at most llm.MostAsked.
func span(text string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil && !math.IsInf(n, 1) || math.IsNaN(n) || n < 0 {
		return 0, false
	}
	return time.Duration(min(n*float64(unit), float64(llm.MostAsked))), true
}
