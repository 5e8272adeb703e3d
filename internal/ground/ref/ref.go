// Package ref implements references from one step of a plan to the result of an earlier one, such as
// ${s1.body.items[0].id}: their grammar, their positions, and their values.
//
// A reference is ${STEP.body…}, ${STEP.status} or ${STEP.headers.NAME}. Below body, members are .name or ["any
// name"], elements [0]. A JSON string that is exactly one reference becomes the referenced value with its type and
// digits. A reference inside longer text becomes the text of the value. "$${" is a literal "${".
//
// In a step that runs once for each element of a list, ${item}, ${item.name} and ${item[0].x} refer to the element:
// the lookup finds it under the name "item", as the body of a result. A Condition compares the values of references.
package ref

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"piloto/internal/ground/clip"
)

// Limits of a reference.
const (
	maxLength = 512
	maxDepth  = 32
)

// Reference names a part of a step's result.
type Reference struct {
	Step string // or "item"
	Part string // "body", "status" or "headers"; for the item always "body", which is not written
	Path []Segment
}

// item is the name under which a reference finds the current element of a list.
const item = "item"

// Segment is one part of a path: a member name, or an element index.
type Segment struct {
	Name  string
	Index int
	IsIdx bool
}

// String writes the reference in its source form, without ${}.
func (r Reference) String() string {
	var b strings.Builder
	b.WriteString(r.Step)
	if r.Step != item {
		b.WriteString("." + r.Part)
	}
	for _, s := range r.Path {
		switch {
		case s.IsIdx:
			fmt.Fprintf(&b, "[%d]", s.Index)
		case plainName(s.Name):
			b.WriteString("." + s.Name)
		default:
			quoted, _ := json.Marshal(s.Name)
			b.WriteString("[" + string(quoted) + "]")
		}
	}
	return b.String()
}

// Contains reports whether text contains a reference, well formed or not.
func Contains(text string) bool {
	parts, err := split(text)
	if err != nil {
		return true
	}
	for _, p := range parts {
		if p.ref != nil {
			return true
		}
	}
	return false
}

// Whole reports whether text is exactly one well-formed reference.
func Whole(text string) bool {
	parts, err := split(text)
	return err == nil && len(parts) == 1 && parts[0].ref != nil
}

// Literals returns the texts around the references of a text: one more than there are references. Any of them may
// be empty.
func Literals(text string) ([]string, error) {
	parts, err := split(text)
	if err != nil {
		return nil, err
	}
	pieces := []string{""}
	for _, p := range parts {
		if p.ref != nil {
			pieces = append(pieces, "")
		} else {
			pieces[len(pieces)-1] += p.text
		}
	}
	return pieces, nil
}

// MapLiterals returns a text with f applied to each part between its references, which stay.
func MapLiterals(text string, f func(string) string) (string, error) {
	parts, err := split(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, p := range parts {
		if p.ref != nil {
			b.WriteString("${" + p.ref.String() + "}")
		} else {
			b.WriteString(f(p.text))
		}
	}
	return b.String(), nil
}

// InText returns the references in a text, in order.
func InText(text string) ([]Reference, error) {
	parts, err := split(text)
	if err != nil {
		return nil, err
	}
	var refs []Reference
	for _, p := range parts {
		if p.ref != nil {
			refs = append(refs, *p.ref)
		}
	}
	return refs, nil
}

// InJSON returns the references in every string value of a JSON text. Member
// names are never references.
func InJSON(raw json.RawMessage) ([]Reference, error) {
	if !bytes.ContainsAny(raw, "$\\") && json.Valid(raw) { // no string has a "$", also none that is escaped
		return nil, nil
	}
	var refs []Reference
	_, err := mapStrings(raw, func(s string) (json.RawMessage, error) {
		found, err := InText(s)
		refs = append(refs, found...)
		return nil, err
	})
	return refs, err
}

// Span returns the length of the reference at the start of a text, which begins with "${": up to its closing brace
// outside quotes. When there is no closing brace, closed is false and the length is that of the text.
func Span(text string) (length int, closed bool) {
	quoted := false
	for i := 2; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case c == '}' && !quoted:
			return i + 1, true
		}
	}
	return len(text), false
}

// Next returns the start and end of the first well-formed reference of a text, or twice the length of the text when
// there is none.
func Next(text string) (from, to int) {
	for at := 0; ; {
		i := strings.Index(text[at:], "${")
		if i < 0 {
			return len(text), len(text)
		}
		i += at
		if i == 0 || text[i-1] != '$' { // "$${" is literal
			p := parser{text: text[i:], at: 2}
			if _, err := p.reference(); err == nil {
				return i, i + p.at
			}
		}
		at = i + 2
	}
}

type part struct {
	text string
	ref  *Reference
}

// split cuts a text into literal parts and references.
func split(text string) ([]part, error) {
	var parts []part
	var lit strings.Builder
	flush := func() {
		if lit.Len() > 0 {
			parts = append(parts, part{text: lit.String()})
			lit.Reset()
		}
	}
	for text != "" {
		switch {
		case strings.HasPrefix(text, "$${"):
			lit.WriteString("${")
			text = text[3:]
		case strings.HasPrefix(text, "${"):
			r, n, err := parse(text)
			if err != nil {
				return nil, err
			}
			flush()
			parts = append(parts, part{ref: &r})
			text = text[n:]
		default:
			lit.WriteByte(text[0])
			text = text[1:]
		}
	}
	flush()
	return parts, nil
}

// parse parses one reference at the start of a text, and returns its length.
func parse(text string) (Reference, int, error) {
	p := parser{text: text, at: 2}
	r, err := p.reference()
	if err != nil {
		return Reference{}, 0, fmt.Errorf("%q: %w", clip.Bytes(text, 60), err)
	}
	return r, p.at, nil
}

// The errors of a malformed reference. They are created once, because a text may contain thousands.
var (
	errStep    = errors.New("a step id must follow ${")
	errPart    = errors.New(".body, .status or .headers must follow the step id")
	errName    = errors.New("a name must follow the dot")
	errOpen    = errors.New("the closing } is missing")
	errBracket = errors.New("the closing ] is missing")
)

type parser struct {
	text string
	at   int
}

func (p *parser) reference() (Reference, error) {
	var r Reference
	if r.Step = p.name(); r.Step == "" {
		return r, errStep
	}
	switch {
	case r.Step == item:
		r.Part = "body"
	case p.eat('.'):
		r.Part = p.name()
	default:
		return r, errPart
	}
	for {
		if p.at > maxLength || len(r.Path) > maxDepth {
			return r, fmt.Errorf("longer than %d characters or deeper than %d", maxLength, maxDepth)
		}
		switch {
		case p.eat('}'):
			return r, r.check()
		case p.eat('.'):
			name := p.name()
			if name == "" {
				return r, errName
			}
			r.Path = append(r.Path, Segment{Name: name})
		case p.eat('['):
			seg, err := p.bracket()
			if err != nil {
				return r, err
			}
			r.Path = append(r.Path, seg)
		default:
			return r, errOpen
		}
	}
}

func (r Reference) check() error {
	switch r.Part {
	case "body":
		return nil
	case "status":
		if len(r.Path) > 0 {
			return fmt.Errorf(".status has no parts")
		}
		return nil
	case "headers":
		if len(r.Path) != 1 || r.Path[0].IsIdx {
			return fmt.Errorf(".headers needs one header name")
		}
		return nil
	}
	return fmt.Errorf("only .body, .status and .headers can be named, not .%s", r.Part)
}

// bracket reads an index or a quoted name. It reads at most maxLength bytes, so that the rest of the text is not
// read again for each reference.
func (p *parser) bracket() (Segment, error) {
	rest := p.text[p.at:]
	rest = rest[:min(len(rest), maxLength+1)]
	end := strings.IndexByte(rest, ']')
	if strings.HasPrefix(rest, `"`) {
		end = quotedLength(rest)
	}
	if end < 0 || end == len(rest) || rest[end] != ']' {
		return Segment{}, errBracket
	}
	inner := rest[:end]
	p.at += end + 1
	if strings.HasPrefix(inner, `"`) {
		var name string
		if err := json.Unmarshal([]byte(inner), &name); err != nil {
			return Segment{}, fmt.Errorf("[%s] is not a quoted name", inner)
		}
		return Segment{Name: name}, nil
	}
	i, err := strconv.Atoi(inner)
	if err != nil || i < 0 || i > 1_000_000 || strconv.Itoa(i) != inner {
		return Segment{}, fmt.Errorf("[%s] is not an index", inner)
	}
	return Segment{Index: i, IsIdx: true}, nil
}

// quotedLength returns the length of the quoted name at the start of a text, or -1 when it does not end.
func quotedLength(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

func (p *parser) eat(c byte) bool {
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *parser) name() string {
	from := p.at
	for p.at < len(p.text) && nameByte(p.text[p.at]) {
		p.at++
	}
	return p.text[from:p.at]
}

func nameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c >= 0x80
}

func plainName(s string) bool {
	for i := range len(s) {
		if !nameByte(s[i]) {
			return false
		}
	}
	return s != ""
}
