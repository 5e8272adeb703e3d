package beside

import (
	"slices"
	"strings"

	"piloto/internal/ground/lazy"
)

// disclaims reports whether a clause says that a yes does nothing: that it is a rehearsal, that nothing happens, or that the
// plan's own act is not done. It may say of other things and of reasons what they are not: «Anular el pedido sin pagar», “because the credit does not cover it”, «sin gastos de envío».
func (n names) disclaims(clause string) bool {
	words := strings.Fields(clause)
	if asksAgain(words) || disowns(words) {
		return true
	}
	for i, w := range words {
		if untils()[w] && (has(near(words, i), confirmings()) || saysYes(near(words, i))) {
			return false
		}
	}
	if n.isPast(words) {
		return true
	}
	for i, w := range words {
		switch {
		case pretences()[w] && !n.sends(w) && isCalled(words, i), onlies()[w] && has(near(words, i), readings()), negations()[w] && n.undoes(words, i):
			return true
		}
	}
	return slices.ContainsFunc(pretending, func(phrase string) bool { return strings.Contains(" "+clause+" ", " "+phrase+" ") })
}

// isPast reports whether a clause says that the plan's act was done already, or that its thing stays: “order W12 is already cancelled”,
// “order W12 stays active”, “instead of cancelling”.
func (n names) isPast(words []string) bool {
	acts := slices.ContainsFunc(words, func(w string) bool { return n.didIt(w) || finished()[w] })
	stays := has(words, staying()) && (has(words, open()) || slices.ContainsFunc(codesIn(strings.Join(words, " ")), func(c string) bool { return n.codes[c] }))
	done := false
	for i, w := range words {
		done = done || (before()[w] || pasts()[w]) && slices.ContainsFunc(words[i+1:min(len(words), i+4)], func(w string) bool {
			return (n.didIt(w) || finished()[w]) && participle().MatchString(w)
		})
	}
	return stays || done || acts && strings.Contains(" "+strings.Join(words, " ")+" ", " instead of ") || acts && strings.Contains(" "+strings.Join(words, " ")+" ", " en vez de ")
}

// isCalled reports whether a clause calls its plan what the word at i says: “this is a test”, «prueba», «todo queda igual».
func isCalled(words []string, i int) bool {
	if keeping()[words[i]] {
		return has(words, everything())
	}
	return len(words) < 4 || has(words[:i], onlies()) || has(words[:i], copulas())
}

// undoes reports whether the negation at i says that nothing is done by the plan, or that its act is not.
func (n names) undoes(words []string, i int) bool {
	w, rest, before := words[i], near(words, i), strings.Join(words[:i], " ")
	acts := slices.ContainsFunc(rest, n.didIt)
	if len(rest) == 0 {
		return true
	}
	switch first := rest[0]; {
	case elses()[first], first == "longer" && has(words, afterwards()), w == "no" && i > 0 && words[i-1] == "ya" && has(words, afterwards()):
		return false // “nothing else”, “after this it can no longer be changed”
	case people()[w]:
		return true
	case absolute()[w]:
		return first != "que" && (acts || has(words, doings()) || has(rest, effects()))
	case lackings()[w]:
		return has(rest, everything()) || has(rest, effects()) || acts && !has(rest, costs())
	case presents()[first] && (len(rest) == 1 || !participle().MatchString(rest[1])), has(rest, reals()), has(rest, effects()), doesItself(rest):
		return true // “not now”, “not for real”, “not what this does”
	case i == 0 && isPassive(rest): // “no room will be booked”
		return true
	case able()[w] && i > 0 && persons()[words[i-1]]:
		return false // “I cannot refund it to another card”
	case prepositions()[first], n.isOfOthers(before, words[i:]), isRelative(words, i):
		return false // «no con el saldo», “order W45 cannot be changed”, “the bookings that are not confirmed”
	case has(rest, anys()) && !isNamed(n.all, rest[len(rest)-1]), has(rest, backs()):
		return false // “it does not change any order”, of an address
	case has(rest, everything()) && (acts || has(rest, doings())):
		return true
	case w == "no" && i == 1 && n.does(words[0]):
		return isNamed(n.all, first) && !has(rest, costs())
	}
	subject := subjectOf(words[:i])
	switch {
	case !slices.ContainsFunc(subject, func(w string) bool { return !pronouns()[w] }):
		is, _ := n.act(rest[0])
		return acts || has(rest, doings()) || is && !participle().MatchString(rest[0])
	case n.does(subject[0]):
		return (acts || has(rest, doings())) && !(participle().MatchString(rest[0]) && !n.does(rest[0]))
	}
	return acts && slices.ContainsFunc(words[:i], func(w string) bool { return isNamed(n.all, w) })
}

// didIt reports whether a word is a form of the plan's act, as “cancel”, “cancelled” or «anulada».
func (n names) didIt(word string) bool {
	if n.does(word) || participle().MatchString(word) && isNamed(n.all, word) {
		return true
	}
	return slices.ContainsFunc([]string{"ed", "d", "do", "da", "dos", "das"}, func(ending string) bool {
		base, ok := strings.CutSuffix(word, ending)
		return ok && len(base) > 2 && (n.does(base) || len(base) > 3 && base[len(base)-1] == base[len(base)-2] && n.does(base[:len(base)-1]))
	})
}

// doesItself reports whether words say what the plan does: “not what this does”.
func doesItself(words []string) bool {
	for i, w := range words[1:] {
		if doings()[w] && selves()[words[i]] {
			return true
		}
	}
	return false
}

// isPassive reports whether words have “be” and a participle.
func isPassive(words []string) bool {
	for i, w := range words[1:] {
		if words[i] == "be" && participle().MatchString(w) {
			return true
		}
	}
	return false
}

// isOfOthers reports whether a negation is of things that are named before it by ids or numbers, and that the plan leaves alone.
func (n names) isOfOthers(before string, after []string) bool {
	if len(codesIn(strings.Join(after, " "))) > 0 {
		return false
	}
	number := slices.ContainsFunc(strings.Fields(before), func(w string) bool {
		return len(w) > 2 && strings.Trim(w, "0123456789") == "" && !n.all[w]
	})
	return n.codesElse(before) || number && len(codesIn(before)) == 0
}

// isRelative reports whether the negation at i is in a clause about a thing: «el pedido que aún no has pagado».
func isRelative(words []string, i int) bool {
	for i--; i >= 0 && (beings()[words[i]] || presents()[words[i]]); i-- {
	}
	return i >= 0 && relatives()[words[i]] && (i > 0 || !persons()[words[i]])
}

// subjectOf returns the words before a negation that belong to its own clause.
func subjectOf(words []string) []string {
	for i, w := range slices.Backward(words) {
		if joining()[w] {
			return words[i+1:]
		}
	}
	return words
}

var (
	absolute     = lazy.Words(`never nunca jamas tampoco nada nothing ningun ninguna ninguno none nadie nobody noone cero zero carece carecen lacks apenas hardly barely`)
	anys         = lazy.Words(`any ningun ninguna`)
	backs        = lazy.Words(`back automatically immediately automaticamente inmediatamente`)
	finished     = lazy.Words(`done hecho hecha`)
	staying      = lazy.Words(`stay stays stayed remain remains keep keeps kept held sigue siguen queda quedan permanece`)
	open         = lazy.Words(`active open valid activo activa abierto abierta vigente`)
	before       = lazy.Words(`already ya yesterday ayer`)
	pasts        = lazy.Words(`was were fue fueron`)
	people       = lazy.Words(`nobody noone nadie`)
	elses        = lazy.Words(`else more mas otra otro otros otras other further extra additional adicional adicionales`)
	costs        = lazy.Words(`cost costs fee fees charge charges shipping delivery postage price gasto gastos coste costes costo cargo cargos comision comisiones recargo envio penalizacion penalty`)
	prepositions = lazy.Words(`with to for from by via on in at as through than con para a al por desde de del en como`)
	presents     = lazy.Words(`now yet today ahora hoy aun todavia really still`)
	afterwards   = lazy.Words(`after afterwards then despues luego tras entonces later`)
	everything   = lazy.Words(`anything everything nothing all todo nada algo`)
	effects      = lazy.Words(`effect effects efecto efectos consequence consequences consecuencia consecuencias compromiso commitment obligation obligacion validez validity`)
	reals        = lazy.Words(`real reales verdad truly actually`)
	selves       = lazy.Words(`this it esto eso plan`)
	doings       = lazy.Words(`submit submits submitted do does doing done happen happens happening run runs executed execute sent send sends change changes changed changing touch touches touching
		hace hara hacer hecho pasa pasara ocurre ocurrira ejecuta ejecutara ejecutar envia enviara enviar cambia cambiara cambiar cambiando toca tocara tocar`)
	keeping    = lazy.Words(`untouched unchanged intact intacto intacta igual historial history`)
	copulas    = lazy.Words(`is are its thats es son era this esto`)
	persons    = lazy.Words(`i we you`)
	able       = lazy.Words(`cannot cant couldnt`)
	pronouns   = lazy.Words(`i we yo it this that these those esto eso ello se lo la los las the el plan card tarjeta will would can could does do did is are was were has have be been ya y and but pero`)
	relatives  = lazy.Words(`que that which who i you we they he she`)
	beings     = lazy.Words(`is are was were has have had been do does did se ha has han he hemos esta estan estaba estaban fue fueron`)
	participle = lazy.Pattern(`(?:[aei]d[oa]s?|hech[oa]s?|[a-z]{3,}ed|paid|sent|made|done|taken|shown|sold|kept|bought)$`)
	joining    = lazy.Words(`y e o u pero sino aunque and or but then though pues luego asi so because since porque ya`)
)
