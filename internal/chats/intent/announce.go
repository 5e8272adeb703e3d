package intent

import (
	"strings"

	"piloto/internal/ground/lazy"
)

// vows match the announcement of the assistant's own next act.
var vows = compile(`
i'll|we'll {ad}* {V}
i|we will|shall {ad}* {V}
i'll|we'll ..9 {AO}
i'll|we'll ..9 and|then|finally {A}
i'm|we're going|about to {ad}* {V}
i|we am|are going|about to {ad}* {V}
i'll|i be {G}
^ let me {ad}* {V}
i'll|will|to take ..2 following|steps|actions|care
i'd like|love to {A}
voy|vamos a {ad}* {I}
voy|vamos a ir {G}
procedo|paso|prosigo|procedere´|procederemos|pasare´|procedemos a {ad}* {I}
^ enseguida|ahora queda|quedara´
i'm|we're going ahead
dispongo a {I}
dejame|permiteme|dejeme|permitame {I}
dejame|deja|dejeme|permiteme que {c}* {P}
lo que hare´|haremos
tengo previsto|pensado {I}
i|we plan|intend|mean|propose to {V}
i'm|we're planning|intending|proposing to {V}
pienso|planeo|pretendo|propongo {I}
let's {ad}* proceed|go ahead|with|forward
allow me to {ad}* {V}
permiteme|permitame|dejeme|dejame que {S}
estare´|estaremos {G}
estoy|estamos por|a|listo|lista ..2 {I}
`)

// hasFinite reports a verb that makes the words a separate sentence.
func hasFinite(rest []token) bool {
	for i := range rest {
		if rest[i].form&conditional != 0 && !rest[i].quoted {
			return true
		}
	}
	return mentions(rest, finite())
}

func mentions(all []token, words map[string]bool) bool {
	operations.Add(int64(len(all)))
	for i := range all {
		if !all[i].quoted && words[all[i].word] {
			return true
		}
	}
	return false
}

// promises reports a Spanish first person with an act: «reservaré», «la reservo», «Cancelo la
// cita y te aviso».
func promises(s *sentence) bool {
	for i := range s.tokens {
		t := &s.tokens[i]
		if t.quoted || t.form&tell != 0 && t.form&act == 0 {
			continue
		}
		if negatedAt(s.tokens, i) || stays(s.tokens, i) || onlyText(s.tokens[i:]) {
			continue
		}
		if t.form&future1 != 0 {
			return true
		}
		if t.form&present1 == 0 || t.form&(act|advance|look) == 0 && !(s.question && t.form&consent != 0) {
			continue
		}
		next := ""
		if i+1 < len(s.tokens) && !s.tokens[i+1].opens {
			next = s.tokens[i+1].word
		}
		before := i > 0 && !t.opens && (clitics()[s.tokens[i-1].word] || soon()[s.tokens[i-1].word]) && !relative(s.tokens[:i])
		switch {
		case next == "que":
		case before:
			return true
		case next == "de" && t.form&noun != 0:
		case t.form&noun == 0 && !subordinate(s.tokens[:i]):
			return true
		case opensClause(s.tokens, i) && (t.form&noun == 0 || definite()[next] || s.question && (adverbs()[next] || next == "para" || next == "con" || next == "como")):
			return true
		}
	}
	return false
}

// stays reports a verb without a new act: «sigo aquí», «te aviso cuando acabe».
func stays(all []token, at int) bool {
	rest := all[at+1:]
	switch w := all[at].word; {
	case w == "sigo" || w == "seguimos" || w == "continuo":
		return at > 0 && all[at-1].word == "aqui" || len(rest) > 0 && (staying()[rest[0].word] || rest[0].form&gerund != 0 && rest[0].form&act == 0) || mentions(rest[:min(len(rest), 4)], textNouns())
	case w == "paso":
		return len(rest) > 1 && rest[0].word == "a" && rest[1].form&tell != 0
	case w == "aviso" || w == "avisare"+accent:
		return at > 0 && all[at-1].word == "te"
	case w == "empiezo" || w == "comienzo" || w == "empezare"+accent || w == "comenzare"+accent:
		return len(rest) > 0 && (rest[0].word == "por" || rest[0].word == "con")
	}
	return false
}

var staying = lazy.Words(`aqui sin siendo a en atento atenta disponible igual pendiente`)

// subordinate reports whether the next word depends on a relative or a subject.
func subordinate(before []token) bool {
	return mentions(before[max(0, len(before)-3):], subordinates())
}

var subordinates = lazy.Words(`con sin por en que como cuando donde yo si cada un una el la los las del al mi tu su este ese cuanto solo siempre no nunca`)

// negatedAt reports a verb with a «no» before it, apart from pronouns.
func negatedAt(all []token, at int) bool {
	for least := at - 4; at > max(0, least) && clitics()[all[at-1].word]; {
		at--
	}
	return at > 0 && (all[at-1].word == "no" || all[at-1].word == "ni")
}

// onlyText reports a verb whose effect is only a text: «te dejo un ejemplo», "I'll make a list".
func onlyText(from []token) bool {
	return light()[strings.TrimSuffix(from[0].word, accent)] && (objectAmong(from[:min(len(from), 6)], textNouns()) || mentions(from[1:min(len(from), 3)], degrees()))
}

// objectAmong reports a verb whose object, before any place, is one of words:
// «dejo una lista», but not «dejo apuntado en la lista».
func objectAmong(from []token, words map[string]bool) bool {
	for i := range from[1:] {
		t := &from[1+i]
		if places()[t.word] {
			return false
		}
		if !t.quoted && words[t.word] {
			return true
		}
	}
	return false
}

var (
	degrees = lazy.Words(`mas menos more less`) // «lo hago más corto», "make it more formal"
	light   = lazy.Words(`use usar uso usare siga sigo seguir continuar continue continuo doy dejo pongo paso hago dare hare pondre dejare pasare creo preparo ponga haga deje pase de cree agregue anada ponerte hacerte darte dejarte hacer poner dar dejar hacemos
		make put create add generate compile build pull do`)
	places    = lazy.Words(`en on in into onto al to`)
	textNouns = lazy.Words(`texto textito spelling english ingles espanol spanish tono tone estilo style formato format localizador locator resguardo referencia reference numero number link plantilla template pregunta preguntas question questions ejemplo ejemplos resumen lista listado enlace enlaces tabla version borrador idea ideas consejo consejos opciones detalles detalle explicacion resultado resultados capitulo historia cuento relato story chapter motivo razon receta codigo comparacion traduccion respuesta
		informacion analogia guia esquema posible summary example examples list outline explanation overview comparison draft analogy guide snippet detail details context version note`)
)

// idioms match phrases that only look like an announcement.
var idioms = compile(`
start|begin with|off|from
do|make my|sure|it|clear|what best|clear|i|that|you|clear
put it|this this|another|simply|way|differently
let me be|start|see|think
`)

// hints match an act in the conditional.
var hints = compile(`
i'd|we'd {ad}* {V}
quisiera|querria|gustaria {c}* {I}
would|i'd|we'd|that'd|that'll|this'll|it'll|will|i'll {ad}* be? {E}
puedo|podemos|podria|podriamos {c}* {E}
i|we can|could {E}
i|we can|could have|get that|it|this|them|the|your ..3 {ed}
i|we can|could take care
happy|glad|pleased to {A}
i|we was|were going|about|planning to {V}
pensaba {I}
`)

// isHint reports «eso quitaría 32 contactos», "that would remove 32 contacts", «se cobrarán 49
// €». With a bare question after it, the text asks for consent.
func isHint(s *sentence) bool {
	for i := range s.tokens {
		t := &s.tokens[i]
		if !t.quoted && (t.form&conditional != 0 || i > 0 && s.tokens[i-1].word == "se" && hasAny(t.word, "aran", "eran", "iran", "ara"+accent, "era"+accent, "ira"+accent)) {
			return true
		}
	}
	return hints.match(s.tokens) || s.tokens[0].form&gerund != 0 && s.tokens[0].form&act != 0
}

// relative reports pronouns after an article or a relative: «el registro».
func relative(before []token) bool {
	n := len(before)
	return n > 1 && (before[n-2].word == "que" || before[n-2].word == "como" || before[n-2].word == "de" || before[n-2].word == "en") || n > 0 && articleFirst()[before[n-1].word] && n > 1 && before[n-2].form != 0 && before[n-2].form&(infinitive|imperative) != 0
}

var (
	soon         = lazy.Words(`ahora mismo ya enseguida inmediatamente entonces luego primero despues y si lo`)
	definite     = lazy.Words(`al ese esa esos esas el la los las un una tu su este estos estas tus sus a`)
	articleFirst = lazy.Words(`la los las`)
)

// heads match the introduction of the assistant's plan.
var heads = compile(`
proposed|suggested|execution|action|planned|intended|requested plan|steps|actions|approach|action|booking|operations|calls|changes|operation
pasos|acciones|operaciones|cambios|llamadas ..1 propuestos|propuestas|previstos|previstas|planificados|planificadas|pendientes
propose|proposing|suggest ..2 following|plan|this
here|here's is|the|my|a|what|how|your|our ..2 plan|steps|actions|i'll|i
this|that is|would|will be? the|my plan|approach
lo que propongo|sugiero|haria
what i propose|suggest|would do
here's|is what will|would|happens|is
te|le|os|les muestro|dejo|presento|enseno|detallo ..1 plan
plan propuesto|sugerido|ejecutable|listo
plan de|para accion|ejecucion|reserva|su|tu|ejecutar
este|esto|estos|aqui|asi ..2 es|son|esta|va|tienes|tiene|tenes|seria|quedaria|queda ..2 plan|pasos|acciones
propongo|propuesta|sugiero ..2 siguiente|plan|esto|hacer|estos|de
pasos|acciones|steps|actions a|que|to|i|pendientes|pending|propuestos|propuestas|voy ..2 seguir|realizar|ejecutar|dare´|hare´|take|execute|perform|run|i'll|will|voy|tu|su|your|de|$
steps|actions i'm|i'll|i|we
he|i've preparado|creado|elaborado|generado|prepared|created|drafted ..2 plan
`)

// topics lists the subjects of other plans: of study, of a week, of a price.
var topics = lazy.Words(`estudio estudios negocio negocios entrenamiento comidas alimentacion dieta marketing viaje pensiones datos semanal mensual study business workout training meal lesson travel
	week weeks weekly semana semanas lunes monday day days dia retirement floor evacuation evacuacion emergencia premium basic basico pro enterprise precio price pricing aprender learn learning lose
	lectura reading menu dinner diet exercise ejercicio ejercicios rutina routine contingencia contingency comunicacion curso course evacuation ahorro savings telefono movil phone mobile mes month meses months clase class carrera career quinquenal estrategico strategic marathon maraton seguro insurance obra`)

// otherPlan reports a plan of another kind, by the word beside it.
func otherPlan(all []token) bool {
	for i := range all {
		if all[i].word != "plan" && all[i].word != "planes" && all[i].word != "plans" {
			continue
		}
		near := all[max(0, i-3):min(len(all), i+5)]
		if mentions(near, topics()) {
			return true
		}
	}
	return false
}

var howTo = compile(`
pasos|steps para|to|for {any}
como|how to|you|puedes|podes|hacerlo {any}
`)

// proposals match a plan in the same sentence.
var proposals = compile(`
^ plan propuesto|sugerido
^ proposed|suggested plan
^ my|our plan is
el plan que ..1 propongo|sugiero|recomiendo
`)

// inlineSteps reports a plan in one line: «Haré: buscar salas, reservar la primera y avisar a
// Ana».
func inlineSteps(s *sentence) bool {
	head := -1
	for i := range s.tokens {
		if t := &s.tokens[i]; !t.quoted && planHeads()[t.word] && i+1 < len(s.tokens) && (s.tokens[i+1].colon || s.tokens[i+1].word == "es" || s.tokens[i+1].word == "is") {
			head = i
			break
		}
	}
	if head < 0 || otherPlan(s.tokens) || howTo.match(s.tokens) || head > 0 && indefinite()[s.tokens[head-1].word] {
		return false
	}
	steps := 0
	for i := head + 1; i < len(s.tokens); i++ {
		t, before := &s.tokens[i], &s.tokens[i-1]
		begins := t.opens || joins()[before.word] || isNumber(before.word) && before.opens
		if begins && !t.quoted && t.form&(infinitive|present1) != 0 && t.form&(act|look|advance) != 0 {
			steps++
		}
	}
	return steps > 1
}

var (
	planHeads  = lazy.Words(`plan pasos steps propuesta proposal secuencia sequence siguiente following hare´ hariamos do`)
	indefinite = lazy.Words(`un una a an buen good cada each any ese that`)
	joins      = lazy.Words(`y and then luego despues finalmente es is primero first next after to e`)
)

// planLine reports a line that is the heading of a plan, or only the word.
func planLine(s *sentence) bool {
	if otherPlan(s.tokens) || howTo.match(s.tokens) {
		return false
	}
	if heads.match(s.tokens) {
		return true
	}
	n := len(s.tokens)
	if n > 1 && n < 5 && s.whole && s.tokens[n-1].word == "plan" && !s.item && !mentions(s.tokens, indefinite()) {
		return true
	}
	first := 0
	for first < n && (lead()[s.tokens[first].word] || determiners()[s.tokens[first].word]) {
		first++
	}
	if first == n || s.tokens[first].word != "plan" {
		return false
	}
	return s.heading && n-first <= 3 || n-first == 1 || strings.HasPrefix(strings.TrimLeft(s.raw, " "), "plan:")
}
