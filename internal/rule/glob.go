package rule

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"piloto/internal/ref"
)

// unknown stands in a text for a reference: characters that nobody knows yet, none
// of them a slash, since a slash in a value is escaped where it is sent.
const unknown rune = -1

// The tokens of a glob that are no characters.
const (
	anyOne  rune = -2
	anyName rune = -3 // characters without a slash
	anyAll  rune = -4
)

// glob is a pattern, read.
type glob []rune

// readGlob reads a pattern. In one of names a slash is a character like others.
func readGlob(pattern string, names bool) glob {
	var g glob
	for _, r := range pattern {
		switch {
		case r == '?':
			g = append(g, anyOne)
		case r != '*':
			g = append(g, r)
		case names:
			g = append(g, anyAll)
		case len(g) > 0 && g[len(g)-1] == anyName:
			g[len(g)-1] = anyAll
		case len(g) > 0 && g[len(g)-1] == anyAll:
		default:
			g = append(g, anyName)
		}
	}
	return g
}

// matches reports whether a text is one of those that the glob describes. What is
// unknown in the text is taken as matching when may is set, and else only where the
// glob takes any name.
func (g glob) matches(text []rune, may bool) bool {
	now, next := make([]bool, len(text)+1), make([]bool, len(text)+1) // where in the text the glob may stand
	now[0] = true
	vanish(now, text, may)
	for _, token := range g {
		clear(next)
		alive := false
		for i, r := range text {
			if now[i] && takes(token, r, may) {
				next[i+1] = true
			}
			if now[i] && r == unknown && may && token != '/' { // more of it follows
				next[i] = true
			}
			if token != anyName && token != anyAll {
				continue
			}
			next[i] = next[i] || now[i]
			next[i+1] = next[i+1] || next[i] && (token == anyAll || r != '/')
		}
		if token == anyName || token == anyAll {
			next[len(text)] = next[len(text)] || now[len(text)]
		}
		vanish(next, text, may)
		for _, here := range next {
			alive = alive || here
		}
		if !alive {
			return false
		}
		now, next = next, now
	}
	return now[len(text)]
}

// vanish passes what is unknown where it may be nothing at all.
func vanish(states []bool, text []rune, may bool) {
	for i, r := range text {
		if may && r == unknown && states[i] {
			states[i+1] = true
		}
	}
}

// takes reports whether a token takes exactly one character.
func takes(token, r rune, may bool) bool {
	switch {
	case token == anyName || token == anyAll: // they take runs of them
		return false
	case r == unknown:
		return may && token != '/'
	case token == anyOne:
		return r != '/'
	}
	return token == r
}

// pathGlob reads a pattern of paths: from the root, without empty segments.
func pathGlob(pattern string) glob {
	return readGlob(rooted(strings.Split(pattern, "/")), false)
}

// rooted joins segments to a path without empty ones.
func rooted(segments []string) string {
	segments = slices.DeleteFunc(slices.Clone(segments), func(s string) bool { return s == "" })
	return "/" + strings.Join(segments, "/")
}

// matchesPath reports whether a glob of paths matches one; "/**" at its end also
// matches where nothing follows.
func (g glob) matchesPath(text []rune, may bool) bool {
	if g.matches(text, may) {
		return true
	}
	n := len(g) - 2
	return n > 0 && g[n] == '/' && g[n+1] == anyAll && g[:n].matches(text, may)
}

// readings are what receivers may read a path as. The first two are what it is:
// decoded once, which is how a request is built of it, and again as often as
// that changes it. The others are what it is as written, and without what
// follows a ";" (a parameter), a "?" or a "#".
func readings(path string, resolved bool) (plain, loose [][]rune) {
	raw := segmentsOf(path, resolved)
	once := mapped(raw, decoded)
	twice := mapped(once, decoded)
	thrice := mapped(twice, decoded)
	for _, segments := range [][][]rune{once, twice, thrice} {
		plain = added(plain, joined(segments))
		loose = added(loose, joined(segments))
		loose = added(loose, joined(mapped(segments, bare)))
	}
	return plain, added(loose, joined(raw))
}

func added(list [][]rune, one []rune) [][]rune {
	if slices.ContainsFunc(list, func(r []rune) bool { return slices.Equal(r, one) }) {
		return list
	}
	return append(list, one)
}

func mapped(segments [][]rune, f func([]rune) []rune) [][]rune {
	out := make([][]rune, len(segments))
	for i, s := range segments {
		out[i] = f(s)
	}
	return out
}

// joined is a path of segments, without empty ones and with dots followed.
func joined(segments [][]rune) []rune {
	var kept [][]rune
	for _, s := range segments {
		for _, part := range split(s) {
			switch string(part) {
			case "", ".":
			case "..":
				kept = kept[:max(0, len(kept)-1)]
			default:
				kept = append(kept, part)
			}
		}
	}
	var path []rune
	for _, s := range kept {
		path = append(append(path, '/'), s...)
	}
	if path == nil {
		return []rune{'/'}
	}
	return path
}

// split cuts a segment at the slashes that decoding brought out.
func split(segment []rune) [][]rune {
	var parts [][]rune
	for {
		at := slices.IndexFunc(segment, func(r rune) bool { return r == '/' || r == '\\' })
		if at < 0 {
			return append(parts, segment)
		}
		parts, segment = append(parts, segment[:at]), segment[at+1:]
	}
}

// bare is a segment without what follows a ";", "?" or "#" in it.
func bare(segment []rune) []rune {
	if at := slices.IndexFunc(segment, func(r rune) bool { return r == ';' || r == '?' || r == '#' }); at >= 0 {
		return segment[:at]
	}
	return segment
}

// decoded decodes a segment once. One that cannot be decoded stays as it is, as it
// does where the request is built.
func decoded(segment []rune) []rune {
	if !slices.Contains(segment, '%') {
		return segment
	}
	var out []rune
	for i, known := range cutUnknown(segment) {
		if i > 0 {
			out = append(out, unknown)
		}
		text, err := url.PathUnescape(string(known))
		if err != nil {
			return segment
		}
		out = append(out, []rune(text)...)
	}
	return out
}

// cutUnknown cuts a segment at what nobody knows yet.
func cutUnknown(segment []rune) [][]rune {
	var parts [][]rune
	for {
		at := slices.Index(segment, unknown)
		if at < 0 {
			return append(parts, segment)
		}
		parts, segment = append(parts, segment[:at]), segment[at+1:]
	}
}

// segmentsOf cuts a path into segments, each reference of an unresolved one being
// unknown. A slash inside a reference does not cut.
func segmentsOf(path string, resolved bool) [][]rune {
	var segments [][]rune
	var one []rune
	for at := 0; at < len(path); {
		if !resolved && strings.HasPrefix(path[at:], "${") {
			n, _ := ref.Span(path[at:])
			one = append(one, unknown)
			at += n
			continue
		}
		r, size := utf8.DecodeRuneInString(path[at:])
		switch {
		case !resolved && strings.HasPrefix(path[at:], "$${"):
			one, size = append(one, '$', '{'), 3
		case r == '/':
			segments, one = append(segments, one), nil
		default:
			one = append(one, r)
		}
		at += size
	}
	return append(segments, one)
}
