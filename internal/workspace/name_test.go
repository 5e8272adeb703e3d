package workspace_test

import (
	"errors"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/workspace"
)

// why returns the code of the reason why a name is refused, without its room.
func why(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	if !errors.Is(err, workspace.ErrName) {
		t.Fatalf("%v is not ErrName", err)
	}
	return strings.TrimPrefix(fault.Of(err).Inner["why"].Code, "workspace.name.")
}

func TestCheckNameRefusesWhatSomeSystemCannotHold(t *testing.T) {
	for name, want := range map[string]string{
		"a": "", "a/b.go": "", "año/niño.txt": "", ".gitignore": "", "..a": "", "a..b": "", "a b/c d": "", "😀.md": "", "CONSOLE": "", "com": "", "com10": "",
		"nulo.txt": "", "a~1": "", "-rf": "", "日本語/ファイル": "", "$HOME": "", "#x": "", "a'b": "", "Dockerfile": "", "aux1": "",
		"":     "empty",
		"/a":   "absolute",
		"/":    "absolute",
		"C:/a": "absolute", "c:a": "absolute", `\\host\share`: "backslash", `a\b`: "backslash", `..\a`: "backslash",
		".": "segment", "..": "segment", "a/..": "segment", "../a": "segment", "a/../b": "segment", "a/./b": "segment", "./a": "segment",
		"a//b": "segment", "a/": "segment",
		"a\x00b": "unseen", "a\nb": "unseen", "a\tb": "unseen", "a\x7f": "unseen", "a\u0085": "unseen",
		"a\u202eb": "unseen", "a\u200bb": "unseen", "a\ufeff": "unseen", "a\u2066": "unseen", "a\u00ad": "unseen", "a\ufe0f": "unseen", "a\u3164": "unseen",
		"a\u2028": "unseen", "👩\u200d💻": "unseen", "a\U000e0041": "unseen",
		"a\xff": "unicode", "\xc0\xae\xc0\xae/a": "unicode", "\xed\xa0\x80": "unicode", "e\u0301": "unicode", "\u212a": "unicode",
		"CON": "portable", "nul": "portable", "NUL.txt": "portable", "a/COM1": "portable", "com9.tar.gz": "portable", "LPT¹": "portable", "aux .c": "portable",
		"CONIN$": "portable", "a.": "portable", "a ": "portable", "a/b./c": "portable", "ab:c": "portable", "a*": "portable", "a?": "portable", `a"`: "portable",
		"a<b": "portable", "a>b": "portable", "a|b": "portable", "file.txt::$DATA": "portable",
		".piloto-x": "temporary", "a/.PILOTO-x": "temporary",
		strings.Repeat("a", 255): "", strings.Repeat("a", 256): "long", strings.Repeat("ñ", 127): "", strings.Repeat("ñ", 128): "long",
		strings.Repeat("a/", 511) + "aa": "", strings.Repeat("a/", 512) + "a": "long", strings.Repeat("😀", 300): "long", strings.Repeat("😀", 63): "",
	} {
		if got := why(t, workspace.CheckName(name)); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// TestCheckedNameStaysInItsPlace: a name that is allowed is the same path on every system.
func TestCheckedNameStaysInItsPlace(t *testing.T) {
	parts := rapid.SampledFrom([]string{"a", "B", "..", ".", "/", "\\", "\x00", ":", "con", "é", "e\u0301", "\u202e", " ", "~1", "\xff", "😀", "*"})
	rapid.Check(t, func(t *rapid.T) {
		name := strings.Join(rapid.SliceOfN(parts, 0, 8).Draw(t, "parts"), "")
		if workspace.CheckName(name) != nil {
			return
		}
		for _, segment := range strings.Split(name, "/") {
			if segment == "" || segment == "." || segment == ".." || strings.ContainsAny(segment, "\\:*\x00") || strings.TrimRight(segment, ". ") != segment {
				t.Fatalf("%q is allowed", name)
			}
		}
		if strings.ContainsFunc(name, func(r rune) bool { return unicode.Is(unicode.C, r) }) {
			t.Fatalf("%q is allowed", name)
		}
	})
}

func TestReasonIsASentenceInBothLanguages(t *testing.T) {
	err := workspace.CheckNew("a\u202e/B", "a\u202e/b")
	for tag, want := range map[locale.Tag]string{
		locale.Spanish: `«a\u{202e}/B» no puede ser el nombre de un archivo: solo se distingue de «a\u{202e}/b» por las mayúsculas.`,
		locale.English: `“a\u{202e}/B” cannot be the name of a file: it differs from “a\u{202e}/b” by upper and lower case only.`,
	} {
		if got := locale.OfFault(fault.Of(err)).In(tag); got != want {
			t.Errorf("%s: %s", tag, got)
		}
	}
}

func TestCheckNewRefusesWhatSomeSystemTakesForAnother(t *testing.T) {
	for _, c := range []struct{ name, other, want string }{
		{"a", "b", ""},
		{"a", "a", ""},
		{"a/b", "a/c", ""},
		{"README.md", "readme.md", "case"},
		{"src/A.go", "src/a.go", "case"},
		{"Src/b.go", "src/a.go", "case"},
		{"Año", "año", "case"},
		{"straße", "STRASSE", "case"},
		{"ano", "año", ""},
		{"papa", "papá", ""},
		{"x/README", "y/readme", ""},
		{"a", "a/b", "folder"},
		{"a/b", "a", "folder"},
		{"a/b/c", "a/b", "folder"},
		{"A", "a/b", "case"},
		{"ab", "a/b", ""},
	} {
		if got := why(t, workspace.CheckNew(c.name, c.other)); got != c.want {
			t.Errorf("%q beside %q: %q, want %q", c.name, c.other, got, c.want)
		}
	}
}

func TestPrintableShowsAndCuts(t *testing.T) {
	for name, want := range map[string]string{
		"a b/ñ":                  "a b/ñ",
		"a\x00\xff\u202e\ufffd":  `a\u{0000}\xff\u{202e}` + "\ufffd",
		strings.Repeat("é", 120): strings.Repeat("é", 120),
		strings.Repeat("é", 121): strings.Repeat("é", 120) + "…",
	} {
		if got := workspace.Printable(name); got != want {
			t.Errorf("%q: %s", name, got)
		}
	}
}
