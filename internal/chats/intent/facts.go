package intent

import (
	"strings"

	"piloto/internal/ground/lazy"
)

// A passive statement about a thing is no claim of the assistant when the sentence itself marks
// it as a fact from elsewhere: it names the actor, the date or the source, counts several
// things, teaches, or supposes.

// isOutsideFact reports a sentence whose passive statements are no claims: it supposes, teaches,
// names the source or the date, or the thing still waits.
func isOutsideFact(s *sentence) bool {
	return suppositions()[s.tokens[0].word] || replies.match(s.tokens) || unready.match(s.tokens) || teaches.match(s.tokens) ||
		hearsay.match(s.tokens) || begsFirst(s.tokens) || countsThings(s.tokens) || isDated(s.tokens) || narrates(s.tokens) || strings.HasPrefix(s.raw, "[ ]") // an empty check box
}

// begsFirst reports a request for consent at the beginning: "Give me a nod and it's paid".
func begsFirst(all []token) bool {
	from, _, ok := begs.find(all)
	return ok && len(all)-len(from) <= 2
}

// isDated reports a sentence with a past date: a year or a past day.
func isDated(all []token) bool {
	for i := range all {
		w := all[i].word
		if bygone()[w] || i > 0 && isYear(w) && yearBefore()[all[i-1].word] {
			return !mentions(all[max(0, i-8):i], due())
		}
	}
	return false
}

func isYear(w string) bool {
	return len(w) == 4 && (w[0] == '1' || w[:2] == "20") && strings.Trim(w, "0123456789") == ""
}

// narrates reports a past statement about a thing with the date of the event: «fue pagada el 3
// de mayo», "was restored on Monday". The date for which a thing is planned does not count: «se
// movió al 3 de mayo», "was booked for Monday".
func narrates(all []token) bool {
	past, when := false, false
	for i := range all {
		switch t := &all[i]; {
		case perfect()[t.word], planned()[t.word]:
			return false
		case was()[t.word], t.form&past3 != 0:
			past = true
		default:
			when = when || ago(all, i)
		}
	}
	return past && when
}

// ago reports whether the word at i ends the date of a past event.
func ago(all []token, i int) bool {
	j := i - 1
	switch w := all[i].word; {
	case periods()[w]:
		return j >= 0 && lastly()[all[j].word] || j == 0 && thisOne()[all[j].word] || i+1 < len(all) && lastly()[all[i+1].word]
	case isNumber(w) && j > 0 && (all[j].word == "the" || all[j].word == "dia"):
	case !calendar()[w]:
		return false
	}
	for least := max(0, i-4); j > least && (isNumber(all[j].word) || inDates()[all[j].word]); {
		j--
	}
	return j >= 0 && dateLead()[all[j].word] && (j == 0 || !dueLead()[all[j-1].word])
}

// countsThings reports a sentence that counts the results of several things: "14 sent, 3
// accepted", «entraron 212 y se cerraron 190».
func countsThings(all []token) bool {
	counts := 0
	for i := range all {
		if !isNumber(all[i].word) && !numerals()[all[i].word] {
			continue
		}
		before := i > 0 && (all[i-1].form&past3 != 0 || isUnknownSpanishPast(&all[i-1]))
		after := i+1 < len(all) && !all[i+1].opens && (was()[all[i+1].word] || isResultParticiple(&all[i+1]))
		if before || after {
			counts++
		}
	}
	return counts > 1
}

// hasAgent reports whether the words name the actor: «por Ana», "by your administrator", "by one
// of them".
func hasAgent(rest []token) bool {
	for i := 0; i+1 < min(len(rest), 10); i++ {
		w, next := rest[i].word, rest[i+1].word
		if w != "by" && w != "por" {
			continue
		}
		if isNumber(next) || next == "one" {
			if w == "by" && i+2 < len(rest) && (rest[i+2].word == "of" || isNumber(next) && i+3 < len(rest) && rest[i+3].word == "of") {
				return true // "by 58% of them"; «por 40», "by 14 days"
			}
		} else if !means()[next] && (w == "por" || !calendar()[next]) {
			return true
		}
	}
	return false
}

// namesActor reports whether the words before a verb name an actor other than the assistant: «el
// cliente ya pagó», «Ana ya lo reservó».
func namesActor(subject []token) bool {
	if mentions(subject, people()) {
		return true
	}
	n := len(subject)
	if n == 0 || n > 1 && subject[n-2].word != "y" && subject[n-2].word != "que" {
		return false
	}
	last := &subject[n-1]
	return last.form == 0 && !last.quoted && !small()[last.word] && !lead()[last.word]
}

var (
	// means lists words after «por» or "by" that are no actors: «por correo», "by email".
	means = lazy.Words(`one two three four five six half correo email mail e-mail whatsapp sms telefono phone text completo fin favor error mistake default ti usted separado ahora hoy duplicado adelantado chat slack transferencia card tarjeta mensaje`)
	// people lists actors other than the assistant.
	people = lazy.Words(`personas persona equipo cliente clienta clientes proveedor proveedora banco aerolinea almacen transportista ella ellos ellas quien`)
	// The words of a date. perfect and planned mark a future date.
	calendar = lazy.Words(`monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october november december
		lunes martes miercoles jueves viernes sabado domingo enero febrero marzo abril mayo junio julio agosto septiembre setiembre octubre noviembre diciembre`)
	periods    = lazy.Words(`week month quarter year semana mes trimestre ano`)
	lastly     = lazy.Words(`last previous past pasado pasada anterior`)
	thisOne    = lazy.Words(`this esta este`)
	inDates    = lazy.Words(`the de of dia dias early late mid pasado`)
	dateLead   = lazy.Words(`on in since last during el en desde durante`)
	numerals   = lazy.Words(`two three four five six seven eight nine ten dos tres cuatro cinco seis siete ocho nueve diez`)
	due        = lazy.Words(`hasta until through vence vencen caduca expires para valid valida valido renueva renews`)
	dueLead    = lazy.Words(`para hasta a for until till to`)
	was        = lazy.Words(`was were fue fueron`)
	perfect    = lazy.Words(`ha han has have been ya queda quedan quedo´ quedaron`)
	planned    = lazy.Words(`booked scheduled rescheduled moved agendo´ agendaron programo´ programaron reservo´ agendada agendado programada programado reservada reservado`)
	bygone     = lazy.Words(`ayer yesterday siglo century anteayer`)
	yearBefore = lazy.Words(`en in de since desde entre between del to y and by from ano year january february march april may june july august september october november december`)
)

// hearsay matches the source of a statement.
var hearsay = compile(`
segun|according|dice|dicen|dices|says|said|mencionas|comentas|cuentas|mentioned|pegaste|pasted|captura|screenshot {any}
por lo que
que|lo|you compartiste|pegaste|pasaste|mandaste|enviaste|adjuntaste|subiste|copiaste|shared|pasted|sent|attached|uploaded|copied
from|in what|your|the you|screenshot|log|history
it|parece|apparently|aparentemente seems|appears|looks|que ..2 {any}
i|we see|saw|notice|noticed that|the|it
veo|vemos|noto|observo que
wrote|replied|answered back|that
contesto´|respondio´|escribio´ {any}
told|tells me|us|you|him|her
dijo|dijeron|comento´|confirmo´|indico´|explico´|aviso´|mencionan|mencionas que
record|records|log|history|thread|calendar|minutes shows|show|lists|says
segun|por el|la|tu|lo|esta|este historial|registro|log|captura|lista|que|ejemplo
confirms|indicates|indica|shows|demuestra|says that|que|if|whether
^ al {I}
marked|listed|shown as ..2 in|on
`)

// unready matches a thing that still waits for the user's consent.
var unready = compile(`
en|como|in|as borrador|draft
as|in a draft
waiting|awaiting|awaits|pending|pendiente|pendientes|espera|falta ..2 your|tu|su|vuestra ..1 confirmation|approval|ok|go-ahead|confirmacion|aprobacion|autorizacion|visto
`)

// teaches matches general statements.
var teaches = compile(`
siempre|always|usually|normally|generally|generalmente|normalmente|suele|suelen|often|tipicamente|typically {any}
por lo general
cada|every|each {any}
means|significa|mean|indica|describes
^ a|an|un|una {any} ..3 is|are|es|son a|an|one|un|una|el|la|lo|when|cuando|how|como
^ con|with|al|by {quoted}
everything|everything's is? set $
automatically
automaticamente
by default
por defecto|omision
se {any} solo|sola
^ un|una {any} ..3 queda|quedan
as ..3 says|shows|states
^ of the|these|those|your
^ one|two|three|four|five|six|seven|eight|nine|ten|most|some|half|several of the|these|those|your|them
^ de los|las|tus|estos|estas ..1 {num}
en|in la|el? version|versiones|versions {num}
`)
