package tool

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"piloto/internal/ground/ref"
)

// piece is part of one segment of a template: literal text, or a parameter.
type piece struct {
	literal string
	param   string // "" for a literal
}

// segment is one segment of a template, such as "{id}.json".
type segment []piece

// TemplateProblem returns why a template cannot be called, or "". A request made from it could
// leave its server, or would not be what its author means.
func TemplateProblem(path string) string {
	switch {
	case !strings.HasPrefix(path, "/"):
		return "it does not begin with /"
	case strings.HasPrefix(path, "//"):
		return "it begins with //, which names another server"
	case len(path) > 1000 || strings.ContainsAny(path, "?#\\\"<>") || strings.Contains(path, "${") || strings.ContainsFunc(path, func(r rune) bool { return isControl(r) || r == utf8.RuneError }):
		return "it has characters that a path cannot have"
	}
	for part := range strings.SplitSeq(path[1:], "/") {
		if !bracesPair(part) {
			return "it has a { or a } that does not belong to a {name}"
		}
		for _, p := range parseSegment(part) {
			if p.param == "" && p.literal != "" && unsafeSegment(p.literal) != "" && unsafeSegment(p.literal) != reasonDots {
				return "it has an escape that no path can have"
			}
		}
		if reason := unsafeSegment(Unescape(part)); part != "" && reason != "" {
			return "it has dot segments"
		}
	}
	return ""
}

// bracesPair reports whether each brace belongs to a name in braces.
func bracesPair(part string) bool {
	inside, length := false, 0
	for _, r := range part {
		switch {
		case r == '{' && inside, r == '}' && (!inside || length == 0):
			return false
		case r == '{':
			inside, length = true, 0
		case r == '}':
			inside = false
		default:
			length++
		}
	}
	return !inside
}

// parseTemplate cuts a template such as "/rooms/{id}.json" into segments.
func parseTemplate(path string) []segment {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	segments := make([]segment, len(parts))
	for i, part := range parts {
		segments[i] = parseSegment(part)
	}
	return segments
}

func parseSegment(text string) segment {
	var s segment
	for text != "" {
		open := strings.IndexByte(text, '{')
		end := -1
		if open >= 0 {
			end = strings.IndexByte(text[open:], '}')
		}
		if end < 2 { // no parameter, or an empty name
			return append(s, piece{literal: Unescape(text)})
		}
		if open > 0 {
			s = append(s, piece{literal: Unescape(text[:open])})
		}
		s = append(s, piece{param: text[open+1 : open+end]})
		text = text[open+end+1:]
	}
	return s
}

// weight orders segments by how much they pin down: a literal is heaviest, then
// one with literal parts, then a bare parameter.
func (s segment) weight() int {
	params := 0
	for _, p := range s {
		if p.param != "" {
			params++
		}
	}
	switch {
	case params == 0:
		return 2
	case len(s) > params:
		return 1
	}
	return 0
}

func (s segment) literal() (string, bool) {
	switch {
	case len(s) == 0:
		return "", true
	case len(s) == 1 && s[0].param == "":
		return s[0].literal, true
	}
	return "", false
}

// capture matches text, already decoded, against the segment: parameters take at
// least one character and end at the first place where what follows fits.
func (s segment) capture(text string, into map[string]string) bool {
	return s.match(text, into, false)
}

// match is capture, of a text in which a reference is one character when it is written,
// so that nothing in it is taken for what the template says.
func (s segment) match(text string, into map[string]string, written bool) bool {
	for i := 0; i < len(s); i++ {
		p := s[i]
		if p.param == "" {
			if !strings.HasPrefix(text, p.literal) {
				return false
			}
			text = text[len(p.literal):]
			continue
		}
		end := len(text)
		switch {
		case i+1 == len(s):
		case s[i+1].param != "": // two parameters side by side: the first takes one character
			end = min(firstLength(text, written), len(text))
		case i+2 == len(s):
			end = len(text) - len(s[i+1].literal)
		default:
			end = indexAfter(text, s[i+1].literal, written)
		}
		if end < 1 || end > len(text) {
			return false
		}
		into[p.param] = text[:end]
		text = text[end:]
	}
	return text == ""
}

// firstLength is how long the first character of a text is, or its first reference when
// it is written.
func firstLength(text string, written bool) int {
	if written && strings.HasPrefix(text, "${") {
		return referenceLength(text)
	}
	_, size := utf8.DecodeRuneInString(text)
	return size
}

// indexAfter is where a literal first stands after the first character, or -1.
func indexAfter(text, literal string, written bool) int {
	for at := firstLength(text, written); at < len(text); at += firstLength(text[at:], written) {
		if strings.HasPrefix(text[at:], literal) {
			return at
		}
	}
	return -1
}

// Unescape decodes percent escapes where they are well formed and leaves the
// rest as it is.
func Unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	if d, err := url.PathUnescape(s); err == nil {
		return d
	}
	return s
}

// splitPath cuts a concrete path into segments. A slash inside a reference
// (${s1.body["a/b"]}) does not cut.
func splitPath(path string) []string {
	path = strings.TrimPrefix(path, "/")
	var parts []string
	from := 0
	for at := 0; at < len(path); {
		switch {
		case strings.HasPrefix(path[at:], "${"):
			at += referenceLength(path[at:])
		case path[at] == '/':
			parts = append(parts, path[from:at])
			at++
			from = at
		default:
			at++
		}
	}
	return append(parts, path[from:])
}

// referenceLength returns how much of text, which begins with "${", belongs to
// the reference: up to its closing brace outside quotes, or just the "${".
func referenceLength(text string) int {
	if n, closed := ref.Span(text); closed {
		return n
	}
	return 2
}
