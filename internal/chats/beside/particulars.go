package beside

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"

	"piloto/internal/chats/consent"
	"piloto/internal/chats/figures"
	"piloto/internal/chats/intent"
	"piloto/internal/ground/lazy"
)

// strays reports whether a text asks for something, or announces the act that a yes names, with a figure, a day, a number of things
// or a manner that the plan does not have: “Shall I book it for 12:00?”, beside a booking for 10:30; «¿La hago mensual?». What the
// plan has in another form counts as another one, because a second message costs less.
func (n names) strays(text string, yes consent.Yes) bool {
	for _, s := range sentencesOf(text) {
		clauses := clausesOf(s.text)
		switch {
		case s.question, slices.ContainsFunc(clauses, isRequest), slices.ContainsFunc(clauses, isOrder):
		case slices.ContainsFunc(clauses, func(c string) bool { return n.announces(c) && slices.ContainsFunc(strings.Fields(c), yes.Does) }):
		default:
			continue
		}
		if words := strings.Fields(intent.Normalize(s.text)); len(figures.Missing(digits(s.text), n.counts, n.values...)) > 0 || n.single() && ofAll(words) || n.fixesElse(words) || s.question && n.addsElse(words, yes) {
			return true
		}
	}
	return false
}

// fixesElse reports whether some words fix how something is done, and the plan does not.
func (n names) fixesElse(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return fixing()[w] && !n.sends(w) })
}

// addsElse reports whether a question for the act that a yes names adds a thing that is not the plan's, or another act: “Shall I book
// it with breakfast?”, “cancel it and charge the fee?”
func (n names) addsElse(words []string, yes consent.Yes) bool {
	at := slices.IndexFunc(words, yes.Does)
	if at < 0 {
		return false
	}
	rest := words[at+1:]
	for i, w := range rest {
		switch {
		case conjoining()[w] && i+1 < len(rest):
			if is, does := n.act(rest[i+1]); is && !does {
				return true
			}
		case adding()[w]:
			more := rest[i+1:]
			if end := slices.IndexFunc(more, func(w string) bool { return ending()[w] || adding()[w] }); end >= 0 {
				more = more[:end]
			}
			if things := n.things(more); len(things) > 0 && !slices.ContainsFunc(things, n.sends) {
				return true
			}
		}
	}
	return false
}

// digits returns a text with its small numbers in digits: “for three people”.
func digits(text string) string {
	return spelled().ReplaceAllStringFunc(text, func(word string) string {
		return strconv.Itoa(2 + slices.Index(numerals, strings.ToLower(norm.NFC.String(word)))/2)
	})
}

// single reports whether the plan does one thing to one.
func (n names) single() bool {
	return !slices.ContainsFunc(n.counts, func(count int) bool { return count > 1 })
}

// ofAll reports whether some words speak of all things of a kind: “all your memberships”, «todas tus reservas».
func ofAll(words []string) bool {
	for i, w := range words {
		if !alls()[w] {
			continue
		}
		for _, next := range words[i+1:] {
			if !ofs()[next] {
				if strings.HasSuffix(next, "s") && !consent.Stands(next) {
					return true
				}
				break
			}
		}
	}
	return false
}

var (
	alls = lazy.Words(`all both every each todos todas ambos ambas cada`)
	ofs  = lazy.Words(`of the your my these those de los las tus mis sus estos estas esos esas`)
	// fixing are words that fix when, for how long, how often or how something is done.
	fixing = lazy.Words(`today tonight tomorrow monday tuesday wednesday thursday friday saturday sunday weekend morning afternoon evening noon midnight immediately later
		hourly daily weekly fortnightly monthly quarterly yearly annual annually permanent permanently temporarily forever express urgent overnight partial partially twice double
		dozen half
		hoy manana noche lunes martes miercoles jueves viernes sabado domingo mediodia medianoche tarde inmediatamente luego
		diario diaria semanal quincenal mensual bimestral trimestral semestral anual diariamente semanalmente mensualmente anualmente permanente permanentemente temporal temporalmente siempre urgente parcial parcialmente doble
		docena medio media mitad`)
	adding     = lazy.Words(`to from with without in into by via as a de desde con sin en como`)
	conjoining = lazy.Words(`and y e`)

	// numerals are the numbers from two on, in both languages.
	numerals = []string{"two", "dos", "three", "tres", "four", "cuatro", "five", "cinco", "six", "seis", "seven", "siete", "eight", "ocho", "nine", "nueve", "ten", "diez"}
	spelled  = lazy.Pattern(`(?i)\b(` + strings.Join(numerals, "|") + `)\b`)
)
