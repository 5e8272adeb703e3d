package redact

import (
	"math/bits"
	"strings"
	"sync"
	"unicode/utf8"
)

// Characters of a view that represent more than one character of a text.
const (
	gap   = 0x00 // a removed secret
	end   = 0x03 // past the end of the text
	other = 0xff // a character that no rule distinguishes, or one after a backslash
)

// view is a normalised text for the rules: escapes are decoded, full-width and accented letters are replaced by
// plain ones, and invisible characters are dropped.
//
// Each character has a level: how often it is escaped more than the surrounding text. A value in quotes ends with a
// quote of its own level or a lower one, and an escaped delimiter does not end a value that began unescaped.
type view struct {
	text  string
	signs []byte
	level []uint8
	at    []int32 // the start of each character in text, and the end of the text
	ops   int     // number of characters read
}

func newView(text string) *view {
	v := &view{text: text}
	v.signs, v.level, v.at = make([]byte, 0, len(text)), make([]uint8, 0, len(text)), make([]int32, 0, len(text)+1)
	for i := 0; i < len(text); {
		i = v.decode(i)
	}
	v.at = append(v.at, int32(len(text))) //nolint:gosec // no text has 2 GiB
	return v
}

// sign returns the character at a position, or end outside of the text.
func (v *view) sign(i int) byte {
	v.ops++
	if i < 0 || i >= len(v.signs) {
		return end
	}
	return v.signs[i]
}

func (v *view) levelOf(i int) uint8 {
	if i < 0 || i >= len(v.level) {
		return 0
	}
	return v.level[i]
}

// has reports whether text stands at position i.
func (v *view) has(i int, text string) bool {
	if i < 0 || i+len(text) > len(v.signs) {
		return false
	}
	v.ops++
	return string(v.signs[i:i+len(text)]) == text
}

// lower returns the text between two positions in lower case.
func (v *view) lower(from, to int) string {
	v.ops += to - from
	return strings.ToLower(string(v.signs[from:min(to, len(v.signs))]))
}

// skipBlanks returns the first position from p on without a blank.
func (v *view) skipBlanks(p int) int {
	for j := 0; j < 16 && isBlank(v.sign(p)); j++ {
		p++
	}
	return p
}

func (v *view) add(at int, sign byte, level int) {
	v.signs, v.level = append(v.signs, sign), append(v.level, uint8(min(level, 255))) //nolint:gosec // bounded
	v.at = append(v.at, int32(at))                                                    //nolint:gosec // no text has 2 GiB
}

// decode adds the character at i, and returns the start of the next one.
func (v *view) decode(i int) int {
	v.ops++
	switch b := v.text[i]; {
	case b == '%':
		return v.percent(i)
	case b == '\\':
		return v.backslashes(i)
	case b == '&':
		return v.entity(i)
	case b < utf8.RuneSelf:
		v.add(i, b, 0)
		return i + 1
	}
	r, size := utf8.DecodeRuneInString(v.text[i:])
	v.rune(i, r, 0)
	return i + size
}

// rune adds a character, if it is visible.
func (v *view) rune(at int, r rune, level int) {
	if sign, seen := fold(r); seen {
		v.add(at, sign, level)
	}
}

// percent decodes %XX, also when the % itself is written %25.
func (v *view) percent(i int) int {
	level, j := 1, i+1
	for strings.HasPrefix(v.text[j:], "25") && level < 8 {
		if _, ok := hex(v.text, j+2, 2); !ok {
			break
		}
		level, j = level+1, j+2
	}
	code, ok := hex(v.text, j, 2)
	if !ok {
		v.add(i, '%', 0)
		return i + 1
	}
	j += 2
	if code == 0xc2 || code == 0xc3 { // a letter of Latin-1
		if strings.HasPrefix(v.text[j:], "%") {
			if low, ok := hex(v.text, j+1, 2); ok {
				v.rune(i, rune(code&3)<<6|rune(low&0x3f), level)
				return j + 3
			}
		}
	}
	if code >= utf8.RuneSelf || code == gap {
		code = other
	}
	v.add(i, byte(code), level) //nolint:gosec // two digits
	return j
}

// backslashes decodes the character after a row of backslashes. In a string inside d strings a quote has 2^d-1
// backslashes before it, and every backslash of the value twice as many more.
func (v *view) backslashes(i int) int {
	j := i
	for j < len(v.text) && v.text[j] == '\\' {
		j++
		v.ops++
	}
	row := j - i
	if j == len(v.text) {
		v.add(i, '\\', 0)
		return j
	}
	level := bits.TrailingZeros(^uint(row)) //nolint:gosec // at least 1
	switch b := v.text[j]; {
	case b == '"' || b == '\'' || b == '`':
		v.add(i, b, level)
		return j + 1
	case row%2 == 0:
	case b == 'n' || b == 'r':
		v.add(i, '\n', level)
		return j + 1
	case b == 't':
		v.add(i, '\t', level)
		return j + 1
	case b == '/':
		v.add(i, '/', 0)
		return j + 1
	case b == ' ':
		v.add(i, other, 0)
		return j + 1
	case b == 'u':
		if code, ok := hex(v.text, j+1, 4); ok {
			if code == '"' || code == '\'' {
				v.rune(i, rune(code), level)
			} else {
				v.rune(i, rune(max(code, 1)), 0)
			}
			return j + 5
		}
	}
	v.add(i, '\\', 0)
	return j
}

// entities maps the XML entities to their characters.
var entities = map[string]byte{"quot;": '"', "#34;": '"', "apos;": '\'', "#39;": '\'', "amp;": '&', "lt;": '<', "gt;": '>'}

func (v *view) entity(i int) int {
	for name, sign := range entities {
		if strings.HasPrefix(v.text[i+1:], name) {
			level := 0
			if sign == '"' || sign == '\'' {
				level = 1
			}
			v.add(i, sign, level)
			return i + 1 + len(name)
		}
	}
	v.add(i, '&', 0)
	return i + 1
}

// hex reads n hexadecimal digits.
func hex(text string, at, n int) (int, bool) {
	if at+n > len(text) {
		return 0, false
	}
	code := 0
	for _, c := range []byte(text[at : at+n]) {
		d := strings.IndexByte("0123456789abcdef", lower(c))
		if d < 0 {
			return 0, false
		}
		code = code<<4 | d
	}
	return code, true
}

const (
	accented = "áàâäãåéèêëíìîïóòôöõúùûüñçÁÀÂÄÃÅÉÈÊËÍÌÎÏÓÒÔÖÕÚÙÛÜÑÇ"
	plain    = "aaaaaaeeeeiiiiooooouuuuncAAAAAAEEEEIIIIOOOOOUUUUNC"
)

var letters = sync.OnceValue(func() map[rune]byte {
	m, i := map[rune]byte{}, 0
	for _, r := range accented {
		m[r] = plain[i]
		i++
	}
	for _, r := range "“”„«»" {
		m[r] = '"'
	}
	for _, r := range "‘’" {
		m[r] = '\''
	}
	m['\u00a0'], m['\u3000'] = ' ', ' '
	return m
})

// fold returns the plain character, and whether it is visible.
func fold(r rune) (byte, bool) {
	switch {
	case r < utf8.RuneSelf:
		return byte(r), true
	case r == '\u00ad', r == '\ufeff', '\u0300' <= r && r <= '\u036f', '\u200b' <= r && r <= '\u200f',
		'\u202a' <= r && r <= '\u202e', '\u2060' <= r && r <= '\u2069':
		return 0, false
	case '\uff01' <= r && r <= '\uff5e':
		return byte(r - 0xfee0), true
	}
	if sign, ok := letters()[r]; ok {
		return sign, true
	}
	return other, true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
func isUpper(c byte) bool  { return 'A' <= c && c <= 'Z' }
func isLower(c byte) bool  { return 'a' <= c && c <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return isUpper(c) || isLower(c) }
func isAlnum(c byte) bool  { return isLetter(c) || isDigit(c) }
func isWord(c byte) bool   { return isAlnum(c) || c == '_' || c == '-' }
func isBlank(c byte) bool  { return c == ' ' || c == '\t' }
func isSpace(c byte) bool  { return isBlank(c) || c == '\n' || c == '\r' || c == end }
func isQuote(c byte) bool  { return c == '"' || c == '\'' || c == '`' }
func isHex(c byte) bool    { return isDigit(c) || 'a' <= c && c <= 'f' }
func isBase64(c byte) bool {
	return isAlnum(c) || c == '+' || c == '/' || c == '=' || c == '-' || c == '_'
}
