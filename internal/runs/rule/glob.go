package rule

import (
	"slices"
	"strings"
	"unicode/utf8"

	"piloto/internal/ground/fold"
	"piloto/internal/ground/ref"
)

// unknown stands for a reference in a text: any characters except a slash, because a slash in a
// value is escaped when it is sent.
const unknown rune = -1

// The tokens of a glob that are not characters.
const (
	anyOne  rune = -2
	anyName rune = -3 // any characters without a slash
	anyAll  rune = -4
)

// glob is a parsed pattern.
type glob []rune

// readGlob parses a pattern. In a pattern of names, a slash is an ordinary character.
func readGlob(pattern string, names bool) glob {
	var g glob
	for _, r := range pattern {
		switch {
		case r == '?':
			g = append(g, anyOne)
		case r != '*':
			g = append(g, r)
		case names:
			g = g.appendTokens(anyAll)
		case len(g) > 0 && g[len(g)-1] == anyName:
			g[len(g)-1] = anyAll
		case len(g) > 0 && g[len(g)-1] == anyAll:
		default:
			g = append(g, anyName)
		}
	}
	return g
}

// appendTokens appends tokens. It merges two adjacent tokens that match runs of characters.
func (g glob) appendTokens(tokens ...rune) glob {
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

// pathGlob parses a pattern of paths: from the root, without empty segments.
func pathGlob(pattern string) glob {
	return readGlob(joinRooted(strings.Split(pattern, "/")), false)
}

// joinRooted joins segments to a path without empty ones.
func joinRooted(segments []string) string {
	segments = slices.DeleteFunc(slices.Clone(segments), func(s string) bool { return s == "" })
	return "/" + strings.Join(segments, "/")
}

// machines returns the machines that match a glob of paths; one match is enough. A final "/**" also
// matches the path without it.
func (g glob) machines() []*machine {
	list := []*machine{newMachine(g)}
	if n := len(g) - 2; n > 0 && g[n] == '/' && g[n+1] == anyAll {
		list = append(list, newMachine(g[:n]))
	}
	return list
}

// foldGlob returns a glob that matches the folded forms of the texts that g matches. If trimmed is
// set, dots and blanks at the end of segments are removed, as in folded paths.
func (g glob) foldGlob(trimmed bool) glob {
	var out glob
	from := 0 // start of the segment
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
			out = out.appendTokens(fold.Rune(nil, token)...)
		}
	}
	end()
	if n := len(out); trimmed && n > 1 && out[n-1] == '/' {
		out = out[:n-1]
	}
	return out
}

// plainNumber returns a segment that is a number or an identifier in its plain form.
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

// segmentsOf splits a path into segments. In an unresolved path each reference becomes unknown, and
// a slash inside a reference does not split.
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
