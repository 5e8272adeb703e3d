package claim

import (
	"slices"
	"strings"
	"unicode"

	"piloto/internal/ground/lazy"
)

// The following forms resemble an act, and are none: a condition, a rule of the business, a text that a model writes.

// supposed reports whether a sentence is only about a possible or a future act. A condition in another clause is none of
// an act that the model claims as its own, and a time with a verb, as “after reviewing it”, is none of any done act.
func supposed(words []string, at int, own, done bool) bool {
	from := 0
	if own {
		from = at - len(clauseBefore(words, at))
	}
	for i := from; i < at; i++ {
		w := words[i]
		if conditions()[w] && !(i+1 < at && (w == "once" && words[i+1] == "again" || w == "mientras" && words[i+1] == "tanto")) && !(done && timed(words[i:at])) || w == "vez" && i > 0 && words[i-1] == "una" && words[i+1] != "mas" {
			return true
		}
		if len(w) > 5 && strings.HasSuffix(w, "ria") && verbs().base[strings.TrimSuffix(w, "ia")] != nil {
			return true
		}
	}
	return false
}

var conditions = lazy.Words(`if when once until unless whether would after before tras despues si cuando hasta haya hayan hubiera hubieran fuera mientras`)

// perfect are the words before a participle of a done act, and not of a rule.
var perfect = lazy.Words(`been sido ha han`)

// timed reports whether words begin with a time of something that the model did: “after reviewing your account”.
func timed(words []string) bool {
	next := words[1:min(len(words), 4)]
	switch words[0] {
	case "after", "before":
		return len(next) > 0 && strings.HasSuffix(next[0], "ing")
	case "tras", "despues":
		return slices.ContainsFunc(next, func(w string) bool {
			return len(w) > 4 && slices.ContainsFunc([]string{"ar", "er", "ir", "arlo", "arla", "erlo", "erla"}, func(end string) bool { return strings.HasSuffix(w, end) })
		})
	}
	return false
}

// askedFor matches a reference to the person's wish. It is no report, and no time of an act.
var askedFor = lazy.Pattern(`\b(?:(?:according|pursuant) to|as per|per|in accordance with|following|at|upon|segun|de acuerdo con|conforme a|a|siguiendo) (?:your|tu|su|tus|sus|lo) (?:previous |earlier )?(?:requests?|instructions?|solicitud|solicitado|peticion|indicaciones|indicado|instrucciones|acordado|hablado)\b(?: earlier| before| previously| anteriormente| antes| previamente)?` +
	`|\b(?:as|tal y como|tal como|como|segun) (?:you |we |me |nos |lo )?(?:had |have |has |habias )?(?:previously |just |originally |earlier )?(?:requested|asked|instructed|discussed|agreed|pediste|pidio|pidió|solicitaste|solicitó|hablamos|acordamos|indicaste)\b(?: earlier| before| previously| anteriormente| antes| previamente)?`)

// seeing matches a report of the model on its reads.
var seeing = lazy.Pattern(`\b(?:(?:i|we) (?:can |do |also )?(?:see|understand)|veo|vemos|entiendo)\b`)

// ofAnyThing reports whether a state is one of any thing of its sort: “Late fees are waived for members”, «Los lunes está cerrada».
func ofAnyThing(words []string, at int) bool {
	before := clauseBefore(words, at)
	for i, w := range before {
		if always()[w] || i > 0 && before[i-1] == "los" && weekdays()[w] {
			return true
		}
	}
	if len(before) < 2 || slices.ContainsFunc(words, func(w string) bool {
		return certain()[w] || unicode.IsDigit(rune(w[0])) && slices.Contains(before, w) && w != "24"
	}) {
		return false
	}
	last := before[len(before)-1]
	return indefinite()[before[0]] || last == "are" && slices.ContainsFunc(before[:len(before)-1], func(w string) bool { return strings.HasSuffix(w, "s") }) && !articles()[before[0]]
}

var (
	always     = lazy.Words(`each every always usually normally any cualquier cada siempre normalmente habitualmente mondays tuesdays wednesdays thursdays fridays saturdays sundays weekdays weekends`)
	weekdays   = lazy.Words(`lunes martes miercoles jueves viernes sabados domingos`)
	certain    = lazy.Words(`your you my our his her their its both all now two three four and tu tus su sus te ya ahora`)
	indefinite = lazy.Words(`a an un una`)
)

// adjective reports whether a verb or a denial follows a participle in its clause: «Los pedidos enviados no se pueden modificar».
func adjective(after []string) bool {
	for i, w := range after {
		if parts()[w] || w == "and" || w == "y" {
			return false
		}
		future := len(w) > 4 && (strings.HasSuffix(w, "rá") || strings.HasSuffix(w, "ran"))
		if (future || afterVerbs()[w]) && !(i > 0 && (articles()[after[i-1]] || owned()[after[i-1]] || after[i-1] == "de" || after[i-1] == "to")) {
			return true
		}
	}
	return false
}

var afterVerbs = lazy.Words(`is are was were be will would can could may might must should do does has have take takes count counts ship ships get gets cost costs go goes stays remains includes include no not never nunca cannot can't couldn't isn't aren't don't doesn't won't
	es son era está estan sera seran puede pueden debe deben tiene tienen se va van cuenta cuentan cuesta cuestan tarda tardan incluye incluyen`)

// ownText reports whether an act of the model is on its own text: it adds up, writes, shows below, and is wrong there.
func ownText(text string, words []string, at int, kinds []Kind) bool {
	w, after := words[at], words[at+1:]
	for i, next := range after {
		if parts()[next] {
			after = after[:i]
			break
		}
	}
	first := ""
	if len(after) > 0 {
		first = after[0]
	}
	near := after[:min(5, len(after))]
	switch {
	case writing()[w]:
		return first != "to" && first != "down" && (first != "a" || strings.HasPrefix(w, "w")) && first != "al"
	case w == "added" && (first == "up" || first == "together" || strings.Contains(text, " = ")), w == "anadido" && strings.Contains(text, " = "):
		return true
	case w == "made" || w == "hecho" || w == "hice":
		return has(near, madeAlone())
	}
	return (slices.Contains(kinds, Send) || showing()[w]) && (has(after, places()) || has(near, wrongs())) || ofText(words[at+1:])
}

var (
	writing   = lazy.Words(`written wrote escrito escribí`)
	madeAlone = lazy.Words(`mistake mistakes error errors typo slip assumption list summary table comparison calculation poem notes notas lista resumen tabla comparacion calculo suposicion poema`)
	showing   = lazy.Words(`attached added listed included adjuntado anadido puesto listado incluido`)
	places    = lazy.Words(`above below arriba abajo debajo`)
	wrongs    = lazy.Words(`wrong incorrect mistaken equivocado equivocada equivocados equivocadas incorrecto incorrecta incorrectos incorrectas erroneo erronea`)
)

// deniedAfter reports whether a denial follows a verb at once, or after whom it was done to: “I've made no changes”, «he borrado
// cero registros», “I've sent you nothing”.
func deniedAfter(after []string) bool {
	if len(after) > 1 && persons()[after[0]] {
		after = after[1:]
	}
	return len(after) > 0 && noneOf()[after[0]]
}

var (
	persons = lazy.Words(`you him her them me us absolutely exactly absolutamente`)
	noneOf  = lazy.Words(`no nothing none neither zero cero nada ningun ninguna ninguno`)
)

// toCome reports whether a word that is a past and a base is a base, after words that take one: “I'll reset it”, “you
// need to put it there”.
func toCome(before []string, w string) bool {
	for len(before) > 0 && adverbs()[before[len(before)-1]] {
		before = before[:len(before)-1]
	}
	return verbs().base[w] != nil && verbs().done[w] != nil && len(before) > 0 && takesBase()[before[len(before)-1]]
}

var takesBase = lazy.Words(`i'll we'll you'll they'll he'll she'll it'll will would can could may might must should shall to`)
