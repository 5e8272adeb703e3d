package task

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Step is one request of a plan, as its card shows it.
type Step struct {
	ID, Method, Path string
	Body             any // as decoded from JSON
	Destroys         bool
	ForEach          bool // it is done for each element of a list that is not known yet
}

// Reads reports whether a step changes nothing.
func (s Step) Reads() bool { return s.Method == "GET" || s.Method == "HEAD" }

// reference is a value that an earlier step of the plan gives.
var reference = regexp.MustCompile(`\$\{[^}]*\}`)

// matches reports whether a step is the write of an action. The value of a reference may be anything, and so may the words of a
// message.
func (a Action) matches(s Step) bool {
	method, path, _ := strings.Cut(a.Do, " ")
	return method == s.Method && samePath(path, s.Path) && same(plain(a.Body), plain(s.Body))
}

func samePath(want, have string) bool {
	a, b := strings.Split(want, "/"), strings.Split(have, "/")
	if len(a) != len(b) {
		return false
	}
	for i, part := range b {
		if decoded, err := url.PathUnescape(part); err == nil {
			part = decoded
		}
		if part != a[i] && !reference.MatchString(part) {
			return false
		}
	}
	return true
}

// plain returns a value with the types of JSON; nil for an object that is empty.
func plain(v any) any {
	raw, err := json.Marshal(v)
	var out any
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if m, ok := out.(map[string]any); err != nil || ok && len(m) == 0 {
		return nil
	}
	return out
}

// same compares two values of JSON: times by the moment, lists without their order.
func same(want, have any) bool {
	if text, ok := have.(string); ok && reference.MatchString(text) {
		return true
	}
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok || len(w) != len(h) {
			return false
		}
		for key, value := range w {
			other, there := h[key]
			if !there || key != "text" && !same(value, other) {
				return false
			}
		}
		return true
	case []any:
		h, ok := have.([]any)
		if !ok || len(w) != len(h) {
			return false
		}
		left := slices.Clone(h)
		for _, value := range w {
			i := slices.IndexFunc(left, func(other any) bool { return same(value, other) })
			if i < 0 {
				return false
			}
			left = slices.Delete(left, i, i+1)
		}
		return true
	case string:
		h, ok := have.(string)
		a, errA := time.Parse(time.RFC3339, w)
		b, errB := time.Parse(time.RFC3339, h)
		return ok && (strings.EqualFold(strings.TrimSpace(w), strings.TrimSpace(h)) || errA == nil && errB == nil && a.Equal(b))
	}
	return want == have
}
