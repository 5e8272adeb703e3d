package plan

import (
	"bytes"
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Taken is a literal value of a step that stood in the answer of a read, which the model saw before it wrote the plan. It is
// no part of the digest: what is sent is the value, wherever it came from.
type Taken struct {
	StepID  EffectID        `json:"step_id"`
	Where   string          `json:"where" doc:"path, or the place in the query or the body: body.items.0.id"`
	Value   string          `json:"value"`
	MCPID   string          `json:"mcp_id"`
	Service string          `json:"service"`
	Called  string          `json:"called" doc:"METHOD and address, or the tool"`
	At      time.Time       `json:"at" doc:"when it was read last"`
	Gone    bool            `json:"gone,omitempty" doc:"it was read again, and the value was no longer in the answer"`
	Call    json.RawMessage `json:"call,omitempty" doc:"the read, as mcp_request takes it; absent: it cannot be read again"`
}

// TakenLife is the time after which a value that was read may be another: its card offers to read it again.
const TakenLife = 10 * time.Minute

// mostTaken bounds the values of a plan that are named.
const mostTaken = 40

// Until returns the time from which a value is too old to be relied on.
func (t Taken) Until() time.Time { return t.At.Add(TakenLife) }

// Answered is a read with its answer, from which values may be taken.
type Answered struct {
	MCPID, Service, Called string
	At                     time.Time
	Call                   json.RawMessage
	Answer                 string
}

// TakenFrom returns the values of a plan that stand in answers, the newest answer first. Values that the person's own
// message has were not taken. earlier are the values of the plan before this one: those that are still in their place stay.
func (p Plan) TakenFrom(answers []Answered, said string, earlier []Taken) []Taken {
	said = strings.ToLower(said)
	read := make([]func(string) bool, len(answers))
	for i, a := range answers {
		read[i] = valuesIn(a.Answer)
	}
	var list []Taken
	for _, s := range p.Steps {
		for _, l := range s.literals() {
			if len(list) == mostTaken {
				return list
			}
			old := slices.IndexFunc(earlier, func(t Taken) bool { return t.StepID == s.ID && t.Where == l.where && t.Value == l.value })
			switch at := slices.IndexFunc(read, func(has func(string) bool) bool { return has(l.value) }); {
			case at >= 0 && !strings.Contains(said, strings.ToLower(l.value)):
				a := answers[at]
				list = append(list, Taken{StepID: s.ID, Where: l.where, Value: l.value, MCPID: a.MCPID, Service: a.Service, Called: a.Called, At: a.At, Call: a.Call})
			case old >= 0:
				list = append(list, earlier[old])
			}
		}
	}
	return list
}

// Again returns the value as another read of the same call leaves it.
func (t Taken) Again(answer string, at time.Time) Taken {
	t.At, t.Gone = at, !valuesIn(answer)(t.Value)
	return t
}

// literal is a value of a step that is sent as it stands.
type literal struct{ where, value string }

// literals returns the values of a step that may have been read: no references, and nothing that is too short to be told
// from any other value.
func (s Step) literals() []literal {
	var list []literal
	add := func(where, value string) {
		if isTelling(value) {
			list = append(list, literal{where, value})
		}
	}
	for _, part := range strings.Split(s.Path, "/") {
		if text, err := url.PathUnescape(part); err == nil {
			add("path", text)
		}
	}
	for _, part := range []struct {
		where string
		raw   json.RawMessage
	}{{"query", s.Query}, {"body", s.Body}} {
		eachValue(part.raw, part.where, add)
	}
	return list
}

// isTelling reports whether a text says by itself which value it is: a word or a number of two signs and more.
func isTelling(text string) bool {
	signs := 0
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			signs++
		}
	}
	return signs >= 2 && len(text) <= 200 && !strings.Contains(text, "${")
}

// valuesIn returns whether a value stands in an answer: as a whole value of JSON, or else between other signs.
func valuesIn(answer string) func(string) bool {
	values := map[string]bool{}
	if eachValue(json.RawMessage(answer), "", func(_, value string) { values[value] = true }) {
		return func(v string) bool { return values[v] }
	}
	isPart := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' }
	return func(v string) bool {
		for rest := answer; ; {
			before, after, found := strings.Cut(rest, v)
			if !found {
				return false
			}
			left, right := []rune(lastRune(before)), []rune(firstRune(after))
			if (len(left) == 0 || !isPart(left[0])) && (len(right) == 0 || !isPart(right[0])) {
				return true
			}
			rest = after
		}
	}
}

func firstRune(s string) string {
	for i := range s {
		if i > 0 {
			return s[:i]
		}
	}
	return s
}

func lastRune(s string) string {
	last := 0
	for i := range s {
		last = i
	}
	return s[last:]
}

// eachValue calls f for each text and number of a JSON value, with its place. It reports whether raw is JSON.
func eachValue(raw json.RawMessage, where string, f func(where, value string)) bool {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return false
	}
	if _, err := d.Token(); err != io.EOF {
		return false
	}
	walkValue(v, where, f)
	return true
}

func walkValue(v any, where string, f func(where, value string)) {
	switch v := v.(type) {
	case string:
		f(where, v)
	case json.Number:
		f(where, v.String())
	case []any:
		for i, e := range v {
			walkValue(e, where+"."+strconv.Itoa(i), f)
		}
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			walkValue(v[name], where+"."+name, f)
		}
	}
}
