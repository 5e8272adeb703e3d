package clip

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"piloto/infra/local/fixture/cost"
)

func TestALineThatShowsNothingIsEmpty(t *testing.T) {
	for in, want := range map[string]string{
		" a\n\tb\u202e ": "a b", "<b>a</b>": "<b>a</b>", "a\u200b": "a\u200b", "\u200b\u2060 \ufeff": "", "\u2800\u3164": "", "\ufffc": "\ufffc",
	} {
		if got := Line(in); got != want {
			t.Errorf("%+q: %+q, want %+q", in, got, want)
		}
	}
}

func TestATextIsCutToItsBound(t *testing.T) {
	for _, c := range []struct {
		by   func(string, int) string
		text string
		most int
		want string
	}{
		{Runes, "ñandú", 5, "ñandú"},
		{Runes, "ñandúes", 5, "ñand…"},
		{Runes, "la sala", 4, "la …"},
		{Runes, "ab", 1, "…"},
		{Runes, "ab", 0, "…"},
		{Runes, "", 0, ""},
		{Bytes, "ñandú", 7, "ñandú"},
		{Bytes, "ñandúes", 7, "ñan…"},
		{Bytes, "añañañ", 5, "a…"},
		{Bytes, "la sala azul", 6, "la …"},
		{Bytes, "abcd", 3, "…"},
		{Bytes, "abcd", 0, "…"},
		{Bytes, "a\xffbcdefg", 6, "ab…"},
		{Bytes, "a\xff", 6, "a\xff"},
	} {
		if got := c.by(c.text, c.most); got != c.want {
			t.Errorf("%q to %d: %q, want %q", c.text, c.most, got, c.want)
		}
	}
}

func TestACutTextIsNeverLongerThanItsBound(t *testing.T) {
	for _, text := range []string{strings.Repeat("é", 40), strings.Repeat("a 😀", 20), strings.Repeat("\xf0\x9f", 30)} {
		for most := 3; most < 60; most++ {
			if got := Bytes(text, most); len(got) > most || len(text) > most && !utf8.ValidString(got) {
				t.Errorf("Bytes(%q, %d) = %q", text, most, got)
			}
			if got := Runes(text, most); utf8.RuneCountInString(got) > most {
				t.Errorf("Runes(%q, %d) = %q", text, most, got)
			}
			if at := Boundary(text, min(most, len(text)-1)); utf8.ValidString(text) && !utf8.ValidString(text[:at]) {
				t.Errorf("Boundary(%q, %d) = %d", text, most, at)
			}
		}
	}
}

func TestTheMiddleOfALongTextIsLeftOut(t *testing.T) {
	omitted := func(n int) string { return "<" + strconv.Itoa(n) + ">" }
	for text, want := range map[string]string{"": "", "abcdefg": "abcdefg", "abcdefgh": "abcd<1>fgh", "abcñefñgh": "abc<4>gh"} {
		if got := Middle(text, 4, omitted, 3); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestALineHasNoCharacterThatIsDropped(t *testing.T) {
	isTag := func(r rune) bool { return r == '<' || r == '>' || r == '\n' }
	if got := LineWithout(" a <b>\n c\td\u00a0e\u200b", isTag); got != "a b c d e\u200b" {
		t.Errorf("%+q", got)
	}
}

func TestALineIsMadeInLinearTime(t *testing.T) {
	if testing.Short() {
		t.Skip("large texts")
	}
	const size = 256 << 10
	cost.Alike(t, "Line", func(s string) { _ = Line(s) }, strings.Repeat("La sala 1, ", size/11), cost.Repeated(size, "\u202e ", " ", "\x00", "\ufffd"))
}
