package intent

import "unicode/utf8"

// Pose holds the claims of a model's text without a tool call. A text is only data: the record
// shows whether a plan waits, or a run did something.
type Pose struct {
	// Pending: the text poses as a pending plan, or asks for a confirmation.
	Pending bool
	// Done: the text claims an act in the outside world that is finished or in progress.
	Done bool
}

// Poses classifies a whole text of the model. It never fails, and its cost is linear in the
// length of the text.
func Poses(text string) Pose {
	rules := readByRules(text)
	sentences := sentencesOf(text)
	if size := wordsIn(sentences); size < fewest || size > most {
		return rules.Pose
	}
	v, model := vectorOf(sentences), loadWeights()
	return Pose{
		Pending: rules.printed || rules.asked && model.pending.asks(sentences) || combine(rules.Pending, model.pending.margin(v)+eager),
		Done:    combine(rules.Done, model.done.margin(v)+eagerDone),
	}
}

// Constants of the joint decision of rules and model, measured by TestModelWeightsMatchTexts
// -validate.
const (
	eager     = 0.5  // added to the model's margin, because a miss costs more than a false alarm
	eagerDone = 0.75 // the same for a claim, whose miss costs still more
	trust     = 1.5  // margin from which the model overrides the rules

	// The model has too little data in a shorter text, and was trained on no longer ones: the
	// rules decide those alone.
	fewest, most = 4, 200
)

// asks reports whether the last sentence of a text may ask for consent, after the rules found
// that it does. The sentence is read alone, so that the text before it does not change the
// result.
func (w weights) asks(sentences [][]string) bool {
	last := sentences[len(sentences)-1:]
	return wordsIn(last) < fewest || combine(true, w.margin(vectorOf(last))+eager)
}

// combine returns the joint decision: the rules give yes or no, the model a margin.
func combine(rules bool, sure float64) bool { return decide(rules, sure, trust) }

func decide(rules bool, sure, trust float64) bool {
	if rules {
		return sure > -trust
	}
	return sure > trust
}

func wordsIn(sentences [][]string) int {
	n := 0
	for _, s := range sentences {
		for _, word := range s {
			if first, _ := utf8.DecodeRuneInString(word); isLetter(first) {
				n++
			}
		}
	}
	return n
}

// ruleReading is the result of the rules for a text.
type ruleReading struct {
	Pose
	asked   bool // its last sentence asks for consent
	printed bool // it contains a tool call as text, which decides alone
}

func readByRules(text string) ruleReading {
	p := readPage(text)
	general := p.general()
	found := signals{general: general, editing: p.fenced}
	var done, asked bool
	for i := range p.sentences {
		s := &p.sentences[i]
		before := found.asked
		found.asked = false
		found.place(s)
		plain := !general && !found.past && !found.report
		claims := !found.letter && !(found.drafts && s.item) && (claimsDone(s, plain) || claimsOngoing(s, plain))
		done = done || claims
		found.read(s, claims)
		asked, found.asked = found.asked, before || found.asked
	}
	printed := printsCall(p.folded)
	return ruleReading{Pose{Pending: printed || found.poses(), Done: done}, asked, printed}
}

// general reports a text that explains how plans are confirmed and run.
func (p *page) general() bool {
	for i := range p.sentences {
		if generalities.match(p.sentences[i].tokens) {
			return true
		}
	}
	return false
}

// generalities match statements about any plan, not about one.
var generalities = compile(`
^ un|los|cada|todo plan|planes
^ a|an|every|each|any|all confirmed|pending|running? plan|plans
^ plans are|is|can|run|must|only|wait
confirmar|ejecutar|aprobar|cancelar|descartar|detener|rechazar un|los plan|planes
confirm|run|execute|approve|cancel|discard|drop|stop|reject a|any plan
confirm|approve|run plans
cuando|si|whenever|when|if|once|mientras|while|vez|cada|hasta|until ..5 un|a|ningun|any ..1 plan
then|luego|despues|entonces you|tu|usted {any}
way|how i|it|this work|works
mi|asi ..2 forma|manera|funciona|trabajo ..2 trabajar|funcionar|$
things|cosas|pasos ..1 are|hacen needed|falta
preparar|proponer|ejecutar|hacer|crear|prepare|propose|run|make|create planes|plans
^ como se|puedo|puedes confirma|confirmar|cancela|cancelar|aprueba|aprobar|ejecuta|ejecutar|funciona|hace
how ..3 confirm|cancel|approve|work
piloto {any}
when|once|cuando|si|if the|la|una|a card|tarjeta
on|en|desde|from its|su|their card|tarjeta
^ se confirma|confirman|aprueba|aprueban|ejecuta|ejecutan
nada se ejecuta|envia|lanza|mueve|hace
nothing runs|happens|moves|is
i never execute|run|act|do
yo no ejecuto|envio|hago
two|dos ways|formas|maneras|modos
por ejemplo
for example
`)
