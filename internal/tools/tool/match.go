package tool

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/jcs"
	"piloto/internal/ground/order"
	"piloto/internal/ground/ref"
)

// maxPath is the maximum length of a concrete path in bytes.
const maxPath = 8 << 10

// Match returns the entry whose template a concrete path matches, and the path's parameters. Parameters are
// decoded; their references stay. Literal segments win over parameters.
//
// A path that still holds "{id}", or has nothing in its place, is ErrArguments, which names the parameter to fill:
// "/rooms/" is "/rooms" only where it is no "/rooms/{id}" without an id. A path that matches nothing is ErrNotAllowed
// with the nearest entries in Args["nearest"]; one whose entry cannot be called is ErrRefused.
func Match(entries []Entry, method, path string) (Entry, map[string]string, error) {
	method = strings.ToUpper(method)
	if len(path) > maxPath || !strings.HasPrefix(path, "/") {
		return Entry{}, nil, wrongArguments("path.form", Because("problem.path_form", "most", maxPath), "path").With("reason", "path")
	}
	var best Entry
	var found map[string]string
	var bestRank []int
	for _, e := range entries {
		if e.Method != method || !mayMatch(e.Path, path) {
			continue
		}
		params, rank, ok := matchTemplate(e.Path, path)
		if ok && (found == nil || slices.Compare(rank, bestRank) > 0 ||
			slices.Equal(rank, bestRank) && e.Path < best.Path) {
			best, found, bestRank = e, params, rank
		}
	}
	if exact := found != nil && bestRank[len(bestRank)-1] == 1; !exact {
		if template, name := emptyParameter(entries, path); name != "" {
			return Entry{}, nil, emptyError(template, name)
		}
	}
	if found == nil {
		return Entry{}, nil, notAllowedError(entries, method, path)
	}
	if best.Refused != nil {
		return Entry{}, nil, best.Refused.Fault(best)
	}
	if name := unfilledParameter(best.Path, path); name != "" {
		return Entry{}, nil, wrongArguments("path.unfilled", Because("problem.still_unfilled", "name", name), "path").With("reason", "unfilled")
	}
	return best, found, nil
}

// mayMatch reports, without parsing, whether a path begins like a template: most entries of a large allowlist do not.
// It leaves the judgement of escapes and references to matchTemplate.
func mayMatch(template, path string) bool {
	literal, _, _ := strings.Cut(template, "{")
	return strings.ContainsAny(path, "%$") || strings.Contains(literal, "%") || strings.HasPrefix(path, strings.TrimSuffix(literal, "/"))
}

// matchTemplate matches a path against one template. rank measures the match segment by segment, so that a longer
// literal beginning wins.
func matchTemplate(template, path string) (params map[string]string, rank []int, ok bool) {
	segments, parts := parseTemplate(template), splitPath(path)
	exact := 1
	if n := len(parts); n == len(segments)+1 && parts[n-1] == "" {
		parts, exact = parts[:n-1], 0
	} else if n == len(segments)-1 && len(segments[n]) == 0 {
		parts, exact = append(parts, ""), 0
	}
	if len(parts) != len(segments) {
		return nil, nil, false
	}
	params = map[string]string{}
	for i, s := range segments {
		written := ref.Contains(parts[i])
		if !s.match(decodePart(parts[i], written), params, written) {
			return nil, nil, false
		}
		rank = append(rank, s.weight())
	}
	return params, append(rank, exact), true
}

// decodePart decodes a segment of a path. Its references stay.
func decodePart(part string, written bool) string {
	if !written {
		return Unescape(part)
	}
	decoded, err := ref.MapLiterals(part, func(text string) string { return strings.ReplaceAll(Unescape(text), "${", "$${") })
	if err != nil {
		return part
	}
	return decoded
}

// emptyParameter returns the first template that a path would match if its parameters could be empty, and the name of the
// parameter that is; "" when there is none.
func emptyParameter(entries []Entry, path string) (template, name string) {
	parts := splitPath(path)
	short := parts
	if n := len(parts); parts[n-1] == "" {
		short = parts[:n-1]
	}
	for _, e := range entries {
		segments := rootless(e.Path)
		for _, p := range [][]string{parts, short} {
			if name := emptyIn(segments, p); e.Name == "" && name != "" {
				return e.Path, name
			}
		}
	}
	return "", ""
}

// emptyIn returns the name of the first parameter for which a path has nothing, if its segments match otherwise.
func emptyIn(segments []segment, parts []string) (name string) {
	if len(segments) != len(parts) {
		return ""
	}
	for i, s := range segments {
		written := ref.Contains(parts[i])
		text := decodePart(parts[i], written)
		if s.match(text, map[string]string{}, written) {
			continue
		}
		bare := ""
		for _, p := range s {
			bare += p.literal
			if p.param != "" && name == "" {
				name = p.param
			}
		}
		if text != bare {
			return ""
		}
	}
	return name
}

func emptyError(template, name string) error {
	return wrongArguments("path.empty", Because("problem.path_empty", "name", name, "template", template), "path").With("reason", "empty")
}

// unfilledParameter returns the first parameter of the template that the path still holds as "{name}", or "".
func unfilledParameter(template, path string) string {
	parts := splitPath(path)
	for i, s := range parseTemplate(template) {
		if i == len(parts) {
			break
		}
		pieces, err := ref.Literals(parts[i])
		for _, p := range s {
			if err == nil && p.param != "" && slices.ContainsFunc(pieces, func(text string) bool { return strings.Contains(Unescape(text), "{"+p.param+"}") }) {
				return p.param
			}
		}
	}
	return ""
}

func notAllowedError(entries []Entry, method, path string) error {
	type scored struct {
		entry Entry
		score int
	}
	var list []scored
	want := slices.DeleteFunc(splitPath(path), func(part string) bool { return part == "" })
	for _, e := range entries {
		score := closeness(e, method, want)
		if _, _, fits := matchTemplate(e.Path, path); fits { // only the method is wrong
			score += 20
		}
		if score > 0 {
			list = append(list, scored{e, score})
		}
	}
	order.By(list, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.entry.Path, b.entry.Path), cmp.Compare(a.entry.Method, b.entry.Method))
	})
	var names []string
	for _, s := range list[:min(5, len(list))] {
		names = append(names, s.entry.Method+" "+s.entry.Path)
	}
	return ErrNotAllowed.With("method", method).With("path", clip.Bytes(path, 200)).With("nearest", strings.Join(names, "; "))
}

// closeness scores the segments that an entry shares with a path that matched nothing.
func closeness(e Entry, method string, want []string) int {
	score := 0
	segments := parseTemplate(e.Path)
	have := map[string]bool{}
	for _, s := range segments {
		if text, ok := s.literal(); ok && text != "" {
			have[strings.ToLower(text)] = true
		}
	}
	for i, w := range want {
		w = strings.ToLower(Unescape(w))
		switch {
		case i < len(segments) && segments[i].capture(w, map[string]string{}) && have[w]:
			score += 6
		case have[w] || have[w+"s"] || have[strings.TrimSuffix(w, "s")]:
			score += 4
		}
	}
	if score > 0 && len(want) == len(segments) {
		score += 2
	}
	if score > 0 && e.Method == method {
		score++
	}
	return score
}

// SplitQuery moves a "?query" from the end of the path into Query. A name that Query already has is kept. Values
// stay text; a repeated name becomes a list.
func SplitQuery(a Arguments) (Arguments, error) {
	cut := -1
	for at := 0; at < len(a.Path) && cut < 0; {
		switch {
		case strings.HasPrefix(a.Path[at:], "${"):
			at += referenceLength(a.Path[at:])
		case a.Path[at] == '?':
			cut = at
		default:
			at++
		}
	}
	if cut < 0 {
		return a, nil
	}
	values, err := url.ParseQuery(a.Path[cut+1:])
	if err != nil {
		return a, wrongArguments("path.query", Because("problem.path_query"), "path").Because(err)
	}
	query := map[string]json.RawMessage{}
	if len(a.Query) > 0 {
		if err := json.Unmarshal(a.Query, &query); err != nil || query == nil {
			return a, wrongArguments("type", Because("problem.object_of_parameters"), "query").Because(err)
		}
	}
	for name, list := range values {
		if _, taken := query[name]; taken {
			continue
		}
		if len(list) == 1 {
			query[name], err = jcs.Marshal(list[0])
		} else {
			query[name], err = jcs.Marshal(list)
		}
		if err != nil {
			return a, ErrArguments.Because(err)
		}
	}
	a.Path = a.Path[:cut]
	a.Query, err = jcs.Marshal(query)
	return a, err
}
