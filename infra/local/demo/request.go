package demo

import (
	"cmp"
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

// choose returns the operation that fits best: its method suits the verb, and path and summary name
// the nouns of the message. It reports false when they have no noun in common.
func choose(ops []operation, kind verb, nouns []string, f facts) (operation, bool) {
	best, most := operation{}, 0
	for _, op := range ops {
		score, hits := 0, 0
		path, summary := op.pathConcepts(), concepts(op.Summary)
		for i, noun := range nouns {
			switch {
			case slices.Contains(path, noun):
				score, hits = score+6, hits+2
				if i == 0 {
					score += 3 // the first noun is usually the subject
				}
			case slices.Contains(summary, noun):
				score, hits = score+2, hits+1
			}
		}
		fit, suits := suitability(op, kind, append(path, summary...))
		if !suits || hits == 0 || (kind == noVerb && hits < 2) {
			continue
		}
		score += fit - extraSegments(path, nouns)
		for _, p := range op.placeholders() {
			if _, given := f.idOf(op, p, true); given {
				score += 5
			} else {
				score -= 4
			}
		}
		for _, p := range op.Query {
			if _, given := f.value(op, p); given && strings.HasSuffix(fold(p.Name), "_id") {
				score += 3
			}
		}
		if score > most {
			best, most = op, score
		}
	}
	if most == 0 && len(f.ids) > 0 {
		return onlyOne(ops, kind, f.ids[0])
	}
	return best, most > 0
}

// onlyOne returns the operation on a single thing that suits the verb, when the catalogue has just
// one, or one whose thing starts as the id does: «cancela r-3» refers to reservations.
func onlyOne(ops []operation, kind verb, id string) (operation, bool) {
	var found, alike []operation
	prefix, _, _ := strings.Cut(fold(id), "-")
	for _, op := range ops {
		_, suits := suitability(op, kind, append(op.pathConcepts(), concepts(op.Summary)...))
		marks := op.placeholders()
		if !suits || kind == noVerb || kind == runs || len(marks) != 1 {
			continue
		}
		found = append(found, op)
		if strings.HasPrefix(op.owner(marks[0].Name), prefix) {
			alike = append(alike, op)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], true
	case len(alike) == 1:
		return alike[0], true
	default:
		return operation{}, false
	}
}

// extraSegments returns the number of concepts in the path that the message does not name.
func extraSegments(path, nouns []string) int {
	extra := 0
	for _, c := range path {
		if !slices.Contains(nouns, c) {
			extra++
		}
	}
	return extra
}

// suitability returns how well a method serves a verb. A request to read never leads to a method
// that writes, and only a request to delete leads to DELETE.
func suitability(op operation, kind verb, named []string) (int, bool) {
	deleting := slices.ContainsFunc(named, func(c string) bool { return verbs[c] == deletes })
	switch kind {
	case reads:
		return 3, op.Method == "GET" || op.Method == "POST" && slices.Contains(named, "search")
	case creates:
		return 3, (op.Method == "POST" || op.Method == "PUT") && !deleting
	case updates:
		return map[string]int{"PATCH": 4, "PUT": 3, "POST": 1}[op.Method], op.Method != "GET" && op.Method != "DELETE" && !deleting
	case deletes:
		return 3, op.Method == "DELETE" || op.Method == "POST" && deleting
	default:
		return map[string]int{"GET": 1}[op.Method], op.Method != "DELETE"
	}
}

// idOf returns the value that identifies p's owner. Path parameters take an
// id such as r-1 first; others only when a word does not name their owner.
func (f facts) idOf(op operation, p parameter, inPath bool) (string, bool) {
	name := fold(p.Name)
	for _, key := range []string{name, concept(name), op.owner(p.Name)} {
		if value, ok := f.pairs[key]; ok && key != "" {
			return value, true
		}
	}
	named := f.wordAfter(op.owner(p.Name))
	if inPath && len(f.ids) > 0 {
		return f.ids[0], true
	}
	if named == "" && inPath {
		for _, a := range f.amounts {
			if a.before == op.owner(p.Name) {
				named = a.value
			}
		}
	}
	if named == "" && !inPath && len(f.ids) > 0 && len(op.placeholders()) == 0 {
		named = f.ids[0]
	}
	return named, named != ""
}

// value returns the value that the message gives for p, if any.
func (f facts) value(op operation, p parameter) (any, bool) {
	name := fold(p.Name)
	words := tokens(p.Name)
	has := func(options ...string) bool {
		return slices.ContainsFunc(options, func(o string) bool { return slices.Contains(words, o) })
	}
	text := f.pairs[name]
	if text == "" && !strings.HasSuffix(name, "id") {
		text = f.pairs[concept(name)]
	}
	dated := has("date", "fecha", "day", "dia", "on", "when")
	switch {
	case text != "" && dated && !isDate(text):
		text = cmp.Or(f.date, text)
	case text != "":
	case dated:
		text = f.date
	case has("start", "starts", "inicio", "begin", "hora", "time", "from", "desde"):
		text = f.start
	case has("end", "ends", "fin", "until", "hasta", "to"):
		text = f.end
	case has("people", "capacity", "seats", "guests", "personas", "plazas", "pax", "attendees", "party", "persons", "size"):
		if f.people > 0 {
			text = strconv.Itoa(f.people)
		}
	case has("email", "mail", "correo"):
		text = f.email
	case has("id", "uuid"):
		text, _ = f.idOf(op, p, false)
	case has("title", "name", "text", "message", "description", "subject", "content", "titulo", "nombre", "q", "query", "search", "note"):
		if len(f.quoted) > 0 {
			text = f.quoted[0]
		}
	}
	if text == "" {
		for _, a := range f.amounts {
			if c := concept(name); a.after == c || a.before == c {
				text = a.value
			}
		}
	}
	return coerce(text, p.Type)
}

// coerce converts text to a JSON type; false when it is empty or does not fit.
func coerce(text, kind string) (any, bool) {
	if text == "" {
		return nil, false
	}
	switch kind {
	case "integer":
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil
	case "number":
		n, err := strconv.ParseFloat(text, 64)
		return n, err == nil
	case "boolean":
		yes := slices.Contains([]string{"true", "si", "yes", "1"}, fold(text))
		return yes, yes || slices.Contains([]string{"false", "no", "0"}, fold(text))
	case "array":
		return strings.Split(text, "|"), true
	default:
		return text, true
	}
}

// build fills an operation from the facts. given holds values that are known already, by name;
// missing lists required parameters without a value.
func build(op operation, f facts, given map[string]any) (mcpRequest, []string) {
	r := mcpRequest{Server: op.Server, Method: op.Method, Path: op.Path}
	var missing []string
	for _, p := range op.placeholders() {
		if text, ok := f.idOf(op, p, true); ok {
			r.Path = strings.Replace(r.Path, "{"+p.Name+"}", url.PathEscape(text), 1)
		} else {
			missing = append(missing, p.Name)
		}
	}
	fill := func(params []parameter) map[string]any {
		out := map[string]any{}
		for _, p := range params {
			if v, ok := given[p.Name]; ok {
				out[p.Name] = v
			} else if v, ok := f.value(op, p); ok {
				out[p.Name] = v
			}
		}
		f.defaultEnd(params, out)
		f.loneNumber(params, out)
		for _, p := range params {
			if _, ok := out[p.Name]; !ok && p.Required {
				missing = append(missing, p.Name)
			}
		}
		return out
	}
	r.Query, r.Body = fill(op.Query), fill(op.Body)
	if (op.Method == "PATCH" || op.Method == "PUT") && len(op.Body) > 0 && len(r.Body) == 0 && len(missing) == 0 {
		for _, p := range op.Body {
			missing = append(missing, p.Name)
		}
	}
	return r, missing
}

// defaultEnd sets an end an hour after the start, so that the confirmed request has an end.
func (f facts) defaultEnd(params []parameter, out map[string]any) {
	start, ok := out["start"].(string)
	takes := slices.ContainsFunc(params, func(p parameter) bool { return p.Name == "end" })
	if _, set := out["end"]; ok && takes && !set && clock.MatchString(start) {
		out["end"] = addMinutes(start, 60)
	}
}

// loneNumber gives the message's only unused number to the only numeric parameter without a value.
func (f facts) loneNumber(params []parameter, out map[string]any) {
	var open []parameter
	for _, p := range params {
		if _, set := out[p.Name]; !set && (p.Type == "integer" || p.Type == "number") {
			open = append(open, p)
		}
	}
	if len(open) != 1 || len(f.amounts) != 1 {
		return
	}
	for _, v := range out {
		if n, ok := v.(int64); ok && strconv.FormatInt(n, 10) == f.amounts[0].value {
			return
		}
	}
	if v, ok := coerce(f.amounts[0].value, open[0].Type); ok {
		out[open[0].Name] = v
	}
}

// chain returns the plan for a creation whose only unknown is which thing to use: find one in its
// list, create with the first one found, read the result back. The list is expected to return
// {"items": [{"id"}]}.
func chain(ops []operation, op operation, f facts, goal string) (planProposal, []string, bool) {
	_, missing := build(op, f, nil)
	at := slices.IndexFunc(missing, func(name string) bool { return strings.HasSuffix(name, "_id") })
	if at < 0 || op.Method != "POST" || len(op.placeholders()) > 0 {
		return planProposal{}, nil, false
	}
	open := missing[at]
	find, found := lookup(ops, op.Server, op.owner(open))
	if !found {
		return planProposal{}, nil, false
	}
	search, absent := build(find, f, nil)
	if len(absent) > 0 {
		return planProposal{}, nil, false
	}
	if missing = slices.Delete(missing, at, at+1); len(missing) > 0 {
		return planProposal{}, missing, true
	}
	request, _ := build(op, f, map[string]any{open: "${s1.body.items[0].id}"})
	plan := planProposal{Goal: goal, Steps: []planStep{
		{ID: "s1", Title: find.title(), mcpRequest: search},
		{ID: "s2", Title: op.title(), mcpRequest: request, Needs: []string{"s1"}},
	}}
	for _, read := range ops {
		if marks := read.placeholders(); read.Server == op.Server && read.Method == "GET" && len(marks) == 1 && read.Path == op.Path+"/{"+marks[0].Name+"}" {
			plan.Steps = append(plan.Steps, planStep{
				ID: "s3", Title: read.title(), Needs: []string{"s2"},
				mcpRequest: mcpRequest{Server: read.Server, Method: "GET", Path: op.Path + "/${s2.body.id}"},
			})
		}
	}
	return plan, nil, true
}

// lookup finds the operation that lists things of a concept.
func lookup(ops []operation, server, owner string) (operation, bool) {
	for _, op := range ops {
		path := op.pathConcepts()
		if op.Server == server && op.Method == "GET" && len(op.placeholders()) == 0 && len(path) > 0 && path[len(path)-1] == owner {
			return op, true
		}
	}
	return operation{}, false
}
