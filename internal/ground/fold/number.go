package fold

import (
	"strconv"
	"strings"
)

// Number returns the integer that a receiver may read in a folded segment, in plain digits. "012", "+12", "12.0",
// "1.2e1", "1_2" and "0xc" may all be 12, and so may "12-lamps", because some parsers stop at the first letter. ok
// is false for a segment that does not begin with a number, and for one that is already plain.
func Number(segment []rune) (plain []rune, ok bool) {
	text := joinDigits(strings.TrimPrefix(strings.TrimSpace(string(segment)), "+"))
	digits := 0
	for digits < len(text) && '0' <= text[digits] && text[digits] <= '9' {
		digits++
	}
	if digits == 0 {
		return nil, false
	}
	whole := strings.TrimLeft(text[:digits], "0")
	switch rest := text[digits:]; {
	case whole == "" && rest != "" && strings.ContainsRune("xob", rune(rest[0])):
		if n, err := strconv.ParseUint(text, 0, 64); err == nil {
			whole = strconv.FormatUint(n, 10)
		}
	case len(text) < 40 && strings.ContainsAny(rest, ".e"):
		if f, err := strconv.ParseFloat(text, 64); err == nil && f >= 0 && f < 1<<53 && f == float64(int64(f)) {
			whole = strconv.FormatInt(int64(f), 10)
		}
	}
	if whole == "" {
		whole = "0"
	}
	if whole == string(segment) {
		return nil, false
	}
	return []rune(whole), true
}

// joinDigits removes the underscores that group the digits at the beginning of a text.
func joinDigits(text string) string {
	digit := func(i int) bool { return i < len(text) && '0' <= text[i] && text[i] <= '9' }
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case digit(i):
			b.WriteByte(text[i])
		case text[i] == '_' && i > 0 && digit(i-1) && digit(i+1):
		default:
			return b.String() + text[i:]
		}
	}
	return b.String()
}

// UUID returns the UUID that a receiver may read in a folded segment, in its usual form. The segment may have fewer
// or more hyphens, stand in braces, or be a URN. ok is false when it is no UUID.
func UUID(segment []rune) (plain []rune, ok bool) {
	const size = 32
	text := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(string(segment))), "urn:")
	text = strings.Trim(strings.TrimPrefix(text, "uuid:"), "{}()")
	text = strings.ReplaceAll(text, "-", "")
	if len(text) != size || strings.Trim(text, "0123456789abcdef") != "" {
		return nil, false
	}
	return []rune(text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]), true
}
