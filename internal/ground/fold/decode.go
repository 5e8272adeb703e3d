package fold

import "unicode/utf8"

// Decode decodes every well-formed percent escape of a text, once, and leaves the others unchanged. "%u0041" counts
// as an escape, because some servers decode it. Bytes that are not UTF-8 become U+FFFD.
func Decode(text []rune) []rune {
	out := make([]rune, 0, len(text))
	var raw []byte // bytes of consecutive escapes
	flush := func() {
		for len(raw) > 0 {
			r, n := utf8.DecodeRune(raw)
			out, raw = append(out, r), raw[n:]
		}
	}
	for at := 0; at < len(text); {
		if b, ok := escape(text[at:], 1, 2); ok {
			raw = append(raw, byte(b))
			at += 3
			continue
		}
		flush()
		if r, ok := escape(text[at:], 2, 4); ok && (text[at+1] == 'u' || text[at+1] == 'U') {
			out = append(out, r)
			at += 6
			continue
		}
		out = append(out, text[at])
		at++
	}
	flush()
	return out
}

// escape reads n hexadecimal digits after a prefix such as "%" or "%u".
func escape(text []rune, from, n int) (rune, bool) {
	if len(text) < from+n || text[0] != '%' {
		return 0, false
	}
	var value rune
	for _, c := range text[from : from+n] {
		h := hex(c)
		if h < 0 {
			return 0, false
		}
		value = value<<4 | h
	}
	return value, true
}

func hex(c rune) rune {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return -1
}
