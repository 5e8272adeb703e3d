package rule

import (
	"slices"
	"strings"
	"unicode/utf8"

	"piloto/internal/ground/fold"
	"piloto/internal/ground/ref"
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
			g = g.with(anyAll)
		case len(g) > 0 && g[len(g)-1] == anyName:
			g[len(g)-1] = anyAll
		case len(g) > 0 && g[len(g)-1] == anyAll:
		default:
			g = append(g, anyName)
		}
	}
	return g
}

// with appends tokens. Two that take runs of characters are one.
func (g glob) with(tokens ...rune) glob {
	for _, token := range tokens {
		n := len(g) - 1
		switch {
		case n >= 0 && token == anyName && (g[n] == anyName || g[n] == anyAll):
		case n >= 0 && token == anyAll && g[n] == anyName:
			g[n] = anyAll
		case n >= 0 && token == anyAll && g[n] == anyAll:
		default:
			g = append(g, token)
		}
	}
	return g
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

// machines match a glob of paths, which is one of paths when any of them does: "/**" at
// its end also matches where nothing follows.
func (g glob) machines() []*machine {
	list := []*machine{newMachine(g)}
	if n := len(g) - 2; n > 0 && g[n] == '/' && g[n+1] == anyAll {
		list = append(list, newMachine(g[:n]))
	}
	return list
}

// folded is a glob of what the texts that it matches fold to. One of paths may lose the
// dots and blanks at the end of its segments, as paths do.
func (g glob) folded(trimmed bool) glob {
	var out glob
	from := 0 // where the segment begins
	end := func() {
		if trimmed {
			out = append(out[:from:from], plainNumber(fold.Trim(out[from:]))...)
		}
	}
	for _, token := range g {
		switch {
		case token == '/':
			end()
			if n := len(out); !trimmed || n == 0 || out[n-1] != '/' {
				out = append(out, '/')
			}
			from = len(out)
		default:
			out = out.with(fold.Rune(nil, token)...)
		}
	}
	end()
	if n := len(out); trimmed && n > 1 && out[n-1] == '/' {
		out = out[:n-1]
	}
	return out
}

// plainNumber is a segment of nothing but a number, or an identifier, as it is written
// plainly.
func plainNumber(segment []rune) []rune {
	if plain, ok := fold.UUID(segment); ok {
		return plain
	}
	if strings.Trim(string(segment), "0123456789+.") != "" {
		return segment
	}
	if plain, ok := fold.Number(segment); ok {
		return plain
	}
	return segment
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
