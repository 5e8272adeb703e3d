package conversation

import (
	"slices"
	"strings"
	"unicode"

	"piloto/internal/ground/fold"
)

// Search is a search in the chats of an account.
type Search struct {
	Words     []string // folded, as WordsOf returns them; each must be in one text
	ProjectID string   // "" means every project
	Archived  bool     // only in archived chats
	Sessions  bool     // only in sessions of the Operator API
}

// Found is a chat that a search found.
type Found struct {
	Chat
	Match *Match `json:"match,omitempty"`
}

// Match is the place in a chat that has every word of a search.
type Match struct {
	MessageID string `json:"message_id,omitempty" doc:"absent: the title has the words"`
	Role      Role   `json:"role,omitempty" enum:"user,assistant"`
	Snippet   string `json:"snippet" doc:"of the text, around the first word"`
}

// mostWords is the number of words of a search; the others are ignored.
const mostWords = 10

// WordsOf returns the words of a query as Find wants them: without accents, letter case and invisible characters.
func WordsOf(query string) []string {
	words := strings.Fields(fold.Text(query))
	return words[:min(len(words), mostWords)]
}

// Searched reports whether a search reads a message: a text of a person or a model that no other replaced.
func (m Message) Searched() bool {
	return (m.Kind == KindText || m.Kind == KindConclusion) && m.ReplacedBy == ""
}

// Find returns the part of a text around the first of the words, and false unless the text has them all.
func Find(text string, words []string) (string, bool) {
	folded := fold.Text(text)
	for _, w := range words {
		if !strings.Contains(folded, w) {
			return "", false
		}
	}
	return snippet(text, words), len(words) > 0
}

// Part is a piece of a text. Hit says that it is one of the words of a search.
type Part struct {
	Text string
	Hit  bool
}

// Mark divides a text where it has words of a search.
func Mark(text string, words []string) []Part {
	var parts []Part
	runes := []rune(text)
	from := 0
	for _, at := range places(runes, words) {
		if at.from < from {
			continue
		}
		if at.from > from {
			parts = append(parts, Part{string(runes[from:at.from]), false})
		}
		parts, from = append(parts, Part{string(runes[at.from:at.to]), true}), at.to
	}
	if from < len(runes) {
		parts = append(parts, Part{string(runes[from:]), false})
	}
	return parts
}

// Runes of a snippet before the first word, and in all.
const (
	snippetBefore = 40
	snippetRunes  = 160
)

// snippet returns one line of a text that has the words.
func snippet(text string, words []string) string {
	runes := []rune(text)
	at := places(runes, words)
	from := 0
	if len(at) > 0 {
		from = max(0, at[0].from-snippetBefore)
	}
	to := min(len(runes), from+snippetRunes)
	for back := from; back > 0 && back > from-12; back-- { // not in the middle of a word
		if unicode.IsSpace(runes[back-1]) {
			from = back
			break
		}
	}
	line := strings.Join(strings.Fields(string(runes[from:to])), " ")
	if from > 0 {
		line = "…" + line
	}
	if to < len(runes) {
		line += "…"
	}
	return line
}

// span is a part of a text, in runes.
type span struct{ from, to int }

// places returns where a text has words, in order. Those of a long text are the ones in its folded form: one character
// may fold to several or to none.
func places(runes []rune, words []string) []span {
	folded, origin := make([]rune, 0, len(runes)), make([]int, 0, len(runes)+1)
	for i, r := range runes {
		folded = fold.Rune(folded, r)
		for len(origin) < len(folded) {
			origin = append(origin, i)
		}
	}
	var all []span
	for _, w := range words {
		word := []rune(w)
		for i := 0; i+len(word) <= len(folded); i++ {
			if slices.Equal(folded[i:i+len(word)], word) {
				all = append(all, span{origin[i], origin[i+len(word)-1] + 1})
				i += len(word) - 1
			}
		}
	}
	slices.SortFunc(all, func(a, b span) int { return a.from - b.from })
	return all
}
