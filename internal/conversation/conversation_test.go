package conversation

import (
	"strings"
	"testing"
	"unicode/utf8"

	"piloto/internal/ground/locale"
)

func TestTitleIsOneShortLineCutAtWord(t *testing.T) {
	for in, want := range map[string]string{
		"hola":                         "hola",
		" dos\n líneas\t aquí":         "dos líneas aquí",
		"":                             "",
		"a\x00b":                       "a b",
		strings.Repeat("palabra ", 20): strings.TrimSpace(strings.Repeat("palabra ", 7)) + "…",
		strings.Repeat("x", 100):       strings.Repeat("x", 60) + "…",
		strings.Repeat("ñ", 61):        strings.Repeat("ñ", 60) + "…",
		"exactamente sesenta caracteres tiene esta frase, ni uno má": "exactamente sesenta caracteres tiene esta frase, ni uno má",
	} {
		if got := Title(in); got != want || !utf8.ValidString(got) {
			t.Errorf("Title(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestProjectUsesAllOrListedServers(t *testing.T) {
	if (Project{}).Uses("a") || !(Project{All: true}).Uses("a") || !(Project{MCPIDs: []string{"a"}}).Uses("a") || (Project{MCPIDs: []string{"b"}}).Uses("a") {
		t.Error("it does not")
	}
}

func TestSessionNameBelongsToAccount(t *testing.T) {
	const ours = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	if SessionChat("a", ours) != ours {
		t.Error("one of our ids names another chat")
	}
	if again := SessionChat("a", "s1"); SessionChat("a", "s1") != again || SessionChat("b", "s1") == again {
		t.Error("names are not the account's own")
	}
}

// TestNotesThatContradictStandAbove: the others keep their order below.
func TestNotesThatContradictStandAbove(t *testing.T) {
	var m Message
	for _, code := range []string{
		NoteCost, NoteNothingDone, NotePartial, NoteNothingPending,
		NoteNotConfirmed, NoteInDoubt, NoteNotInResults, "unknown",
	} {
		m.Notes = append(m.Notes, Note{Code: code})
	}
	above, below := m.SplitNotes()
	if got := codes(above) + "|" + codes(below); got != "nothing_done nothing_pending in_doubt not_in_results|cost partial not_confirmed unknown" {
		t.Error(got)
	}
	if got := (Note{Text: "Nada\n\n# hecho."}).Warning().In(locale.Spanish); got != "Aviso: Nada # hecho." {
		t.Error(got)
	}
}

func codes(list []Note) string {
	var all []string
	for _, n := range list {
		all = append(all, n.Code)
	}
	return strings.Join(all, " ")
}
