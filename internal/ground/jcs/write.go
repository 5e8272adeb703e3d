package jcs

import (
	"strconv"

	"github.com/gowebpki/jcs"
)

// write appends the canonical form of a part.
func (t *tree) write(n int32) error {
	p := t.parts[n]
	switch p.kind {
	case '{':
		return t.writeObject(p)
	case '[':
		t.form = append(t.form, '[')
		for i, child := range t.order[p.from:p.to] {
			if i > 0 {
				t.form = append(t.form, ',')
			}
			if err := t.write(child); err != nil {
				return err
			}
		}
		t.form = append(t.form, ']')
	case '"':
		t.writeString(unquote(t.text[p.from:p.to]))
	case '0':
		return t.writeNumber(string(t.text[p.from:p.to]))
	default:
		t.form = append(t.form, t.text[p.from:p.to]...)
	}
	return nil
}

// writeObject appends members in order. Marks change names, and may change the order.
func (t *tree) writeObject(p part) error {
	members := t.order[p.from:p.to]
	marked := false
	for _, child := range members {
		if m := &t.parts[child]; isMarked(m.name) {
			m.name, marked = append([]byte("$"), m.name...), true
		}
	}
	if marked {
		if err := t.sort(members); err != nil {
			return err
		}
	}
	t.form = append(t.form, '{')
	for i, child := range members {
		if i > 0 {
			t.form = append(t.form, ',')
		}
		t.writeString(t.parts[child].name)
		t.form = append(t.form, ':')
		if err := t.write(child); err != nil {
			return err
		}
	}
	t.form = append(t.form, '}')
	return nil
}

// writeNumber appends a number as a double is written, or marked when no double is exactly that number.
func (t *tree) writeNumber(s string) error {
	if isSmallInteger(s) {
		t.form = append(t.form, s...)
		return nil
	}
	if !exactDouble(s) {
		t.form = append(append(append(t.form, `{"`+numberMark+`":"`...), s...), `"}`...)
		return nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return err
	}
	form, err := jcs.NumberToJSON(f)
	t.form = append(t.form, form...)
	return err
}

// isSmallInteger reports whether a number is written as digits only, and so few that every double is exact.
func isSmallInteger(s string) bool {
	if len(s) > 15 {
		return false
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

const hexDigits = "0123456789abcdef"

// writeString appends a string with the escapes of RFC 8785, which are the necessary ones.
func (t *tree) writeString(s []byte) {
	b := t.form
	b = append(b, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[from:i]...)
		from = i + 1
		switch c {
		case '\b':
			b = append(b, `\b`...)
		case '\t':
			b = append(b, `\t`...)
		case '\n':
			b = append(b, `\n`...)
		case '\f':
			b = append(b, `\f`...)
		case '\r':
			b = append(b, `\r`...)
		case '"', '\\':
			b = append(b, '\\', c)
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	t.form = append(append(b, s[from:]...), '"')
}
