package conversation

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFindIgnoresAccentsCaseAndMarks(t *testing.T) {
	for _, c := range []struct {
		text, query, marked string // "" means that it is not found
	}{
		{"Reserva la SALA Niágara", "niagara sala", "Reserva la [SALA] [Niágara]"},
		{"Reserva la sala", "sala norte", ""},
		{"año", "ano", "[año]"},
		{"Straße", "STRASSE", "[Straße]"},
		{"ab\u202ecd", "abcd", "[ab\u202ecd]"},
		{"<script>alert(1)</script>", "script", "<[script]>alert(1)</[script]>"},
		{"hola", "", ""},
		{"hola", "  ", ""},
		{"", "hola", ""},
		{"aaaa", "aa", "[aa][aa]"},
		{"familia 👩‍👩‍👧 López", "lopez", "familia 👩‍👩‍👧 [López]"},
	} {
		words := WordsOf(c.query)
		snippet, found := Find(c.text, words)
		marked := ""
		for _, p := range Mark(snippet, words) {
			if p.Hit {
				p.Text = "[" + p.Text + "]"
			}
			marked += p.Text
		}
		if found != (c.marked != "") || found && marked != c.marked {
			t.Errorf("%q in %q: %v %q", c.query, c.text, found, marked)
		}
	}
}

func TestSnippetIsAroundTheWord(t *testing.T) {
	text := strings.Repeat("palabra ", 20_000) + "aguja\n\nen el pajar " + strings.Repeat("más ", 200)
	got, found := Find(text, WordsOf("AGUJA"))
	if !found || !strings.Contains(got, "aguja en el pajar") || !strings.HasPrefix(got, "…palabra") || !strings.HasSuffix(got, "…") || utf8.RuneCountInString(got) > snippetRunes+14 {
		t.Errorf("%q", got)
	}
	if len(WordsOf(strings.Repeat("a ", 1000))) != mostWords {
		t.Error("a query has any number of words")
	}
}
