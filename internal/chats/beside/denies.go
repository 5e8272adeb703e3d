package beside

import (
	"slices"

	"piloto/internal/ground/lazy"
)

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
		imaginario imaginaria ficticio ficticia inofensivo inofensiva inocuo inocua formalidad formality informativo cosmetico reversible historial igual intacta intacto
		test theoretical simulation simulated demo joke pretend pretending practice game dry drill rehearsal draft preview mockup mock receipt staging sandbox sample sketch template hypothetical imaginary cosmetic informational fake harmless readonly noop glitch
		history untouched unchanged nowhere`)

	laters  = lazy.Words(`otra another again luego despues later volvere vuelvo volvera nuevo someone somebody alguien`)
	askings = lazy.Words(`confirmacion confirmation confirmaciones confirmar permiso permission preguntar preguntare pregunto pedire ensenare veras revisara aprobara persona ask asked approval approve aprobacion review reviews chance see person`)
	cards   = lazy.Words(`plan tarjeta abajo card below`)
	voids   = lazy.Words(`ignora ignore ignoralo ignorala olvida olvidate disregard forget error fallo glitch bug cancelado cancelada cancelled canceled desactivado desactivada disabled caducado expired recibo receipt comprobante decorativo decorative`)

	pretending = []string{"read only", "for information", "for your information", "for illustration", "illustration purposes", "a titulo ilustrativo", "como ejemplo", "no es un pedido", "dry run", "mock up", "make believe", "vista previa"}
)
