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

	"piloto/internal/ground/ref"
)

// Taken is a literal value of a step that stood in the answer of a read, which the model saw before it wrote the plan. It is
// no part of the digest: what is sent is the value, wherever it came from.
type Taken struct {
	StepID  EffectID        `json:"step_id"`
	Where   string          `json:"where" doc:"path, or the place in the query or the body: body.items.0.id"`
	Value   string          `json:"value"`
	Label   string          `json:"label,omitempty" doc:"what the answer calls the thing with this id, such as Sala Norte"`
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
// message has were not taken, and neither were those that the read itself asked with (Answered.tells). earlier are the values
// of the plan before this one: those that are still in their place stay.
func (p Plan) TakenFrom(answers []Answered, said string, earlier []Taken) []Taken {
	said = strings.ToLower(said)
	read := make([]func(string) (string, bool), len(answers))
	for i, a := range answers {
		read[i] = a.tells()
	}
	var list []Taken
	for _, s := range p.Steps {
		for _, l := range s.literals() {
			if len(list) == mostTaken {
				return list
			}
			old := slices.IndexFunc(earlier, func(t Taken) bool { return t.StepID == s.ID && t.Where == l.where && t.Value == l.value })
			switch at := slices.IndexFunc(read, func(has func(string) (string, bool)) bool { _, is := has(l.value); return is }); {
			case at >= 0 && !strings.Contains(said, strings.ToLower(l.value)):
				a := answers[at]
				label, _ := read[at](l.value)
				list = append(list, Taken{StepID: s.ID, Where: l.where, Value: l.value, Label: label, MCPID: a.MCPID, Service: a.Service, Called: a.Called, At: a.At, Call: a.Call})
			case old >= 0:
				list = append(list, earlier[old])
			}
		}
	}
	return list
}

// tells returns whether the answer says a value that the call did not have. An answer often repeats what it was asked for,
// such as the hours of a search, and then the value is the caller's. A value that the call had counts only when the answer
// names the thing with this id, because then the answer says that there is such a thing.
func (a Answered) tells() func(value string) (label string, is bool) {
	answered := valuesIn(a.Answer)
	var asked []string
	ask := func(_, text string) {
		asked = append(asked, text)
		if plain, err := url.QueryUnescape(text); err == nil {
			asked = append(asked, plain)
		}
	}
	eachValue(a.Call, "", ask)
	if _, address, has := strings.Cut(a.Called, "://"); has {
		ask("", address)
	}
	return func(value string) (string, bool) {
		label, is := answered(value)
		echo := label == "" && slices.ContainsFunc(asked, func(text string) bool { return standsIn(text, value) })
		return label, is && !echo
	}
}

// Again returns the value as another read of the same call leaves it.
func (t Taken) Again(answer string, at time.Time) Taken {
	_, is := valuesIn(answer)(t.Value)
	t.At, t.Gone = at, !is
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

// valuesIn returns whether a value stands in an answer: as a whole value of JSON, or else between other signs. label is the
// name of the thing whose id the value is, when the answer has both.
func valuesIn(answer string) func(value string) (label string, is bool) {
	values := map[string]string{}
	if root, ok := decodeValue(json.RawMessage(answer)); ok {
		walkValue(root, "", func(_, value string) { values[value] = "" })
		nameValues(root, values, map[string]bool{})
		return func(v string) (string, bool) { label, is := values[v]; return label, is }
	}
	return func(v string) (string, bool) { return "", standsIn(answer, v) }
}

// standsIn reports whether a text has a value that is no part of a longer word.
func standsIn(text, value string) bool {
	isPart := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' }
	for rest := text; ; {
		before, after, found := strings.Cut(rest, value)
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
	v, ok := decodeValue(raw)
	if ok {
		walkValue(v, where, f)
	}
	return ok
}

func decodeValue(raw json.RawMessage) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil, false
	}
	_, err := d.Token()
	return v, err == io.EOF
}

// nameValues adds labels to the ids in a value: an object with an id and a name says which thing the id means. An id with
// several names, such as 1 of two kinds of things, is unclear and gets none.
func nameValues(v any, labels map[string]string, unclear map[string]bool) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			nameValues(e, labels, unclear)
		}
	case map[string]any:
		name := ref.NameOf(v)
		for member, e := range v {
			nameValues(e, labels, unclear)
			if name == "" || !isID(member) || e == nil {
				continue
			}
			id := ""
			switch e := e.(type) {
			case string:
				id = e
			case json.Number:
				id = e.String()
			}
			before := labels[id]
			unclear[id] = unclear[id] || before != "" && before != name
			if labels[id] = name; unclear[id] {
				labels[id] = ""
			}
		}
	}
}

// isID reports whether a member is the id of the object that holds it, and not of another.
func isID(member string) bool {
	switch strings.ToLower(member) {
	case "id", "_id", "uuid", "guid", "key", "slug", "code", "sku":
		return true
	}
	return false
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
