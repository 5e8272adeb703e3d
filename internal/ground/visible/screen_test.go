package visible_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"piloto/internal/ground/visible"
)

// TestScreenHasNoCharacterThatActs: whatever the text is; and what Lines has written stays as it is.
func TestScreenHasNoCharacterThatActs(t *testing.T) {
	for in, want := range map[string]string{
		"a\tb\nc\u00a0d":         "a\tb\nc\u00a0d",
		"\x1b]8;;http://x\x07y":  "⟦U+001B⟧]8;;http://x⟦U+0007⟧y",
		"\u009b2J\x9b2J\r\b\x7f": "⟦U+009B⟧2J⟦0x9B⟧2J⟦U+000D⟧⟦U+0008⟧⟦U+007F⟧",
		"a\r\nb\r\n\r\rc\r":      "a\nb\n⟦U+000D⟧⟦U+000D⟧c⟦U+000D⟧",
		"\u202ea\u200b\u2028":    "⟦U+202E⟧a⟦U+200B⟧⟦U+2028⟧",
		"👩‍💻 ⚠️ pаypal":          "👩‍💻 ⚠️ pаypal",
	} {
		if got := visible.Screen(in); got != want {
			t.Errorf("%q\n got %q\nwant %q", in, got, want)
		}
	}
	if got := visible.Lines("a\r\nb\r"); got != "a\nb⟦U+000D⟧" {
		t.Errorf("%q", got)
	}
	if got := visible.Line("a\r\nb") + visible.ScreenLine("a\r\nb"); got != "a⟦U+000D⟧⟦U+000A⟧ba⟦U+000D⟧⟦U+000A⟧b" {
		t.Errorf("in a line: %q", got)
	}
	odd := rapid.StringOf(rapid.OneOf(rapid.SampledFrom([]rune("ab \x1b[2J\n\r\t\u202e\u200b\u009b\x7f👩\u200d\ufe0f")), rapid.Rune()))
	rapid.Check(t, func(t *rapid.T) {
		s := odd.Draw(t, "text")
		shown := visible.Screen(s)
		for _, r := range strings.NewReplacer("\u200d", "", "\ufe0f", "", "\n", "", "\t", "", "\u00a0", "").Replace(shown) {
			if visible.Invisible(r) {
				t.Fatalf("%U is in %q", r, shown)
			}
		}
		if lines := visible.Lines(s); visible.Screen(lines) != lines {
			t.Fatalf("%q became %q", lines, visible.Screen(lines))
		}
	})
}

// TestEscapedIsTheSameValue, in which every character is visible.
func TestEscapedIsTheSameValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.String().Draw(t, "text") + rapid.SampledFrom([]string{"", "\u202e", "\U000e0041", "\u009b", "\x7f", "\u2028"}).Draw(t, "odd")
		raw, err := json.MarshalIndent(map[string]string{"v": want}, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		text := visible.Escaped(string(raw))
		var got map[string]string
		if err := json.Unmarshal([]byte(text), &got); err != nil || got["v"] != want && utf8.ValidString(want) {
			t.Fatalf("%q is %q: %v", text, got, err)
		}
		for _, r := range text {
			if r != '\n' && visible.Invisible(r) {
				t.Fatalf("%U is in %q", r, text)
			}
		}
	})
}
