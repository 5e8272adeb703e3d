package tool

import (
	"net/url"
	"strings"

	"piloto/internal/ref"
)

// piece is part of one segment of a template: literal text, or a parameter.
type piece struct {
	literal string
	param   string // "" for a literal
}

// segment is one segment of a template, such as "{id}.json".
type segment []piece

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
		if i+1 < len(s) && s[i+1].param == "" {
			next := s[i+1].literal
			if i+2 == len(s) {
				end = len(text) - len(next)
			} else if at := strings.Index(text[min(1, len(text)):], next); at >= 0 {
				end = at + 1
			} else {
				return false
			}
		} else if i+1 < len(s) { // two parameters side by side: the first takes one character
			end = 1
		}
		if end < 1 || end > len(text) {
			return false
		}
		into[p.param] = text[:end]
		text = text[end:]
	}
	return text == ""
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
