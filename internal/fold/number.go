package fold

import (
	"strconv"
	"strings"
)

// Number returns the whole number that a receiver may read a folded segment as, in
// plain digits: "012", "+12", "12.0", "1.2e1" and "0xc" are 12 to one that computes, and
// "12-lamps" is to one that reads digits as far as there are any. ok is false for what
// begins with none, and for what is written plainly already.
func Number(segment []rune) (plain []rune, ok bool) {
	text := strings.TrimPrefix(strings.TrimSpace(string(segment)), "+")
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
