package beside

import (
	"slices"
	"strings"
	"sync"

	"piloto/internal/chats/consent"
	"piloto/internal/ground/lazy"
)

// goesOn reports whether a clause asks whether to go on with the plan.
func (n names) goesOn(clause string) bool {
	if listed(goesOn(), clause) {
		return true
	}
	clause = trimLead(clause)
	if n.proceeds(clause) { // «¿Reservo la Sala Norte?»
		return true
	}
	return opened(clause, asking(), n.proceeds)
}

// confirms reports whether a clause says how to confirm, or asks the person to say whether to go on or whether all is right.
func (n names) confirms(clause string) bool {
	clause = trimLead(clause)
	for _, begin := range confirmBefore {
		if thing, ok := strings.CutPrefix(clause, begin+" "); ok && n.proceeds("proceed with "+thing) { // “confirm the cancellation of order W12”
			return true
		}
	}
	return listed(confirmingOrders(), clause) || opened(clause, wishing(), n.proceeds) || opened(clause, checking(), consent.Praises)
}

// promised reports whether a clause announces the act for which it asks: “and I'll proceed with the exchange”.
func (n names) promised(clause string) bool { return opened(clause, promising(), n.proceeds) }

// tellsHow reports whether a clause says how the plan is confirmed, or that it waits for that: “press its button or write confirm”.
func (n names) tellsHow(clause string) bool {
	return n.ofTheCard(clause) && has(strings.Fields(clause), givings())
}

// instructs reports whether a sentence tells the person to confirm the plan, and has no word but those of that and of the plan: “Just
// answer confirm”, “reply yes if everything is right”. A clause behind it may say what is done then: “and the return of the
// sneakers will be requested”.
func (n names) instructs(sentence string) bool {
	tells := false
	for i, clause := range clausesOf(whenReady().ReplaceAllString(strings.TrimRight(sentence, ".! "), "")) {
		words := strings.Fields(withoutCaution(clause))
		switch {
		case n.tellsTo(words):
			tells = true
		case i > 0 && tells && (n.promised(clause) || slices.ContainsFunc(words, n.didIt)) && !has(words, negations()) && words[0] != "or" && words[0] != "o":
		case listed(neutral(), clause), clause == "good", n.ofTheCard(clause):
		default:
			return false
		}
	}
	return tells
}

// withoutCaution returns a clause without the caution before its “and”: “please check the card and reply yes”.
func withoutCaution(clause string) string {
	for _, and := range []string{" and ", " y "} {
		if before, rest, ok := strings.Cut(clause, and); ok && listed(cautions(), before) {
			return rest
		}
	}
	return clause
}

// tellsTo reports whether words tell to confirm, by the word, the button or a yes, and nothing else.
func (n names) tellsTo(words []string) bool {
	says := func(w string) bool { return len(w) > 1 && yesWords()[w] }
	yes := slices.ContainsFunc(words, says)
	if !has(words, tellings()) && !has(words, choosings()) || !has(words, givings()) && !yes {
		return false
	}
	plans := slices.ContainsFunc(words, consent.IsAnyPlan)
	for i, w := range words {
		switch next := slices.Concat(words[i+1:], []string{""})[0]; {
		case givings()[w] && (them()[next] || next == "that" || next == "que" || next == "whether"):
			return false // “confirm that you live in Denver”
		case yes && (purposes()[w] || (w == "for" || w == "para") && !givings()[next]), plans && n.does(w):
			return false // “reply yes to wait”, “press the button to cancel the plan”
		case !handling()[w] && !tellings()[w] && !says(w) && !consent.IsAnyPlan(w) && !leads()[w] && !n.sends(w) && !n.does(w) && !n.didIt(w):
			return false
		}
	}
	return true
}

// ofTheCard reports whether a clause has no word but those of cards and their confirmation, and those of the plan, or says what
// follows: “to run the exchange”, “and it will be sent”.
func (n names) ofTheCard(clause string) bool {
	words := strings.Fields(clause)
	if has(words, discarding()) && slices.ContainsFunc(words, consent.IsAnyPlan) { // “press the button to cancel the plan”
		return false
	}
	return following().MatchString(clause) || !slices.ContainsFunc(words, func(w string) bool { return !handling()[w] && !consent.IsAnyPlan(w) && !n.sends(w) })
}

// opened reports whether something holds for the rest of a clause that begins with one of some phrases.
func opened(clause string, begins []string, holds func(rest string) bool) bool {
	return slices.ContainsFunc(begins, func(begin string) bool {
		rest, ok := strings.CutPrefix(clause, begin+" ")
		return ok && holds(rest)
	})
}

var (
	// asking are the beginnings of a question whether to act.
	asking = sync.OnceValue(func() []string {
		return []string{
			"shall i", "shall we", "should i", "should we", "can i", "can we", "may i", "do you want me to", "would you like me to", "want me to", "you want me to", "ok to", "okay to", "is it ok to", "is it okay to", "is it ok if i", "is it okay if i",
			"are you ready to", "ready to", "do you want to", "would you like to", "do you wish to", "youd like me to", "quieres que", "quiere que", "queres que", "deseas que", "desea que", "te parece bien que", "le parece bien que", "te gustaria que", "le gustaria que",
			"quieres", "quiere", "queres", "deseas", "desea", "puedo", "podemos", "debo", "te gustaria", "le gustaria", "confirmas que", "me confirmas que", "confirma que",
		}
	})
	// wishing are the beginnings of an order to say whether to do it, and checking whether all is right.
	wishing = sync.OnceValue(func() []string {
		return slices.Concat(
			consent.Products(sayings, []string{"if you would like", "if you want", "if youd like", "if you wish", "that you would like", "that you want", "that youd like", "that you wish", "whether you would like", "whether you want", "whether youd like"}, []string{"to", "me to"}),
			consent.Products(sayings, []string{"if i", "that i", "if we", "whether i"}, []string{"should", "may", "can"}),
			consent.Products(sayings, []string{"if youre", "that youre", "if you are", "that you are"}, []string{"ready to", "happy to", "happy for me to"}),
			consent.Products(decires, []string{"si", "que"}, []string{"quieres que", "quiere que", "deseas que", "desea que", "te gustaria que", "le gustaria que", "quieres", "quiere", "deseas", "desea", "te gustaria", "puedo", "debo"}),
			consent.Products(decires, []string{"si", "que"}),
		)
	})
	checking = sync.OnceValue(func() []string {
		return append(consent.Products(sayings, []string{"if", "that", "whether"}), consent.Products(decires, []string{"si", "que"})...)
	})
	// promising are the beginnings of an announcement.
	promising = sync.OnceValue(func() []string {
		return consent.Products([]string{"", "and", "then", "and then", "y", "entonces"}, []string{"ill", "i will", "well", "we will", "im going to", "ill then", "voy a", "vamos a"})
	})
	sayings = consent.Products([]string{"", "please", "kindly", "could you please", "can you please", "could you", "can you"}, []string{"confirm", "let me know", "tell me"})
	decires = consent.Products([]string{"", "por favor"}, []string{"confirma", "confirme", "confirmame", "dime", "digame", "avisame", "aviseme", "hazme saber"})
)

var (
	confirmBefore = []string{"confirm", "please confirm", "confirma", "confirme", "confirmame"}
	discarding    = lazy.Words(`cancel cancela cancelar cancelo drop discard descarta descartar refuse rechaza rechazar`)
	purposes      = lazy.Words(`wait waits waiting check review look espera esperar esperando revisa revise`)
	whenReady     = lazy.Pattern(` (?:if|si|once|when|cuando) (?:everything|it|that|this|all|todo|todo esto|esto|you are|youre|you|estes|este|quieras|quiera)(?: (?:is|looks|seems|es|esta|parece))?(?: (?:right|correct|fine|good|ok|okay|all right|ready|agree|bien|correcto|listo|lista|de acuerdo))?$`)
	givings       = lazy.Words(`confirm confirmo confirma confirme confirmar confirmarlo confirmarla confirmalo confirmala confirmation confirmacion button boton`)
	handling      = lazy.Words(`answering you can could may so soon as check review revisa revise look just confirm confirmo confirma confirme confirmar confirmarlo confirmarla confirmalo confirmala confirmation confirmacion button boton card tarjeta
		please press click tap push use write writing type typing reply replying say saying answer by with or and to for on in at of it its the this that a your now just simply either below above here is are ready waits wait waiting awaits awaiting still only needs need
		pulsa pulse pulsar pulsando escribe escriba escribir escribiendo responde responda usa use con o y a para por de del en su tu el la lo un una esta este esto listo lista preparado preparada espera esperando pendiente aqui abajo arriba ya solo todavia aun falta
		run do make send submit complete finish carry out go ahead proceed hacer hacerlo hacerla ejecutar ejecutarlo enviar enviarlo continuar seguir adelante completar terminar`)
	following = lazy.Pattern(`^(?:(?:and|then|y|entonces) )*(?:it|this|the plan|everything|el plan|lo|la|se)(?: (?:will be|gets|will|quedara|se))? (?:sent|done|made|run|processed|submitted|carried out|hare|haremos|hara|hace|hecho|enviare|enviara|envia|ejecutare|ejecutara|ejecuta|tramitara|tramita)(?: then| at once| right away| enseguida| en seguida)?$`)
)

// isRequest reports whether a clause without a question mark is a question.
func isRequest(clause string) bool {
	if listed(goesOn(), clause) {
		return true
	}
	clause = trimLead(clause)
	return slices.ContainsFunc(openings, func(begin string) bool { return strings.HasPrefix(clause+" ", begin+" ") })
}

var openings = []string{
	"quieres", "quiere", "queres", "quereis", "deseas", "desea", "te gustaria", "le gustaria", "te apetece", "le apetece", "prefieres", "prefiere", "te cuento", "te parece",
	"le parece", "me dejas", "me permites", "puedo", "podria", "debo", "do you", "would you", "shall i", "shall we", "should i", "should we", "can i", "can we", "may i", "could i",
	"want me", "want to", "want a", "want some", "are you", "is it ok", "is it okay", "is that ok", "is that okay", "will you", "would it", "you want", "ok if", "okay if", "have you", "did you",
}

// isOrder reports whether a clause tells the reader to reply, or that a yes is wanted.
func isOrder(clause string) bool {
	clause = trimLead(clause)
	first, _, _ := strings.Cut(clause, " ")
	return tellings()[first] || choosings()[first] || has(strings.Fields(clause), needings()) || toldMe().MatchString(first) || wantsYes(clause)
}

// wantsYes reports whether a clause tells the reader to reply with a yes.
func wantsYes(clause string) bool {
	words := strings.Fields(clause)
	for i, w := range words {
		if tellings()[w] && slices.ContainsFunc(words[i+1:], func(other string) bool { return yesWords()[other] }) ||
			i > 0 && yesNouns()[w] && articles()[words[i-1]] {
			return true
		}
	}
	return false
}

var (
	tellings = lazy.Words(`responde responda respondeme respondame respondes respondas contesta conteste contestame contestes contestas escribe escriba escribeme escribes escribas di dime diga digame dinos dices digas
		pulsa pulse teclea envia manda avisame aviseme confirma confirme confirmame confirmalo confirmala reply respond answer type say write press tell send confirm approve`)
	choosings = lazy.Words(`elige elija escoge escoja selecciona seleccione marca marque indica indique especifica especifique aclara aclare verifica verifique comprueba compruebe revisa revise acepta acepte asiente afirma
		recuerda recuerde haz haga choose pick select indicate state specify clarify remind verify check accept agree advise kindly let give make nod click tap`)
	needings = lazy.Words(`necesito necesitamos quisiera quiero querria saber pregunto pregunta duda supongo imagino asumo gustaria falta need want wonder wondering curious know assume guess suppose question`)
	toldMe   = lazy.Pattern(`^\pL+[aei](me|nos|melo|mela|noslo)$`) // «cuéntame», «indícanos»
	yesWords = lazy.Words(`si sii sip ok okay okey vale dale adelante claro yes yep yeah y sure s confirmo confirm`)
	yesNouns = lazy.Words(`si ok yes okay yep vale`)
	articles = lazy.Words(`un el tu su con a an your the one`)
)

// goesOn are the requests to go on with the plan, in normal form: products of finite lists, and so finite.
var goesOn = sync.OnceValue(func() map[string]bool {
	list := map[string]bool{}
	add := func(befores []string, afters []string) {
		for _, before := range befores {
			for _, after := range afters {
				list[strings.TrimSpace(before+" "+after)] = true
			}
		}
	}
	it := []string{"lo", "la", "los", "las"}
	add(it, strings.Fields("confirmas confirma confirmo confirmamos ejecuto ejecutamos ejecutas hago hacemos lanzo lanzamos apruebas aprueba autorizas autoriza"))
	add([]string{"me lo", "me la", "me los", "me las", "me"}, strings.Fields("confirmas confirma"))
	add([]string{"", "me"}, []string{"confirmas el plan", "confirma el plan", "confirmas este plan", "das el visto bueno", "das luz verde"})
	add([]string{""}, []string{
		"confirmas", "confirma", "confirmamos", "apruebas", "apruebas el plan", "aprueba el plan", "autorizas", "autorizas el plan", "ejecuto el plan", "ejecutamos el plan", "confirmo el plan", "lanzo el plan",
		"sigo", "sigo adelante", "sigo con el plan", "seguimos", "seguimos adelante", "continuo", "continuo con el plan", "continuamos", "procedo", "procedo con el plan", "procedemos", "avanzo", "avanzamos", "adelante", "lo pongo en marcha",
	})
	add([]string{"quieres que", "quiere que", "queres que", "deseas que", "desea que", "te parece bien que", "le parece bien que"}, []string{
		"siga", "siga adelante", "siga con el plan", "continue", "continue con el plan", "proceda", "proceda con el plan", "avance", "lo haga", "lo ejecute", "lo confirme", "lo lance", "ejecute el plan", "confirme el plan", "lance el plan", "lo ponga en marcha",
	})
	add([]string{"quieres", "quiere", "queres", "deseas", "desea", "puedes", "puede", "puedo", "podemos", "debo"}, []string{
		"seguir", "seguir adelante", "seguir con el plan", "continuar", "continuar con el plan", "proceder", "proceder con el plan", "avanzar", "confirmar", "confirmarlo", "confirmar el plan", "confirmarmelo", "ejecutarlo", "ejecutar el plan",
	})
	add([]string{
		"shall i", "shall we", "should i", "should we", "can i", "can we", "may i", "do you want me to", "would you like me to", "want me to", "you want me to", "ok to", "okay to", "is it ok to", "is it okay to",
		"is it ok if i", "is it okay if i", "ok if i", "okay if i", "ready to", "are you ready to", "good to", "do i have your permission to", "do you want to", "would you like to",
	}, []string{
		"go ahead", "go ahead with it", "go ahead with this", "go ahead with the plan", "go ahead with this plan", "proceed", "proceed with it", "proceed with this", "proceed with the plan", "proceed with this plan", "continue", "continue with the plan", "go on",
		"go on with the plan", "move ahead", "move forward", "run it", "run the plan", "run this plan", "execute it", "execute the plan", "execute this plan", "do it", "confirm", "confirm it", "confirm the plan", "confirm this plan", "carry it out", "carry out the plan",
	})
	add([]string{"", "do you", "can you", "could you", "would you", "will you"}, []string{"confirm", "confirm it", "confirm this", "confirm the plan", "confirm this plan", "approve", "approve it", "approve this", "approve the plan", "approve this plan"})
	add([]string{""}, []string{"go ahead", "proceed"})
	return list
})

// plainOrders say how to answer the question before them.
var plainOrders = sync.OnceValue(func() map[string]bool { return ordered("") })

// confirmingOrders say how to confirm, and that it confirms.
var confirmingOrders = sync.OnceValue(func() map[string]bool {
	return ordered(" para confirmar", " para confirmarlo", " para confirmar el plan", " para continuar", " para seguir", " para seguir adelante", " para ejecutarlo", " para ejecutar el plan", " para proceder",
		" to confirm", " to confirm it", " to confirm the plan", " to proceed", " to continue", " to go ahead", " to run it", " to run the plan")
})

// ordered returns the orders to reply with a yes for each of some purposes. An order to confirm has its purpose in it.
func ordered(purposes ...string) map[string]bool {
	list := map[string]bool{}
	for _, say := range strings.Fields("responde responda contesta conteste escribe escriba di dime diga confirma confirme reply respond answer type say write confirm") {
		for _, yes := range []string{"", "si", "si o no", "ok", "yes", "yes or no", "with yes", "with a yes", "con si", "con un si"} {
			for _, purpose := range purposes {
				order := strings.TrimSpace(say + " " + yes)
				list[order+purpose], list[strings.TrimSpace(purpose)+" "+order] = true, true
			}
		}
		for _, purpose := range append(purposes, "") {
			list[say+" confirmo"+purpose], list[say+" confirm"+purpose] = true, true
		}
	}
	for _, order := range []string{
		"confirma", "confirme", "confirmalo", "confirmala", "confirma el plan", "confirme el plan", "confirm", "confirm it", "confirm the plan", "confirm this plan", "pulsa confirmar", "pulse confirmar", "press confirm",
		"pulsa el boton", "dime si lo confirmas", "dime si sigo", "avisame si sigo", "avisame si lo confirmas", "let me know if i should go ahead", "let me know if i should proceed", "let me know if you confirm",
	} {
		list[order] = true
	}
	return list
}
