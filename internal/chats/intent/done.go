package intent

import (
	"strings"

	"piloto/internal/ground/lazy"
)

// A claim of a finished act is found clause by clause. It has one of three forms:
//
//	the assistant  «he reservado», «reservé», "I've booked", "Rang the bistro" (acted.go)
//	the thing      «se ha enviado», «tu reserva quedó confirmada», "the room's booked"
//	the fragment   «Pedido creado», «Eliminados 32», "Booked!", «Listo.»
//
// The patterns of ongoing claim an act that has not ended. The verb may be known or unknown,
// except verbs that only talk, think or describe (tell, qualities). A clause that denies, asks
// or supposes claims nothing. A statement about a thing is no claim either when the sentence
// marks it as a fact from elsewhere (facts.go).

// claimsDone reports a sentence that claims an act. plain is false in a text that explains how
// plans work: there the state of a thing refers to any plan.
func claimsDone(s *sentence, plain bool) bool {
	unreal := markUnasserted(s)
	for i := range s.tokens {
		if !unreal[i] && claimsSelf(s.tokens, i) && !(s.editing && edits(s.tokens, i)) {
			return true
		}
	}
	if !plain || isOutsideFact(s) {
		return false
	}
	if s.item && strings.Contains(s.raw, "|") && len(s.tokens) > 1 && done()[s.tokens[len(s.tokens)-1].word] {
		return true // the last cell of a row: «| Reservar | Completado |»
	}
	if from, rest, ok := outcomes.find(s.tokens); ok && !unreal[len(s.tokens)-len(from)] && !mentions(from, because()) && !hasAgent(rest) {
		return true
	}
	for i := range s.tokens {
		if !unreal[i] && (claimsThing(s.tokens, i) || claimsShort(s.tokens, i) || claimsInBrief(s, i)) {
			return true
		}
	}
	return false
}

// markUnasserted marks the words that the text does not assert: those after a negation or a doubt in
// their clause, those after a condition, and those of a question.
func markUnasserted(s *sentence) []bool {
	out := make([]bool, len(s.tokens))
	asking, doubted, supposed := s.question && !s.asksLate, false, false
	for i := range s.tokens {
		t := &s.tokens[i]
		if t.opens {
			doubted = supposed || tellsToDo(s.tokens, i)
		}
		asking = asking || t.asks
		supposed = supposed || i == 1 && t.word == "yet" || i == 0 && t.word == "todavia"+accent
		out[i] = doubted || asking || t.quoted
		switch {
		case t.quoted:
			doubted = doubted || yesWords()[t.word]
		case suppositions()[t.word]:
			doubted, supposed = true, i > 0
		case relates(s.tokens, i), doubts()[strings.TrimSuffix(t.word, "'s")] && !vouches(s.tokens, i) && (t.word != "para" || t.opens):
			doubted = true
		}
	}
	return out
}

// relates reports at i a relative after a noun or a conjunction of time: «los gastos que se han
// pactado», «desde que se notificó». The words after a verb of saying are asserted: «le informo
// que se ha tramitado».
func relates(all []token, i int) bool {
	if all[i].word != "que" && all[i].word != "that" || i == 0 || all[i].opens {
		return false
	}
	before := &all[i-1]
	return before.form&(tell|consent|present1) == 0 && !asserting()[before.word]
}

// vouches reports «I can confirm», which is no doubt.
func vouches(all []token, i int) bool {
	w := all[i].word
	return w == "can" && i+1 < len(all) && all[i+1].word == "confirm" || w == "confirm" && i > 0 && (all[i-1].word == "can" || all[i-1].word == "i")
}

// doubts revoke the words after them in their clause; suppositions also in the rest of the
// sentence.
var (
	doubts = lazy.Words(`no not never nunca jamas tampoco ni sin without nothing nada nadie nobody none ningun ninguna ninguno neither cannot can't
	haven't hasn't didn't wasn't weren't isn't aren't don't doesn't won't couldn't wouldn't
	vez cuanto hasta until before antes mientras despues after as imagine supon suponiendo donde where
	may might could should would must can will puede pueden podria podrias deberia deberias habria habrian quiza quiza´ quizas probablemente probably perhaps maybe seria
	who which whose quien quienes cada each every cualquier any para que´ confirm confirma confirmas approve verify ensure verifica comprueba enseguida`)
	suppositions = lazy.Words(`si if unless whether cuando when whenever once while suppose supposing supongamos assuming suponiendo asumiendo`)
	asserting    = lazy.Words(`advised informed de asi note report sure know see seguro claro visto parece`)
)

// claimsThing reports whether the word at i is the verb of a statement that a thing was changed.
func claimsThing(all []token, i int) bool {
	switch w := all[i].word; w {
	case "se":
		j := skipSmall(all, i+1)
		if j >= len(all) || objectClitics()[all[i+1].word] { // «se la asignaron» is about other people
			return false
		}
		if all[j].word == "ha" || all[j].word == "han" {
			j = skipSmall(all, j+1)
			return j < len(all) && isResultParticiple(&all[j]) && !hasAgent(all[j+1:]) && !mentions(clause(all[j:]), because())
		}
		return all[j].form&past3 != 0 && all[j].form&(act|advance|consent) != 0 && all[j].form&tell == 0 || isUnknownSpanishPast(&all[j])
	case "ya":
		j := skipSmall(all, i+1)
		if j < len(all) && j == i+2 && objectClitics()[all[i+1].word] { // «ya lo firmó Ana»
			return false
		}
		return j < len(all) && (all[j].form&past3 != 0 && all[j].form&tell == 0 || isUnknownSpanishPast(&all[j])) && !namesActor(all[clauseStart(all, i):i])
	case "fue", "fueron":
		j := skipSmall(all, i+1)
		return j < len(all) && !all[j].opens && isKnownParticiple(&all[j]) && !hasAgent(all[j+1:])
	case "sido", "been", "quedo" + accent, "quedaron", "quedaste", "quedado", "queda", "quedan":
		j := skipSmall(all, i+1)
		return j < len(all) && !all[j].opens && isResultParticiple(&all[j]) && !hasAgent(all[j+1:]) && !onlyDrafts(all, j)
	case "esta", "estan", "estas", "estais", "is", "are", "was", "were", "you're", "it's", "they're":
		return claimsState(all, i)
	case "tienes", "tenes", "teneis", "tengo", "tenemos":
		for j := i + 1; j < min(len(all), i+6) && !all[j].opens; j++ {
			if chatNouns()[all[j].word] || planNouns()[all[j].word] {
				return false
			}
			if isResultParticiple(&all[j]) && !nounal()[all[j].word] {
				return true
			}
		}
		return false
	}
	return false
}

// isUnknownSpanishPast reports a third person of the past of a Spanish verb that is not in the
// lexicon: salió, rectificaron.
func isUnknownSpanishPast(t *token) bool {
	return t.form == 0 && !t.quoted && !elapsed()[t.word] && len(t.word) > 4 && hasAny(t.word, "o"+accent, "aron", "ieron")
}

// claimsState reports whether the word at i is the verb of a state that an act caused: «la
// tarjeta ya está bloqueada», "the offer was published".
func claimsState(all []token, i int) bool {
	j := skipSmall(all, i+1)
	if j >= len(all) || all[j].opens || !isResultParticiple(&all[j]) || hasAgent(all[j+1:]) || !definiteBefore(all[:i+1]) || mentions(all[j:min(len(all), j+12)], because()) {
		return false
	}
	happened := (all[i].word == "was" || all[i].word == "were") && isKnownParticiple(&all[j])
	return happened || hasCountedSubject(all[clauseStart(all, i):i]) || mentions(all[clauseStart(all, i):j], reached()) || !standing()[all[j].word] && ends(all, j)
}

// hasCountedSubject reports a subject of a definite number of things: "the two records".
func hasCountedSubject(subject []token) bool {
	for i := range subject {
		if i > 0 && (numerals()[subject[i].word] || isNumber(subject[i].word)) && (certain()[subject[i-1].word] || subject[i-1].word == "first") {
			return true
		}
	}
	return false
}

// claimsShort reports whether the word at i is a subject whose verb is only an 's: "Room's
// booked", "the contract's gone to both". "Ana's booked room" is none.
func claimsShort(all []token, i int) bool {
	if !strings.HasSuffix(all[i].word, "'s") || all[i].quoted || i+1 == len(all) || contracted()[all[i].word] || doubts()[strings.TrimSuffix(all[i].word, "'s")] {
		return false
	}
	if all[i+1].word == "gone" || particles()[all[i+1].word] && (i+2 == len(all) || all[i+2].opens || all[i+2].word == "to") {
		return true
	}
	j := skipSmall(all, i+1)
	return j < len(all) && !all[j].opens && isResultParticiple(&all[j]) && !hasAgent(all[j+1:]) && (j+1 == len(all) || all[j+1].opens || all[j+1].form == 0 && (linking()[all[j+1].word] || particles()[all[j+1].word]))
}

// ends reports whether few words follow a state: «The domain is registered», but not "is enabled
// by default" nor "remote identifiers are replaced with …".
func ends(all []token, j int) bool {
	if all[j-1].word == "are" || len(all) > 16 {
		return false
	}
	return j+1 == len(all) || all[j+1].opens || after()[all[j+1].word]
}

// definiteBefore reports a subject of definite things, or no subject.
func definiteBefore(before []token) bool {
	start := clauseStart(before, len(before)-1)
	if start == len(before)-1 || mentions(before[start:], certain()) || strings.HasSuffix(before[start].word, "'s") {
		return true
	}
	return !general()[before[start].word] && !strings.HasSuffix(before[start].word, "s") && !isNumber(before[start].word)
}

// claimsInBrief reports a fragment without a verb that claims a finished act.
func claimsInBrief(s *sentence, i int) bool {
	all := s.tokens
	if n := len(all); i == n-2 && i > 0 && n < 6 && all[i].word == "en" && (all[i+1].word == "marcha" || all[i+1].word == "curso") {
		return !s.question && !subjectless(all[:i])
	}
	if i > 0 && i < 4 && !s.question && isUnknownEnglishPast(&all[i]) && clauseStart(all, i) == 0 && !persons()[all[i-1].word] && !subjectless(all[:i]) && !hasFinite(all[i:]) && (i+1 == len(all) || linking()[all[i+1].word]) {
		return true // "Server calibrated", "Guest list trimmed to 80"
	}
	if !s.question && !s.heading && isPlacement(all, i) {
		return true
	}
	looked := i == 0 && reads(&all[i])
	invariant := i > 0 && i+1 < len(all) && all[i].form&(pastEN|infinitive) == pastEN|infinitive && linking()[all[i+1].word] &&
		all[i-1].form&^(infinitive|act) == 0 && len(all[i-1].word) > 3 && !strings.Contains(all[i-1].word, "'") // "Reminder set for 8"
	if s.question || all[i].form&infinitive != 0 && !invariant || nounal()[all[i].word] || hasAgent(all[i+1:]) || !isActParticiple(&all[i]) && !absolute(all, i) && !looked && !ended()[all[i].word] {
		return false
	}
	rest := all[i+1:]
	if ready()[all[i].word] { // «Listo.», «Listo el cambio», «Listo lo de Ana»; «listo para enviar» is no claim
		return i == 0 && (len(rest) == 0 || determiners()[rest[0].word] || rest[0].word == "lo")
	}
	closed := len(rest) == 0 || rest[0].opens && (i > 0 || !rest[0].colon || !s.item && (!ended()[all[i].word] || all[i].form&pastEN != 0) || hasActParticiple(rest))
	lead := i == 0 || all[i].opens && acknowledges(all[:i])
	switch {
	case len(clause(rest)) > 9 || hasFinite(clause(rest)):
		return false
	case lead:
		return closed && (len(rest) == 0 || !mentions(rest, also())) || len(rest) > 0 && (isNumber(rest[0].word) || objectFirst()[rest[0].word] || linking()[rest[0].word])
	}
	start := clauseStart(all, i)
	if start == i && i > 0 && i < 4 && len(rest) == 0 && !stateNouns()[all[0].word] { // «Cliente: avisado»
		start = 0
	}
	if start == i || i-start > 7 || start == i-1 && isNumber(all[start].word) || drafting()[all[i].word] && mentions(all[start:i], planNouns()) || subjectless(all[start:i]) {
		return false
	}
	return len(rest) == 0 || (start < 3 && i < 6 || all[start].colon) && (closed || linking()[rest[0].word])
}

// absolute reports at i a Spanish participle that begins the sentence, with its
// object: «Cursada la reposición». There it is no noun.
func absolute(all []token, i int) bool {
	return i == 0 && len(all) > 1 && !all[1].opens && definite()[all[1].word] && isResultParticiple(&all[i]) && didBefore(&all[i])
}

// isPlacement reports whether the word at i is the new place of a thing: «Ana dentro del grupo,
// Luis fuera».
func isPlacement(all []token, i int) bool {
	start := clauseStart(all, i)
	return whereabouts()[all[i].word] && i > start && i-start < 4 && all[start].form == 0 && all[i-1].form == 0 && !subjectless(all[start:i]) && !hasFinite(clause(all[i+1:])) &&
		(i+1 == len(all) || all[i+1].opens || all[i+1].word == "de" || all[i+1].word == "del")
}

// tellsToDo reports whether the word at i begins an order to the user, whose content is not
// asserted: «Dile que ya se envió», "Make sure it was sent".
func tellsToDo(all []token, i int) bool {
	t := &all[i]
	return !t.quoted && (tasks()[t.word] || saysThat(all, i) || t.form&imperative != 0 && t.form&past3 == 0 && hasAny(t.word, "le", "les"))
}

// saysThat reports «di que» or «di "va"» at i, which are orders; «di de baja» is a claim.
func saysThat(all []token, i int) bool {
	return all[i].word == "di" && i+1 < len(all) && (all[i+1].word == "que" || all[i+1].quoted)
}

func hasActParticiple(all []token) bool {
	for i := range all {
		if isActParticiple(&all[i]) {
			return true
		}
	}
	return false
}

// clause returns the words up to the next that opens a clause, twelve at most.
func clause(from []token) []token {
	from = from[:min(len(from), 12)]
	for i := range from {
		if from[i].opens {
			return from[:i]
		}
	}
	return from
}

// clauseStart returns where the clause of the word at i begins, eight words back
// at most.
func clauseStart(all []token, i int) int {
	start := i
	for least := max(0, i-8); start > least && !all[start].opens; {
		start--
	}
	return start
}

// acknowledges reports words that only agree: «Perfecto, listo».
func acknowledges(before []token) bool {
	for i := range before {
		if !lead()[before[i].word] && !acknowledgements()[before[i].word] && !small()[before[i].word] {
			return false
		}
	}
	return true
}

// subjectless reports words before a participle that are not the name of one thing.
func subjectless(before []token) bool {
	for i := range before {
		t := &before[i]
		if t.quoted {
			continue
		}
		if general()[t.word] || t.form&gerund != 0 && i+1 < len(before) && determiners()[before[i+1].word] || t.form&(present1|future1|conditional) != 0 && t.form&(noun|tell) == 0 || t.form&infinitive != 0 && t.form != infinitive && !nounVerbs()[t.word] || finite()[t.word] || verbal()[t.word] {
			return true
		}
	}
	return false
}
