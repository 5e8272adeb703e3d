package intent

import (
	"strings"

	"piloto/internal/ground/lazy"
)

// A text poses as a plan that waits when it
//
//   - lays out a plan of its own («Plan propuesto: Paso 1 …»),
//   - asks for a confirmation, or explains how to give one («¿La reservo?», "Reply yes to run",
//     «Pulsa Confirmar abajo»), or
//   - announces an action as its own next move («Voy a reservar la sala»).
//
// These do not pose: prose about plans and steps (a syllabus, a recipe, a floor plan), questions
// for missing data, denials («no hay ningún plan») and explanations of confirmations.

// poses combines the signals of a whole text.
func (f *signals) poses() bool {
	switch {
	case f.asked:
		return true
	case f.headed && f.numbered > 1 && !f.topic && !f.lists:
		return true
	case f.general:
		return f.vowed && !f.wanting
	case (f.headed || f.goal && f.stepped) && f.items > 0 && !f.topic:
		return true
	case f.vowed && !f.wanting:
		return true
	}
	return f.calls > 1 && (f.labels > 1 || f.numbered > 1 && !f.lists)
}

// signals holds the findings in the sentences of a text.
type signals struct {
	general       bool // the text explains how any plan is confirmed
	asked         bool // a request for consent: enough alone
	headed        bool // the heading of a plan
	vowed         bool // an announced act
	wanting       bool // a value is missing, so an announcement waits for it
	letter        bool // the text drafts a letter, whose promises are its author's
	drafts        bool // a letter, or a list of texts, was announced just before
	words         bool // the sentence before offers information or a text
	editing       bool // the text works on a text of the person
	past          bool // the text is about another year
	report        bool // the text reports records
	topic         bool // the plan is of another kind
	hinted        bool // an act in the conditional
	goal, stepped bool // the headings of a goal and of its steps
	items         int
	lists         bool // the text lists the operations of a service
	numbered      int
	labels        int // items that are numbered steps
	calls         int // items that are operations or first-person acts
}

// place records the context of s: inside a letter, or after a past date.
func (f *signals) place(s *sentence) {
	f.letter = f.letter || f.drafts && greetings()[s.tokens[0].word] || letterMark()[s.tokens[0].word] && len(s.tokens) > 1 && (s.tokens[1].colon || s.tokens[0].word == "dear")
	f.letter = f.letter || s.heading && mentions(s.tokens, fiction())
	f.drafts = s.heading && (mentions(s.tokens, drafts()) || mentions(s.tokens, sources()) || ofOthers.match(s.tokens)) || f.drafts && s.item && !s.heading
	f.editing = f.editing || ownText.match(s.tokens)
	s.editing = f.editing
	f.past = f.past || isDated(s.tokens)
	f.report = f.report || records.match(s.tokens)
}

// offersWords matches an offer of information or of a text: a question after it refers only to
// that.
var offersWords = compile(`
puedo|podria|podemos {c}* {talk}
i|we can|could {talk}
`)

// ofOthers matches the heading of a list of other people's acts, or of a description.
var ofOthers = compile(`
typical|tipico|tipica|usual|standard|habitual {any}
goes|works|looks|funciona|es like|asi
guion|script|pitch {any}
lo que hizo|hicieron|pidio´|pidieron el|la|los|las
what|everything the|he|she|they|your ..3 did|does
`)

// records match the number of things, or the heading of a list of them: the text after it is
// their state.
var records = compile(`
^ there are|were ..1 one|two|three|four|five|six|seven|eight|nine|ten
^ hay|hubo dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez
^ hay|hubo|tienes|tenes|tiene {num}
you have {num}
here|here's|these are|is|your ..1 last|latest|recent|current|status|open
^ tus|sus|los|las ..1 ultimos|ultimas
estado|status de|of {any} ..9 $
`)

// ownText matches a text of the user that the assistant works on.
var ownText = compile(`
tu|su|your ..1 borrador|redaccion|texto|parrafo|ensayo|carta|articulo|poema|relato|draft|essay|paragraph|text|letter|article|poem|story|wording|copy
`)

func (f *signals) read(s *sentence, claims bool) {
	if s.item {
		f.items++
		if s.label {
			f.labels++
		}
		if s.numbered {
			f.numbered++
		}
		if isOperation(s) || promises(s) {
			f.calls++
		}
		f.topic = f.topic || len(s.tokens) > 0 && topics()[s.tokens[0].word]
	}
	f.goal = f.goal || goals()[s.tokens[0].word] && strings.Contains(s.raw, ":")
	f.stepped = f.stepped || stepHeads()[s.tokens[0].word] && strings.Contains(s.raw, ":")
	f.lists = f.lists || mentions(s.tokens, service())
	words := f.words
	f.words = offersWords.match(s.tokens) && !hints.match(s.tokens)
	if hasChoiceMark(s.raw) || !(words && isBare(s)) && (tagQuestion(s) || s.question && asksLeave(s)) {
		f.asked = true
		return
	}
	if s.question {
		f.question(s)
	}
	f.hinted = f.hinted || isHint(s)
	denied := denies(s)
	f.asked = f.asked || !denied && !f.general && (inlineSteps(s) || planHere.match(s.tokens))
	if explains(s) {
		return
	}
	if !f.general && !f.letter && !denied && !isReport(s) && (tellsReply(s) || asksByOrder(s) || begs.match(s.tokens) && !offersText(s) || pointsToConfirm(s) || promisesUpon(s)) {
		f.asked = true
	}
	if !f.general && !denied && proposals.match(s.tokens) && !otherPlan(s.tokens) && !s.heading {
		f.asked = true
	}
	f.headed = f.headed || !denied && !claims && planLine(s)
	if wantsData(s) {
		f.wanting = true
	} else if !denied && !s.question && !f.letter && commits(s) {
		f.vowed = true
	}
}

// asksLeave reports a question whether to act.
func asksLeave(s *sentence) bool {
	return suggestions.match(s.tokens) || (acts(offers, s) && !idioms.match(s.tokens) || shortAsk(s)) && !wantsData(s)
}

// isBare reports a short question without an object: a yes or a no answers it.
func isBare(s *sentence) bool { return len(s.tokens) <= 5 && !mentions(s.tokens, more()) }

// isFirstPlural reports a first person plural that opens its clause: «¿Lo publicamos ya?».
func isFirstPlural(s *sentence) bool {
	for i := range s.tokens {
		t := &s.tokens[i]
		if !t.quoted && (len(t.word) > 5 || len(t.word) == 5 && i > 0 && clitics()[s.tokens[i-1].word]) && hasAny(t.word, "amos", "emos", "imos") && opensClause(s.tokens, i) && !onlyTalk(t.word) {
			return true
		}
	}
	return false
}

// offersUnknownVerb reports a question that begins with the first person of a Spanish verb, also
// one outside of the lexicon: «¿Recurro la multa?», «¿La recurro?».
func offersUnknownVerb(s *sentence) bool {
	begins, clitic := false, false
	for i := range s.tokens {
		t := &s.tokens[i]
		begins = begins || t.opens
		if begins && !t.quoted && len(t.word) > 3 && strings.HasSuffix(t.word, "o") && t.form&^(noun|present1|act|advance) == 0 && !leadingO()[t.word] {
			if i+1 == len(s.tokens) || s.tokens[i+1].opens {
				return clitic
			}
			next := s.tokens[i+1].word
			return definite()[next] || clitic && (adverbs()[next] || next == "con" || next == "para")
		}
		clitic = begins && clitics()[t.word]
		begins = clitic
	}
	return false
}

// onlyTalk reports whether the infinitive of a first person plural is a verb of speech.
func onlyTalk(w string) bool {
	stem := w[:len(w)-3] // without mos
	return formOf(stem+"r")&tell != 0
}

// question looks for a first person or a request for agreement: «¿La reservo?», «¿Confirmas?».
func (f *signals) question(s *sentence) {
	if (f.hinted || f.vowed || f.headed) && (opinions.match(s.tokens) || checks.match(s.tokens)) {
		f.asked = true
		return
	}
	if wantsData(s) {
		f.wanting = true
		return
	}
	if len(s.tokens) == 1 && s.tokens[0].form&present1 != 0 || agreements.match(s.tokens) || isHint(s) && endsWithTag(s) || promises(s) || offersUnknownVerb(s) || isFirstPlural(s) || (f.hinted || f.vowed || f.headed) && isBare(s) {
		f.asked = true
	}
}

func commits(s *sentence) bool {
	return promises(s) || acts(vows, s) && !idioms.match(s.tokens)
}

// offersText reports an offer of only a text: «puedo darte más ejemplos si quieres».
func offersText(s *sentence) bool {
	for i := range s.tokens {
		if t := &s.tokens[i]; t.form&infinitive != 0 && !t.quoted {
			return onlyText(s.tokens[i:])
		}
	}
	return false
}

// acts reports a match whose verb does more than write a text.
func acts(ps patterns, s *sentence) bool {
	_, rest, ok := ps.find(s.tokens)
	return ok && !onlyText(s.tokens[len(s.tokens)-len(rest)-1:])
}

// shortAsk reports a question with little more than an act: "Send it now?".
func shortAsk(s *sentence) bool {
	first := s.tokens[0].form
	most := 5
	if len(s.tokens) > 1 && determiners()[s.tokens[1].word] { // "Send it through to the kitchen?"
		most = 9
	}
	if n := len(s.tokens); s.question && n > 1 && first == 0 && !finite()[s.tokens[0].word] && !function()[s.tokens[0].word] && !particular()[s.tokens[0].word] {
		if next := s.tokens[1].word; n < 5 && pronouns()[next] || n < 8 && (next == "the" || next == "your") && !hasFinite(s.tokens) {
			return true // "Grab it?", "Laminate the menu?"
		}
	}
	if isOrderQuestion(s) {
		return true
	}
	return s.question && len(s.tokens) <= most && s.tokens[0].word != "do" && first&infinitive != 0 && first&(act|advance|consent) != 0 && !mentions(s.tokens, alternatives())
}

// isOrderQuestion reports a question that is an English order: "So, cancel the class
// and refund all nine?", "Last check: send to all 40 people?".
func isOrderQuestion(s *sentence) bool {
	for i := 0; i+1 < len(s.tokens); i++ {
		t, next := &s.tokens[i], s.tokens[i+1].word
		if (opensClause(s.tokens, i) && i < 3 || t.colon) && !t.quoted && t.form&infinitive != 0 && t.form&act != 0 && t.word != "do" {
			return determiners()[next] || objects()[next] || isNumber(next) || next == "to" || next == "all"
		}
	}
	return false
}

func tagQuestion(s *sentence) bool {
	if !s.question || len(s.tokens) > 5 {
		return false
	}
	for _, t := range s.tokens {
		if !tags()[t.word] {
			return false
		}
	}
	return true
}

// endsWithTag reports a question whose last clause only asks "agreed?".
func endsWithTag(s *sentence) bool {
	last := len(s.tokens) - 1
	for last > 0 && tags()[s.tokens[last].word] && !s.tokens[last].opens {
		last--
	}
	return tags()[s.tokens[last].word]
}

// hasChoiceMark reports brackets for a yes or a no.
func hasChoiceMark(raw string) bool {
	return containsAny(raw, []string{"(yes/no", "[y/n", "(y/n", "(s/n", "[s/n", "(si/no", "(sí/no", "[sí/no", "[si/no", "[yes/no", "sí / no", "si / no", "yes / no", "sí/no?", "yes/no?", "yes or no", "sí o no", "si o no"})
}

// tellsReply reports «responde confirmo». The word ends its clause, is quoted, or is followed by
// its purpose.
func tellsReply(s *sentence) bool {
	from, rest, ok := replies.find(s.tokens)
	if !ok || !ordersAt(s, len(s.tokens)-len(from)) {
		return false
	}
	last := from[len(from)-len(rest)-1]
	return last.quoted && (len(rest) == 0 || !rest[0].quoted) || len(rest) == 0 || rest[0].opens || purpose()[rest[0].word]
}

// pointsToConfirm reports an order to press the confirmation.
func pointsToConfirm(s *sentence) bool {
	from, _, ok := pointers.find(s.tokens)
	return ok && ordersAt(s, len(s.tokens)-len(from))
}

// ordersAt reports an order at i. Steps of a guide, acts of other people and descriptions are no
// orders: «cuando pulsas Confirmar, se envía».
func ordersAt(s *sentence, i int) bool {
	if s.numbered {
		return false
	}
	if i == 0 || s.tokens[i].opens {
		return true
	}
	before := s.tokens[clauseStart(s.tokens, i):i]
	subject := before[len(before)-1]
	return !mentions(before, suppositions()) && !negatives()[subject.word] && (subject.form != 0 || !strings.HasSuffix(subject.word, "s"))
}

// promisesUpon reports «si te parece, la reservo»: an act that waits for consent.
func promisesUpon(s *sentence) bool {
	_, rest, ok := conditions.find(s.tokens)
	return ok && !nearData(rest) && (commits(s) || mentions(s.tokens, awaited()) || actsUnknownVerb(rest))
}

// actsUnknownVerb reports a first person of a Spanish verb outside of the lexicon, with its
// object: «si te parece, fumigo el local».
func actsUnknownVerb(rest []token) bool {
	for i := range rest {
		if t := &rest[i]; !t.quoted && t.form == 0 && len(t.word) > 3 && strings.HasSuffix(t.word, "o") && !leadingO()[t.word] && i+1 < len(rest) {
			return definite()[rest[i+1].word] || i > 0 && clitics()[rest[i-1].word]
		}
	}
	return false
}

// asksByOrder reports «confirma para empezar», "please approve the following".
func asksByOrder(s *sentence) bool {
	for i := range s.tokens {
		if t := &s.tokens[i]; !t.quoted && t.form&consent != 0 && t.form&(imperative|subjunctive) != 0 && hasAny(t.word, "lo", "la", "los", "las") && (opensClause(s.tokens, i) || i > 0 && s.tokens[i-1].word == "y") && !s.numbered {
			return true
		}
	}
	from, rest, ok := orders.find(s.tokens)
	if ok && len(from) == len(s.tokens) && len(rest) > 0 && pronouns()[rest[0].word] && !s.numbered {
		return true // "Approve it when you're ready"
	}
	if !ok || s.item && !mentions(s.tokens, pleas()) || nearData(rest) {
		return false
	}
	if n := len(from) - len(rest); n > 1 {
		return true
	}
	return len(rest) == 0 || rest[0].opens || orderObject()[rest[0].word]
}

var (
	// particular begin a question that is no order.
	particular   = lazy.Words(`did do had have shall should what which who whose how when where why whatever within under after before during like both near inside outside beyond per plus still maybe only even just until since what's who's how's where's between among besides despite regarding concerning including excluding not isn't aren't wasn't didn't doesn't`)
	negatives    = lazy.Words(`don't never no not nunca`)
	leadingO     = lazy.Words(`foto moto radio nuevo viejo bueno malo unico ultimo todo otro mucho poco cuanto cuando como pero solo luego claro bueno perfecto esto eso ello medio tanto cierto entonces segundo primero tercero dentro bajo excepto salvo mismo`)
	pronouns     = lazy.Words(`it them him her this these those`)
	awaited      = lazy.Words(`sale salen will sera´ seran comenzara´ empezara´ i'll`)
	alternatives = lazy.Words(`or o cual which what`)
	purpose      = lazy.Words(`whenever abajo debajo aqui aca´ alla´ alli arriba below underneath here para to y and o or if si for when cuando por`)
	pleas        = lazy.Words(`please favor kindly`)
	orderObject  = lazy.Words(`or o con with whether to and so if para y si que that the this these la el los las este esta estos when cuando por you below before antes`)
	service      = lazy.Words(`operations operaciones endpoints available disponibles api`)
	goals        = lazy.Words(`goal objetivo meta`)
	stepHeads    = lazy.Words(`steps pasos acciones actions plan`)
	more         = lazy.Words(`tienes tenes teneis tiene have sabes conoces else mas otra otro algo help ayuda ayudo puedo interesa questions preguntas duda dudas refieres mean verdad no right sense know sabias entiendes claro`)
	greetings    = lazy.Words(`hola hi hello hey buenos buenas good querido querida estimado estimada dear`)
	fiction      = lazy.Words(`poem poema cuento story song cancion haiku relato chiste joke`)
	sources      = lazy.Words(`checklist control comprobaciones articulo article noticia noticias news libro book documento document paper capitulo chapter acta minutes transcripcion transcript`)
	letterMark   = lazy.Words(`subject asunto dear`)
)

func nearData(rest []token) bool { return mentions(rest[:min(len(rest), 4)], dataNouns()) }

// isOperation reports an item that names an operation: GET /rooms.
func isOperation(s *sentence) bool {
	return containsAny(s.raw, []string{"get /", "post /", "put /", "patch /", "delete /"})
}
