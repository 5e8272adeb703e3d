package jcs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"unicode/utf8"
)

// part is one value of a text. Those of a text are in one list, and an object or a list knows the range of its
// parts in order.
type part struct {
	kind     byte   // '{', '[', '"', '0' for a number, else the first letter of a word
	name     []byte // of a member
	from, to int    // of a scalar: its range in the text; else: of its parts in order
}

// tree is a text that was read once.
type tree struct {
	text  []byte
	at    int
	parts []part
	order []int32 // the parts of all objects and lists; those of an object are sorted by name
	open  []int32 // the parts, so far, of the objects and lists that are being read
	form  []byte  // the canonical form
}

// mostKept limits the memory of a tree that is used again, in bytes of its canonical form and in parts.
const mostKept = 64 << 10

var trees = sync.Pool{New: func() any { return new(tree) }}

// release makes the memory of the tree free for another text.
func (t *tree) release() {
	if cap(t.form) > mostKept || cap(t.parts) > mostKept/32 {
		return
	}
	clear(t.parts[:cap(t.parts)]) // names would keep texts alive
	*t = tree{parts: t.parts[:0], order: t.order[:0], open: t.open[:0], form: t.form[:0]}
	trees.Put(t)
}

// read reads a valid JSON text. It returns an error when an object has a member twice.
func (t *tree) read(text []byte) (root int32, err error) {
	t.text, t.at = text, 0
	return t.value(nil)
}

func (t *tree) value(name []byte) (int32, error) {
	t.skip()
	n := int32(len(t.parts))
	kind, from := t.text[t.at], t.at
	switch kind {
	case '{', '[':
		t.parts = append(t.parts, part{kind: kind, name: name})
		return n, t.container(n, kind)
	case '"':
		t.skipString()
	case 't', 'n':
		t.at += len("true")
	case 'f':
		t.at += len("false")
	default:
		kind = '0'
		for t.at < len(t.text) && bytes.IndexByte([]byte("+-.eE0123456789"), t.text[t.at]) >= 0 {
			t.at++
		}
	}
	t.parts = append(t.parts, part{kind, name, from, t.at})
	return n, nil
}

func (t *tree) skip() {
	for t.at < len(t.text) {
		switch t.text[t.at] {
		case ' ', '\t', '\r', '\n', ',', ':':
			t.at++
		default:
			return
		}
	}
}

func (t *tree) skipString() {
	for t.at++; t.text[t.at] != '"'; t.at++ {
		if t.text[t.at] == '\\' {
			t.at++
		}
	}
	t.at++
}

// container reads the parts of an object or a list.
func (t *tree) container(n int32, kind byte) error {
	mark := len(t.open)
	t.at++
	for t.skip(); t.text[t.at] != '}' && t.text[t.at] != ']'; t.skip() {
		var name []byte
		if kind == '{' {
			from := t.at
			t.skipString()
			name = unquote(t.text[from:t.at])
		}
		child, err := t.value(name)
		if err != nil {
			return err
		}
		t.open = append(t.open, child)
	}
	t.at++
	from := len(t.order)
	t.order = append(t.order, t.open[mark:]...)
	t.open = t.open[:mark]
	t.parts[n].from, t.parts[n].to = from, len(t.order)
	if kind == '{' {
		return t.sort(t.order[from:])
	}
	return nil
}

// sort sorts members by their names, in UTF-16 code units as RFC 8785 says.
func (t *tree) sort(members []int32) error {
	byName := func(a, b int32) int { return compareUTF16(t.parts[a].name, t.parts[b].name) }
	if !slices.IsSortedFunc(members, byName) {
		slices.SortFunc(members, byName)
	}
	for i := 1; i < len(members); i++ {
		if name := t.parts[members[i]].name; bytes.Equal(name, t.parts[members[i-1]].name) {
			return fmt.Errorf("the member %q stands twice", name)
		}
	}
	return nil
}

// compareUTF16 compares texts by their UTF-16 code units. In UTF-8 the order is the same, except that surrogate
// pairs (four bytes) come before U+E000 to U+FFFF.
func compareUTF16(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		if x >= 0xee && y >= 0xee && (x >= 0xf0) != (y >= 0xf0) {
			x, y = y, x
		}
		if x < y {
			return -1
		}
		return 1
	}
	return len(a) - len(b)
}

// unquote returns the text of a JSON string, which may be a part of it. Bytes that are no character become U+FFFD.
func unquote(quoted []byte) []byte {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return inner
	}
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return nil // impossible: the text is valid JSON
	}
	return []byte(s)
}

// isMarked reports whether a member gets one more $ before its name.
func isMarked(name []byte) bool {
	dollars, ok := bytes.CutSuffix(name, []byte(numberMark))
	return ok && len(bytes.Trim(dollars, "$")) == 0
}
