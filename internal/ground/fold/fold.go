// Package fold maps texts that a receiver may treat as equal to one text. A database may ignore letter case,
// accents, width and invisible characters. A web server may drop dots and blanks at the end of a name, and may
// decode twice.
//
// Two texts that some receiver treats as equal fold to the same text. The reverse does not hold: two different
// things may fold to the same text. So a fold may be a reason to refuse or to ask, never to allow.
//
// Each character folds independently of its neighbours. A text therefore folds in one pass, in pieces as well as
// whole, and a pattern folds as the texts that it matches do.
package fold

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// other replaces every character of more than three bytes in UTF-8, because some databases store only three.
const other = '\ufffd'

// letters maps the characters that Unicode does not decompose but collations do. In the Default Unicode Collation
// Element Table they differ from these letters only by marks. Some others become slashes in a converter of code
// pages.
var letters = map[rune]string{
	'ß': "ss", 'ẞ': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'đ': "d", 'ð': "d", 'ł': "l", 'ħ': "h", 'ı': "i", 'ŧ': "t", 'ŀ': "l", 'ŋ': "n",
	'ƒ': "f", 'ɨ': "i", 'ƀ': "b", 'ɇ': "e", 'ʉ': "u", 'þ': "th", 'ĸ': "k", 'ȷ': "j",
	'∕': "/", '⁄': "/", '⧸': "/", '╱': "/", '∖': `\`, '⧵': `\`, '⧹': `\`, '₩': `\`, '¥': `\`,
	'‐': "-", '‑': "-", '‒': "-", '–': "-", '—': "-", '―': "-", '−': "-", '‘': "'", '’': "'", 'ʼ': "'", '“': `"`, '”': `"`, '˜': "~", '。': ".", '｡': ".",
}

// Rune appends the fold of a character: nothing for an invisible one, several characters for a ligature. An invalid
// character is appended unchanged.
func Rune(to []rune, r rune) []rune {
	switch {
	case r < 0:
		return append(to, r)
	case 'A' <= r && r <= 'Z':
		return append(to, r+'a'-'A')
	case ' ' <= r && r < 0x7f:
		return append(to, r)
	case r == '\t' || r == '\n' || r == '\r' || r == 0x85:
		return append(to, ' ')
	case r < ' ' || r == 0x7f || r > unicode.MaxRune:
		return to
	}
	if with, ok := letters[r]; ok { // before the decomposition: "¥" has a wide form
		return append(to, []rune(with)...)
	}
	var raw, buf [4 * utf8.UTFMax]byte
	n := utf8.EncodeRune(raw[:], r)
	for _, part := range string(norm.NFKD.Append(buf[:0], raw[:n]...)) {
		to = appendPlain(to, part)
	}
	return to
}

// appendPlain appends the fold of one character of a decomposition.
func appendPlain(to []rune, r rune) []rune {
	switch {
	case isUnseen(r):
		return to
	case unicode.IsSpace(r):
		return append(to, ' ')
	case unicode.Is(unicode.Nd, r):
		return append(to, digit(r))
	}
	r = lower(r)
	if with, ok := letters[r]; ok {
		return append(to, []rune(with)...)
	}
	switch {
	case 'ァ' <= r && r <= 'ヶ': // katakana; a database may treat hiragana as equal
		r -= 'ァ' - 'ぁ'
	case r > 0xffff:
		r = other
	}
	return append(to, r)
}

// lower returns one lower-case character for all that differ only by case: the same for σ, ς and Σ. It skips the
// iota that is a mark.
func lower(r rune) rune {
	first := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		if next < first && !isUnseen(next) {
			first = next
		}
	}
	return unicode.ToLower(first)
}

// isUnseen reports whether a reader does not see the character: it is a mark on another, or has no glyph.
func isUnseen(r rune) bool {
	if r < 0x80 {
		return r < ' ' || r == 0x7f
	}
	return unicode.In(r, unicode.Me, unicode.Cf, unicode.Cc, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) ||
		r == '\u2800' || // the blank Braille cell
		norm.NFKD.PropertiesString(string(r)).CCC() != 0 // a mark; spacing vowel signs are not counted
}

// digit returns the ASCII digit for a decimal digit of any script. Unicode puts the ten digits of a script in a row
// that begins with zero.
func digit(r rune) rune {
	zero := r
	for zero > 0 && unicode.Is(unicode.Nd, zero-1) && r-zero < 9 {
		zero--
	}
	if r >= 0x1d7ce && r <= 0x1d7ff { // five rows without a gap
		return '0' + (r-0x1d7ce)%10
	}
	return '0' + r - zero
}

// Runes folds a text.
func Runes(text []rune) []rune {
	out := make([]rune, 0, len(text))
	for _, r := range text {
		out = Rune(out, r)
	}
	return out
}

// Text folds a text.
func Text(text string) string { return string(Runes([]rune(text))) }

// Name folds the name of a member or a tool. It also drops the blanks around it, and writes "_" for dots and
// blanks, as some form parsers do.
func Name(text string) string {
	return names().Replace(strings.TrimSpace(Text(text)))
}

var names = sync.OnceValue(func() *strings.Replacer { return strings.NewReplacer(".", "_", " ", "_") })

// Trim drops the dots and blanks at the end of a path segment, as file systems and databases do, and the blanks at
// its beginning, as frameworks do.
func Trim(segment []rune) []rune {
	n := len(segment)
	for n > 0 && (segment[n-1] == '.' || segment[n-1] == ' ') {
		n--
	}
	from := 0
	for from < n && segment[from] == ' ' {
		from++
	}
	return segment[from:n]
}
