package meaning

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Thing is the one thing that a path leads to, as sentences name it: by its noun and its id. Sentences of its operation may have
// the other values of the path beside them.
type Thing struct {
	noun, id string
	values   []string
}

// ThingOf returns the thing of a path, whose template has its parameters in braces: the parameter of its last segment is the
// id, and the word before it the noun. one is false where that segment has no parameter, because a list, or a part, is
// missing together with its owner: the last word is the noun then.
func ThingOf(template, path string) (t Thing, one bool) {
	names, values := strings.Split(strings.TrimSuffix(template, "/"), "/"), strings.Split(strings.TrimSuffix(path, "/"), "/")
	if len(names) != len(values) {
		return t, false
	}
	last := len(names) - 1
	for i, segment := range names {
		before, _, is := strings.Cut(segment, "{")
		value, err := url.PathUnescape(strings.TrimPrefix(values[i], before))
		if err != nil {
			return Thing{}, false
		}
		before = plain(before)
		switch {
		case i == last && is:
			t.id, one = plain(value), true
			if before != "" { // bookings({id})
				t.noun = before
			}
		case is:
			t.values = append(t.values, plain(value))
		default:
			t.noun = before
		}
	}
	return t, one
}

// NamesMissing reports whether the body of a 404 says that a thing is missing: a JSON object with a sentence that names the
// thing and says so, and nothing else. One of a router, about access, or about another thing decides nothing.
func NamesMissing(body []byte, t Thing) bool {
	said := sentencesOf(body)
	if saidByRouter(said) {
		return false
	}
	named := false
	for _, s := range said {
		switch {
		case slices.Contains(vague, s):
		case t.isMissing(s):
			named = true
		case !isFilling(s) && !isCode(s):
			return false
		}
	}
	return named
}

// isCode reports whether a sentence is a code that says nothing by itself: "E1001".
func isCode(sentence string) bool {
	return !strings.Contains(sentence, " ") && strings.ContainsFunc(sentence, unicode.IsDigit)
}

// isFilling reports whether a sentence names nothing: "resource missing".
func isFilling(sentence string) bool {
	return !slices.ContainsFunc(strings.Fields(sentence), func(word string) bool {
		return !slices.Contains(lacks, bare(word)) && !slices.Contains(fillers, bare(word))
	})
}

// NamesOther reports whether the body of a 404 says anything else than that a thing is missing, and more than its status.
func NamesOther(body []byte, t Thing) bool {
	return namesMore(sentencesOf(body)) && !NamesMissing(body, t)
}

// isMissing reports whether a sentence says that a thing is not there, and nothing else. Before an id that no other thing has
// there may be another noun, because services speak other languages than their paths.
func (t Thing) isMissing(sentence string) bool {
	words := strings.Fields(sentence)
	about := make([]bool, len(words))
	byID := cover(words, about, func(s string) bool { return s == squeezed(t.id) })
	if byID && t.isUnmistakable() {
		coverNoun(words, about)
	}
	named := cover(words, about, func(s string) bool { return sameNoun(s, t.noun) })
	for _, value := range t.values {
		cover(words, about, func(s string) bool { return s == squeezed(value) })
	}
	denied := false
	for i, word := range words {
		word = bare(word)
		denied = denied || slices.Contains(lacks, word)
		if !about[i] && !slices.Contains(lacks, word) && !slices.Contains(fillers, word) {
			return false
		}
	}
	return denied && (named || byID)
}

// isUnmistakable reports whether an id is hardly that of another thing, too, as a small number is.
func (t Thing) isUnmistakable() bool {
	return utf8.RuneCountInString(t.id) > 2 && strings.ContainsFunc(t.id, unicode.IsLetter)
}

// coverNoun marks the word before the id, as in "reserva con id k12".
func coverNoun(words []string, about []bool) {
	at := slices.Index(about, true) - 1
	for at >= 0 && slices.Contains(joints, bare(words[at])) {
		at--
	}
	if at >= 0 {
		about[at] = true
	}
}

// joints are the words between a noun and its id.
var joints = []string{"con", "with", "id", "uuid", "number", "numero", "code", "codigo", "reference", "referencia", "named", "name", "nombre"}

// cover marks the words that together are a name, and reports whether there are any.
func cover(words []string, about []bool, is func(string) bool) bool {
	const longest = 12 // an id of many parts
	found := false
	for i := range words {
		joined := ""
		for j := i; j < min(len(words), i+longest); j++ {
			if joined += words[j]; is(joined) {
				found = true
				for k := i; k <= j; k++ {
					about[k] = true
				}
			}
		}
	}
	return found
}

// sameNoun reports whether words are a noun, one of them perhaps in the plural, in English or Spanish.
func sameNoun(said, noun string) bool {
	said, noun = bare(said), bare(squeezed(noun))
	if said == "" || noun == "" {
		return false
	}
	forms := func(s string) []string { return []string{s + "s", s + "es", strings.TrimSuffix(s, "y") + "ies"} }
	return said == noun || slices.Contains(forms(said), noun) || slices.Contains(forms(noun), said)
}

func squeezed(text string) string { return strings.ReplaceAll(text, " ", "") }

// bare returns a text without accents.
func bare(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(text))
}

// lacks are words that deny, or say that something is not there.
var lacks = []string{
	"no", "not", "none", "nothing", "never", "cannot", "t", "without", "unknown", "missing", "absent", "nonexistent", "deleted", "removed", "gone", "longer", "notfound",
	"ningun", "ninguna", "nada", "sin", "inexistente", "desconocido", "desconocida", "eliminado", "eliminada", "borrado", "borrada",
}

// fillers are the other words of sentences that say that a thing is missing. None of them names a reason or another thing.
var fillers = []string{
	"a", "an", "the", "this", "that", "such", "any", "of", "for", "with", "by", "at", "to", "from", "was", "were", "is", "are", "be", "been", "has", "have", "had", "does", "do",
	"did", "doesn", "don", "didn", "couldn", "can", "could", "isn", "wasn", "unable", "find", "found", "locate", "exist", "exists", "existing", "there", "it", "its", "you",
	"id", "ids", "uuid", "identifier", "number", "reference", "given", "specified", "requested", "provided", "query", "match", "matches", "matching", "record", "records", "entity",
	"resource", "item", "error", "err", "exception", "already", "yet", "here", "or", "http", "404", "410", "results", "result", "model", "name", "named", "code", "we", "sorry",
	"el", "la", "los", "las", "un", "una", "se", "ha", "han", "hay", "encontrado", "encontrada", "encontro", "encuentra", "encontrar", "pudo", "puede", "existe", "existen", "existia", "con",
	"de", "del", "para", "por", "ya", "sido", "fue", "esta", "estaba", "identificador", "numero", "codigo", "referencia", "recurso", "registro", "este", "que", "ese", "esa", "nombre", "o", "lo", "siento",
}
