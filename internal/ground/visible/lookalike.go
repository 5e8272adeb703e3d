package visible

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// scripts are the alphabets with similar letters.
var scripts = []*unicode.RangeTable{
	unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Coptic, unicode.Lisu,
}

// latinTwins are the letters of other alphabets that look like Latin ones.
const latinTwins = "аеорсухіјѕһԁԛԝӏвкмнтгАВЕКМНОРСТУХІЈЅҮԌԚԜӀ" + "οανρυικτΑΒΕΖΗΙΚΜΝΟΡΤΥΧ" + "օոսցհԼՏՕ"

func scriptOf(r rune) *unicode.RangeTable {
	for _, s := range scripts {
		if unicode.Is(s, r) {
			return s
		}
	}
	return nil
}

// genuineScripts returns the alphabets that a text really uses: it has one of their letters that looks like no
// Latin letter.
func genuineScripts(s string) map[*unicode.RangeTable]bool {
	var used map[*unicode.RangeTable]bool
	for _, r := range s {
		if r < 0x370 {
			continue
		}
		if script := scriptOf(r); script != nil && script != unicode.Latin && !strings.ContainsRune(latinTwins, r) {
			if used == nil {
				used = map[*unicode.RangeTable]bool{}
			}
			used[script] = true
		}
	}
	return used
}

// imitations returns a function that reports the imitating letters of a word: the minority in a word of two
// alphabets, and all letters of a word that consists only of twins of Latin letters, in a text that does not
// otherwise use their alphabet.
func imitations(word string, genuine map[*unicode.RangeTable]bool) func(rune) bool {
	none := func(rune) bool { return false }
	counts := map[*unicode.RangeTable]int{}
	foreign := false
	for _, r := range word {
		if script := scriptOf(r); script != nil {
			counts[script]++
			foreign = foreign || script != unicode.Latin
		}
	}
	if !foreign {
		return none
	}
	if len(counts) > 1 {
		home := unicode.Latin
		if counts[home] == 0 {
			for _, script := range scripts {
				if counts[script] > counts[home] {
					home = script
				}
			}
		}
		return func(r rune) bool { s := scriptOf(r); return s != nil && s != home }
	}
	for _, r := range word {
		if script := scriptOf(r); script != nil && (genuine[script] || !strings.ContainsRune(latinTwins, r)) {
			return none
		}
	}
	return func(r rune) bool { return scriptOf(r) != nil }
}

// isStyled reports whether a character is only a variant of a plain one: mathematical alphabets, full-width and
// enclosed forms.
func isStyled(r rune) bool {
	return r >= 0x1d400 && r <= 0x1d7ff || r >= 0xff01 && r <= 0xff5e || r >= 0x249c && r <= 0x24e9 ||
		r >= 0x2100 && r <= 0x214f && unicode.IsLetter(r) && r != 0x2126 && r != 0x212b
}

// isOverlay reports whether a mark strikes a letter out instead of accenting it.
func isOverlay(r rune) bool {
	return r >= 0x334 && r <= 0x338 || r == 0x489 || r >= 0x20d0 && r <= 0x20ff
}

// isWord reports whether a character belongs to a word: letters, marks, and styled variants.
func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.Is(unicode.M, r) || isStyled(r) }

func wordLen(s string) int {
	for i, r := range s {
		if r == utf8.RuneError || !isWord(r) {
			return i
		}
	}
	return len(s)
}
