package demo

import (
	_ "embed"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

//go:embed vocabulary.json
var vocabularyFile []byte

// vocabulary holds the words of both languages that the rules know, folded.
var vocabulary = decoded[struct {
	Verbs                                 map[string]wordSet // by kind; an asterisk stands for any ending
	Concepts                              map[string]wordSet // other words for a concept
	Stopwords, Articles, English, Spanish wordSet
	Weekdays, Months                      map[string]int
	Figures                               map[string]string                  // words for numbers and times
	Rooms                                 map[string]string                  // English names to ids
	Labels, Told                          map[string]struct{ ES, EN string } // names of members; Told: that only answers have
	Ordinals                              map[string]int                     // from 1; -1 is the last
	Picks                                 []struct {                         // words that choose one of a list
		Words wordSet
		By    string // the concept of the member that decides
		Most  bool
	}
	Roles []struct {
		Role  string
		Words wordSet
	}
}](vocabularyFile)

// decoded returns the value in a file of this package; its tests read every one.
func decoded[T any](file []byte) (value T) {
	if err := json.Unmarshal(file, &value); err != nil {
		panic(err)
	}
	return value
}

// known maps the stems of the vocabulary to their concepts.
var known = func() map[string]string {
	out := map[string]string{}
	for concept, words := range vocabulary.Concepts {
		out[stem(concept)] = stem(concept)
		for word := range words {
			out[stem(word)] = stem(concept)
		}
	}
	return out
}()

// wordSet is a set of words, in JSON one string.
type wordSet map[string]bool

// UnmarshalText reads words that are separated by spaces.
func (s *wordSet) UnmarshalText(text []byte) error {
	*s = wordSet{}
	for word := range strings.FieldsSeq(string(text)) {
		(*s)[word] = true
	}
	return nil
}

// fold lower-cases text and drops its accents.
func fold(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFD.String(text))
}

// wordText matches a word. Hyphens, underscores and capitals inside a word (petStore) separate words.
var wordText = regexp.MustCompile(`\p{Lu}*[\p{Ll}\p{Lo}\p{M}\d]+|\p{Lu}+`)

// tokens cuts text into folded words.
func tokens(text string) []string {
	return strings.Fields(fold(strings.Join(wordText.FindAllString(text, -1), " ")))
}

// The kinds of verbs: the actions that a message asks for.
const (
	reads   = "read"
	creates = "create"
	updates = "update"
	deletes = "delete"
	runs    = "run"
	undoes  = "undo" // no operation does: a plan is undone on its card
)

// verbOf returns the kind of a verb; "" for another word.
func verbOf(word string) string {
	for kind, words := range vocabulary.Verbs {
		if words[word] {
			return kind
		}
		for end := range len(word) + 1 {
			if words[word[:end]+"*"] {
				return kind
			}
		}
	}
	return ""
}

// stem drops a plural's s and all letters after the sixth, so that forms of one word are equal.
func stem(word string) string {
	if len(word) > 3 {
		word = strings.TrimSuffix(word, "s")
	}
	return word[:min(len(word), 6)]
}

// concept returns a stem that is equal for the words of one meaning; "" for a word that names
// nothing.
func concept(word string) string {
	if vocabulary.Stopwords[word] {
		return ""
	}
	if meaning, ok := known[stem(word)]; ok {
		return meaning
	}
	return stem(word)
}

// concepts returns the distinct concepts of text, in order.
func concepts(text string) []string {
	var out []string
	for _, word := range tokens(text) {
		if c := concept(word); c != "" && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// readIntent returns the kind of the main verb of a message, and the concepts of its nouns. «Reserva»
// is the verb at the head of a sentence and a noun after an article, and it names reservations in
// both cases.
func readIntent(text string) (kind string, nouns []string) {
	words := tokens(text)
	for i, word := range words {
		found := verbOf(word)
		if found != "" && (i == 0 || !vocabulary.Articles[words[i-1]]) && (kind == "" || kind == runs) {
			kind = found
			if known[stem(word)] == "" {
				continue
			}
		}
		if c := concept(word); len(c) > 1 && !isDigit(c[0]) && !slices.Contains(nouns, c) {
			nouns = append(nouns, c)
		}
	}
	return kind, nouns
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// inEnglish reports whether a message is in English; fallback is the result when it shows no
// language.
func inEnglish(text string, fallback bool) bool {
	balance := 0
	for _, word := range tokens(text) {
		if vocabulary.English[word] {
			balance++
		}
		if vocabulary.Spanish[word] {
			balance--
		}
	}
	return balance > 0 || balance == 0 && fallback
}
