package template

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

const (
	anyMethod   = "ANY"
	defaultPath = "$default"
)

func isGreedy(segment string) bool {
	return strings.HasPrefix(segment, "{") && strings.HasSuffix(segment, "+}")
}

func isParameter(segment string) bool {
	return strings.HasPrefix(segment, "{") && strings.HasSuffix(segment, "}")
}

// checkPath refuses a path that API Gateway would refuse or interpret differently.
func checkPath(path string) error {
	if path == defaultPath {
		return nil
	}
	if !strings.HasPrefix(path, "/") {
		return fmt.Errorf("%q does not begin with a slash", path)
	}
	segments := strings.Split(path[1:], "/")
	for i, s := range segments {
		name := strings.TrimSuffix(strings.Trim(s, "{}"), "+")
		switch {
		case s == "" && path != "/":
			return fmt.Errorf("%q has an empty segment", path)
		case isGreedy(s) && i != len(segments)-1:
			return fmt.Errorf("%q: only the last segment takes the rest", path)
		case strings.ContainsAny(s, "{}") && (!isParameter(s) || name == "" || strings.ContainsAny(name, "{}+")):
			return fmt.Errorf("%q: a parameter is a whole segment", path)
		}
	}
	return nil
}

// Route returns the route that API Gateway would choose for a request: path is the escaped path of
// the request, without its query. A more specific path is preferred segment by segment (text, then
// {parameter}, then {rest+}), then the method itself over ANY, then $default. It reports false when
// nothing matches.
func (t *Template) Route(method, path string) (Route, bool) {
	segments := strings.Split(path, "/")
	var best *Route
	for i := range t.API.Routes {
		route := &t.API.Routes[i]
		if route.Path == defaultPath || (route.Method != method && route.Method != anyMethod) {
			continue
		}
		if matches(route.Path, segments) && (best == nil || before(*route, *best) < 0) {
			best = route
		}
	}
	if best != nil {
		return *best, true
	}
	i := slices.IndexFunc(t.API.Routes, func(r Route) bool { return r.Path == defaultPath })
	if i < 0 {
		return Route{}, false
	}
	return t.API.Routes[i], true
}

// matches reports whether a request's segments fit a route's path. A parameter matches one segment
// that is not empty; a greedy one matches all remaining segments.
func matches(path string, segments []string) bool {
	want := strings.Split(path, "/")
	for i, w := range want {
		if i >= len(segments) {
			return false
		}
		switch {
		case isGreedy(w):
			return strings.Join(segments[i:], "/") != ""
		case isParameter(w):
			if segments[i] == "" {
				return false
			}
		case w != unescape(segments[i]):
			return false
		}
	}
	return len(want) == len(segments)
}

func unescape(segment string) string {
	if plain, err := url.PathUnescape(segment); err == nil {
		return plain
	}
	return segment
}

// before orders two routes that match one request.
func before(a, b Route) int {
	as, bs := strings.Split(a.Path, "/"), strings.Split(b.Path, "/")
	for i := range min(len(as), len(bs)) {
		if c := cmp.Compare(generality(as[i]), generality(bs[i])); c != 0 {
			return c
		}
	}
	return cmp.Compare(generality(a.Method), generality(b.Method))
}

// generality ranks a segment or a method: a greater number matches more.
func generality(s string) int {
	switch {
	case isGreedy(s):
		return 2
	case isParameter(s), s == anyMethod:
		return 1
	}
	return 0
}
