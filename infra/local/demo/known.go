package demo

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"net/url"
	"slices"
	"strings"

	"piloto/internal/ground/meaning"
)

// memory holds the data of services in a prompt, the newest first: lists that were read, and things that plans made.
type memory struct {
	lists []listing
	made  []thing
}

// listing is the answer of a read, as rows, with the operation that was called and its query.
type listing struct {
	op    operation
	query url.Values
	rows  []thing
}

// thing is an object of a service, and its concept: room.
type thing struct {
	kind    string
	members []member
}

// member is one member of a JSON object, in the order of its text.
type member struct {
	name  string
	raw   json.RawMessage
	value any
}

// readAnswer is the result of a read, as the model reads it.
type readAnswer struct {
	ID, Called, Service, Error string
	Answer                     json.RawMessage
	Status                     int
	fresh                      bool // it was made for the person's last message
}

// madeRun is the end of a plan, as an event of the prompt tells it.
type madeRun struct {
	Steps []struct {
		Method, Path, Status string
		Body                 json.RawMessage
	}
}

// know reads the data of the operations' services from the transcript.
func (d dialogue) know(ops []operation) memory {
	var k memory
	for _, read := range d.reads(ops) {
		if l, ok := listingOf(ops, read); ok && meaning.Of(read.Status, false) == meaning.Done {
			k.lists = slices.Insert(k.lists, 0, l)
		}
	}
	for _, run := range eventsIn[madeRun](d.system, "plan_ended") {
		for _, s := range run.Steps {
			if s.Status == "done" && s.Method != "GET" {
				k.note(s.Method, s.Path, s.Body)
			}
		}
	}
	return k
}

// note records the effect of a step: the thing that it made or changed, or that one is gone.
func (k *memory) note(method, path string, body json.RawMessage) {
	made := thingOf(kindOf(path), body)
	id := made.text("id")
	if method == "DELETE" {
		id = path[strings.LastIndex(path, "/")+1:]
	}
	k.made = slices.DeleteFunc(k.made, func(t thing) bool { return t.text("id") == id })
	if method != "DELETE" && id != "" {
		k.made = slices.Insert(k.made, 0, made)
	}
}

// listingOf returns the rows of a read; false when the answer is no list, or of an unknown operation.
func listingOf(ops []operation, read readAnswer) (listing, bool) {
	address, isGet := strings.CutPrefix(read.Called, "GET ")
	at, err := url.Parse(address)
	if err != nil || !isGet {
		return listing{}, false
	}
	path := address
	if cut := strings.IndexByte(path, '?'); cut >= 0 {
		path = path[:cut]
	}
	i := slices.IndexFunc(ops, func(op operation) bool { return op.Method == "GET" && path == op.Base+op.Path })
	rows, ok := rowsOf(read.Answer)
	if i < 0 || !ok {
		return listing{}, false
	}
	l := listing{op: ops[i], query: at.Query()}
	for _, row := range rows {
		l.rows = append(l.rows, thingOf(kindOf(ops[i].Path), row))
	}
	return l, true
}

// kindOf returns the concept of the things of a path: room for /rooms and for /rooms/r-1.
func kindOf(path string) string {
	kind := ""
	for part := range strings.SplitSeq(path, "/") {
		if found := concepts(part); len(found) > 0 && !strings.ContainsAny(part, "0123456789{") {
			kind = found[len(found)-1]
		}
	}
	return kind
}

// rowsOf returns the objects of a list, or of the first member of an object that is a list of objects. An object without an
// id may have an empty one.
func rowsOf(raw json.RawMessage) (rows []json.RawMessage, ok bool) {
	isRows := func(raw json.RawMessage) bool {
		return json.Unmarshal(raw, &rows) == nil && rows != nil && !slices.ContainsFunc(rows, func(row json.RawMessage) bool { return row[0] != '{' })
	}
	if isRows(raw) {
		return rows, true
	}
	isThing := thingOf("", raw).text("id") != ""
	for _, m := range membersOf(raw) {
		if isRows(m.raw) && (len(rows) > 0 || !isThing) {
			return rows, true
		}
	}
	return nil, false
}

func thingOf(kind string, raw json.RawMessage) thing { return thing{kind, membersOf(raw)} }

// membersOf returns the members of an object in their order; none of another value.
func membersOf(raw json.RawMessage) (list []member) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return nil
	}
	for d.More() {
		name, err := d.Token()
		m := member{}
		if err != nil || d.Decode(&m.raw) != nil || json.Unmarshal(m.raw, &m.value) != nil {
			return list
		}
		m.name, _ = name.(string)
		list = append(list, m)
	}
	return list
}

// text returns a member as text; "" when there is none.
func (t thing) text(name string) string {
	for _, m := range t.members {
		if m.name == name {
			return plain(m.value)
		}
	}
	return ""
}

// title names a thing: by its name, or by that of the thing that it belongs to, or by its id.
func (t thing) title() string {
	name := cmp.Or(t.text("name"), t.text("title"))
	for _, m := range t.members {
		if text, ok := m.value.(string); ok && name == "" && strings.HasSuffix(m.name, "_name") {
			name = text
		}
	}
	switch id := t.text("id"); {
	case name == "":
		return id
	case id == "" || t.text("name") == name:
		return name
	default:
		return name + ", " + id
	}
}

// about returns the members whose names have one of the concepts, or its role: «a qué hora» is start.
func (t thing) about(nouns []string) (list []member) {
	for _, m := range t.members {
		words := concepts(m.name)
		if slices.ContainsFunc(nouns, func(noun string) bool { return slices.Contains(words, noun) }) {
			list = append(list, m)
		}
	}
	return list
}

// number returns the first number among the members that a word names.
func (t thing) number(word string) (float64, bool) {
	for _, m := range t.about([]string{concept(word)}) {
		if n, ok := m.value.(float64); ok {
			return n, true
		}
	}
	return 0, false
}

// pick returns the row that a message chooses: by a name, a place (the second) or a size (the cheapest). byName is
// whether it was by a name alone.
func (l listing) pick(text string, v values) (row thing, byName, ok bool) {
	words := tokens(text)
	for _, word := range words {
		if place, isOrdinal := vocabulary.Ordinals[word]; isOrdinal {
			if place < 0 {
				place = len(l.rows)
			}
			if place >= 1 && place <= len(l.rows) {
				return l.rows[place-1], false, true
			}
		}
		for _, p := range vocabulary.Picks {
			if p.Words[strings.TrimSuffix(word, "s")] {
				if row, ok := l.extreme(p.By, p.Most); ok {
					return row, false, true
				}
			}
		}
	}
	for _, row := range l.rows {
		id, name := row.text("id"), tokens(row.text("name"))
		if id != "" && slices.Contains(v.rooms, id) || len(name) > 0 && strings.Contains(" "+strings.Join(words, " ")+" ", " "+strings.Join(name, " ")+" ") {
			return row, true, true
		}
	}
	return thing{}, false, false
}

// extreme returns the first row with the least of a member, or with the most.
func (l listing) extreme(by string, most bool) (best thing, ok bool) {
	least := math.Inf(1)
	for _, row := range l.rows {
		n, known := row.number(by)
		if most {
			n = -n
		}
		if known && n < least {
			best, least, ok = row, n, true
		}
	}
	return best, ok
}

// asked returns the values that the query of a read gave.
func (l listing) asked() values {
	v := values{named: map[string]string{}}
	for name := range l.query {
		switch text := l.query.Get(name); roleOf(name) {
		case "date":
			v.date = text
		case "start":
			v.start = text
		case "end":
			v.end = text
		case "people":
			v.people = atoi(text)
		}
	}
	return v
}
