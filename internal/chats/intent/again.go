package intent

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// again are words by which a person asks for something once more, without its name.
var again = []string{
	"otra vez", "de nuevo", "nuevamente", "ahora si", "mejor si", "cambie de idea", "cambio de idea", "he cambiado de idea", "cambie de opinion", "he cambiado de opinion",
	"hazlo", "hagalo", "adelante", "proponlo", "propon lo", "vuelve a", "vuelva a", "repitelo", "repite lo", "lo quiero", "la quiero", "los quiero", "las quiero",
	"again", "once more", "after all", "changed my mind", "do it", "go ahead", "propose it", "repeat it", "i want it", "i want them",
}

// common are words that say nothing of what is asked for.
var common = strings.Fields(`
	que los las una uno unos unas del por para con sin mas muy pero este esta esto ese esa eso ahora quiero quiera puedes puede podrias favor gracias hola
	the and for with you your can could please want would this that now thanks hello some`)

// AsksAgain reports whether a person asks with a message for something that they refused before. about are texts of the
// thing: what they asked first, its goal, its titles, its values. A message with a negation, or on the list of refusals, asks for nothing.
// Otherwise it asks when it says that it is once more, when it is a yes, or when most of its words are those of the thing.
func AsksAgain(message string, about ...string) bool {
	text, kind := Normalize(message), Classify(message)
	switch {
	case kind.Refuses(), hasNegation(text):
		return false
	case kind.Agrees():
		return true
	}
	for _, words := range again {
		if strings.Contains(" "+text+" ", " "+words+" ") {
			return true
		}
	}
	of := map[string]bool{}
	for _, a := range about {
		for word := range strings.FieldsSeq(Normalize(a)) {
			of[singular(word)] = true
		}
	}
	hits, all := 0, 0
	for word := range strings.FieldsSeq(text) {
		if utf8.RuneCountInString(word) < 3 && !isNumber(word) || slices.Contains(common, word) {
			continue
		}
		if all++; of[singular(word)] {
			hits++
		}
	}
	return 2*hits > all
}

// singular drops the ending of a plural.
func singular(word string) string { return strings.TrimSuffix(strings.TrimSuffix(word, "s"), "e") }
