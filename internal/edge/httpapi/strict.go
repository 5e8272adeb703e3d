package httpapi

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/jcs"
	"piloto/internal/ground/visible"
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
// members are the names that the top object may have, with whether a member is a text that is
// empty when it shows nothing. Another name that equals one of them except for case is refused, because
// encoding/json would accept it.
//
// blank is where such texts show nothing, from and to, in the order of the body.
func checkJSON(body []byte, members map[string]bool) (blank [][2]int, err error) {
	if !utf8.Valid(body) || bytes.IndexByte(body, 0) >= 0 {
		return nil, errEncoding
	}
	c := checker{
		body: body, in: jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true)),
		members: members, folded: make(map[string]bool, len(members)),
	}
	for name := range members {
		c.folded[fold(name)] = true
	}
	for c.values == 0 || len(c.open) > 0 {
		if err := c.next(); err != nil {
			if errors.Is(err, errJSON) && jcs.HalfPair(body) { // the decoder refuses it as it refuses a syntax error
				return nil, errEncoding
			}
			return nil, err
		}
	}
	if _, err := c.in.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errJSON
	}
	if len(c.double) > 0 {
		return nil, errInvalid.At(c.double...)
	}
	return c.blank, nil
}

// checker reads a JSON text token by token, and collects the duplicate members.
type checker struct {
	body    []byte
	in      *jsontext.Decoder
	values  int // tokens read outside of lists and objects
	open    []level
	members map[string]bool
	folded  map[string]bool // members, folded
	double  []fault.Field
	blank   [][2]int
}

// level is an open list or object.
type level struct {
	names map[string]string // folded names of an object, with their spelling; nil for a list
	name  string            // of the current member
	at    int               // position of the current element
	value bool              // the next token is the value of a member
}

// next reads and checks one token.
func (c *checker) next() error {
	before := int(c.in.InputOffset())
	token, err := c.in.ReadToken()
	if err != nil {
		return errJSON
	}
	switch kind := token.Kind(); kind {
	case '}', ']':
		c.open = c.open[:len(c.open)-1]
		return nil
	case '"':
		text := token.String()
		if strings.IndexByte(text, 0) >= 0 {
			return errEncoding
		}
		if in := c.inside(); in != nil && in.names != nil && !in.value {
			c.member(in, text)
			return nil
		} else if len(c.open) == 1 && text != "" && c.members[in.name] && visible.Blank(text) {
			c.blank = append(c.blank, [2]int{before + bytes.IndexByte(c.body[before:], '"'), int(c.in.InputOffset())})
		}
	case '0':
		if err := checkNumber(token.String()); err != nil {
			return err
		}
	}
	c.count()
	if kind := token.Kind(); kind == '{' || kind == '[' {
		if len(c.open) >= maxDepth {
			return errDepth
		}
		in := level{at: -1}
		if kind == '{' {
			in.names = map[string]string{}
		}
		c.open = append(c.open, in)
	}
	return nil
}

// inside returns the innermost open list or object; nil outside of all.
func (c *checker) inside() *level {
	if len(c.open) == 0 {
		return nil
	}
	return &c.open[len(c.open)-1]
}

// has reports whether the top object may have a member.
func (c *checker) has(name string) bool {
	_, ok := c.members[name]
	return ok
}

// count counts a value where it stands.
func (c *checker) count() {
	in := c.inside()
	if in == nil {
		c.values++
		return
	}
	in.at++
	in.value = false
}

// member reads the name of a member.
func (c *checker) member(in *level, name string) {
	in.name, in.value = name, true
	if typ := c.conflict(in, name); typ != "" && len(c.double) < maxDouble {
		c.double = append(c.double, field(typ, c.place()...))
	}
}

// place returns the place of the current member.
func (c *checker) place() []any {
	loc := []any{"body"}
	for _, in := range c.open {
		if in.names == nil {
			loc = append(loc, in.at)
		} else {
			loc = append(loc, shortName(in.name))
		}
	}
	return loc
}

// conflict returns the error type of a duplicate member, or of one that differs only by case; "" for none.
func (c *checker) conflict(in *level, name string) string {
	key := fold(name)
	before, twice := in.names[key]
	in.names[key] = name
	switch {
	case twice && before == name:
		return "duplicate_key"
	case twice:
		return "case_variant"
	case len(c.open) == 1 && !c.has(name) && c.folded[key]:
		return "case_variant"
	}
	return ""
}

// checkNumber refuses a number of too many bytes, or beyond the range of a double.
func checkNumber(digits string) error {
	if len(digits) > maxDigit {
		return errNumber
	}
	if _, err := strconv.ParseFloat(digits, 64); errors.Is(err, strconv.ErrRange) {
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
