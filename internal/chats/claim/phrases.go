package claim

import (
	"slices"
	"strings"

	"piloto/internal/ground/lazy"
)

// phrase is a claim in several words, of an act of one of some families.
type phrase struct {
	kinds                []Kind
	own, narrated, state bool
	said                 string
}

// phraseIn returns an act that a sentence claims in several words. A thing that goes its way is a fact, unless the person orders
// that now; a refund or a change that does is an act.
func phraseIn(text string, words []string) (p phrase, ok bool) {
	if has(words, denials()) || has(words, reports()) {
		return p, false
	}
	supposes := has(words, conditions())
	if found := givenTo().FindString(text); found != "" && !supposes {
		return phrase{kinds: []Kind{Create}, own: true, said: found}, true
	}
	if found := letKnow().FindStringSubmatch(text); found != nil && found[1] != "you" && !supposes {
		return phrase{kinds: []Kind{Send}, own: true, said: found[0]}, true
	}
	if p, ok := proceeded(words); ok && !supposes {
		return p, true
	}
	if n := len(words); n > 1 && outcomes()[words[n-1]] && !supposes && (n < 4 || isSaid(words)) {
		if kinds := outcomeOf(words); kinds != nil {
			return phrase{kinds: kinds, state: true, said: words[n-1]}, true
		}
	}
	found, ready := underWay().FindString(text), readyNow().FindString(text)
	if found == "" && ready == "" {
		return p, false
	}
	var kinds []Kind
	for _, w := range words {
		kinds = append(kinds, goesItsWay[strings.TrimSuffix(w, "s")]...)
	}
	if kinds != nil && !supposes && !has(words, pastTimes()) && !dayOf().MatchString(text) {
		return phrase{kinds: kinds, state: true, said: found + ready}, true
	}
	return phrase{narrated: true, said: found}, found != ""
}

// underWay are phrases by which a thing goes its way; readyNow by which one is ready.
var (
	underWay = lazy.Pattern(`\b(?:went through|gone through|(?:is )?on (?:its|their) way|in the works|under ?way|en camino|de camino)\b`)
	readyNow = lazy.Pattern(`\bya (?:(?:está|estan|queda|quedó) list[oa]s?\b|salió|salieron\b)`)
)

// goesItsWay are things that only an act puts on their way.
var goesItsWay = map[string][]Kind{
	"refund": {GiveBack}, "reembolso": {GiveBack}, "devolucion": {GiveBack}, "cancellation": {Remove}, "cancelacion": {Remove}, "anulacion": {Remove}, "transfer": {Send, Pay}, "transferencia": {Send, Pay},
	"payment": {Pay}, "pago": {Pay}, "exchange": {Exchange, Change}, "change": {Change, Exchange}, "modification": {Change}, "cambio": {Change, Exchange}, "modificacion": {Change},
}

// givenTo matches a reservation for a person: “I've put you down for Friday”.
var givenTo = lazy.Pattern(`\b(?:i|we|i've|we've|i have|we have) (?:just |already |now )?(?:(?:put|signed|squeezed|penciled|pencilled) (?:you|him|her|them) (?:down|in)\b|got (?:you|him|her|them) (?:booked|an? (?:table|room|slot|seat|spot|place|appointment))\b)`)

// letKnow matches a notification: “I let the kitchen know”.
var letKnow = lazy.Pattern(`\b(?:i|we|i've|we've|i have|we have) (?:just |already |now )?let (?:the |your )?([a-z]+)(?: [a-z]+){0,2} know\b`)

// proceeded returns the act that somebody proceeded to: «he procedido a cancelarla», “I've proceeded with the cancellation”.
func proceeded(words []string) (p phrase, ok bool) {
	for i, w := range words {
		if w != "procedido" && w != "proceeded" && w != "procedí" {
			continue
		}
		for _, next := range words[i+1 : min(i+4, len(words))] {
			if kinds := append(slices.Clone(verbs().base[next]), nounKinds(next)...); len(kinds) > 0 {
				return phrase{kinds: kinds, own: i == 0 || words[i-1] != "ha", said: w}, true
			}
		}
	}
	return p, false
}

// outcomeOf returns the families of the noun before an outcome at the end of a sentence: “Payment successful”, “your payment was
// successful”.
func outcomeOf(words []string) []Kind {
	at := len(words) - 2
	if isSaid(words) {
		at--
	}
	if at < 0 || at > 1 || at == 1 && !owned()[words[0]] && !articles()[words[0]] {
		return nil
	}
	return nounKinds(words[at])
}

// isSaid reports whether a verb stands before the outcome.
func isSaid(words []string) bool {
	return len(words) > 2 && (words[len(words)-2] == "was" || words[len(words)-2] == "is")
}

func nounKinds(word string) []Kind {
	if word == "bloqueo" {
		return []Kind{Hold}
	}
	return verbs().noun[strings.TrimSuffix(word, "s")]
}

var outcomes = lazy.Words(`successful complete exitoso exitosa exitosos exitosas`)
