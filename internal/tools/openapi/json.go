package openapi

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// reader parses JSON that encoding/json has validated.
type reader struct {
	*builder
	src   string
	at    int
	names []string // of the open objects, innermost last
	nodes []node
}

// readJSON parses a text that json.Valid accepts. The nodes share its memory.
func readJSON(b *builder, raw string) (*node, error) {
	if !utf8.ValidString(raw) {
		return nil, documentError("not UTF-8")
	}
	if countJSON(raw) > maxNodes {
		return nil, documentError("more than %d values", maxNodes)
	}
	r := reader{builder: b, src: raw}
	root, err := r.value(0, wholeDocument)
	if err != nil {
		return nil, err
	}
	return &root, nil
}

// countJSON estimates the number of values in a valid text (an empty list counts twice), so that a text with too
// many is refused before it is parsed.
func countJSON(raw string) int {
	n, inside := 1, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inside && c == '\\':
			i++
		case c == '"':
			inside = !inside
		case !inside && (c == ',' || c == '[' || c == '{'):
			n++
		}
	}
	return n
}

func (r *reader) skipSpace() byte {
	for {
		switch c := r.src[r.at]; c {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return c
		}
	}
}

func (r *reader) value(depth int, in section) (node, error) {
	if err := r.spend(depth); err != nil {
		return node{}, err
	}
	switch c := r.skipSpace(); c {
	case '{':
		return r.object(depth, in)
	case '[':
		return r.list(depth)
	case '"':
		return node{kind: text, text: r.readString()}, nil
	case 't', 'f', 'n':
		word, k := "null", null
		if c == 't' {
			word, k = "true", boolean
		} else if c == 'f' {
			word, k = "false", boolean
		}
		r.at += len(word)
		return node{kind: k, text: word}, nil
	}
	from := r.at
	for r.at < len(r.src) && strings.IndexByte("+-.eE0123456789", r.src[r.at]) >= 0 {
		r.at++
	}
	return node{kind: number, text: r.src[from:r.at]}, nil
}

func (r *reader) object(depth int, in section) (node, error) {
	names, nodes := len(r.names), len(r.nodes)
	for r.at++; r.skipSpace() != '}'; {
		if r.src[r.at] == ',' {
			r.at++
			r.skipSpace()
		}
		name := r.readString()
		r.skipSpace()
		r.at++ // the colon
		if in.hasExamples(name) {
			r.skipValue()
			continue
		}
		v, err := r.value(depth+1, in.of(name))
		if err != nil {
			return node{}, err
		}
		r.names, r.nodes = append(r.names, name), append(r.nodes, v)
	}
	r.at++
	n := r.builder.object(r.names[names:], r.nodes[nodes:])
	r.names, r.nodes = r.names[:names], r.nodes[:nodes]
	return n, nil
}

func (r *reader) list(depth int) (node, error) {
	nodes := len(r.nodes)
	for r.at++; r.skipSpace() != ']'; {
		if r.src[r.at] == ',' {
			r.at++
		}
		v, err := r.value(depth+1, elsewhere)
		if err != nil {
			return node{}, err
		}
		r.nodes = append(r.nodes, v)
	}
	r.at++
	n := r.builder.list(r.nodes[nodes:])
	r.nodes = r.nodes[:nodes]
	return n, nil
}

// skipValue moves behind a value.
func (r *reader) skipValue() {
	r.skipSpace()
	for open := 0; ; {
		switch c := r.src[r.at]; c {
		case '"':
			r.skipString()
			if open == 0 {
				return
			}
			continue
		case '{', '[':
			open++
		case '}', ']', ',':
			if open == 0 {
				return // a word or a number ended
			}
			if c != ',' {
				open--
			}
			if open == 0 {
				r.at++
				return
			}
		}
		r.at++
	}
}

// skipString moves behind a string, and reports whether it has escapes.
func (r *reader) skipString() (escaped bool) {
	for r.at++; r.src[r.at] != '"'; r.at++ {
		if r.src[r.at] == '\\' {
			escaped = true
			r.at++
		}
	}
	r.at++
	return escaped
}

// section is the kind of an object whose examples are left out of the tree: nothing is read of them, and they are a
// large part of a large document.
type section uint8

const (
	elsewhere section = iota
	wholeDocument
	components
	contents  // objects by their media types
	mediaType // a schema and its examples
)

// of returns the kind of a member's value.
func (p section) of(name string) section {
	switch {
	case p == wholeDocument && name == "components":
		return components
	case p == contents && strings.Contains(name, "/"):
		return mediaType
	case name == "content":
		return contents
	}
	return elsewhere
}

// hasExamples reports whether a member holds nothing but examples.
func (p section) hasExamples(name string) bool {
	return p == components && name == "examples" || p == mediaType && (name == "examples" || name == "example")
}

// readString reads a string. A string without escapes shares the document's memory.
func (r *reader) readString() string {
	from := r.at
	escaped := r.skipString()
	if !escaped {
		return r.src[from+1 : r.at-1]
	}
	var s string
	if json.Unmarshal([]byte(r.src[from:r.at]), &s) != nil {
		return "" // impossible: the text is valid JSON
	}
	return s
}
