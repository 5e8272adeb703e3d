package beside

import (
	"slices"
	"strings"

	"piloto/internal/ground/lazy"
)

// denies reports whether a clause says that nothing happens by a yes: nothing at all, only a reading, a draft or a rehearsal,
// nothing yet because another question follows, or that the card is none. That nothing happens before a confirmation is true.
func denies(clause string) bool {
	words := strings.Fields(clause)
	if asksAgain(words) || disowns(words) {
		return true
	}
	for i, w := range words {
		if untils()[w] && has(near(words, i), confirmings()) {
			return false
		}
	}
	for i, w := range words {
		switch {
		case nothings()[w] && (has(words[:i], effects()) || has(words[i+1:], effects())), nots()[w] && has(near(words, i), effects()):
			return true
		case onlies()[w] && has(near(words, i), readings()), (onlies()[w] || ises()[w]) && has(near(words, i), pretences()), harmless()[w]:
			return true
		}
	}
	return slices.ContainsFunc(pretending, func(phrase string) bool { return strings.Contains(" "+clause+" ", " "+phrase+" ") })
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
	nothings    = lazy.Words(`nada nothing ningun ninguna none cero zero`)
	nots        = lazy.Words(`no not never nunca jamas sin without wont doesnt isnt cant dont wouldnt tampoco`)
	effects     = lazy.Words(`pasa pasara pasaria ocurre ocurrira sucede sucedera ejecuta ejecutara ejecutare ejecutan ejecutaran ejecutado ejecutar ejecutarse hace hara hare haran hecho hacer envia enviara enviare enviado enviar manda mandara mandare
		cambia cambiara cambiare cambios modifica modificara borra borrara borrare elimina eliminara cobra cobrara cobrare cargo coste reserva reservo reservara reservare pide pido pedira pedire pedir pedido compra compro comprara comprare comprar
		paga pago pagara pagare pagar guarda guardara efecto efectos consecuencia consecuencias compromiso real realmente verdad serio riesgo
		happen happens happened happening run runs execute executes executed executing sent send sends sending change changes changed effect effects do does done delete deletes deleted charge charges charged book books booked booking order orders
		ordered ordering buy buys bought place placed pay pays paid cost saved consequence consequences real really commitment risk op`)
	onlies    = lazy.Words(`solo solamente unicamente just only merely simple`)
	ises      = lazy.Words(`es sera is its it be`)
	readings  = lazy.Words(`consulta consulto consultar consultare mira miro mirar mirare compruebo comprobar comprobare guarda guardo checking check checks looking look looks reading read reads moves saves`)
	pretences = lazy.Words(`prueba simulacion simulacro simulado ejemplo broma juego ensayo borrador recibo comprobante
		test simulation simulated demo joke pretend practice game dry drill rehearsal draft preview mockup mock receipt`)
	harmless = lazy.Words(`harmless inofensivo inofensiva inocuo inocua ficticio ficticia fake readonly noop glitch`)

	laters  = lazy.Words(`otra another again luego despues later volvere vuelvo volvera nuevo`)
	askings = lazy.Words(`confirmacion confirmation confirmaciones confirmar permiso permission preguntar preguntare pregunto pedire ask asked approval aprobacion`)
	cards   = lazy.Words(`plan tarjeta abajo card below`)
	voids   = lazy.Words(`ignora ignore ignoralo ignorala olvida olvidate disregard forget error fallo glitch bug cancelado cancelada cancelled canceled desactivado desactivada disabled caducado expired recibo receipt comprobante decorativo decorative`)

	pretending = []string{"read only", "for illustration", "illustration purposes", "a titulo ilustrativo", "como ejemplo", "no es un pedido", "dry run", "mock up", "vista previa"}
)
