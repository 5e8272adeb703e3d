package talk

import (
	"os/exec"
	"strings"
	"testing"

	"piloto/internal/ground/visible"
)

// TestAnAnswerIsWrittenOnce: each sentence stands once, after any part of it came in pieces.
func TestAnAnswerIsWrittenOnce(t *testing.T) {
	type piece struct {
		turn string
		at   int
		text string
	}
	for name, c := range map[string]struct {
		pieces []piece
		reset  bool // before the last piece
		answer string
		want   string // with the text that is printed after the pieces
	}{
		"nothing came":                    {nil, false, "Hola.", "|Hola."},
		"all of it":                       {[]piece{{"t", 0, "Hola."}}, false, "Hola.", "Hola.\n|"},
		"only up to the last sentence":    {[]piece{{"t", 0, "Uno. "}}, false, "Uno. Dos.", "Uno. Dos.\n|"},
		"in two pieces":                   {[]piece{{"t", 0, "Uno. "}, {"t", 5, "Dos.\n"}}, false, "Uno. Dos.\nTres.", "Uno. Dos.\nTres.\n|"},
		"a piece was lost":                {[]piece{{"t", 0, "Uno. "}, {"t", 10, "Tres. "}}, false, "Uno. Dos. Tres. Fin.", "Uno. Dos. Tres. Fin.\n|"},
		"a piece came twice":              {[]piece{{"t", 0, "Uno. "}, {"t", 0, "Uno. "}}, false, "Uno. Dos.", "Uno. Dos.\n|"},
		"spaces around it":                {[]piece{{"t", 0, "\n Uno.\n\n"}}, false, "Uno.", "\n Uno.\n\n|"},
		"spaces at the end of the first":  {[]piece{{"t", 0, "Miro. \n"}, {"t", 7, "Hay dos. "}}, false, "Miro.\n\nHay dos. Fin.", "Miro. \nHay dos. Fin.\n|"},
		"before a tool, and after it":     {[]piece{{"t", 0, "Miro.\n\n"}, {"t", 7, "Hay dos. "}}, false, "Miro.\n\nHay dos. Fin.", "Miro.\n\nHay dos. Fin.\n|"},
		"the model began anew":            {[]piece{{"t", 0, "Reservado. "}, {"t", 0, "Puedo reservarla. "}}, true, "Puedo reservarla. ¿Sí?", "Reservado. \n(anew)Puedo reservarla. ¿Sí?\n|"},
		"another turn":                    {[]piece{{"t", 0, "Otra cosa. "}, {"u", 0, "Uno. "}}, false, "Uno. Dos.", "Otra cosa. \n(anew)Uno. Dos.\n|"},
		"another text than was announced": {[]piece{{"t", 0, "Uno. "}}, false, "Dos.", "Uno. \n(anew)|Dos."},
		"line breaks of Windows":          {[]piece{{"t", 0, "Uno.\r"}, {"t", 5, "\nDos.\r\n"}, {"t", 11, "a\rb\r"}}, false, "Uno.\r\nDos.\r\na\rb\r\nFin.", "Uno.\nDos.\na⟦U+000D⟧b\nFin.\n|"},
		"control characters":              {[]piece{{"t", 0, "Hola, Ana\x1b[2J. "}}, false, "Hola, Ana\x1b[2J. Y\x1b.", "Hola, Ana⟦U+001B⟧[2J. Y⟦U+001B⟧.\n|"},
	} {
		var out strings.Builder
		p := &pieces{out: &out, begin: func() {}, anew: func() { out.WriteString("(anew)") }}
		for i, piece := range c.pieces {
			if c.reset && i == len(c.pieces)-1 {
				p.reset()
			}
			p.add(piece.turn, piece.at, piece.text)
		}
		rest := p.finish(c.answer)
		if got := out.String() + "|" + rest; got != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}

// TestWordsMayBePasted: a shell reads each as it is, and nothing in it is hidden or run.
func TestWordsMayBePasted(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	for _, word := range []string{"a.go", "", "a b", "it's", "$HOME", "`id`", "*", "~", "a\\b", "#x", "!x", "x;y", "ñandú/ä.md", "a\nb", "a\u202eb", "\x1b[2J", "a'\u200b'", "-x", "{a,b}", "[a]", "a=b", "раypal", "\u3164"} {
		quoted := visible.Word(word)
		if strings.ContainsAny(quoted, "\n\x1b\u202e\u200b") {
			t.Errorf("%q: %q", word, quoted)
		}
		out, err := exec.CommandContext(t.Context(), bash, "-c", "printf %s "+quoted).Output() //nolint:gosec // the tested text
		if word == "-x" {
			out, err = exec.CommandContext(t.Context(), bash, "-c", "printf %s -- "+quoted).Output() //nolint:gosec // the tested text
			out = []byte(strings.TrimPrefix(string(out), "--"))
		}
		if err != nil || string(out) != word {
			t.Errorf("%q as %s is read as %q, %v", word, quoted, out, err)
		}
	}
}
