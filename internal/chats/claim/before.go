package claim

import (
	"slices"
	"sync"
	"unicode"

	"piloto/internal/ground/lazy"
)

// saysBefore reports whether a sentence says that an act of it was done before the message that it answers: “I've already
// cancelled it”, «ya se devolvió antes». A report of something new says «ya», too: «Listo, ya la reservé», «ya reservé otra».
func saysBefore(text string, words []string, at int, own, narrated, fresh bool) bool {
	from, to := at, at
	for from > 0 && !parts()[words[from-1]] {
		from--
	}
	for to < len(words) && !parts()[words[to]] {
		to++
	}
	clause := words[from:to]
	for i, w := range clause {
		next := ""
		if i+1 < len(clause) {
			next = clause[i+1]
		}
		switch {
		case earlier()[w]:
			return true
		case comparing()[w] && (next == "" || afterComparing()[next]) && (i == 0 || !spans()[clause[i-1]]):
			return true
		case w == "already" || w == "ya":
			if !own || !fresh && !has(words, others()) {
				return true
			}
		}
	}
	return narrated && dayOf().MatchString(text) || asSaid().MatchString(text)
}

var (
	parts          = lazy.Words(`, : but pero`)
	earlier        = lazy.Words(`previously yesterday ago ayer anoche anteayer anteriormente previamente`)
	comparing      = lazy.Words(`earlier before antes`)
	afterComparing = lazy.Words(`today in on this and so y en hoy`)
	spans          = lazy.Words(`hour hours minute minutes day days hora horas minuto minutos dia dias`)
	others         = lazy.Words(`another other otro otra otros otras also too tambien`)
)

// dayOf matches the day of a past act: “on 3 May”.
var dayOf = lazy.Pattern(`\b(?:on|el) (?:the )?(?:\d|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* \d|(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|lunes\b|martes\b|miercoles\b|jueves\b|viernes\b|sabado\b|domingo\b)`)

// asSaid matches a reference to an earlier text.
var asSaid = lazy.Pattern(`\bas (?:you|i|we) (?:saw|said|mentioned|told|noted|can see)\b|\bcomo (?:viste|vio|vieron|ves|ve|te dije|le dije|te conte|te comente|le comente|dije|dijimos)\b`)

// doneTo returns the families of an act's object, where its verb fits any act: «he tramitado la devolución», “your
// refund has been issued”. A noun before another is not the object: “your return flight”.
func doneTo(words []string, at int, kinds []Kind) (of []Kind) {
	if !slices.Contains(kinds, Run) && !slices.Contains(kinds, Create) || bookings()[words[at]] {
		return nil
	}
	add := func(part []string) {
		for i, w := range part {
			if prepositions()[w] || parts()[w] {
				return
			}
			if own := ownFamily()[w]; own != Any && (i+1 == len(part) || !unicode.IsLetter(rune(part[i+1][0])) || prepositions()[part[i+1]] || verbal()[part[i+1]]) {
				of = append(of, own)
			}
		}
	}
	add(clauseBefore(words, at))
	add(words[min(at+1, len(words)):])
	return of
}

// ownFamily are nouns of acts that have no other words.
var ownFamily = sync.OnceValue(func() map[string]Kind {
	return map[string]Kind{"cancellation": Remove, "cancelation": Remove, "cancelacion": Remove, "anulacion": Remove, "refund": GiveBack, "return": GiveBack, "devolucion": GiveBack, "reembolso": GiveBack}
})

var (
	bookings     = lazy.Words(`booked reserved bought purchased rebooked reservado reservada comprado comprada reservé compré`)
	prepositions = lazy.Words(`of for to from with in on at by and or de del para con por en al y o`)
	verbal       = lazy.Words(`has have is was been request process now successfully already se ha ya queda quedo`)
)

// dated reports whether the day of an act follows it: «se hizo el 3 de mayo», «se emitió en marzo», or its month or year, later on.
func dated(after []string) bool {
	for i, w := range after {
		if parts()[w] {
			return false
		}
		if i+1 < len(after) && w == "en" && (months()[after[i+1]] || len(after[i+1]) == 4 && isNumber(after[i+1])) {
			return true
		}
	}
	return len(after) > 1 && (after[0] == "el" || after[0] == "en") && unicode.IsDigit(rune(after[1][0]))
}

// dayLater reports whether a day follows an act in its clause, which may be that of the act: «se actualizó a la 2.1 el 9
// de septiembre». The day of a reservation has «para».
func dayLater(after []string) bool {
	for i, w := range after {
		if parts()[w] {
			return false
		}
		if i > 0 && i+1 < len(after) && w == "el" && unicode.IsDigit(rune(after[i+1][0])) && !until()[after[i-1]] {
			return true
		}
	}
	return false
}

var until = lazy.Words(`para hasta desde por sobre`)

var months = lazy.Words(`enero febrero marzo abril mayo junio julio agosto septiembre setiembre octubre noviembre diciembre`)

// byAnother reports whether an act has an agent: «fue cancelado por la aerolínea», “was closed by support”. Such a
// sentence reports an earlier act.
func byAnother(words []string, at int) bool {
	for i := at + 1; i < min(at+4, len(words)-1) && !parts()[words[i]]; i++ {
		next, third := words[i+1], ""
		if i+2 < len(words) {
			third = words[i+2]
		}
		switch {
		case words[i] == "by" && !noAgent()[next] && !unicode.IsDigit(rune(next[0])):
			return true
		case words[i] == "por" && (articles()[next] || owned()[next]) && !noAgent()[third] || words[i] == "por" && (next == "soporte" || next == "otra" || next == "otro" || next == "alguien"):
			return true
		}
	}
	return false
}

// noAgent are words that follow “by” or «por el», and act on nothing.
var noAgent = lazy.Words(`you me us mistake accident email e-mail mail phone card sms text default now then today tomorrow tonight monday tuesday wednesday thursday friday saturday sunday tarde manana noche momento importe total cantidad valor dia precio medio error`)
