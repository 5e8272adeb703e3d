package fold

import (
	"testing"

	"pgregory.net/rapid"
)

func TestEquivalentTextsFoldToSameText(t *testing.T) {
	for want, texts := range map[string][]string{
		"prohibido":   {"Prohibido", "PROHIBIDO", "prohíbido", "prohi\u0301bido", "pro\u200bhibido", "\ufeffprohibido", "ｐｒｏｈｉｂｉｄｏ", "PROHİBIDO", "prohıbido", "𝓹𝓻𝓸𝓱𝓲𝓫𝓲𝓭𝓸", "prohibidº", "prøhibiđo", "pro\x00hibido", "prohibido\U000e0001"},
		"strasse":     {"straße", "STRAẞE", "ſtraße", "STRASSE"},
		"aesir oe":    {"Æsir Œ", "æsir\u00a0œ", "aesir\u3000oe"},
		"lodz":        {"Łódź", "ŁÓDŹ"},
		"σοφοσ":       {"σοφός", "ΣΟΦΟΣ"},
		"12/34.5":     {"１２／３４．５", "١٢∕٣٤．٥", "१२⁄३४。５", "𝟙𝟚/𝟛𝟜.𝟝"},
		"ffi":         {"ﬃ", "ﬀi", "FFI"},
		"がか":          {"ガカ", "ｶﾞｶ"},
		"":            {"\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\u180e\u115f\u3164\u2800\ufe0f\U000e0041"},
		"-":           {"‐", "–", "—", "−", "－"},
		"कीका":        {"कीका"},
		"한국":          {"한국"},
		string(other): {"🍣", "🍺", "𠮷"},
	} {
		for _, text := range texts {
			if got, want := Text(text), Text(want); got != want {
				t.Errorf("%+q folds to %+q, want %+q", text, got, want)
			}
		}
	}
	for _, pair := range [][2]string{{"a", "b"}, {"की", "का"}, {"1", "2"}, {"a-b", "a_b"}, {"か", "き"}, {"o", "0"}, {"l", "1"}, {"a.b", "ab"}, {"a b", "ab"}} {
		if Text(pair[0]) == Text(pair[1]) {
			t.Errorf("%q and %q fold to the same", pair[0], pair[1])
		}
	}
}

// TestFoldingIsPerCharacterAndIdempotent checks that a character folds by itself, that a folded text folds to
// itself, and that no character folds to more characters than the longest decomposition.
func TestFoldingIsPerCharacterAndIdempotent(t *testing.T) {
	last := rune(0x10ffff)
	if testing.Short() {
		last = 0x2fff
	}
	for r := rune(0); r <= last; r++ {
		one := Rune(nil, r)
		if len(one) > 18 {
			t.Fatalf("%U folds to %d characters", r, len(one))
		}
		if again := Runes(one); string(again) != string(one) {
			t.Fatalf("%U folds to %+q and that to %+q", r, string(one), string(again))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		if Text(a)+Text(b) != Text(a+b) {
			t.Fatalf("%+q and %+q", a, b)
		}
	})
}

func TestDecodeIsLenient(t *testing.T) {
	for text, want := range map[string]string{
		"a": "a", "%41": "A", "%4": "%4", "%": "%", "%zz%41": "%zzA", "%2541": "%41", "%C3%B1": "ñ", "%c3%b1x": "ñx", "%u0041": "A", "%U0041%41": "AA",
		"%u004": "%u004", "%%41": "%A", "%ff": "\ufffd", "%c0%ae": "\ufffd\ufffd", "%e2%80%8bb": "\u200bb", "ñ%41": "ñA",
	} {
		if got := string(Decode([]rune(text))); got != want {
			t.Errorf("%s: %+q, want %+q", text, got, want)
		}
	}
}

func TestNumberReadsVariants(t *testing.T) {
	for text, want := range map[string]string{
		"12": "", "0": "", "a12": "", "-12": "", "": "", "012": "12", "00": "0", "+12": "12", " 12": "12", "12 ": "12", "12.0": "12", "1.2e1": "12", "120e-1": "12",
		"12.5": "12", "0xc": "12", "0b1100": "12", "0o14": "12", "12abc": "12", "12-lamps": "12", "0x": "0", "1e400": "1", "99999999999999999999999999999999999999999.0": "99999999999999999999999999999999999999999",
	} {
		got, ok := Number([]rune(text))
		if ok != (want != "") || string(got) != want {
			t.Errorf("%q: %q %v, want %q", text, string(got), ok, want)
		}
	}
}
