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

	"piloto/internal/ground/jcs"
	"piloto/internal/ground/ref"
	"piloto/internal/tools/tool"
)

// Taken is a literal value of a step that stood in the answer of a read, which the model saw before it wrote the plan. It is
// no part of the digest, because the value itself is sent, and not its origin. About has the other fields of the object with
// this id in the answer, such as its price.
type Taken struct {
	StepID  EffectID        `json:"step_id"`
	Where   string          `json:"where" doc:"path, or the place in the query, the headers or the body: body.items.0.id"`
	Value   string          `json:"value"`
	Label   string          `json:"label,omitempty" doc:"what the answer calls the thing with this id, such as Sala Norte"`
	About   []ref.Fact      `json:"about,omitempty" doc:"the other members of the thing with this id, as the answer had them"`
	Names   []ref.Named     `json:"names,omitempty" doc:"what the document of the service calls these members"`
	Own     bool            `json:"own,omitempty" doc:"the person said the value, or the read asked with it: the answer says only what it is"`
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
	Names                  []ref.Named // the document's names of members of the answer
}

// TakenFrom returns the values of a plan that stand in answers, the newest answer first. A value that the person's own message
// has, or that the read asked with, was not taken from the answer: it is Own, and in the list only when the answer describes
// it. earlier are the values of the plan before this one: those that still stand in the same field stay.
func (p Plan) TakenFrom(answers []Answered, said string, earlier []Taken) []Taken {
	said = strings.ToLower(said)
	read, asked := make([]func(string) (thing, bool), len(answers)), make([]func(string) bool, len(answers))
	for i, a := range answers {
		read[i], asked[i] = valuesIn(a.Answer), a.askedWith()
	}
	find := func(l literal) (t Taken, ok bool) {
		at := -1
		for i := range answers {
			if _, is := read[i](l.value); is && !asked[i](l.value) {
				at = i
				break
			}
		}
		t.Own = at < 0 || strings.Contains(said, strings.ToLower(l.value))
		if at < 0 {
			at = slices.IndexFunc(read, func(has func(string) (thing, bool)) bool { of, _ := has(l.value); return of.isKnown() })
		}
		if at < 0 {
			return t, false
		}
		of, _ := read[at](l.value)
		a := answers[at]
		t.Where, t.Value, t.Label, t.About = l.where, l.value, of.label, of.about
		t.Names = namedIn(a.Names, of.about)
		t.MCPID, t.Service, t.Called, t.At, t.Call = a.MCPID, a.Service, a.Called, a.At, a.Call
		return t, !t.Own || of.isKnown()
	}
	var list []Taken
	for _, s := range p.Steps {
		if s.MCPID == tool.FilesID { // its diff shows the old content of the files
			continue
		}
		for _, l := range s.literals() {
			if len(list) == mostTaken {
				return list
			}
			if t, ok := find(l); ok {
				t.StepID = s.ID
				list = append(list, t)
				continue
			}
			old := slices.IndexFunc(earlier, func(t Taken) bool { return t.StepID == s.ID && t.Where == l.where && t.Value == l.value })
			if old >= 0 {
				list = append(list, earlier[old])
			}
		}
	}
	return list
}

// askedWith returns a function that reports whether the call of a read had a value. An answer often repeats the arguments of
// its call, such as the hours of a search, and then the value is the caller's.
func (a Answered) askedWith() func(value string) bool {
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
	return func(value string) bool {
		return slices.ContainsFunc(asked, func(text string) bool { return standsIn(text, value) })
	}
}

// namedIn returns the document's names of the members that are facts.
func namedIn(names []ref.Named, facts []ref.Fact) (list []ref.Named) {
	for _, n := range names {
		if slices.ContainsFunc(facts, func(f ref.Fact) bool { return f.Name == n.Name }) {
			list = append(list, n)
		}
	}
	return list
}

// Again returns the value after another read of the same call, with the present label and facts of its object.
func (t Taken) Again(answer string, at time.Time) Taken {
	of, is := valuesIn(answer)(t.Value)
	t.At, t.Gone = at, !is
	if of.isKnown() {
		t.Label, t.About = of.label, of.about
	}
	return t
}

// literal is a value of a step that is sent as it stands.
type literal struct{ where, value string }

// literals returns the values of a step that may have been read: no references, and nothing that is too short to be
// distinguished from any other value.
func (s Step) literals() []literal {
	var list []literal
	add := func(where, value string) {
		if isDistinctive(value) {
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
	}{{"query", s.Query}, {"headers", s.Headers}, {"body", s.Body}} {
		eachValue(part.raw, part.where, add)
	}
	return list
}

// isDistinctive reports whether a text says by itself which value it is: a word or a number of two signs and more.
func isDistinctive(text string) bool {
	signs := 0
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			signs++
		}
	}
	return signs >= 2 && len(text) <= 200 && !strings.Contains(text, "${")
}

// valuesIn returns a function that reports whether a value stands in an answer: as a whole value of JSON, or else between
// other signs; with the object of which the value is the id.
func valuesIn(answer string) func(value string) (of thing, is bool) {
	values := map[string]thing{}
	if root, ok := decodeValue(json.RawMessage(answer)); ok {
		walkValue(root, "", func(_, value string) { values[value] = thing{} })
		things{values, map[string]bool{}}.add(json.RawMessage(answer), 0)
		return func(v string) (thing, bool) { of, is := values[v]; return of, is }
	}
	return func(v string) (thing, bool) { return thing{}, standsIn(answer, v) }
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

// eachValue calls f for each text and number of a JSON value, with its path. It reports whether raw is JSON.
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

// thing is the label and the facts of an object with an id in an answer.
type thing struct {
	label string
	about []ref.Fact
}

func (t thing) isKnown() bool { return t.label != "" || len(t.about) > 0 }

// isSame reports whether two things with one id are one: by their labels if they have any, else by their facts.
func (t thing) isSame(o thing) bool {
	if t.label != "" || o.label != "" {
		return t.label == o.label
	}
	return slices.EqualFunc(t.about, o.about, func(a, b ref.Fact) bool { return a.Name == b.Name && string(a.Value) == string(b.Value) })
}

// deepestThing is the greatest depth at which things are searched in an answer.
const deepestThing = 12

// things are the things of an answer by their ids. An id of several things, such as 1 of two kinds, is unclear and has none.
type things struct {
	known   map[string]thing
	unclear map[string]bool
}

// add adds the things in a JSON value.
func (t things) add(raw json.RawMessage, depth int) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || depth > deepestThing {
		return
	}
	switch raw[0] {
	case '[':
		var elements []json.RawMessage
		_ = json.Unmarshal(raw, &elements) // the whole answer was decoded before
		for _, e := range elements {
			t.add(e, depth+1)
		}
	case '{':
		members, _ := jcs.Members(raw)
		names := map[string]any{}
		for _, m := range members {
			var text string
			if json.Unmarshal(m.Value, &text) == nil {
				names[m.Name] = text
			}
		}
		for _, m := range members {
			t.add(m.Value, depth+1)
			if v, ok := decodeValue(m.Value); ok && isID(m.Name) {
				walkID(v, func(id string) { t.put(id, thing{ref.NameOf(names), ref.Facts(raw, m.Name)}) })
			}
		}
	}
}

func (t things) put(id string, of thing) {
	if before := t.known[id]; t.unclear[id] || before.isKnown() && !before.isSame(of) {
		t.known[id], t.unclear[id] = thing{}, true
	} else if !before.isKnown() {
		t.known[id] = of
	}
}

// walkID calls f for a value that may be an id: a text or a number.
func walkID(v any, f func(id string)) {
	switch v := v.(type) {
	case string:
		f(v)
	case json.Number:
		f(v.String())
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
