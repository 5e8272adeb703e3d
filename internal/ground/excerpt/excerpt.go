// Package excerpt shortens a JSON value by whole elements of its longest list or map, so that what is left is JSON, too. A
// value whose end is missing is read as far as it goes.
//
// Sizes are characters of the shortest form, in which no character is escaped that need not be.
package excerpt

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/jcs"
)

// Bounds of a text in a value that is shortened.
const (
	textShare = 4   // a text of more than a quarter of the room is cut
	leastText = 200 // characters that stay of it
	mostCuts  = 100 // lists and maps that are cut
	mostDeep  = 500 // levels; a value that has more is read as if its end were missing
)

// Cut is a list, a map or a text of which a part is shown. At is its place, as a reference names it: items[0].notes; "" is
// the value itself. Of is how many elements, or characters, it has; More says that it has more than that, because the
// end of the value is missing.
type Cut struct {
	At    string `json:"at,omitempty"`
	Shown int    `json:"shown"`
	Of    int    `json:"of"`
	More  bool   `json:"more,omitempty"`
}

// Value is a JSON value that can be shortened.
type Value struct {
	top  *node
	open bool // the end of the text is missing
}

// node is a value of JSON: a scalar in its shortest form, or a list or map with its elements.
type node struct {
	kind  byte     // '[', '{', '"' for a text, 0 for another scalar
	text  string   // of a scalar, as it is written
	names []string // of a map
	marks []string // its names as they are written
	kids  []*node
	size  int // characters
	all   int // elements or characters before it was cut
	more  bool
}

// Read reads a text that begins with a JSON value. It reports false for one that does not, or that has more than one.
func Read(text string) (Value, bool) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	r := reader{dec: dec, source: text}
	top := r.value()
	if top == nil || !r.open && dec.More() {
		return Value{}, false
	}
	top.measure()
	return Value{top, r.open}, true
}

// reader reads the nodes of a value.
type reader struct {
	dec    *json.Decoder
	source string
	deep   int
	open   bool
}

// value returns the next value; nil when there is none.
func (r *reader) value() *node {
	t, err := r.dec.Token()
	if err != nil {
		r.open = true
		return r.begun()
	}
	d, isDelim := t.(json.Delim)
	if !isDelim {
		raw, err := jcs.Marshal(t)
		if err != nil {
			return nil
		}
		n := &node{text: string(raw)}
		if _, isText := t.(string); isText {
			n.kind = '"'
		}
		return n
	}
	n := &node{kind: byte(d)}
	if n.kind != '[' && n.kind != '{' {
		return nil
	}
	if r.deep++; r.deep > mostDeep {
		r.open = true
		return nil
	}
	defer func() { r.deep-- }()
	for r.dec.More() {
		name := ""
		if n.kind == '{' {
			t, err := r.dec.Token()
			key, isText := t.(string)
			if err != nil || !isText {
				r.open = true
				break
			}
			name = key
		}
		kid := r.value()
		if kid == nil {
			break
		}
		n.kids = append(n.kids, kid)
		if n.kind == '{' {
			n.names, n.marks = append(n.names, name), append(n.marks, quoted(name)+":")
		}
		if r.open {
			break
		}
	}
	if !r.open {
		_, err := r.dec.Token() // its end
		r.open = err != nil
	}
	n.more = r.open
	return n
}

// begun returns the long text whose end is missing, with a mark at its end; nil when none begins here. A short one may be a name
// or an id, which nobody should read by half.
func (r *reader) begun() *node {
	rest := strings.TrimLeft(r.source[r.dec.InputOffset():], " \t\r\n:,")
	if !strings.HasPrefix(rest, `"`) || len(rest) <= leastText {
		return nil
	}
	var text string
	for cut := range min(len(rest), longestEscape) {
		if json.Unmarshal([]byte(strings.ToValidUTF8(rest[:len(rest)-cut], "")+`"`), &text) == nil {
			text = strings.TrimRight(text, "\ufffd") // the first half of a pair of escapes
			return &node{kind: '"', text: quoted(text + "…"), all: utf8.RuneCountInString(text), more: true}
		}
	}
	return nil
}

// longestEscape bounds what is left out of an unfinished text: a pair of escapes, “\ud83d\ude00”.
const longestEscape = 13

// measure sets the size of a value, and of those in it.
func (n *node) measure() {
	if n.kids == nil {
		n.size = max(2, utf8.RuneCountInString(n.text))
		if n.kind != '[' && n.kind != '{' {
			n.size = utf8.RuneCountInString(n.text)
		}
		return
	}
	n.size = 2 + len(n.kids) - 1
	for i, kid := range n.kids {
		kid.measure()
		n.size += kid.size + n.nameSize(i)
	}
}

// nameSize returns the size of the name of a member with its colon; 0 in a list.
func (n *node) nameSize(i int) int {
	if n.kind != '{' {
		return 0
	}
	return utf8.RuneCountInString(n.marks[i])
}

func quoted(text string) string {
	raw, err := jcs.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(raw)
}

// Short returns the value with at most about so many characters, and what was cut. A value whose end is missing has the
// cuts of the lists and maps that are not all there.
func (v Value) Short(most int) (text string, cuts []Cut) {
	top := v.top.clone()
	c := cutter{top: top, most: max(most, 2)}
	c.texts(top, max(leastText, most/textShare))
	for range mostCuts {
		if top.size <= c.most || !c.longest() {
			break
		}
		top.measure()
	}
	var b bytes.Buffer
	top.write(&b)
	return b.String(), top.cuts("", nil)
}

func (n *node) clone() *node {
	c := *n
	c.kids = make([]*node, len(n.kids))
	for i, kid := range n.kids {
		c.kids[i] = kid.clone()
	}
	if n.kids == nil {
		c.kids = nil
	}
	return &c
}

// cutter shortens a value in place.
type cutter struct {
	top  *node
	most int
}

// texts cuts each text that is longer than most, if the value is too large.
func (c *cutter) texts(n *node, most int) {
	if c.top.size <= c.most {
		return
	}
	c.cutTexts(n, most)
	c.top.measure()
}

func (c *cutter) cutTexts(n *node, most int) {
	for _, kid := range n.kids {
		c.cutTexts(kid, most)
	}
	var text string
	if n.kind != '"' || n.size <= most || json.Unmarshal([]byte(n.text), &text) != nil {
		return
	}
	runes := []rune(text)
	if len(runes) <= most {
		return
	}
	if !n.more {
		n.all = len(runes)
	}
	n.text = quoted(clip.Runes(text, most+1))
}

// longest drops elements of the longest list or map, so many that the value fits if that is possible. At least one stays. It
// reports false when nothing can be dropped. A map of plain members is a record: its members go last.
func (c *cutter) longest() bool {
	var found *node
	var best [2]int
	var walk func(n *node)
	walk = func(n *node) {
		rank := [2]int{1, len(n.kids)}
		if n.isRecord() {
			rank[0] = 0
		}
		if len(n.kids) > 1 && (found == nil || rank[0] > best[0] || rank[0] == best[0] && rank[1] > best[1]) {
			found, best = n, rank
		}
		for _, kid := range n.kids {
			walk(kid)
		}
	}
	walk(c.top)
	if found == nil {
		return false
	}
	if found.all == 0 {
		found.all = len(found.kids)
	}
	excess, keep := c.top.size-c.most, len(found.kids)
	for keep > 1 && excess > 0 {
		keep--
		excess -= found.kids[keep].size + found.nameSize(keep) + 1
	}
	found.kids = found.kids[:keep]
	return true
}

// isRecord reports whether a value is a map in which some member is a scalar.
func (n *node) isRecord() bool {
	if n.kind != '{' {
		return false
	}
	for _, kid := range n.kids {
		if kid.kind != '[' && kid.kind != '{' {
			return true
		}
	}
	return false
}

func (n *node) write(b *bytes.Buffer) {
	if n.kind != '[' && n.kind != '{' {
		b.WriteString(n.text)
		return
	}
	b.WriteByte(n.kind)
	for i, kid := range n.kids {
		if i > 0 {
			b.WriteByte(',')
		}
		if n.kind == '{' {
			b.WriteString(n.marks[i])
		}
		kid.write(b)
	}
	b.WriteByte(n.kind + 2) // ] and } stand two places after [ and {
}

// cuts adds the cuts of a value at a place to a list.
func (n *node) cuts(at string, list []Cut) []Cut {
	switch {
	case n.all > 0 && n.kind == '"':
		var text string
		_ = json.Unmarshal([]byte(n.text), &text) // it was written here
		list = append(list, Cut{At: at, Shown: utf8.RuneCountInString(text) - 1, Of: n.all, More: n.more})
	case n.all > 0 || n.more:
		list = append(list, Cut{At: at, Shown: len(n.kids), Of: max(n.all, len(n.kids)), More: n.more})
	}
	for i, kid := range n.kids {
		list = kid.cuts(n.place(at, i), list)
	}
	return list
}

// place returns the place of an element of a value.
func (n *node) place(at string, i int) string {
	if n.kind == '[' {
		return at + "[" + strconv.Itoa(i) + "]"
	}
	if at == "" {
		return n.names[i]
	}
	return at + "." + n.names[i]
}

// Span says which elements are read: from one on, which counts from 1, at most Count of them (0: any number), and as far as
// they have Most characters.
type Span struct{ From, Count, Most int }

// Part is a run of the elements of a list or map, as JSON, or a part of a text. From and To count from 1.
type Part struct {
	JSON         string
	From, To, Of int
}

// Part returns elements of the list or map at a place, or characters of the text there; at least one. It reports false
// when there is none.
func (v Value) Part(at string, s Span) (Part, bool) {
	n, from, most := v.top.find(at, ""), s.From, s.Most
	if n == nil || from < 1 {
		return Part{}, false
	}
	if s.Count == 0 {
		s.Count = math.MaxInt / 2
	}
	if n.kind == '"' {
		var text string
		if json.Unmarshal([]byte(n.text), &text) != nil {
			return Part{}, false
		}
		if n.more {
			text = strings.TrimSuffix(text, "…")
		}
		runes := []rune(text)
		if from > len(runes) {
			return Part{Of: len(runes)}, false
		}
		to := min(len(runes), from-1+min(most, s.Count))
		return Part{quoted(string(runes[from-1 : to])), from, to, len(runes)}, true
	}
	if from > len(n.kids) {
		return Part{Of: len(n.kids)}, false
	}
	part, size, to := &node{kind: n.kind}, 1, from-1
	for ; to < min(len(n.kids), from-1+s.Count); to++ {
		if size += n.kids[to].size + n.nameSize(to) + 1; size > most && to >= from {
			break
		}
		part.kids = append(part.kids, n.kids[to])
		if n.kind == '{' {
			part.names, part.marks = append(part.names, n.names[to]), append(part.marks, n.marks[to])
		}
	}
	part.measure()
	text, _ := Value{top: part}.Short(most)
	return Part{text, from, to, len(n.kids)}, true
}

// find returns the value at a place below one that is at here; nil when there is none.
func (n *node) find(at, here string) *node {
	if at == here {
		return n
	}
	for i, kid := range n.kids {
		if place := n.place(here, i); strings.HasPrefix(at, place) {
			if found := kid.find(at, place); found != nil {
				return found
			}
		}
	}
	return nil
}
