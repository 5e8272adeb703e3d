package figures

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// isPart reports whether a sign is part of a word or a number. The signs of ordinals are not, although they are letters.
func isPart(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)) && r != 'º' && r != 'ª'
}

// isWithin reports whether a word goes on before a place of a text: directly, or over one of the joints.
func isWithin(text string, at int, joints string) bool {
	r, n := utf8.DecodeLastRuneInString(text[:at])
	if n > 0 && strings.ContainsRune(joints, r) {
		r, _ = utf8.DecodeLastRuneInString(text[:at-n])
	}
	return isPart(r)
}

// goesOn reports whether a word goes on after a place of a text: directly, or over one of the joints.
func goesOn(text string, at int, joints string) bool {
	r, n := utf8.DecodeRuneInString(text[at:])
	if n > 0 && strings.ContainsRune(joints, r) {
		r, _ = utf8.DecodeRuneInString(text[at+n:])
	}
	return isPart(r)
}

const joints = "-_"

// standsWhole reports whether a part of a text is no part of a longer word, number or identifier.
func standsWhole(text string, from, to int) bool {
	return begins(text, from, to) && !goesOn(text, to, joints)
}

// standsAlone is standsWhole of an address, before which a point or a plus is a part of it.
func standsAlone(text string, from, to int) bool {
	return standsWhole(text, from, to) && !isWithin(text, from, ".+")
}

// begins reports whether no word goes on before a part of a text.
func begins(text string, from, _ int) bool { return !isWithin(text, from, joints) }

// isBeginning reports whether a part of a text is the beginning of a longer identifier.
func isBeginning(text string, from, to int) bool {
	return begins(text, from, to) && !goesOn(text, to, "") && goesOn(text, to, joints)
}

// standsIn reports whether a text has another one, in a way that is says.
func standsIn(text, part string, is func(text string, from, to int) bool) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], part)
		if i < 0 {
			return false
		}
		if from += i; is(text, from, from+len(part)) {
			return true
		}
		from += len(firstRune(text[from:]))
	}
}
