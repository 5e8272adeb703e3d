package intent

import (
	"strings"

	"piloto/internal/ground/lazy"
)

// Patterns that revoke a signal.

// denials match the denial of a plan, a run or an ability.
var denials = compile(`
no hay|tengo|existe|veo|encuentro|he|se|estoy|puedo|podre´|voy|es|necesito|hace|llegue´|pude|requiere|hace|podria|me|queda|hizo
ningun|ninguna|ninguno|nunca|tampoco|jamas {any}
there|there's is|are|no ..1 no|nothing
i|we haven't|can't|couldn't|won't|didn't|don't|cannot|wouldn't|not|never
i|we have|am|did|do|could|will|was|would not|never|unable
i'm|we're|isn't|aren't|wasn't|i'll not|unable|never
`)

// denies reports a denial. The words after an exception do not belong to it.
func denies(s *sentence) bool {
	all := s.tokens
	if i := indexOf(all, exceptions()); i > 0 {
		all = all[:i]
	}
	return denials.match(all) && !noMatter.match(s.tokens)
}

var exceptions = lazy.Words(`unless salvo`)

// noMatter matches phrases that only have the form of a denial.
var noMatter = compile(`
no hay|tengo problema|inconveniente|drama
`)

// reports match statements about earlier words or acts.
var reports = compile(`
you said|wrote|asked|mentioned|told|typed|confirmed|replied|cancelled|approved
dijiste|escribiste|pediste|mencionaste|comentaste|confirmaste|respondiste|autorizaste|cancelaste|dijo|pidio´
`)

func isReport(s *sentence) bool { return reports.match(s.tokens) && !s.question }

// explanations match how to confirm, other actors, or the meaning of a word.
var explanations = compile(`
^ go|head|navigate to
^ ve|vaya|entra|entre|ingresa|ingrese a|en|al
siempre|always|usually|normally|generally|normalmente {any}
cada|every|each ..1 vez|time|plan|accion|paso|action|step
cuando|whenever|when|once|si|if ..4 un|una|algun|a|any|each|cualquier plan|propuesta|proposal|accion
means|significa {any}
te|le|les|os mostrare´|ensenare´|contare´|explicare´|dire´
piloto {any}
en|in|desde|from the|la|tu|your|su|el|esa|that|del|of ..2 app|web|pagina|website|site|ajustes|settings|formulario|form|menu|dialog
^ the user|system|app|bank|person|hotel|admin|administrator|button|website|page|client|server|policy|manager|snippet|function
^ el|la usuario|sistema|aplicacion|banco|persona|hotel|administrador|boton|web|pagina|cliente|servidor|politica|profesor|tienda|medico|funcion
puedes|podes|puede|podras|podrias pedirme|escribirme|decirme|preguntarme|probar|pulsar|confirmar|cancelar|hacerlo
you can|could|may|might|should ..1 ask|say|tell|type|try|confirm|approve|press|click|cancel
`)

func explains(s *sentence) bool { return explanations.match(s.tokens) }

// requests match questions for a value that only the user knows.
var requests = compile(`
tell|give|send|provide|share|indicate|specify me|us|the|your ..1 the|your|which|what|when|how|where|a|more
dime|dame|indicame|pasame|decime|digame|indiqueme|deme|facilitame|facilite|proporciona|proporcioname|especifica|aclarame|contame|cuentame|cuenteme|dinos|escribeme|comparte ..2 la|el|los|las|tu|su|que|que´|cual|cuando|donde|un|una|como|cuantos|cuantas|para|quien|a|mas
is there ..1 any|anything|something|another|other
please provide|choose|specify|share|select|indicate|clarify|enter
can|could|would|may you|i ..1 tell|give|specify|provide|share|clarify|indicate|describe|have|get|know|ask
puede|puedes|podes|podria|podrias|me|nos ..1 indicar|indicarme|decir|decirme|dar|darme|facilitar|facilitarme|aclarar|aclararme|precisar|especificar|compartir|contar|pasar|pasarme
me regala|dice|dices|das|da|pasa|pasas|indica|indicas|facilita|comparte|decis ..1 su|tu|el|la|los|las|un|una
elige|elija|escoge|selecciona|especifica|indica|aclara {any}
need ..2 to|more|the|some|additional|a|know ..2 know|information|details|date|name|email|number|id|data|few|time|address
necesito|necesitaria|falta|faltan|requiero ..2 saber|dato|datos|informacion|detalles|fecha|nombre|hora|que|conocer|numero|correo ..1 {any}
`)

var interrogatives = lazy.Words(`what which when where who whom whose how why cuanto cuanta cuantos cuantas quien quienes cual cuales donde cuando como`)

// wantsData reports a question that a yes does not answer, or a request for a value.
func wantsData(s *sentence) bool {
	if requests.match(s.tokens) && !mentions(s.tokens, consentWords()) && !(s.asksLate && promises(s)) {
		return true
	}
	if !s.question {
		return false
	}
	if _, rest, ok := tellMine.find(s.tokens); ok && !mentions(rest, consentWords()) {
		return true
	}
	asks := !s.asksLate
	for i := range s.tokens {
		t := &s.tokens[i]
		asks = asks || t.asks
		switch {
		case t.quoted, !asks:
		case interrogatives()[t.word] && t.opens, t.word == "que"+accent, t.word == "que" && (i == 0 || t.opens || prepositions()[s.tokens[i-1].word] && (i == 1 || s.tokens[i-1].opens)),
			interrogatives()[t.word] && i > 0 && (prepositions()[s.tokens[i-1].word] || clauseLead()[s.tokens[i-1].word]):
			return true
		}
	}
	if alternates(s.tokens) && !mentions(s.tokens, advances()) && !whichAct.match(s.tokens) && !promises(s) && !isOrderQuestion(s) {
		return true
	}
	if i := indexOf(s.tokens, confirmWords()); i >= 0 && nearData(s.tokens[i+1:]) {
		return true
	}
	return false
}

// whichAct matches questions how to act, not whether: any answer leads to the act.
var whichAct = compile(`
^ should|shall i|we {A}
^ do|would you want|like|prefer me|us to {A}
^ quieres|quiere|queres|quereis|quieren|deseas|desea|prefieres|prefiere que {c}* {S1}
`)

// tellMine matches questions for data of the user: «¿me confirmás tu CUIT?».
var tellMine = compile(`
me|nos confirma|confirmas|confirme|confirmarias|confirmaria|confirma´ tu|su|tus|sus|vuestro
`)

// alternates reports a choice between two things: «¿la azul o la roja?». A
// choice between doing and not doing asks for a consent.
func alternates(all []token) bool {
	for i := 1; i+1 < len(all); i++ {
		if w := all[i].word; !all[i].asks && (w == "or" || w == "o" || w == "u") && !all[i].quoted && !mentions(all[i+1:min(len(all), i+4)], otherwise()) && !actsNext(all[i+1:min(len(all), i+3)]) {
			return true
		}
	}
	return false
}

func actsNext(all []token) bool {
	for i := range all {
		if all[i].form&(present1|advance) != 0 || strings.HasSuffix(all[i].word, "amos") || strings.HasSuffix(all[i].word, "emos") {
			return true
		}
	}
	return false
}

func indexOf(all []token, words map[string]bool) int {
	for i := range all {
		if !all[i].quoted && words[all[i].word] {
			return i
		}
	}
	return -1
}

var (
	otherwise    = lazy.Words(`no not prefer prefieres prefiere preferis prefieren would do cancel wait should you quieres queres quiere deseas desea mejor espero esperar hay tienes tiene something algo otra anything change cambiar modificar cambio cancelo dejo lo la cancelar cancelas modify adjust edit is are if`)
	advances     = lazy.Words(`proceda proceder proceed continue continuar ahead adelante procedamos proceeding`)
	consentWords = lazy.Words(`second sec moment minute ok visto luz permiso aprobacion autorizacion bueno verde approve confirm authorize sign permission autorices des go thumbs yes confirmacion aprobacion confirmation approval confirmes apruebes permission go-ahead`)
	confirmWords = lazy.Words(`confirm confirmas confirma confirmarme confirmame confirmar confirme`)
	prepositions = lazy.Words(`a para de en con por y desde hasta at to for from in with on and pero but`)
	clauseLead   = lazy.Words(`y and pero but entonces so`)
)
