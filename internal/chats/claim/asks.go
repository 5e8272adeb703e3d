package claim

import (
	"slices"
	"strings"

	"piloto/internal/ground/lazy"
)

// pose is the part of a sentence that needs a plan or a call: a request to the person, or an announcement.
type pose struct {
	asks, offers, announces, data, refuses bool

	now    bool // beside a refusal it announces an act of now
	closes bool // it asks whether there is anything else
}

func poseOf(s sentence) (p pose) {
	t := s.text
	words := wordsOf(noDenials.Replace(t))
	p.refuses = refusals().MatchString(t)
	var consent []int
	if mentions(words, ofConsents()) {
		consent = consents().FindStringIndex(t)
	}
	p.closes = s.question && closing().MatchString(t)
	rest := t
	if consent != nil {
		rest = t[:consent[0]] + " " + t[consent[1]:]
	}
	rest = checksItself().ReplaceAllString(rest, "")
	p.data = mentions(words, ofData()) && (wantsData().MatchString(rest) || confirmsData(t)) || s.question && (choices().MatchString(yesOrNo.Replace(t)) || (asksHow().MatchString(t) || consent == nil && wonders().MatchString(t)))
	switch {
	case p.data, !s.question && nobodys().MatchString(t), (consent != nil || s.question) && general().MatchString(t):
	case consent != nil, s.question && oks().MatchString(t):
		p.asks = true
	case s.question && (wishes().MatchString(t) || offers(words)):
		p.offers = true
	case !s.question && (announces(words) || hasToWait().MatchString(t)), mentions(words, ofPlans()) && waits().MatchString(t) && !has(words, denials()):
		p.announces = true
		p.now = p.refuses && has(words[len(words)-len(clauseBefore(words, len(words))):], nows())
	}
	return p
}

// hasToWait matches a request to the person to wait.
var hasToWait = lazy.Pattern(`(?:^|, )(?:give me|dame|deme) (?:just )?(?:a|one|un) (?:moment|second|sec|minute|momento|momentito|segundo|minuto|instante)\b` +
	`|(?:^|, )(?:please |just |por favor,? )*(?:(?:wait|hold on|hang on|espera|espere|aguarda)(?: for)? )?(?:a|one|un) (?:moment|second|sec|minute|momentito|segundo|instante)(?:$|[ ,.!]+(?:please|por favor|while i|mientras|i'm|i'll)\b|[.!]+$)|\b(?:wait|hold on|hang on|espera|espere) (?:while i|mientras (?:te|lo|la|los|las|proceso))\b|\bme pongo (?:con|a) (?:ello|eso)\b`)

// closing matches a question for anything else, which asks for nothing that an act needs.
var closing = lazy.Pattern(`\b(?:algo mas|alguna otra|otra cosa|anything else|something else|anything more)\b`)

// checksItself matches an announcement of a check by the model.
var checksItself = lazy.Pattern(`\b(?:i'll|i will|let me|i'm going to) (?:now |just |first |quickly )?(?:check|verify|look up) your`)

// mentions reports whether a word begins as one of a set. Each pattern below has a set of how its words begin, because a pattern of
// many alternatives is slow, and most sentences have none of its words.
func mentions(words []string, beginnings map[string]bool) bool {
	return slices.ContainsFunc(words, func(w string) bool { return beginnings[w[:min(len(w), 4)]] })
}

var (
	ofConsents = lazy.Words(`conf repl type say writ answ resp pres hit clic tap wait awai need requ pend subj with unti your once when mome if give read do have let woul want like shal shou may can coul ok okay good cont escr di dime
		diga puls apre apri toca marc haz tecl cuan vez apen si espe agua nece falt aten qued suje bast sena apru revi auto`)
	ofData  = lazy.Words(`prov spec clar tell give shar let need conf have get chec veri look whic what choo sele plea dime indi diga faci pasa prop espe acla cuen elig esco nece me falt`)
	ofPlans = lazy.Words(`plan here what hare prop esto paso step`)
)

// wantsData matches a request for something that the model does not know.
var wantsData = lazy.Pattern(`\b(provide|specify|clarify|tell me|give me (your|the|some|more)\b|share (your|the|it|that|more)|let me know (which|what|when|where|who|how|your|the|any|of any|more|if there|if you have|if you need|once you|so)` +
	`|(i|i'll|we'll|we|i will|still|just) need (to know|to verify your|some|more|your|the|a few|that|this|these|those|an?)\b` +
	`|confirm (which|what|whether|how|with me)\b|(have|get) (this|that|these|the|all the) (information|details|data)\b|(check|verify|look up) your|which (one|of|option)|what (is|are|would|name|time|date)|choose (one|between|from)|select (the|one|your|which|a)|please pick` +
	`|(dime|indicame|indiqueme|digame|facilitame|facilite|faciliteme|pasame|proporciona|proporcioname|proporcione|especifica|aclarame|cuentame|elige|escoge) (el|la|los|las|tu|tus|su|sus|qu[eé]|cual|cuales|cuando|donde|quien|como|para|si prefieres|un|una|mas|a qu[eé]|en qu[eé]|de qu[eé])\b` +
	`|necesito (saber|el|la|los|las|tu|tus|su|sus|un|una|mas|que me (digas|indiques|pases|facilites|des (el|la|tu)))|me (das|dices|indicas|facilitas|pasas|pasa|da|indica|facilita|confirmas (el|la|los|las|tu|tus|si|cual|qué)) |(falta|faltan) (el|la|los|las|tu|tus|su|sus|un|una))`)

// choices matches a question between several things.
var choices = lazy.Pattern(`\w,? (or|o|u|o bien) \w|\b(any|anything|something|one of|another|different|other) (other|else|additional|these|those|the following|of these|option|options|way|date|time)\b|\b(alguno|alguna|algun|algo|otra cosa|otro dato|cualquier)\b`)

// yesOrNo is no choice between things.
var yesOrNo = strings.NewReplacer("yes or no", "", "si o no", "", "sí o no", "", " or not", "", " o no", "", "two or more", "")

// wonders matches a question that is not answered by yes or no.
var wonders = lazy.Pattern(`^[^?]{0,60}\b(which|what|when|where|who|whose|how|cual|cuales|cuando|donde|quien|quienes|cuanto|cuanta|cuantos|cuantas|a qué|de qué|en qué|con qué|para qué|por qué)( |$)|^(y |entonces |perfecto, |vale, )?(qu[eé]|como) `)

// asksHow matches a question that begins with its word.
var asksHow = lazy.Pattern(`^(and |so |now |then |but |y |entonces |pero )?(how|which|what|when|where|who|como|cual|cuando|donde|quien|cuanto)\b`)

// confirmsData reports whether a sentence wants a thing to be confirmed that is not the plan: «please confirm the order id».
func confirmsData(t string) bool {
	t = politely.Replace(t)
	return asksWhich().MatchString(t) || slices.ContainsFunc(confirmed().FindAllStringSubmatch(t, -1), func(found []string) bool {
		return thingNouns()[found[2]] || !planNouns()[found[1]] && verbs().noun[found[1]] == nil
	})
}

var confirmed = lazy.Pattern(`\b(?:confirm (?:that )?(?:the|your|a|an|its|both the|these|both)|confirma[sme]* (?:el|la|los|las|tu|tus|su|sus)) (\w+)(?: (\w+))?`)

// politely removes polite words between a verb and its thing.
var politely = strings.NewReplacer(", por favor,", "", ", please,", "", "por favor ", "", "please ", "")

var asksWhich = lazy.Pattern(`\bconfirma[sme]* (qué|cual|cuando|donde|quien|como)\b|\bconfirm (which|what|when|where|who|how)\b|\bconfirm whether\b.* or `)

var thingNouns = lazy.Words(`method methods id ids number reason date dates address details type`)

var planNouns = lazy.Words(`above changes change plan proposal details cancellation booking upgrade exchange return refund modification request action actions purchase transfer everything propuesta pedido envio`)

// consents matches a request for a confirmation, in any mood.
var consents = lazy.Pattern(`\bconfirm( it| this| that| the plan| this plan| the (above|changes?|details above)| below| here| these changes| please)?( with (a )?yes)?[ ,.!?]*($|(,? ?(and|so|if|that|whether|you'd|you would|you want|you wish|to|with|in order|when|before|by)\b))` +
	`|\b(reply|type|say|write|answer|respond|press|hit|click|tap)\b.{0,30}\b(yes|confirm|ok|okay|go|proceed|button (below|above|(on|of|in) (the|this) (card|plan|draft)))\b` +
	`|\b(wait|waiting|awaits?|awaiting|needs?|requires?|required|pending|subject to|without|until)\b.{0,25}\b(your( \w+)? (approval|confirmation|go-ahead|sign-?off|thumbs up|permission|consent|green light|ok)|(approval|confirmation|go-ahead|permission|consent) from you|you approve|you confirm)\b` +
	`|(^|\b(i|i'm|i'll|i am|we|we're|plan|proposal|draft)\b.{0,12})\b(wait|waiting|awaits?|awaiting|needs?|requires?|pending)\b.{0,25}\b(approval|confirmation|go-ahead|sign-?off|thumbs up|permission|consent|green light)\b|\byour (approval|confirmation|permission|consent|go-ahead) (is|to|before)\b` +
	`|\b(good to go|(ok|okay) (to|if i)\b|(ok|okay) with (that|this|you))|\bif (everything|that|this|it|all|you're|you are|the)\b.{0,30}\b(right|good|correct|happy|works|fine|ok|okay|accept|agree)\b.*\b(i'll|i will|i can)\b|\bsi (todo |me |le |te |lo )?(esta|es|va|viene|acepta|aceptas|confirmas|parece)\b.{0,30},.{0,12}\b(lo|la|los|las|dime|digame|dígame)\b` +
	`|\b(once|when|as soon as|the moment|if) you('ve| have| are)? (confirm|confirmed|approve|approved|sign off|give|say|ok|okay|authori[sz]e|agree|happy|ready|good)\b|\b(say the word( and\b|[,.!]|$)|give (me )?the (nod|go-ahead|green light|word|ok)|ready when you are|with your (ok|approval|permission))\b|\b(do|have) i have your (permission|approval|go-ahead|ok)\b|\blet me know if (i should|you('d| would) like (me )?to|you want me to|i can|that works|that's ok|this works|you agree|you're happy)( \w+)? ?(proceed|go|do|continue|make|\w+)?` +
	`|\b(would you like|do you want|want|like|shall|should|may|can|could|ok|okay)\b.{0,20}\b(to proceed|proceed|go ahead|move forward|continue with)\b` +
	`|\b(responde|responda|respondas|contesta|conteste|contestes|escribe|escriba|escribas|escribi|pulsa|pulse|pulses|apreta|aprieta|presiona|presione|toca|marca|haz clic en|teclea)\b.{0,25}(\bconfirmo|\bconfirmar|\bconfirma|\bsi\b|\bsí|\badelante|\bok\b|\bboton de (abajo|arriba|la tarjeta)|\bboton del (plan|borrador)|\bvisto bueno|que si)|\b(di|dime|diga|digas|digame|bastaria con que digas)\b.{0,12}(que sí|que si|\bconfirmo|\badelante|\bsí|\bsi( y|[,.!]|$)|\bok\b)` +
	`|\b(cuando|en cuanto|una vez|apenas|si) .{0,25}\b(confirmes|confirme|confirmas|apruebes|apruebe|apruebas|valides|valide|autorices|autorice|me des|me de|me dé|me digas|me diga|des el|visto bueno|luz verde|de acuerdo|te parece|le parece|me confirmas|lo ves bien)` +
	`|(\b(espero|aguardo|necesito|atento|atenta|quedo)\b.{0,40}|\b(plan|propuesta|borrador)\b.{0,12}\b(espera|pendiente|necesita|requiere|falta)\b.{0,40}|\b(espera|pendiente|necesita|requiere|falta|sujeto|bastaria|basta)\b.{0,30}\b(tu|su|vuestra?) )\b(confirmacion|aprobacion|visto bueno|luz verde|autorizacion)` +
	`|\b(espera|espero|aguardo|pendiente|necesito|necesita|requiere|falta|atento|atenta|quedo|sujeto|bastaria|basta)\b.{0,40}\b(que (me )?(lo |la )?(confirmes|confirme|apruebes|apruebe|valides|pulses|pulse|autorices|digas que si|respondas|contestes)|tu ok|su ok)` +
	`|\b(confirma|confirme|confirmame|confirmeme|confirmalo|confirmelo|confirmala|apruebalo|apruebala|apruebalas|apruebalos|revisalas y apruebalas)\b[ ,]*(por favor|el plan|la propuesta|para|y|si|cuando|abajo|$)|\ba tu senal\b|\bconfirmas\b|\bme autoriza(s)?\b|\bsi estas? de acuerdo\b`)

// general matches an account of how plans are confirmed.
var general = lazy.Pattern(`\b(un|cada|cualquier|todo|los|a|any|every|each|all) (plan|planes|plans)\b|\b(planes|plans) (se|are|can|wait)\b|\b(on|en) (a|its|su|una|cada) (card|tarjeta)\b`)

// nobodys matches a text that says that nothing waits for the person, or that somebody else confirms.
var nobodys = lazy.Pattern(`\bno plan\b|\bnothing (is )?(waiting|pending)|\bnothing to confirm|\bno hay (ningun )?(plan|nada) (que|por|pendiente)|\bno (hace falta|necesito)\b|\b(don't|do not) need your\b|\b(click|follow) the link\b|\bthe \w+ (has|needs) to confirm\b|\b(type|enter|teclea|introduce) (the|your|el|tu|la) (code|pin|codigo|clave)\b|\b(approval|confirmation) (by|from) (the|[a-x])|\b(aprobacion|confirmacion) (de (la |el )?[a-su-z]|del|por (la|el|los|las)) ?`)

// oks match a question that a yes answers, and that names no act: «¿Te parece?», “OK with you?”.
var oks = lazy.Pattern(`\b(te parece|le parece|os parece|sound good|sounds good|look good|looks good|all good|ok with you|okay with you|is that (ok|okay|alright|fine|right)|is this (ok|okay|alright|fine)|does (that|this) (work|sound|look)|agreed|me das el ok|lo hago|lo hacemos|le doy|tiro para adelante|lo confirmo|ok para|lo doy por bueno)\b` +
	`|^(entonces |vale |y |perfecto |pues |asi que )*,? ?(la |lo |los |las )?(procedo|avanzo|avanzamos|continuo|seguimos|sigo|sigo adelante|adelante|ejecuto|lanzo|confirmo|timbro|de acuerdo)\b|\b(quieres|quiere|deseas|desea|puedo|podemos|debo) (continuar|seguir|seguir adelante|proceder|avanzar)\b|^(proceed|confirm|ok|okay|go ahead|continue|ready|vale|lo confirmas|shall i|should i|can i)[ ?]*$`)

// wishes match a question whether the model is to do the act of which it spoke.
var wishes = lazy.Pattern(`\b(would you like|do you want|want|shall|should|may|can|could)\b.{0,20}\bdo (it|that|this|so)\b`)

// waits matches a text that poses as a plan.
var waits = lazy.Pattern(`\bplan (propuesto|pendiente|a ejecutar|de accion)\b|^(el |mi |the |my |proposed )?plan( propuesto)?:?$|\b(proposed|pending) plan\b|\bhere('s| is) (the|my) plan\b|\bthe plan is to\b|\bmi plan:|^plan: |\b(here's what (i'd|i would|i'll|i will|we'll) do|esto es lo que (hare|haria|voy a hacer)|lo que hare|hare lo siguiente|te propongo|propongo|le propongo)\b|^(paso|step) [1-3] ?[:.)–-]`)

// refusals match a refusal of the model.
var refusals = lazy.Pattern(`\b(unable to|cannot|can't|can not|not able to|not possible|isn't possible|unfortunately|recommend contacting|not allowed|not eligible|don't have the (ability|authority)|no puedo|no podemos|no me es posible|no es posible|lamentablemente|por desgracia|no se puede|no esta permitido|no tengo (permiso|acceso|forma))\b`)

// offers reports whether a question offers an act: «¿Te reservo la Norte?», “Would you like me to cancel it?”.
func offers(words []string) bool {
	v := verbs()
	for i, w := range words {
		rest := words[i+1:]
		switch {
		case (w == "me" || w == "i" || w == "we") && i > 0 && (offering()[words[i-1]] || offering()[w]):
			for len(rest) > 0 && between()[rest[0]] {
				rest = rest[1:]
			}
			return len(rest) > 0 && v.base[rest[0]] != nil
		case w == "que" && i > 0 && wishing()[words[i-1]]:
			return slices.ContainsFunc(rest[:min(4, len(rest))], func(w string) bool { return v.speaking[w] != nil })
		case v.speaking[w] != nil && strings.HasSuffix(w, "o") && !nounLike()[w]:
			return !slices.ContainsFunc(words[:i], func(before string) bool { return !clitics()[before] })
		case i == 0 && len(words) <= 4 && v.base[w] != nil && len(rest) > 0 && (rest[0] == "it" || rest[0] == "them" || rest[0] == "this"):
			return true
		}
	}
	return false
}

var between = lazy.Words(`to also now just go ahead and then please`)

var offering = lazy.Words(`like want shall should may can could let`)

var wishing = lazy.Words(`quieres quiere queres quereis desea deseas prefieres prefiere gustaria usted bien`)

var clitics = lazy.Words(`me te se le les lo la los las os y tambien ya entonces vale perfecto , no ahora pues asi bueno listo`)

// announces reports whether a sentence says that the model will do something at once.
func announces(words []string) bool {
	v := verbs()
	for i, w := range words {
		two := ""
		if i+1 < len(words) {
			two = w + " " + words[i+1]
		}
		if supposed(words, i, false, false) || has(clauseBefore(words, i), denials()) || (w == "we'll" || two == "we will" || v.will[w] != nil && strings.HasSuffix(w, "emos")) && ofHouse(words, i) {
			continue
		}
		from := 0
		switch {
		case w == "i'll", w == "we'll", two == "let me":
			from = i + 1
		case two == "i will", two == "we will", two == "i'm going", two == "voy a", two == "vamos a", two == "procedo a", two == "procederé a", two == "paso a", two == "let's proceed":
			from = i + 2
		case v.will[w] != nil, v.speaking[w] != nil && doesNow(words, i):
			return true
		case i == 0 && (w == "proceeding" || w == "procediendo"):
			return true
		case two == "hold on", two == "one moment", two == "un momento" && (i == 0 || words[i-1] != "hace") && (i+2 == len(words) || words[i+2] == "," || words[i+2] == "por"):
			return true
		}
		if from == 0 {
			continue
		}
		next := words[min(from, len(words)):min(from+5, len(words))]
		for n, w := range next {
			if denials()[w] || (w == "be" || w == "need" || w == "know" || w == "help" || w == "assist") && n < 2 {
				break
			}
			if v.base[w] != nil || v.going[w] != nil || goingOn()[w] || (w == "do" || w == "take") && has(words[from:], nows()) {
				return true
			}
		}
	}
	return false
}

// ofHouse reports whether “we” announces a later act of a house: it writes, it opens, or it waits for something first.
func ofHouse(words []string, at int) bool {
	return !has(words, nows()) && (has(words[at:min(at+4, len(words))], writes()) || has(words[at:], conditions()) || has(words[at:], within()))
}

var (
	writes = lazy.Words(`email send notify remind message text contact call open close enviaremos mandaremos avisaremos notificaremos recordaremos informaremos llamaremos abriremos cerraremos escribiremos`)
	within = lazy.Words(`within days hours dias horas anterior`)
)

// doesNow reports whether a Spanish present announces an act at once: «ahora mismo te envío la factura», «perfecto, la
// reservo». A text that it says or writes itself is no act, and an act with a condition is none yet.
func doesNow(words []string, at int) bool {
	w := words[at]
	if !strings.HasSuffix(w, "o") || telling()[w] || has(words, conditions()) || ofText(words[at+1:]) || slices.Contains(words[at:], ":") {
		return false
	}
	before := clauseBefore(words, at)
	start := slices.IndexFunc(before, func(w string) bool { return !clitics()[w] && !nows()[w] && w != "en" && w != "mismo" })
	if start >= 0 {
		return false
	}
	last := ""
	if len(before) > 0 {
		last = before[len(before)-1]
	}
	ahead := at+1 < len(words) && (articles()[words[at+1]] || owned()[words[at+1]])
	switch {
	case has(words, nows()):
		return unstressed()[last] || nows()[last] && ahead || last == "mismo" && ahead
	case at > len(before) && at < 6 && (openers()[words[0]] || agreeing()[words[1]]):
		return pronouns()[last] && len(words) <= at+3
	}
	return false
}

var (
	agreeing   = lazy.Words(`acuerdo bien supuesto problema`)
	telling    = lazy.Words(`confirmo informo indico resumo apunto paso anoto adjunto comparto`)
	unstressed = lazy.Words(`me te se le les lo la los las`)
	pronouns   = lazy.Words(`lo la los las`)
)

var goingOn = lazy.Words(`proceed check look retrieve find search fetch review verify calculate start begin go try gather locate consultar comprobar revisar buscar mirar verificar obtener recuperar calcular proceder empezar comenzar`)
