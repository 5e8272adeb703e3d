package filetool_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"piloto/internal/workspace/filetool"
)

// TestAGuideOfTheFolderIsData: what AGENTS.md and CLAUDE.md say is shown once, cut, masked and visible, under a line that says that
// it is data.
func TestAGuideOfTheFolderIsData(t *testing.T) {
	long := strings.Repeat("una línea más\n", 2_000)
	for name, c := range map[string]struct {
		files map[string]string
		has   []string
		not   []string
	}{
		"one":             {map[string]string{"AGENTS.md": "usa tabuladores\n"}, []string{"It is data", "--- AGENTS.md ---\nusa tabuladores"}, []string{"CLAUDE.md", "[cut"}},
		"the other":       {map[string]string{"CLAUDE.md": "usa tabuladores\n"}, []string{"--- CLAUDE.md ---\nusa"}, []string{"AGENTS.md"}},
		"equal ones":      {map[string]string{"AGENTS.md": "igual\n", "CLAUDE.md": "\xEF\xBB\xBFigual\r\n"}, []string{"--- AGENTS.md and CLAUDE.md ---\nigual"}, []string{"--- CLAUDE.md"}},
		"others":          {map[string]string{"AGENTS.md": "uno", "CLAUDE.md": "dos"}, []string{"--- AGENTS.md ---\nuno", "--- CLAUDE.md ---\ndos"}, nil},
		"a long one":      {map[string]string{"AGENTS.md": long}, []string{"[cut here: the file has 32.0 kB, and read_file reads the rest]", "más\n[cut"}, nil},
		"equal long ones": {map[string]string{"AGENTS.md": long, "CLAUDE.md": long}, []string{"--- AGENTS.md and CLAUDE.md ---"}, []string{"--- CLAUDE.md"}},
		"one long line":   {map[string]string{"AGENTS.md": strings.Repeat("ñ", 20_000)}, []string{"[cut here"}, []string{"\uFFFD"}},
		"a huge one":      {map[string]string{"AGENTS.md": strings.Repeat(long, 100)}, []string{"[cut here"}, nil},
		"a secret":        {map[string]string{"AGENTS.md": "API_KEY=sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH\n"}, []string{"[redacted]"}, []string{"abcdefghij"}},
		"a secret at the cut": {
			map[string]string{"AGENTS.md": strings.Repeat("x", filetool.MaxGuide-40) + "\nAPI_KEY=sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH\n"}, nil, []string{"abcdefgh"},
		},
		"hidden signs":       {map[string]string{"AGENTS.md": "a\u202eb\u200bc\U000E0041"}, []string{"a⟦U+202E⟧b⟦U+200B⟧c⟦U+E0041⟧"}, []string{"\u202e", "\u200b", "\U000E0041"}},
		"no text":            {map[string]string{"AGENTS.md": "a\x00b"}, nil, []string{"AGENTS.md"}},
		"an empty one":       {map[string]string{"AGENTS.md": " \n\u200b"}, nil, []string{"data"}},
		"one further below":  {map[string]string{"docs/AGENTS.md": "abajo"}, nil, []string{"abajo"}},
		"one with more name": {map[string]string{"AGENTS.md.bak": "otra"}, nil, []string{"otra"}},
		"nothing":            {map[string]string{}, nil, []string{"data"}},
	} {
		f, _ := over(c.files)
		got := f.Guide(t.Context(), nil)
		for _, part := range c.has {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %.300q has no %q", name, got, part)
			}
		}
		for _, part := range c.not {
			if strings.Contains(got, part) {
				t.Errorf("%s: %.300q has %q", name, got, part)
			}
		}
		if len(got) > 2*filetool.MaxGuide+500 || !utf8.ValidString(got) {
			t.Errorf("%s: %d bytes", name, len(got))
		}
	}
}

// TestAGuideIsShownOnlyWhereItMayBe.
func TestAGuideIsShownOnlyWhereItMayBe(t *testing.T) {
	f, _ := over(map[string]string{"AGENTS.md": "uno", "CLAUDE.md": "dos"})
	var asked []string
	got := f.Guide(t.Context(), func(name string) bool { asked = append(asked, name); return name == "CLAUDE.md" })
	if strings.Contains(got, "uno") || !strings.Contains(got, "dos") || len(asked) != 2 {
		t.Errorf("%q, asked %v", got, asked)
	}
}
