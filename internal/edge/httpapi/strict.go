package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"unicode"
	"unicode/utf8"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/jcs"
)

// Limits of a body.
const (
	MaxBody   = 256 << 10 // bytes
	maxDepth  = 64        // nested arrays and objects
	maxDigit  = 256       // bytes of one number
	maxDouble = 32        // reported duplicate members
)

// checkJSON checks that body is exactly one JSON value in UTF-8, and changes nothing:
// numbers keep their digits. It refuses input that encoding/json would repair
// silently (invalid UTF-8, lone surrogates, duplicate members or members that differ
// only by case, of which the last would win), values that it could not hold (numbers
// beyond a double, NUL), and more than maxDepth levels. Duplicate members are
// collected; any other fault ends the check.
//
// members are the names that the top object may have. Another name that equals one of
// them except for case is refused, because encoding/json would accept it.
func checkJSON(body []byte, members map[string]bool) error {
	if !utf8.Valid(body) || bytes.IndexByte(body, 0) >= 0 {
		return errEncoding
	}
	s := scanner{text: body, members: members, folded: make(map[string]bool, len(members))}
	for name := range members {
		s.folded[fold(name)] = true
	}
	s.space()
	if err := s.value(); err != nil {
		return err
	}
	s.space()
	if s.at != len(s.text) {
		return errJSON
	}
	if len(s.double) > 0 {
		return errInvalid.At(s.double...)
	}
	return nil
}

// scanner is a position in a JSON text, and the duplicate members found so far.
type scanner struct {
	text    []byte
	at      int
	members map[string]bool
	folded  map[string]bool // members, folded
	path    []any           // of the current value
	double  []fault.Field
}

func (s *scanner) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

func (s *scanner) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

func (s *scanner) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.at++
	return true
}

func (s *scanner) value() error {
	switch c := s.peek(); {
	case c == '{' || c == '[':
		if len(s.path) >= maxDepth {
			return errDepth
		}
		s.at++
		if c == '{' {
			return s.object()
		}
		return s.array()
	case c == '"':
		_, err := s.str()
		return err
	case c == '-' || '0' <= c && c <= '9':
		return s.number()
	}
	for _, word := range []string{"true", "false", "null"} {
		if bytes.HasPrefix(s.text[s.at:], []byte(word)) {
			s.at += len(word)
			return nil
		}
	}
	return errJSON
}

// member reads the value of a member or an element.
func (s *scanner) member(place any) error {
	s.path = append(s.path, place)
	err := s.value()
	s.path = s.path[:len(s.path)-1]
	return err
}

func (s *scanner) object() error {
	seen := map[string]string{}
	s.space()
	if s.take('}') {
		return nil
	}
	for {
		s.space()
		name, err := s.str()
		if err != nil {
			return err
		}
		if typ := s.conflict(seen, name); typ != "" && len(s.double) < maxDouble {
			s.double = append(s.double, field(typ, s.place(name)...))
		}
		s.space()
		if !s.take(':') {
			return errJSON
		}
		s.space()
		if err := s.member(name); err != nil {
			return err
		}
		s.space()
		switch {
		case s.take(','):
		case s.take('}'):
			return nil
		default:
			return errJSON
		}
	}
}

// place returns the place of a member of the current value.
func (s *scanner) place(name string) []any {
	loc := []any{"body"}
	for _, p := range append(s.path[:len(s.path):len(s.path)], name) {
		if made, ok := p.(string); ok {
			p = shortName(made)
		}
		loc = append(loc, p)
	}
	return loc
}

// conflict returns the error type of a duplicate member, or of one that differs only by case; "" for none.
func (s *scanner) conflict(seen map[string]string, name string) string {
	key := fold(name)
	before, twice := seen[key]
	seen[key] = name
	switch {
	case twice && before == name:
		return "duplicate_key"
	case twice:
		return "case_variant"
	case len(s.path) == 0 && !s.members[name] && s.folded[key]:
		return "case_variant"
	}
	return ""
}

func (s *scanner) array() error {
	s.space()
	if s.take(']') {
		return nil
	}
	for i := 0; ; i++ {
		s.space()
		if err := s.member(i); err != nil {
			return err
		}
		s.space()
		switch {
		case s.take(','):
		case s.take(']'):
			return nil
		default:
			return errJSON
		}
	}
}

// str reads a string and returns its value.
func (s *scanner) str() (string, error) {
	start := s.at
	if !s.take('"') {
		return "", errJSON
	}
	escaped := false
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			return s.decode(s.text[start:s.at], escaped)
		case c == '\\':
			escaped = true
			s.at += 2
		case c < 0x20:
			return "", errJSON
		default:
			s.at++
		}
	}
	return "", errJSON
}

func (s *scanner) decode(raw []byte, escaped bool) (string, error) {
	if !escaped {
		return string(raw[1 : len(raw)-1]), nil
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return "", errJSON
	}
	if jcs.HalfPair(raw) || bytes.IndexByte([]byte(text), 0) >= 0 {
		return "", errEncoding
	}
	return text, nil
}

func (s *scanner) digits() bool {
	start := s.at
	for '0' <= s.peek() && s.peek() <= '9' {
		s.at++
	}
	return s.at > start
}

// number reads a number by RFC 8259's grammar, and refuses one beyond the range of a double.
func (s *scanner) number() error {
	start := s.at
	s.take('-')
	if !s.take('0') && !s.digits() {
		return errJSON
	}
	if s.take('.') && !s.digits() {
		return errJSON
	}
	if s.take('e') || s.take('E') {
		if !s.take('+') {
			s.take('-')
		}
		if !s.digits() {
			return errJSON
		}
	}
	if s.at-start > maxDigit {
		return errNumber
	}
	if _, err := strconv.ParseFloat(string(s.text[start:s.at]), 64); errors.Is(err, strconv.ErrRange) {
		return errNumber
	}
	return nil
}

// fold returns the same text for names that encoding/json treats as equal.
func fold(name string) string {
	out := make([]rune, 0, len(name))
	for _, r := range name {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		out = append(out, least)
	}
	return string(out)
}
