package intent

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
	p := readPage(text)
	general := p.general()
	found := signals{general: general, editing: p.fenced}
	var done bool
	for i := range p.sentences {
		s := &p.sentences[i]
		found.place(s)
		plain := !general && !found.past && !found.report
		claims := !found.letter && !(found.drafts && s.item) && (claimsDone(s, plain) || ongoing(s, plain))
		done = done || claims
		found.read(s, claims)
	}
	return Pose{Pending: printsCall(p.folded) || found.poses(), Done: done}
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
