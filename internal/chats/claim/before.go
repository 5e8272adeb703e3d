package claim

import "piloto/internal/ground/lazy"

// saysBefore reports whether a sentence says that an act of it was done before the message that it answers: “I've already
// cancelled it”, «ya se devolvió antes». A report of something new says «ya», too: «Listo, ya la reservé», «ya reservé otra».
func saysBefore(text string, words []string, at int, own, told, fresh bool) bool {
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
	return told && dayOf().MatchString(text) || asTold().MatchString(text)
}

var (
	parts          = lazy.Words(`, : but pero`)
	earlier        = lazy.Words(`previously yesterday ago ayer anoche anteayer anteriormente previamente`)
	comparing      = lazy.Words(`earlier before antes`)
	afterComparing = lazy.Words(`today in on this and so y en hoy`)
	spans          = lazy.Words(`hour hours minute minutes day days hora horas minuto minutos dia dias`)
	others         = lazy.Words(`another other otro otra otros otras also too tambien`)
)

// dayOf matches the day of what was: “on 3 May”.
var dayOf = lazy.Pattern(`\b(?:on|el|del?) (?:the )?(?:\d|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* \d|(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|lunes\b|martes\b|miercoles\b|jueves\b|viernes\b|sabado\b|domingo\b)`)

// asTold matches what a text said or showed before.
var asTold = lazy.Pattern(`\bas (?:you|i|we) (?:saw|said|mentioned|told|noted|can see)\b|\bcomo (?:viste|vio|vieron|ves|ve|te dije|le dije|te conte|te comente|le comente|dije|dijimos)\b`)
