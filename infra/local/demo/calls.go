package demo

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// mcpRequest is the argument of the tool mcp_request.
type mcpRequest struct {
	Server string         `json:"mcp_id"`
	Method string         `json:"method"`
	Path   string         `json:"path"`
	Query  map[string]any `json:"query,omitempty"`
	Body   map[string]any `json:"body,omitempty"`
}

// planStep is one step of the tool propose_plan.
type planStep struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	mcpRequest
	Needs []string `json:"needs,omitempty"`
}

// planProposal is the argument of the tool propose_plan.
type planProposal struct {
	Goal  string     `json:"goal"`
	Steps []planStep `json:"steps"`
}

// methodFits says how well a method serves a kind of verb. A request to read never leads to a method
// that writes, and only a request to delete leads to DELETE.
var methodFits = map[string]map[string]int{
	"":      {"GET": 1, "POST": 0, "PUT": 0, "PATCH": 0},
	reads:   {"GET": 3},
	creates: {"POST": 3, "PUT": 3},
	updates: {"PATCH": 7, "PUT": 6, "POST": 1},
	deletes: {"DELETE": 3},
	runs:    {"GET": 1, "POST": 0, "PUT": 0, "PATCH": 0},
}

// fits returns how well the operation serves a kind of verb, and whether it does at all. A POST such
// as /orders/7/cancel deletes, and /pets/search reads.
func (op operation) fits(kind string) (int, bool) {
	method := op.Method
	for _, word := range tokens(op.Path + " " + op.Summary) {
		if method == "POST" && verbOf(word) == deletes {
			method = "DELETE"
		} else if method == "POST" && word == "search" {
			method = "GET"
		}
	}
	fit, ok := methodFits[kind][method]
	return fit, ok
}

// choose returns the operation that fits best: its method suits the verb, and its path and summary
// name the nouns of the message. Without a noun, an id such as r-3 names reservations when only they
// begin so. It reports false when nothing fits.
func choose(ops []operation, kind string, nouns []string, v values) (operation, bool) {
	best, most, alike := operation{}, 0, 0
	for _, op := range ops {
		if score := op.score(kind, nouns, v); score > most {
			best, most = op, score
		}
	}
	if most > 0 || len(v.ids) == 0 || kind == "" {
		return best, most > 0
	}
	prefix, _, _ := strings.Cut(fold(v.ids[0]), "-")
	for _, op := range ops {
		marks := op.placeholders()
		if _, ok := op.fits(kind); ok && len(marks) == 1 && strings.HasPrefix(op.owner(marks[0].Name), prefix) {
			best, alike = op, alike+1
		}
	}
	return best, alike == 1
}

// score weighs an operation for a message; 0 when it does not fit.
func (op operation) score(kind string, nouns []string, v values) int {
	fit, ok := op.fits(kind)
	path, summary := op.pathConcepts(), concepts(op.Summary)
	score, hits := fit-len(path), 0
	for i, noun := range nouns {
		switch {
		case slices.Contains(path, noun):
			score, hits = score+7, hits+2
			if i == 0 {
				score += 3 // the first noun is usually the subject
			}
		case slices.Contains(summary, noun):
			score, hits = score+2, hits+1
		}
	}
	if !ok || hits == 0 || kind == "" && hits < 2 {
		return 0
	}
	for _, p := range op.placeholders() {
		score -= 4
		if v.nameOf(op, p, true) != "" {
			score += 9
		}
	}
	for _, p := range op.Query {
		if roleOf(p.Name) == "id" && v.nameOf(op, p, false) != "" {
			score += 3
		}
	}
	return score
}

// roleOf returns the role of a parameter, which its name shows: date, start, end, people, id or text;
// "" for none.
func roleOf(name string) string {
	for _, r := range vocabulary.Roles {
		if slices.ContainsFunc(tokens(name), func(word string) bool { return r.Words[word] }) {
			return r.Role
		}
	}
	return ""
}

// value returns the value that the message gives for a parameter, if any: by its name, by its role,
// or as a number beside its name. A start alone gives an end, so that the confirmed request has one.
func (v values) value(op operation, p parameter) (any, bool) {
	role := roleOf(p.Name)
	text := v.named[fold(p.Name)]
	if text == "" && role != "id" {
		text = v.named[nameKey(p.Name)]
	}
	switch {
	case text != "":
	case role == "end" && v.end == "" && v.start != "":
		text = addMinutes(v.start, 60)
	case role == "people" && v.people > 0:
		text = strconv.Itoa(v.people)
	case role == "id":
		text = v.nameOf(op, p, false)
	case role == "text" && len(v.quoted) > 0:
		text = v.quoted[0]
	default:
		text = map[string]string{"date": v.date, "start": v.start, "end": v.end}[role]
	}
	for _, n := range v.numbers {
		if c := concept(fold(p.Name)); text == "" && (n.after == c || n.before == c) {
			text = n.value
		}
	}
	return coerce(text, p.Type)
}

// nameOf returns the word that identifies the thing of a parameter; "" for none. Only a parameter of
// the path takes an id such as r-1, or a number.
func (v values) nameOf(op operation, p parameter, inPath bool) string {
	owner := op.owner(p.Name)
	if named := cmp.Or(v.named[fold(p.Name)], v.named[nameKey(p.Name)], v.named[owner]); named != "" {
		return named
	}
	switch {
	case owner == "room" && len(v.rooms) > 0:
		return v.rooms[0]
	case inPath && len(v.ids) > 0:
		return v.ids[0]
	}
	for i, word := range v.words[:max(0, len(v.words)-1)] {
		next := v.words[i+1]
		plain := wordText.MatchString(next) && concept(next) != "" && known[stem(next)] == "" && verbOf(next) == ""
		if isNumber := isDigit(next[0]); concept(word) == owner && !strings.HasSuffix(word, "s") && (isNumber && inPath || plain && !isNumber) {
			return next
		}
	}
	return ""
}

// coerce converts text to a JSON type; false when it is empty or does not fit. References stay.
func coerce(text, kind string) (any, bool) {
	switch {
	case text == "" || strings.HasPrefix(text, "${"):
		return text, text != ""
	case kind == "integer":
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil
	case kind == "number":
		n, err := strconv.ParseFloat(text, 64)
		return n, err == nil
	case kind == "boolean":
		yes := slices.Contains([]string{"true", "si", "yes"}, fold(text))
		return yes, yes || slices.Contains([]string{"false", "no"}, fold(text))
	case strings.HasSuffix(kind, "[]"):
		return strings.Split(text, "|"), true
	}
	return text, true
}

// fill builds the request of an operation, and lists the required parameters without a value.
func (v values) fill(op operation) (mcpRequest, []string) {
	r := mcpRequest{Server: op.Server, Method: op.Method, Path: op.Path, Query: map[string]any{}, Body: map[string]any{}}
	var missing, optional []string
	for _, p := range op.placeholders() {
		if text := v.nameOf(op, p, true); text != "" {
			r.Path = strings.Replace(r.Path, "{"+p.Name+"}", url.PathEscape(text), 1)
		} else {
			missing = append(missing, p.Name)
		}
	}
	for i, p := range slices.Concat(op.Query, op.Body) {
		value, ok := v.value(op, p)
		switch {
		case ok && i < len(op.Query):
			r.Query[p.Name] = value
		case ok:
			r.Body[p.Name] = value
		case p.Required:
			missing = append(missing, p.Name)
		default:
			optional = append(optional, p.Name)
		}
	}
	if (op.Method == "PATCH" || op.Method == "PUT") && len(r.Body) == 0 {
		missing = append(missing, optional...) // the request would change nothing
	}
	return r, missing
}

// steps returns the steps of an operation, numbered from first, and the values that are missing. A
// creation whose only unknown is which thing to use finds one in its list, creates with the first
// one found and reads the result back. The list is expected to return {"items": [{"id"}]}.
func (v values) steps(ops []operation, op operation, first int) (steps []planStep, missing []string) {
	add := func(title string, request mcpRequest, needs ...string) string {
		id := fmt.Sprintf("s%d", first+len(steps))
		steps = append(steps, planStep{id, title, request, needs})
		return id
	}
	request, missing := v.fill(op)
	at := slices.IndexFunc(missing, func(name string) bool {
		return roleOf(name) == "id" && op.Method == "POST" && !strings.Contains(op.Path, "{")
	})
	list := slices.IndexFunc(ops, func(o operation) bool {
		path := o.pathConcepts()
		return at >= 0 && o.Server == op.Server && o.Method == "GET" && !strings.Contains(o.Path, "{") && len(path) > 0 && path[len(path)-1] == op.owner(missing[at])
	})
	if at < 0 || list < 0 {
		add(op.title(), request)
		return steps, missing
	}
	search, absent := v.fill(ops[list])
	open := missing[at]
	if missing = append(slices.Delete(missing, at, at+1), absent...); len(missing) > 0 {
		return nil, missing
	}
	found := add(ops[list].title(), search)
	for i := range v.countOf(op.owner(open)) {
		one := v
		one.named = maps.Clone(v.named)
		one.named[fold(open)] = fmt.Sprintf("${%s.body.items[%d].id}", found, i)
		request, _ := one.fill(op)
		made := add(op.title(), request, found)
		for _, read := range ops {
			if marks := read.placeholders(); read.Server == op.Server && read.Method == "GET" && len(marks) == 1 && read.Path == op.Path+"/{"+marks[0].Name+"}" {
				add(read.title(), mcpRequest{Server: read.Server, Method: "GET", Path: op.Path + "/${" + made + ".body.id}"}, made)
			}
		}
	}
	return steps, nil
}

// countOf returns how many things of a kind the message wants, from one to nine: «dos salas».
func (v values) countOf(owner string) int {
	for _, n := range v.numbers {
		if n.after == owner {
			return min(max(atoi(n.value), 1), 9)
		}
	}
	return 1
}

// or fills the values that v lacks from another part of the message.
func (v values) or(w values) values {
	v.date, v.people = cmp.Or(v.date, w.date), cmp.Or(v.people, w.people)
	if v.start == "" {
		v.start, v.end = w.start, w.end
	}
	if len(v.quoted) == 0 {
		v.quoted = w.quoted
	}
	named := map[string]string{}
	maps.Copy(named, w.named)
	maps.Copy(named, v.named)
	v.named = named
	return v
}
