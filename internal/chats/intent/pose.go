package intent

import "unicode/utf8"

// Pose says what a text of the model pretends although no call of a tool
// stands behind it. Words are data: whether a plan really waits, or something
// really ran, only the record knows.
type Pose struct {
	// Pending: the text poses as a plan that waits, or asks for a confirmation.
	Pending bool
	// Done: the text claims that something was done, or is being done, in the
	// outside world.
	Done bool
}

// Poses reads a whole text of the model. It never fails, and its cost is linear
// in the text's length.
func Poses(text string) Pose {
	rules := rulesOf(text)
	sentences := sentencesOf(text)
	if size := wordsIn(sentences); size < fewest || size > most {
		return rules.Pose
	}
	v, model := vectorOf(sentences), learned()
	return Pose{
		Pending: rules.printed || rules.asked && model.pending.asks(sentences) || together(rules.Pending, model.pending.margin(v)+eager),
		Done:    together(rules.Done, model.done.margin(v)+eagerDone),
	}
}

// How the rules and the model decide together, as TestTheModelIsOfTheseTexts -validate measures
// it.
const (
	eager     = 0.5  // what is added to how sure the model is, because a miss costs more than an alarm
	eagerDone = 0.75 // the same of a claim, which costs still more when it is missed
	trust     = 1.5  // how sure the model must then be to be right against the rules

	// A text of fewer words gives the model too little to judge by, and of more it knows none:
	// there the rules decide alone.
	fewest, most = 4, 200
)

// asks reports whether the last sentence of a text may ask for a consent, as the rules say it
// does: read alone, so that what stands before it neither hides nor makes a question.
func (w weights) asks(sentences [][]string) bool {
	last := sentences[len(sentences)-1:]
	return wordsIn(last) < fewest || together(true, w.margin(vectorOf(last))+eager)
}

// together is what two readers say: the rules by yes or no, the model by how sure it is.
func together(rules bool, sure float64) bool { return decided(rules, sure, trust) }

func decided(rules bool, sure, trust float64) bool {
	if rules {
		return sure > -trust
	}
	return sure > trust
}

func wordsIn(sentences [][]string) int {
	n := 0
	for _, s := range sentences {
		for _, word := range s {
			if first, _ := utf8.DecodeRuneInString(word); letter(first) {
				n++
			}
		}
	}
	return n
}

// said is what the rules read in a text.
type said struct {
	Pose
	asked   bool // its last sentence asks for a consent
	printed bool // it prints a call: nothing else can be meant
}

func rulesOf(text string) said {
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
		claims := !found.letter && !(found.drafts && s.item) && (claimsDone(s, plain) || ongoing(s, plain))
		done = done || claims
		found.read(s, claims)
		asked, found.asked = found.asked, before || found.asked
	}
	printed := printsCall(p.folded)
	return said{Pose{Pending: printed || found.poses(), Done: done}, asked, printed}
}

// general reports a text that explains how any plan is confirmed and run.
func (p *page) general() bool {
	for i := range p.sentences {
		if generalities.match(p.sentences[i].tokens) {
			return true
		}
	}
	return false
}

// generalities speak of any plan, not of one.
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
