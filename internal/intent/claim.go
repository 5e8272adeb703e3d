package intent

import "strings"

// vows announce an act as the assistant's own next move.
var vows = compile(`
i'll|we'll {ad}* {V}
i|we will|shall {ad}* {V}
i'll|we'll ..9 {AO}
i'll|we'll ..9 and|then|finally {A}
i'm|we're going|about to {ad}* {V}
i|we am|are going|about to {ad}* {V}
i'll|i be {G}
^ let me {ad}* {V}
i'll|me {ad}* try again|that|it|this|once|another
^ about to {V}
i'll|will|to take ..2 following|steps|actions|care
i'd like|love to {A}
would like to {A} your|the ..9 $
voy|vamos a {ad}* {I}
procedo|paso|prosigo|procedere´|procederemos|pasare´|procedemos a {ad}* {I}
^ procedo|prosigo|continuo
dispongo a {I}
empezare´|comenzare´|seguire´|empiezo|comienzo por|con|a
dejame|permiteme|dejeme|permitame {I}
lo que hare´|haremos
tengo previsto|pensado {I}
i|we plan|intend|mean|propose to {V}
i'm|we're planning|intending|proposing to {V}
pienso|planeo|pretendo|propongo {I}
let's {ad}* proceed|go ahead|with|forward
let's get you|this|that|it
let's {ad}* {A} your|it|that
allow me to {ad}* {V}
permiteme|permitame|dejeme|dejame que {S}
estare´|estaremos {G}
^ procedamos|ejecutemos
estoy|estamos por|a|listo|lista ..2 {I}
`)

// runs claim that something is being done this moment.
var runs = compile(`
^ estoy|estamos {c}* {ad}* {G}
^ i'm|we're {ad}* {G}
^ i|we am|are {ad}* {G}
i'm|we're currently|now|just|already {G}
i|we am|are currently|now|just|already {G}
plan|request|solicitud|peticion|accion|operacion|reserva|orden|pedido|tarea|task|operation|action|execution|ejecucion|envio|pago ..2 se esta {G}
plan|request|solicitud|peticion|accion|operacion|reserva|orden|pedido|tarea|ejecucion|envio|pago ..1 esta|queda siendo
plan|request|solicitud|peticion|accion|operacion|reserva|orden|pedido|tarea|ejecucion|envio|pago ..1 esta|queda ..1 ejecutandose|procesandose|enviandose|realizandose|creandose|curso|marcha|proceso
plan|request|action|task|operation|execution|booking|order ..2 is|are ..1 running|executing|underway|progress|processing|processed|starting
plan|request|action|task|operation|execution|booking|order|reservation|payment|email|ticket ..4 is|are ..1 being
se esta {G} el|la|tu|su plan|solicitud|reserva|peticion|accion|operacion|pedido
iniciado|lanzado|started|launched|arrancado ..1 el|la|the|your|tu plan|ejecucion|execution|run
ejecucion|execution|plan ..1 iniciada|iniciado|started|curso|marcha|begun
^ working on it|this|that|your|the
^ i'm on it|that
^ on it
^ estoy|ando en ello|eso
^ me pongo ..1 ello|manos|con
^ one|un|just|give|dame|deme|hold|hang|bear|please momento|moment|second|segundo|sec|minuto|minute|instante|me|un|unos|on|tight|with|a ..1 moment|second|sec|minute|segundo|segundos|momento|minuto|instante|moment|please|por|while|mientras|me
^ un|one momento|moment|segundo|second
^ hold on|tight
^ hang on|tight
ya mismo|esta {c}* {P}
as we speak
your ..4 is|are ..1 being
^ se esta|estan {GA}
i've|i|he|hemos started|initiated|begun|kicked|queued|launched|iniciado|comenzado|empezado|lanzado ..1 the|a|your|el|la|tu|su|off
have|has|been queued|submitted|scheduled for execution|processing
is|are|esta ..1 underway|ongoing
dejame|deja|dejeme|permiteme que {c}* {P}
voy|vamos|ando|andamos {G}
^ will do $
consider it done
dalo|delo por hecho
^ enseguida|inmediatamente $
^ wait|standby|espere|espera|please ..2 while|mientras
while i|we {L}
mientras {c}* {P}
manos a la obra
`)

// starts are gerunds that begin a clause and claim a run: «Reservando la sala…».
func startsRun(s *sentence) bool {
	for i := range s.tokens {
		t := &s.tokens[i]
		if t.quoted || t.form&gerund == 0 || t.form&(tell|consent) != 0 || !opensClause(s.tokens, i) || i > 3 && t.opens && !s.trailing && !s.label {
			continue
		}
		if i > 0 && !t.opens && s.tokens[i-1].word == "y" {
			continue
		}
		rest := s.tokens[i+1:]
		if len(rest) > 0 && particles()[rest[0].word] {
			rest = rest[1:]
		}
		switch {
		case s.trailing:
			return true
		case t.form&(act|advance|look) == 0 || len(rest) > 12 || hasFinite(rest):
		case s.label, i > 0 && nowWords()[s.tokens[i-1].word], t.form&advance != 0 && len(rest) > 0 && proceedTo()[rest[0].word], begunOn(t, rest), plainStatus(s, i, rest), mentions(rest, nowWords()), len(rest) > 0 && callWords()[rest[0].word]:
			return true
		}
	}
	return false
}

var (
	acknowledgements = setOf(`got understood noted right absolutely certainly good excellent done awesome entendido hecho anotado de excelente buenisimo recibido correcto`)
	proceedTo        = setOf(`with to con ahead forward on`)
	particles        = setOf(`off up out over down`)
	determiners      = setOf(`the your this it el la los las tu su a an un una step paso action accion`)
	callWords        = setOf(`accion action plan step paso request tool mcp_request propose_plan search_tools`)
	nowWords         = setOf(`now ahora mismo momento moment please espera`)
	finite           = setOf(`is are was were will can may requires require means takes take lets allows allow helps makes needs need should could would has have does gives returns
		es son era fue sera puede pueden requiere significa toma permite ayuda hace necesita debe deben suele tiene devuelve da se evita cuesta costs lasts last avoids improves implies implica`)
)

// plainStatus reports a sentence that is a gerund and its object: "Creating
// ticket 12." A title has no full stop and is oftener in the plural.
func plainStatus(s *sentence, at int, rest []token) bool {
	return at <= 2 && (at == 0 || lead()[s.tokens[0].word] || acknowledgements()[s.tokens[0].word]) && !s.item && !s.heading && len(rest) > 0 && len(rest) <= 8 && strings.HasSuffix(s.raw, ".") && !strings.HasSuffix(rest[0].word, "s")
}

// begunOn reports what the gerund acts on. In English a gerund may be a subject
// («Deleting a file moves it»), so an indefinite object must end the sentence.
func begunOn(t *token, rest []token) bool {
	if len(rest) == 0 || !determiners()[rest[0].word] {
		return false
	}
	return (rest[0].word != "a" && rest[0].word != "an") || len(rest) < 4 || !strings.HasSuffix(t.word, "ing")
}

func hasFinite(rest []token) bool { return mentions(rest, finite()) }

func mentions(all []token, words map[string]bool) bool {
	for i := range all {
		if !all[i].quoted && words[all[i].word] {
			return true
		}
	}
	return false
}

// promises reports a Spanish first person that speaks of an act: «reservaré»,
// «la reservo», «Cancelo la cita y te aviso».
func promises(s *sentence) bool {
	for i := range s.tokens {
		t := &s.tokens[i]
		if t.quoted || t.form&tell != 0 && t.form&act == 0 {
			continue
		}
		if negatedAt(s.tokens, i) || onlyText(s.tokens[i:]) {
			continue
		}
		if t.form&future1 != 0 {
			return true
		}
		if t.form&present1 == 0 || t.form&(act|advance|look) == 0 {
			continue
		}
		next := ""
		if i+1 < len(s.tokens) && !s.tokens[i+1].opens {
			next = s.tokens[i+1].word
		}
		before := i > 0 && !t.opens && (clitics()[s.tokens[i-1].word] || soon()[s.tokens[i-1].word]) && !relative(s.tokens[:i])
		switch {
		case next == "que" || next == "de" && t.form&noun != 0:
		case before:
			return true
		case t.form&noun == 0 && !subordinate(s.tokens[:i]):
			return true
		case opensClause(s.tokens, i) && (t.form&noun == 0 || definite()[next] || s.question && adverbs()[next]):
			return true
		}
	}
	return false
}

// subordinate reports that the next word hangs from a relative or a subject.
func subordinate(before []token) bool {
	return mentions(before[max(0, len(before)-3):], subordinates())
}

var subordinates = setOf(`que como cuando donde yo si cada un una el la los las del al mi tu su este ese cuanto solo siempre no nunca`)

// negatedAt reports a verb with a «no» before it, pronouns aside.
func negatedAt(all []token, at int) bool {
	for least := at - 4; at > max(0, least) && clitics()[all[at-1].word]; {
		at--
	}
	return at > 0 && (all[at-1].word == "no" || all[at-1].word == "ni" || all[at-1].word == "solo")
}

// onlyText reports a verb whose effect is only words: «te dejo un ejemplo»,
// "I'll make a list".
func onlyText(from []token) bool {
	return light()[strings.TrimSuffix(from[0].word, accent)] && mentions(from[:min(len(from), 6)], textNouns())
}

var (
	light = setOf(`doy dejo pongo paso hago dare hare pondre dejare pasare creo preparo ponga haga deje pase de cree agregue anada ponerte hacerte darte dejarte hacer poner dar dejar hacemos
		make put create add generate compile build pull do`)
	textNouns = setOf(`pregunta preguntas question questions ejemplo ejemplos resumen lista listado enlace enlaces tabla version borrador idea ideas consejo consejos opciones detalles detalle explicacion receta codigo comparacion traduccion respuesta
		informacion analogia guia esquema posible summary example examples list outline explanation overview comparison draft analogy guide snippet detail details context version note`)
)

// idioms only sound like an announcement.
var idioms = compile(`
start|begin with|off|from
start|begin by {TG}
empezare´|comenzare´|empiezo|comienzo|empezar|comenzar por|con {T}
empezare´|comenzare´|empiezo|comienzo|empezar|comenzar por? {TG}
do|make my|sure|it|clear|what best|clear|i|that|you|clear
put it|this this|another|simply|way|differently
run through|you
get|see this|back|if straight|to
add that|a
let me be|start|see|think
get this|that straight|right
vamos a ver|empezar|suponer|repasar|hablar
`)

// hints speak of an act as something that would happen.
var hints = compile(`
would|i'd|we'd|that'd|that'll|this'll|it'll|will|i'll {ad}* be? {E}
will|would be {ed}
`)

// hinted reports «eso quitaría 32 contactos», "that would remove 32 contacts",
// «se cobrarán 49 €»: with a bare question behind it, a consent is asked for.
func hinted(s *sentence) bool {
	for i := range s.tokens {
		t := &s.tokens[i]
		if !t.quoted && (t.form&conditional != 0 || i > 0 && s.tokens[i-1].word == "se" && hasAny(t.word, "aran", "eran", "iran", "ara"+accent, "era"+accent, "ira"+accent)) {
			return true
		}
	}
	return hints.match(s.tokens)
}

// relative reports pronouns after an article or a relative: «el registro».
func relative(before []token) bool {
	n := len(before)
	return n > 1 && (before[n-2].word == "que" || before[n-2].word == "como" || before[n-2].word == "de" || before[n-2].word == "en") || n > 0 && articleFirst()[before[n-1].word] && n > 1 && before[n-2].form != 0 && before[n-2].form&(infinitive|imperative) != 0
}

var (
	soon         = setOf(`ahora mismo ya enseguida inmediatamente entonces luego primero despues y si lo`)
	definite     = setOf(`el la los las un una tu su este estos estas tus sus a`)
	articleFirst = setOf(`la los las`)
)

// heads lay out what the assistant would do.
var heads = compile(`
proposed|suggested|execution|action|planned|intended|requested plan|steps|actions|approach|action|booking|operations|calls|changes|operation
pasos|acciones|operaciones|cambios|llamadas ..1 propuestos|propuestas|previstos|previstas|planificados|planificadas|pendientes
propose|proposing|suggest ..2 following|plan|this
here|here's is|the|my|a|what|how|your|our ..2 plan|steps|actions|i'll|i
this|that is|would|will be? the|my plan|approach
here|here's|is ..1 my|the approach|proposal|strategy|idea|plan
plan propuesto|sugerido|ejecutable|listo
plan de|para accion|ejecucion|reserva|su|tu|ejecutar
este|esto|estos|aqui|asi ..2 es|son|esta|va|tienes|tiene|tenes|seria|quedaria|queda ..2 plan|pasos|acciones
mi|nuestro|propuesta plan|propuesta|de
propongo|propuesta|sugiero ..2 siguiente|plan|esto|hacer|estos|de
pasos|acciones|steps|actions a|que|to|i|pendientes|pending|propuestos|propuestas|voy ..2 seguir|realizar|ejecutar|dare´|hare´|take|execute|perform|run|i'll|will|voy|tu|su|your|de|$
steps|actions i'm|i'll|i|we
pending|required|next actions|steps pending|awaiting
following|these|siguientes|estos|estas steps|actions|operations|pasos|acciones|operaciones ..1 will|se|would
se realizaran|ejecutaran|haran ..2 siguientes|pasos|acciones
plan will|hara´|consiste|consistira´|constara´
plan created|creado|generado|ready|listo|preparado|generated|steps
he|i've preparado|creado|elaborado|generado|prepared|created|drafted ..2 plan
i have|i've ..1 prepared|created|drafted|put ..3 plan
`)

// topics are plans of another kind: of study, of a week, of a price.
var topics = setOf(`estudio estudios negocio negocios entrenamiento comidas alimentacion dieta marketing viaje pensiones datos semanal mensual study business workout training meal lesson travel
	week weeks weekly semana semanas lunes monday day days dia retirement floor evacuation evacuacion emergencia premium basic basico pro enterprise precio price pricing aprender learn learning lose
	lectura reading menu dinner diet exercise ejercicio ejercicios rutina routine contingencia contingency comunicacion curso course evacuation ahorro savings telefono movil phone mobile mes month meses months clase class carrera career quinquenal estrategico strategic marathon maraton seguro insurance obra`)

// otherPlan reports a plan of another kind: the word beside it says which.
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

// proposals carry their plan in the same sentence.
var proposals = compile(`
^ plan propuesto|sugerido
^ proposed|suggested plan
^ here's ..1 my approach|plan|proposal
^ mi|nuestro plan es|seria
^ my|our plan is
el plan que ..1 propongo|sugiero|recomiendo
the plan i ..1 propose|suggest
`)

// planLine reports a line that heads a plan, or is nothing but the word.
func planLine(s *sentence) bool {
	if otherPlan(s.tokens) || howTo.match(s.tokens) {
		return false
	}
	if heads.match(s.tokens) {
		return true
	}
	n := len(s.tokens)
	first := 0
	for first < n && (lead()[s.tokens[first].word] || determiners()[s.tokens[first].word]) {
		first++
	}
	if first == n || s.tokens[first].word != "plan" {
		return false
	}
	return s.heading && n-first <= 3 || n-first == 1 || strings.HasPrefix(strings.TrimLeft(s.raw, " "), "plan:")
}
