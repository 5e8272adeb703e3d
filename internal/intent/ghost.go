package intent

import "strings"

// Ghost reports assistant text that must not stand alone, because only a tool
// call may make a plan (document 000 §7). Such text
//
//   - lays out a plan of its own («Plan propuesto: Paso 1 …»),
//   - asks for a confirmation, or tells how to give one («¿La reservo?»,
//     "Reply yes to run"),
//   - announces an action as its own next move («Voy a reservar la sala»), or
//   - claims that one is running now («Ejecutando el plan…»).
//
// What is left alone: prose about plans and steps (a syllabus, a recipe, a
// floor plan), questions for missing data, denials («no hay ningún plan»),
// explanations of how confirming works, and reports of what is finished: after
// a real run the model rightly says «He reservado la sala», and the text alone
// cannot tell that from an invention.
func Ghost(assistantText string) bool {
	p := readPage(assistantText)
	if printsCall(p.folded) {
		return true
	}
	var found signals
	for i := range p.sentences {
		if found.read(&p.sentences[i]); found.asked {
			return true
		}
	}
	switch {
	case (found.headed || found.goal && found.stepped) && found.items > 0 && !found.topic:
		return true
	case found.vowed && !found.wanting && !found.letter:
		return true
	}
	return found.calls > 1 && (found.labels > 1 || found.numbered > 1 && !found.lists)
}

// signals is what the sentences of a text gave away.
type signals struct {
	asked         bool // a consent asked for, or a claim to be running: enough alone
	headed        bool // the heading of a plan
	vowed         bool // an act announced
	wanting       bool // a value is missing, so an announcement waits for it
	letter        bool // the text drafts a letter, whose promises are its author's
	topic         bool // the plan is of another kind
	hinted        bool // an act that would happen is spoken of
	goal, stepped bool // the headings of a goal and of its steps
	items         int
	lists         bool // the operations of a service are being told
	numbered      int
	labels        int // items that are numbered steps
	calls         int // items that are operations or first-person acts
}

func (f *signals) read(s *sentence) {
	if s.item {
		f.items++
		if s.label {
			f.labels++
		}
		if s.numbered {
			f.numbered++
		}
		if operates(s) || promises(s) {
			f.calls++
		}
		f.topic = f.topic || len(s.tokens) > 0 && topics()[s.tokens[0].word]
	}
	f.goal = f.goal || goals()[s.tokens[0].word] && strings.Contains(s.raw, ":")
	f.stepped = f.stepped || stepHeads()[s.tokens[0].word] && strings.Contains(s.raw, ":")
	f.lists = f.lists || mentions(s.tokens, service())
	f.letter = f.letter || letterMark()[s.tokens[0].word] && strings.Contains(s.raw, ":")
	if tagQuestion(s) || marked(s.raw) || s.question && asksLeave(s) {
		f.asked = true
		return
	}
	if s.question {
		f.question(s)
	}
	f.hinted = f.hinted || hinted(s)
	if explains(s) {
		return
	}
	denied := denies(s)
	switch {
	case !denied && !reported(s) && (tellsReply(s) || ordered(s) || begs.match(s.tokens) || promisesUpon(s)):
		f.asked = true
	case !denied && !s.question && !f.letter && (runs.match(s.tokens) || startsRun(s)):
		f.asked = true
	}
	if !denied && proposals.match(s.tokens) && !otherPlan(s.tokens) && !s.heading {
		f.asked = true
	}
	f.headed = f.headed || !denied && planLine(s)
	if wantsData(s) {
		f.wanting = true
	} else if !denied && !s.question && commits(s) {
		f.vowed = true
	}
}

// asksLeave reports a question whether to act.
func asksLeave(s *sentence) bool {
	return suggestions.match(s.tokens) || (acts(offers, s) || shortAsk(s)) && !wantsData(s)
}

// bare reports a short question that names nothing: a yes or a no answers it.
func bare(s *sentence) bool { return len(s.tokens) <= 5 && !mentions(s.tokens, more()) }

// plural1 reports a first person plural that opens its clause: «¿Lo publicamos ya?».
func plural1(s *sentence) bool {
	for i := range s.tokens {
		t := &s.tokens[i]
		if !t.quoted && len(t.word) > 5 && hasAny(t.word, "amos", "emos", "imos") && opensClause(s.tokens, i) && !onlyTalk(t.word) {
			return true
		}
	}
	return false
}

// onlyTalk looks a first person plural up by its infinitive.
func onlyTalk(w string) bool {
	stem := w[:len(w)-3] // without mos
	return formOf(stem+"r")&tell != 0
}

// question looks for a first person or an agreement: «¿La reservo?», «¿Confirmas?».
func (f *signals) question(s *sentence) {
	if wantsData(s) {
		f.wanting = true
		return
	}
	if agreements.match(s.tokens) || promises(s) || plural1(s) || (f.hinted || f.vowed || f.headed) && bare(s) {
		f.asked = true
	}
}

func commits(s *sentence) bool {
	return promises(s) || acts(vows, s) && !idioms.match(s.tokens)
}

// acts reports a match whose verb does more than write a text.
func acts(ps patterns, s *sentence) bool {
	_, rest, ok := ps.find(s.tokens)
	return ok && !onlyText(s.tokens[len(s.tokens)-len(rest)-1:])
}

// shortAsk reports a question that is an act and little else: "Send it now?".
func shortAsk(s *sentence) bool {
	first := s.tokens[0].form
	return s.question && len(s.tokens) <= 5 && s.tokens[0].word != "do" && first&infinitive != 0 && first&(act|advance|consent) != 0 && !mentions(s.tokens, alternatives())
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

// marked reports the brackets that wait for a yes or a no.
func marked(raw string) bool {
	return containsAny(raw, []string{"(yes/no", "[y/n", "(y/n", "(s/n", "[s/n", "(si/no", "(sí/no", "[sí/no", "[si/no", "[yes/no", "sí / no", "si / no", "yes / no", "sí/no?", "yes/no?"})
}

// tellsReply reports «responde confirmo»; the word ends its clause, is cited,
// or says what it is for.
func tellsReply(s *sentence) bool {
	from, rest, ok := replies.find(s.tokens)
	if !ok {
		return false
	}
	last := from[len(from)-len(rest)-1]
	return last.quoted || len(rest) == 0 || rest[0].opens || purpose()[rest[0].word]
}

// promisesUpon reports «si te parece, la reservo»: an act that waits for consent.
func promisesUpon(s *sentence) bool {
	_, rest, ok := conditions.find(s.tokens)
	return ok && !nearData(rest) && (commits(s) || mentions(s.tokens, awaited()))
}

// ordered reports «confirma para empezar», "please approve the following".
func ordered(s *sentence) bool {
	from, rest, ok := orders.find(s.tokens)
	if !ok || s.item && !mentions(s.tokens, pleas()) || nearData(rest) {
		return false
	}
	if n := len(from) - len(rest); n > 1 {
		return true
	}
	return len(rest) == 0 || rest[0].opens || orderObject()[rest[0].word]
}

var (
	awaited      = setOf(`will sera´ seran comenzara´ empezara´ i'll`)
	alternatives = setOf(`or o cual which what`)
	purpose      = setOf(`para to y and o or if si for when cuando por`)
	pleas        = setOf(`please favor kindly`)
	orderObject  = setOf(`whether to and so if para y si que that the this these la el los las este esta estos when cuando por you below before antes`)
	service      = setOf(`operations operaciones endpoints available disponibles api`)
	goals        = setOf(`goal objetivo meta`)
	stepHeads    = setOf(`steps pasos acciones actions plan`)
	more         = setOf(`else mas otra otro algo help ayuda ayudo puedo interesa questions preguntas duda dudas refieres mean verdad no right sense know sabias entiendes claro`)
	letterMark   = setOf(`subject asunto dear`)
)

func nearData(rest []token) bool { return mentions(rest[:min(len(rest), 4)], dataNouns()) }

// operates reports an item that names an operation: GET /rooms.
func operates(s *sentence) bool {
	return containsAny(s.raw, []string{"get /", "post /", "put /", "patch /", "delete /"})
}
