package conversation

import (
	"strings"
	"testing"
	"unicode/utf8"
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
