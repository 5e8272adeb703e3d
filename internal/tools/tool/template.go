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

// TemplateProblem returns the reason why a template cannot be called, or "". A request built from a bad template
// could leave its server, or have another meaning than its author intended.
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
		if !hasPairedBraces(part) {
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

// hasPairedBraces reports whether every brace belongs to a name in braces.
func hasPairedBraces(part string) bool {
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

// weight ranks segments by how specific they are: a literal is the most specific, then a segment with literal
// parts, then a bare parameter.
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

// capture matches decoded text against the segment. A parameter takes at least one character, and ends at the first
// place where the next literal fits.
func (s segment) capture(text string, into map[string]string) bool {
	return s.match(text, into, false)
}

// match does the same as capture. When written is true, a reference counts as one character, so that no text inside
// it matches a literal of the template.
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

// firstLength returns the length in bytes of the first character, or of the first reference when written is true.
func firstLength(text string, written bool) int {
	if written && strings.HasPrefix(text, "${") {
		return referenceLength(text)
	}
	_, size := utf8.DecodeRuneInString(text)
	return size
}

// indexAfter returns the first position of a literal after the first character, or -1.
func indexAfter(text, literal string, written bool) int {
	for at := firstLength(text, written); at < len(text); at += firstLength(text[at:], written) {
		if strings.HasPrefix(text[at:], literal) {
			return at
		}
	}
	return -1
}

// Unescape decodes percent escapes. It returns the text unchanged when one is malformed.
func Unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	if d, err := url.PathUnescape(s); err == nil {
		return d
	}
	return s
}

// splitPath cuts a concrete path into segments. A slash inside a reference (${s1.body["a/b"]}) does not cut.
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

// referenceLength returns the length of the reference at the start of text, which begins with "${": up to its
// closing brace outside quotes, or just the "${".
func referenceLength(text string) int {
	if n, closed := ref.Span(text); closed {
		return n
	}
	return 2
}
