package intent

import "strings"

// What happened to a thing is no claim of ours where the sentence itself says that it
// is a fact that somebody read: it names who did it, when it was or who told it,
// counts, teaches, or supposes.

// ofAnything reports a sentence in which what happened to a thing is no claim: it
// supposes, teaches, says who told it or when it was, or the thing still waits.
func ofAnything(s *sentence) bool {
	return suppositions()[s.tokens[0].word] || replies.match(s.tokens) || unready.match(s.tokens) || teaches.match(s.tokens) ||
		hearsay.match(s.tokens) || begsFirst(s.tokens) || tallies(s.tokens) || dated(s.tokens) || narrates(s.tokens) || strings.HasPrefix(s.raw, "[ ]") // a box that nobody ticked
}

// begsFirst reports a consent asked for before anything is told: "Give me a nod
// and it's paid".
func begsFirst(all []token) bool {
	from, _, ok := begs.find(all)
	return ok && len(all)-len(from) <= 2
}

// dated reports a sentence that tells the past: a year, a day gone, a version.
func dated(all []token) bool {
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

// narrates reports a sentence that tells the past of a thing by its date: «fue
// pagada el 3 de mayo», "was restored on Monday". A date that the thing is for is
// none: «se movió al 3 de mayo», "was booked for Monday".
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

// ago reports at i the last word of a date when something happened.
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

// tallies reports a sentence that counts what befell several things: "14 sent, 3
// accepted", «entraron 212 y se cerraron 190».
func tallies(all []token) bool {
	counts := 0
	for i := range all {
		if !isNumber(all[i].word) && !numerals()[all[i].word] {
			continue
		}
		before := i > 0 && (all[i-1].form&past3 != 0 || strangerDid(&all[i-1]))
		after := i+1 < len(all) && !all[i+1].opens && (was()[all[i+1].word] || effected(&all[i+1]))
		if before || after {
			counts++
		}
	}
	return counts > 1
}

// agent reports who did it: «por Ana», "by your administrator", "by one of them".
func agent(rest []token) bool {
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

// somebody reports words before a verb that name who did it, other than the
// assistant: «el cliente ya pagó», «Ana ya lo reservó».
func somebody(subject []token) bool {
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
	// means are no agents: «por correo», "by email".
	means = setOf(`one two three four five six half correo email mail e-mail whatsapp sms telefono phone text completo fin favor error mistake default ti usted separado ahora hoy duplicado adelantado chat slack transferencia card tarjeta mensaje`)
	// people do what the assistant does not.
	people = setOf(`personas persona equipo cliente clienta clientes proveedor proveedora banco aerolinea almacen transportista ella ellos ellas quien`)
	// The words of a date. perfect and planned tell of a date to come.
	calendar = setOf(`monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october november december
		lunes martes miercoles jueves viernes sabado domingo enero febrero marzo abril mayo junio julio agosto septiembre setiembre octubre noviembre diciembre`)
	periods    = setOf(`week month quarter year semana mes trimestre ano`)
	lastly     = setOf(`last previous past pasado pasada anterior`)
	thisOne    = setOf(`this esta este`)
	inDates    = setOf(`the de of dia dias early late mid pasado`)
	dateLead   = setOf(`on in since last during el en desde durante`)
	numerals   = setOf(`two three four five six seven eight nine ten dos tres cuatro cinco seis siete ocho nueve diez`)
	due        = setOf(`hasta until through vence vencen caduca expires para valid valida valido renueva renews`)
	dueLead    = setOf(`para hasta a for until till to`)
	was        = setOf(`was were fue fueron`)
	perfect    = setOf(`ha han has have been ya queda quedan quedo´ quedaron`)
	planned    = setOf(`booked scheduled rescheduled moved agendo´ agendaron programo´ programaron reservo´ agendada agendado programada programado reservada reservado`)
	bygone     = setOf(`ayer yesterday siglo century anteayer`)
	yearBefore = setOf(`en in de since desde entre between del to y and by from ano year january february march april may june july august september october november december`)
)

// hearsay names the source of what a sentence tells.
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

// unready says that a thing still waits for the person's consent.
var unready = compile(`
en|como|in|as borrador|draft
as|in a draft
waiting|awaiting|awaits|pending|pendiente|pendientes|espera|falta ..2 your|tu|su|vuestra ..1 confirmation|approval|ok|go-ahead|confirmacion|aprobacion|autorizacion|visto
`)

// teaches says what always holds.
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
