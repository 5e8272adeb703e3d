package beside

import (
	"slices"
	"strings"

	"piloto/internal/ground/lazy"
)

// denied reports whether a clause says that nothing happens by a yes: nothing at all, only a reading, a draft or a
// rehearsal, nothing yet because another question follows, or that the card is none. Any negation may say so, but for a
// few, one of a value that the plan sends: «sin azúcar», and in a title one that belongs to its thing. That nothing happens before a confirmation is true.
func (n names) denied(clause string, title bool) bool {
	words := strings.Fields(clause)
	if asksAgain(words) || disowns(words) {
		return true
	}
	for i, w := range words {
		if untils()[w] && has(near(words, i), confirmings()) {
			return false
		}
	}
	if slices.ContainsFunc(harmlessNegations, func(said string) bool { return strings.HasPrefix(clause+" ", said+" ") }) {
		return false
	}
	for i, w := range words {
		switch {
		case lackings()[w] && i+1 < len(words) && n.sends(words[i+1]) && !n.does(words[i+1]), title && negations()[w] && !n.says(words, i):
		case negations()[w], pretences()[w] && !n.sends(w), onlies()[w] && has(near(words, i), readings()):
			return true
		}
	}
	return slices.ContainsFunc(pretending, func(phrase string) bool { return strings.Contains(" "+clause+" ", " "+phrase+" ") })
}

// denies is denied of a clause that is no title.
func (n names) denies(clause string) bool { return n.denied(clause, false) }

// says reports whether the negation at i of a title denies its plan: it is of an act, says that little happens, or has nothing
// behind it. Others are of the thing, or of why: «Anular el pedido sin pagar», “because the credit does not cover it”.
func (n names) says(words []string, i int) bool {
	w, rest := words[i], near(words, i)
	switch {
	case len(rest) == 0:
		return true
	case rest[0] == "longer" && has(words[:i], afterwards()), w == "no" && words[max(0, i-1)] == "ya" && has(words[:i], afterwards()): // “after this it can no longer be changed”
		return false
	case absolute()[w]:
		return !elses()[rest[0]]
	case excluding()[w] && n.codesElse(strings.Join(words[:i], " ")) && len(codesIn(strings.Join(words[i:], " "))) == 0: // “orders W45 and W51 are sent and cannot be changed”
		return false
	case n.isOfItsThing(words, i):
		return false
	case costs()[rest[0]], prepositions()[rest[0]], elses()[rest[0]]: // «sin gastos de envío», «no con el saldo», “no more”
		return slices.ContainsFunc(rest, func(w string) bool { return n.does(w) || belittling()[w] && !costs()[w] })
	}
	return slices.ContainsFunc(rest, func(w string) bool {
		is, _ := n.act(w)
		return is || belittling()[w] || presents()[w] || participle().MatchString(w) && isNamed(n.all, w)
	}) || determiners()[w] && isNamed(n.all, rest[0]) && !costs()[rest[len(rest)-1]]
}

// isOfItsThing reports whether the negation at i belongs to a thing: «el pedido sin pagar», “the bookings that are not confirmed”.
func (n names) isOfItsThing(words []string, i int) bool {
	if i == 0 || i+1 == len(words) {
		return false
	}
	before, rest := words[i-1], words[i+1:]
	if i == 1 {
		return relatives()[before] && len(rest) > 1 && beings()[rest[0]] && participle().MatchString(rest[1])
	}
	if has(words[1:i], joining()) || slices.ContainsFunc(rest, func(w string) bool { return negations()[w] || belittling()[w] }) {
		return false
	}
	relative := i > 2 && (relatives()[before] || beings()[before] && relatives()[words[i-2]])
	again := n.does(words[0]) && slices.ContainsFunc(rest, n.does) // «Anular el pedido sin anularlo»
	switch words[i] {
	case "sin", "without":
		return n.does(words[0]) && !again && len(rest) <= 5
	case "no", "not":
		return relative || !again && participle().MatchString(rest[0])
	case "dont", "doesnt", "didnt", "isnt", "arent", "wasnt", "werent":
		return relative
	}
	return false
}

// near returns the few words after the word at i.
func near(words []string, i int) []string { return words[i+1 : min(len(words), i+5)] }

func has(words []string, list map[string]bool) bool {
	return slices.ContainsFunc(words, func(w string) bool { return list[w] })
}

// asksAgain reports whether words say that another confirmation follows.
func asksAgain(words []string) bool {
	return has(words, laters()) && has(words, askings())
}

// disowns reports whether words speak of the card as of something that does not count.
func disowns(words []string) bool {
	return has(words, cards()) && has(words, voids())
}

var (
	untils      = lazy.Words(`hasta until till unless before antes sin without mientras`)
	confirmings = lazy.Words(`confirmes confirme confirmas confirmacion apruebes apruebe aprobacion autorices autorice autorizacion permiso confirm approve agree authorize confirmation approval permission`)
	negations   = lazy.Words(`no not nt never nunca jamas tampoco ni nor neither nada nothing ningun ninguna ninguno none nadie nobody noone cero zero cannot cant dont doesnt didnt wont wouldnt isnt arent wasnt arent sin without
		carece carecen lacks apenas hardly barely`)
	lackings = lazy.Words(`sin without`)
	onlies   = lazy.Words(`solo solamente unicamente meramente puramente just only merely simply purely`)
	readings = lazy.Words(`consulta consulto consultar consultare mira miro mirar mirare compruebo comprobar comprobare guarda guardo enseno ensenar ensenarte veas informativo informativos checking check checks looking look looks reading read reads moves saves show shows
		showing information informational`)
	pretences = lazy.Words(`prueba pruebas simulacion simulacro simulado ejemplo broma juego ensayo ensayito borrador recibo comprobante maqueta mentira mentirijilla mentirijillas pega juguete teorico teorica muestra boceto plantilla hipotetico hipotetica orientativo orientativa
		imaginario imaginaria ficticio ficticia inofensivo inofensiva inocuo inocua informativo cosmetico reversible historial igual intacta intacto
		test theoretical simulation simulated demo joke pretend pretending practice game dry drill rehearsal draft preview mockup mock receipt staging sandbox sample sketch template hypothetical imaginary cosmetic informational fake harmless readonly noop glitch
		history untouched unchanged nowhere`)

	absolute     = lazy.Words(`never nunca jamas tampoco nada nothing ningun ninguna ninguno none nadie nobody noone cero zero carece carecen lacks apenas hardly barely`)
	elses        = lazy.Words(`else more mas otra otro otros otras other further extra additional adicional adicionales`)
	costs        = lazy.Words(`cost costs fee fees charge charges shipping delivery postage price gasto gastos coste costes costo cargo cargos comision comisiones recargo envio penalizacion penalty`)
	prepositions = lazy.Words(`with to for from by via on in at as until before after through than con para a al por desde de del en como hasta antes despues`)
	presents     = lazy.Words(`now yet today ahora hoy aun todavia really`)
	afterwards   = lazy.Words(`after afterwards then despues luego tras entonces`)
	determiners  = lazy.Words(`no`)
	excluding    = lazy.Words(`cannot cant not isnt arent no`)
	relatives    = lazy.Words(`que that which who i you we they he she`)
	beings       = lazy.Words(`is are was were has have had been do does did se ha han esta estan estaba estaban fue fueron`)
	participle   = lazy.Pattern(`(?:[aei]d[oa]s?|hech[oa]s?|[a-z]{3,}ed|paid|sent|made|done|taken|shown|sold|kept|bought)$`)
	joining      = lazy.Words(`y e o u pero sino aunque and or but then though pues luego asi so will would can could may might`)
	belittling   = lazy.Words(`anything everything todo algo alguno alguna ningun efecto efectos effect effects consecuencia consecuencias consequence consequences cambio cambios change changes changing cambiar cambia cambiara
		real reales really verdad truly actually hacer hace hara hecho hecha doing does done made do happen happens happening pasa pasara ocurre ocurrira tocar toca touching ejecutar ejecuta executing run runs
		this what esto eso lo significa mean means coste costes costo cargo cargos cost costs charge charges fee fees gastos compromiso commitment obligation riesgo riesgos risk risks penalizacion penalty problema problemas problem problems trouble`)

	laters  = lazy.Words(`otra another again luego despues later volvere vuelvo volvera nuevo someone somebody alguien`)
	askings = lazy.Words(`confirmacion confirmation confirmaciones confirmar permiso permission preguntar preguntare pregunto pedire ensenare veras revisara aprobara persona ask asked approval approve aprobacion review reviews chance see person`)
	cards   = lazy.Words(`plan tarjeta abajo card below`)
	voids   = lazy.Words(`ignora ignore ignoralo ignorala olvida olvidate disregard forget error fallo glitch bug cancelado cancelada cancelled canceled desactivado desactivada disabled caducado expired recibo receipt comprobante decorativo decorative`)

	harmlessNegations = []string{"no te preocupes", "no se preocupe", "no hay problema", "sin problema", "sin problemas", "no problem", "no worries", "dont worry"}

	pretending = []string{"read only", "for information", "for your information", "for illustration", "illustration purposes", "a titulo ilustrativo", "como ejemplo", "no es un pedido", "dry run", "mock up", "make believe", "vista previa"}
)
