package intent

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Ghost reports assistant text that must not stand alone, because only a tool
// call may make a plan (document 000 §7). Such text
//
//   - lays out a plan of its own («Plan propuesto: Paso 1 …»),
//   - asks for a confirmation, or tells how to give one («¿La reservo?»,
//     "Reply yes to run"),
//   - announces an action as its own next move («Voy a reservar la sala»), or
//   - claims that one is running now («Ejecutando el plan…»).
//
// What is left alone: prose about plans and steps (a syllabus, a recipe, a
// floor plan), questions for missing data, denials («no hay ningún plan»),
// explanations of how confirming works, and reports of what is finished: after
// a real run the model rightly says «He reservado la sala», and the text alone
// cannot tell that from an invention.
func Ghost(assistantText string) bool {
	text := fold(assistantText)
	all := sentences(text)
	var score signals
	for _, sentence := range all {
		found := read(sentence)
		if found == (signals{}) || denial.MatchString(sentence) || explanation.MatchString(sentence) {
			continue
		}
		score.asked += found.asked
		score.running += found.running
		score.headings += found.headings
		score.announced += found.announced
	}
	switch {
	case score.asked > 0, score.running > 0:
		return true
	case score.headings > 0 && (numbered.MatchString(text) || stepLabel.MatchString(text) || ownPlan.MatchString(text)):
		return true
	case score.announced > 0:
		return !slices.ContainsFunc(all, dataRequest.MatchString)
	default:
		return steps(text) && operation.MatchString(text) && !describesService.MatchString(text) && !topicPlan.MatchString(text)
	}
}

// signals counts what gives a ghost away, each kind apart.
type signals struct{ asked, running, headings, announced int }

func read(sentence string) (s signals) {
	switch {
	case replyWord.MatchString(sentence), proposal.MatchString(sentence):
		s.asked++
	case asksConsent(sentence) && !dataRequest.MatchString(sentence):
		s.asked++
	case runningClaim.matches(sentence):
		s.running++
	}
	if planHeading.matches(sentence) && !topicPlan.MatchString(sentence) {
		s.headings++
	}
	if !strings.Contains(sentence, "?") && announcement.MatchString(sentence) {
		s.announced++
	}
	return s
}

func asksConsent(sentence string) bool {
	if consentNoun.matches(sentence) {
		return true
	}
	question := strings.ContainsAny(sentence, "?¿")
	if !question {
		return false
	}
	for _, m := range offer.FindAllStringSubmatch(sentence, -1) {
		if verb := strings.Join(m[1:], ""); !telling.MatchString(verb) {
			return true
		}
	}
	return consentQuestion.MatchString(sentence) || consentOffer.MatchString(sentence)
}

func steps(text string) bool { return len(stepLabel.FindAllString(text, 2)) > 1 }

// fold brings text to the form the rules are written in: lower case, no
// accents, no emphasis marks, straight quotes. Lines and punctuation stay.
func fold(text string) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(strings.ToLower(text)) {
		switch {
		case unicode.Is(unicode.Mn, r), r == '*', r == '_', r == '#', r == '`', r == '>', silent(r) && r != '\'' && r != '’':
		case r == '’' || r == '‘':
			b.WriteByte('\'')
		case strings.ContainsRune("\"“”„«»", r):
			b.WriteByte('"')
		case r == '\u00a0' || r == '\t' || r == '\r':
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// sentences cuts folded text at line ends and at closing punctuation before a
// space, so that a rule never joins words of two thoughts.
func sentences(text string) []string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		start := 0
		for _, at := range sentenceEnd.FindAllStringIndex(line, -1) {
			out = append(out, strings.TrimSpace(line[start:at[1]]))
			start = at[1]
		}
		if rest := strings.TrimSpace(line[start:]); rest != "" {
			out = append(out, rest)
		}
	}
	return out
}

// gated is a rule with the stems of which every match holds one: a sentence
// without any is passed over at a fraction of the cost.
type gated struct {
	stems []string
	rule  *regexp.Regexp
}

func gate(stems, rule string) gated {
	return gated{strings.Fields(stems), regexp.MustCompile(rule)}
}

func (g gated) matches(sentence string) bool {
	return slices.ContainsFunc(g.stems, func(stem string) bool { return strings.Contains(sentence, stem) }) && g.rule.MatchString(sentence)
}

// oneOf joins alternatives into one group.
func oneOf(alternatives ...string) string { return `(?:` + strings.Join(alternatives, `|`) + `)` }

// The words an effect is spoken of with. Telling, explaining and showing are
// missing on purpose: they need no consent.
var (
	actInfinitive = oneOf(`reserv(?:ar|arl[aoe]s?)`, `crea(?:r|rl[aoe]s?)`, `ejecuta(?:r|rl[aoe]s?)`, `envia(?:r|rl[aoe]s?)`,
		`elimina(?:r|rl[aoe]s?)`, `borra(?:r|rl[aoe]s?)`, `cancela(?:r|rl[aoe]s?)`, `anula(?:r|rl[aoe]s?)`, `actualiza(?:r|rl[aoe]s?)`,
		`modifica(?:r|rl[aoe]s?)`, `cambia(?:r|rl[aoe]s?)`, `programa(?:r|rl[aoe]s?)`, `agenda(?:r|rl[aoe]s?)`, `registra(?:r|rl[aoe]s?)`,
		`compra(?:r|rl[aoe]s?)`, `paga(?:r|rl[aoe]s?)`, `publica(?:r|rl[aoe]s?)`, `proceder`, `lanza(?:r|rl[aoe]s?)`, `hacerl[ao]s?`,
		`hacer (?:la|el|una|un) (?:reserva|pedido|pago|cambio|llamada|peticion)`, `llamar a la api`, `realiza(?:r|rl[aoe]s?)`, `efectua(?:r|rl[aoe]s?)`,
		`inicia(?:r|rl[aoe]s?)`, `anadir`, `agrega(?:r|rl[aoe]s?)`, `mover`, `seguir adelante`, `continuar con`, `subir`, `aplicar`)
	actSubjunctive = oneOf(`l[ao]s? ?reserve`, `reserve`, `cree`, `ejecute`, `envie`, `elimine`, `borre`, `cancele`, `anule`, `actualice`, `modifique`,
		`cambie`, `programe`, `agende`, `registre`, `compre`, `pague`, `publique`, `proceda`, `lance`, `haga`, `realice`, `inicie`, `anada`, `agregue`, `mueva`, `siga adelante`,
		`continue`, `avance`, `aplique`, `tramite`, `suba`)
	actPresent = oneOf(`reservo`, `creo la`, `creo el`, `creo una`, `creo un`, `l[ao] creo`, `ejecuto`, `envio`, `elimino`, `borro`, `cancelo`, `anulo`, `actualizo`, `modifico`,
		`cambio l[ao]s?`, `l[ao] cambio`, `programo`, `agendo`, `registro l[ao]`, `l[ao] registro`, `compro`, `pago l[ao]`, `l[ao] pago`, `publico`, `procedo`, `lanzo`, `l[ao] hago`, `realizo`, `inicio l[ao]`, `sigo adelante`,
		`anado`, `agrego`, `l[ao] muevo`, `continuo`, `avanzo`)
	actEnglish = oneOf(`book`, `reserve`, `create`, `execute`, `run`, `send`, `delete`, `remove`, `cancel`, `update`, `modify`, `change`, `schedule`,
		`register`, `buy`, `purchase`, `pay`, `publish`, `proceed`, `go ahead`, `go forward`, `move forward`, `launch`, `do (?:it|that|this|so)`, `make (?:the|this|that|your|a) (?:reservation|booking|call|request|order|payment|change|purchase)`,
		`place (?:the|this|your|an) order`, `submit`, `start`, `begin`, `perform`, `carry (?:it |this |that )?out`, `post`, `add`, `move`, `call the api`, `apply`, `continue`, `deploy`, `trigger`, `kick (?:it )?off`)
	actGerund   = oneOf(`booking`, `reserving`, `creating`, `executing`, `running`, `sending`, `deleting`, `removing`, `cancell?ing`, `updating`, `scheduling`, `placing`, `submitting`, `processing`, `starting`, `performing`, `calling`)
	actGerundio = oneOf(`reservando`, `creando`, `ejecutando`, `enviando`, `eliminando`, `borrando`, `cancelando`, `actualizando`, `programando`, `agendando`, `procesando`, `realizando`, `iniciando`, `llamando`, `lanzando`, `registrando`)
	yesWord     = oneOf(`confirmo`, `confirma`, `confirmar`, `confirmado`, `si`, `ok`, `dale`, `adelante`, `ejecuta`, `vale`, `yes`, `y`, `confirm`, `confirmed`, `go ahead`, `go`, `proceed`, `approve`, `cancela`, `cancelar`, `cancel`, `run`, `apruebo`, `procede`)
)

var (
	sentenceEnd = regexp.MustCompile(`[.!?…]+["')\]]*(?: +|$)|;`)
	stepLabel   = regexp.MustCompile(`(?m)(?:^|[\s:(\-•])(?:paso|step|accion|action|etapa)\s*(?:n\.?[oº]?\s*)?(?:\d+|[ivx]+\b|uno|dos|tres|one|two|three)\s*(?:[:.)\-–—/]|de \d|of \d|$)`)
	numbered    = regexp.MustCompile(`(?m)(?:^|[\s:(])(?:\d+[.)\-:]\s|\d\s?[⃣️]|(?:paso|step)s?\s*\d|[-•]\s|→|->|primero\b|first,|luego|then\b|despues|i\)\s|a\)\s)`)
	operation   = regexp.MustCompile(`\b(?:get|post|put|patch|delete) +/|\bmcp[-_a-z0-9]*\b|` + oneOf(`propose_plan`, `mcp_request`))

	// A sentence that says a plan does not exist or nothing was done.
	denial = regexp.MustCompile(oneOf(
		`\bno (?:hay|tengo|existe|veo|encuentro|he (?:preparado|creado|propuesto|podido|ejecutado|hecho|reservado|iniciado)|se ha|se ejecut|estoy (?:ejecutando|reservando)|puedo|podre|voy a|es posible|necesito tu confirm|hace falta|llegue a|pude|requiere)`,
		`\bsin un plan\b`, `\bnada (?:se ejecuta|se ha|esta en)`, `\bningun plan\b`,
		`\b(?:there is|there's|there are) no\b`, `\bno plan\b`, `\bi (?:have not|haven't|cannot|can't|could not|couldn't|will not|won't|am not|did not|didn't|do not need|don't need)\b`, `\bi'm not\b`, `\bnothing (?:is|has|was|runs)\b`, `\bno need to confirm`, `\bisn't (?:running|executing)`))

	// A sentence on how confirming works in general, or who else does it.
	explanation = regexp.MustCompile(oneOf(
		`\b(?:cuando|siempre que|cada vez que|una vez que|en cuanto)\b[^.?]{0,40}\b(?:un|una|algun|el) (?:plan|propuesta|tarjeta)`, `\b(?:when|whenever|once|every time|each time)\b[^.?]{0,40}\b(?:a|the|any|each) (?:plan|proposal|card)\b`,
		`\bantes de (?:ejecutar|actuar|hacer) (?:algo|cualquier|nada|una accion)`, `\bbefore (?:i |it |piloto |anything )?(?:run|act|do|execut)[a-z]* (?:anything|something|any|is)`,
		`\bsiempre (?:te )?(?:pido|pedire|pide|pregunto|propongo|muestro)`, `\balways ask`, `\b(?:piloto|el sistema|la aplicacion|el banco|la tienda|el hotel|el medico|el usuario|la persona|el profesor|la web) \w*`, `\b(?:the system|the app|the bank|the user|the person|the hotel|users?|customers?|people|piloto) (?:will|may|can|must|should|asks?|replies|reply|types?|confirms?|sends?|runs?|has|is|are)\b`,
		`\bsignifica\b`, `\bse llama\b`, `\bmeans\b`, `\bis called\b`, `\bpor ejemplo, (?:puedes|si)`, `\b(?:puedes|podras|podrias|prueba a|intenta|basta con) (?:pedirme|escribir(?:me)? (?:cosas|algo|por ejemplo)|decirme|preguntarme|probar)`, `\b(?:you can|try) (?:ask|asking|say|saying|tell|typing something|type something)`))

	// A question or request for a value that only the person knows.
	dataRequest = regexp.MustCompile(oneOf(
		`(?:^\W*|¿ ?|\b(?:a|para|de|en|con|por|y) )que [^?]*\?`, `\b(?:cual|cuales|cuando|cuanto|cuanta|cuantas|cuantos|donde|quien|como) [^?]*\?`, `(?:^|\b)(?:what|which|when|where|who|how many|how much|how long|how) [^?]*\?`,
		`\b(?:puedes|podrias|puede|podria)s? (?:confirmarme|confirmar|decirme|indicarme|darme|aclarar|aclararme|precisar|especificar)`, `\b(?:can|could|would) you (?:please )?(?:confirm|tell|give|specify|clarify|share|provide|let me know)`,
		`\b(?:confirma(?:me)?|confirmas|indica(?:me)?|dime|please confirm|confirm) (?:por favor )?(?:(?:la|el|tu|su|los|las|the|your|si|whether|if|that) )?(?:fecha|hora|horario|nombre|apellido|correo|email|numero|telefono|direccion|asistencia|asistencia|identidad|cantidad|dia|date|time|name|address|email address|phone|number|identity|attendance|quantity|room you|size|order number|password|version|es para|son|prefieres|it is for|you are)`))

	// How to say yes: «responde confirmo», "reply 'yes' to run".
	replyWord = regexp.MustCompile(oneOf(
		`\b(?:responde|respondeme|responda|contesta|escribe|escriba|di|dime|diga|pulsa|presiona|teclea|envia|manda|pon|tipea)(?: |: ?)(?:solo |simplemente |con |un |que |la palabra |el boton |en |: ?)*["'(]?`+yesWord+`["')]?(?:$|[\s.,;:!/])`,
		`\b(?:reply|respond|answer|type|say|write|send|press|click|hit|enter)(?: |: ?)(?:just |with |back |me |a |the word |the button |on |: ?)*["'(]?`+yesWord+`["')]?(?:$|[\s.,;:!/])`,
		`["']`+oneOf(`confirmo`, `confirmar`, `confirm`, `si`, `yes`, `ok`)+`["'] (?:para|o|to|or|y|and|if|si)\b`, `\(`+oneOf(`si/no`, `s/n`, `yes/no`, `y/n`, `confirmo/cancela`, `confirm/cancel`)+`\)`, `\bconfirm\w*\W{1,3}`+oneOf(`si`, `yes`, `s`, `y`)+` ?[/|] ?no?\b`, `\bconfirmo ?/ ?cancela`, `\bsi o no\?$`, `\byes or no\?$`))

	// A consent that is asked for without a question mark.
	consentNoun = gate(`confirm aprob aprueb approv autori authori visto permi luz light ahead consent acuerdo agree say list ready prepar dime avisame saber know parece word correcto bien ok happy`, oneOf(
		`\b(?:espero|esperando|quedo a la espera de|a la espera de|pendiente de|necesito|requiero|requiere|falta|solo falta|con|dame|a falta de) (?:por )?(?:tu|su|la|que me des tu|de tu) (?:confirmacion|aprobacion|autorizacion|visto bueno|permiso|luz verde|ok\b)`, `\bplan (?:pendiente|a la espera) de confirm`,
		`\b(?:awaiting|waiting (?:for|on)|await|pending|need|require|requires|with|upon|subject to|give me) (?:on )?your (?:confirmation|approval|go-ahead|go ahead|permission|consent|ok\b|okay|green light|authori[sz]ation)`,
		`\bconfirm[ae](?:me|lo|la)? (?:por favor |y |para |que (?:quieres|deseas|proceda|puedo|lo|la)|el plan|la reserva|la operacion|la accion|la ejecucion|los cambios|el envio|la cancelacion|el borrado|esta accion|estos pasos|este plan)`, `(?:^|[,;:—–-] ?|por favor,? |y )confirm[ae](?:lo|la|me)?(?: por favor)?[.!…]*$`, `\bsi (?:estas de acuerdo|te parece bien|confirmas|lo confirmas|la confirmas|me confirmas|todo (?:esta )?(?:bien|correcto))\b[^.?]*\b`+oneOf(actPresent, actInfinitive, `lo pongo`, `confirma`, `me pongo`, `empiezo`, `sigo`),
		`\b(?:please )?confirm (?:to |and |so |if you (?:want|would)|that you (?:want|would)|the (?:plan|booking|reservation|action|operation|execution|changes|cancellation|deletion|order|steps)|this (?:plan|action|booking)|these steps|below|when ready)`, `(?:^|[,;:—–-] ?|please )please confirm[.!…]*$`, `^confirm[.!…]*$`, `\bif you (?:agree|approve|confirm|say yes|are ok|are happy)\b`, `\bonce you (?:confirm|approve|say yes|give)`, `\b(?:en cuanto|cuando|una vez que) (?:me )?(?:lo |la )?(?:confirmes|apruebes|autorices|des el ok|digas que si)`, `\bas soon as you (?:confirm|approve|say)`,
		`\bjust say the word`, `\b(?:please )?(?:approve|authori[sz]e) (?:to|so|this|these|the plan|below|and i)\b`, `\b(?:aprueba|autoriza)(?:lo|la|me)? (?:para|y|el plan|este|estos|la operacion)`, `\b(?:list[ao]|preparad[ao]) para (?:ejecutar|proceder|empezar|enviar|reservar|lanzar)`, `\bready to (?:run|execute|proceed|book|go|send|launch|start)\b`, `\bsi (?:me )?das (?:el|tu|la) (?:ok|visto bueno|permiso|aprobacion|confirmacion|luz verde)`, `^\W*confirm[ae](?:me|lo|la)?,? por favor,? (?:que (?:quieres|deseas|proceda|lo|la)|para|y)`, `\b(?:necesito|quiero|espero) que (?:me )?(?:l[ao]s? )?(?:confirmes|apruebes|autorices|valides)`, `\bsolo dime y\b`, `\b(?:confirmes|autorices|apruebes) (?:para|antes de)`, `\bdime y l[ao]\b`, `\blet me know (?:if|when) (?:i should|you(?:'d| would)? (?:like|want) me to|you want to|to) `+actEnglish, `\b(?:dime|avisame|hazme saber) (?:si|cuando) (?:quieres que|deseas que|debo|puedo|procedo|l[ao]) ?(?:l[aoe]s? )?`+oneOf(actSubjunctive, actInfinitive, actPresent)))

	// A yes-or-no question about going on.
	consentQuestion = regexp.MustCompile(oneOf(
		`\bconfirmas\b`, `\b(?:me )?l[ao]s? confirm(?:as|amos)\b`, `\bconfirmamos\b`, `\bdas (?:tu |el )?(?:confirmacion|visto bueno|ok|permiso|aprobacion)`, `\bapruebas\b`, `\bautorizas\b`, `\baceptas (?:el|este|la|que)`,
		`(?:^|¿|\b(?:y|entonces|si quieres|ya|te|se|lo|la|los|las|que)) ?(?:l[aoe]s? |te |se )*`+actPresent+`\b`, `\b(?:puedo|debo|deberia|podria) (?:l[aoe]s? )?`+actInfinitive, `\bseguimos adelante\b`, `\bprocedemos\b`, `\bte parece (?:bien )?(?:si|que) `+oneOf(actPresent, `l[ao] \w+o\b`, `\w+o l[ao]\b`),
		`\bpara (?:proceder|continuar|ejecutar|empezar)\?`, `\bto (?:proceed|continue|execute|begin)\?`, `\b(?:quieres|deseas|desea|quiere|te gustaria|do you want to|would you like to|do you wish to) (?:confirmar|confirmarl[ao]|confirm|approve|aprobar|autorizar|proceed|go ahead|continue|execute)\b`, `\bte parece bien (?:el|este) plan`, `\bestas de acuerdo (?:con (?:el|este) plan|en que|con que)`, `\b(?:are you|is this|is that|does (?:this|that|the plan)) (?:ok|okay|good|fine|ready|sound|look)[a-z]* (?:to|with (?:this|the) plan|good|right|ok)?`, `\b(?:shall|should|may|can) (?:i|we) (?:now |just |also )?`+actEnglish+`\b`, `\bdo you (?:confirm|approve|authori[sz]e|agree)\b`, `\bconfirm\?$`, `\bgo ahead\?$`, `\bproceed\?$`, `\bready\?$`, `\bok to \w+`, `\bmind if i `+actEnglish, `\badelante\?`, `(?:^|¿|[,;:—–-] ?)(?:y |entonces )?`+oneOf(`(?:estas )?segur[oa]`, `continuar`, `continuo`, `continuamos`, `proseguir`, `prosigo`, `de acuerdo`, `le damos`, `damos luz verde`, `l[ao] hacemos`, `vamos`, `procedemos`, `proceder`, `empezamos`, `empiezo`, `comienzo`, `arranco`, `arrancamos`, `te parece(?: bien)?`, `listo`, `lista`, `conforme`, `confirmado`, `hecho`, `va`, `vale`, `ok`, `okay`, `continue`, `are you sure`, `sure`, `deal`, `agreed`, `all good`, `execute`, `run it`, `confirm`)+`\?`, `\b(?:should|shall|may|can) (?:i|we)\?`, `\bsound good\?`))

	// An offer to act; offers to explain or tell are not in the verb lists.
	consentOffer = regexp.MustCompile(oneOf(
		`\b(?:quieres|deseas|prefieres|te gustaria|quisieras|desea|quiere|gustas) (?:que )?(?:l[aoe]s? |te l[ao]s? |se l[ao]s? |te |ya |ahora )*`+oneOf(actSubjunctive, actInfinitive)+`\b`, `\b(?:do you want|would you like|you want|like|want) me to (?:now |go ahead and |just |also )?`+actEnglish+`\b`, `\b(?:do you want|would you like) to (?:proceed|go ahead|continue with (?:this|the) (?:plan|booking|reservation)|execute|run (?:it|this|the plan)|confirm)`))

	// An offer to do anything, with the verb; and the verbs of telling, whose
	// offers need no plan.
	offer = regexp.MustCompile(oneOf(
		`\b(?:quieres|deseas|prefieres|te gustaria|quisieras|desea|quiere|te parece bien|esta bien|te importa) que (?:l[aoe]s? |te |se |me |nos |ya |ahora )*([a-z]+)`,
		`\b(?:do you want|would you like|you want|want|like|wish|are you (?:ok|okay|happy|fine) (?:for|with)) (?:for )?me (?:to )?(?:now |just |also |go ahead and )?([a-z]+)`,
		`\b(?:shall|should|may) i (?:now |just |also )?([a-z]+)`, `\bcan i (?:now |just )?go (ahead)`,
		`(?:^\W*|¿ ?)(?:y |entonces |ya |pues )?(?:te |se )?(?:l[ao]s? )([a-z]+o)\b`,
		`¿ ?(?:y |entonces |ya |pues )?([a-z]+o) (?:la|el|los|las|una|un|ya|con|entonces|ahora|tu|esta|este)\b`))
	telling = regexp.MustCompile(`^` + oneOf(`expli\w+`, `cuent\w+`, `dig\w+`, `muestr\w+`, `ensen\w+`, `resum\w+`, `traduz\w+`, `ayud\w+`, `aclar\w+`, `detall\w+`, `describ\w+`, `repit\w+`, `list[eo]`, `compar\w+`, `recomiend\w+`, `sugier\w+`, `ampli\w+`, `respond\w+`, `habl\w+`, `de`, `recuerd\w+`, `indi\w+`, `se?a[ns]?`, `sala`, `reunion`, `mesa`, `cita`, `habitacion`, `fecha`, `hora`, `este`, `haya`, `tenga`, `pueda`,
		`cuanto`, `cuando`, `como`, `todo`, `solo`, `algo`, `otro`, `esto`, `eso`, `pero`, `no`, `mucho`, `primero`, `segundo`, `mismo`, `bajo`, `tengo`, `necesito`, `quiero`, `digo`, `veo`, `entiendo`, `conozco`, `creo que`, `puedo`, `debo`, `claro`, `cierto`, `correcto`,
		`explain`, `tell`, `describe`, `summari\w+`, `translate`, `show`, `list`, `clarify`, `elaborate`, `give`, `help`, `provide`, `repeat`, `rephrase`, `compare`, `recommend`, `suggest`, `expand`, `answer`, `know`, `be`, `stay`, `ask`, `read`, `remind`, `assist`, `call you`) + `$`)

	// An action that is said to be under way.
	runningClaim = gate(`ndo ing marcha curso ejecu inici paso step queued start launch kicked being cola encol mientras while lanza arranca puesto siendo progress way status estado action`, oneOf(
		`^\W*(?:(?:ok|okay|sure|great|perfect|alright|all right|got it|right|claro|perfecto|vale|de acuerdo|listo|entendido|bien|genial)[,:]? )?`+actGerundio+` `+oneOf(`el`, `la`, `los`, `las`, `un`, `una`, `tu`, `paso`, `plan`, `accion`, `ahora`, `a`, `get`, `post`), `^\W*(?:(?:ok|okay|sure|great|perfect|alright|all right|got it|right|claro|perfecto|vale|de acuerdo|listo|entendido|bien|genial)[,:]? )?`+actGerund+` (?:your|step|plan|the (?:plan|steps?|actions?|request)|action|now|it now|get|post)\b`, `^\W*(?:(?:ok|okay|sure|great|perfect|alright|all right|got it|right|claro|perfecto|vale|de acuerdo|listo|entendido|bien|genial)[,:]? )?`+actGerund+` [^.]*(?:\bnow\b|\.\.)`, `^\W*(?:proceeding|continuing|moving ahead|going ahead) with\b`, `\bprocediendo (?:a|con)\b`, `\b(?:calling|invoking|llamando a|invocando) (?:get|post|put|patch|delete) /`, `\b(?:is|are) (?:now |currently )?being (?:execut|creat|process|book|reserv|sent|delet|cancel|updat|submit)`, `\b(?:has|have) been (?:queued|started|launched)`, `\b(?:while|mientras) (?:i |te |l[ao]s? )*`+oneOf(actEnglish, actPresent)+`\b`, `\b(?:en cola|encolad[ao])\b[^.]*\b(?:plan|ejecu)`, `^\W*`+oneOf(actGerund, actGerundio)+`[.…]*$`,
		`\b(?:estoy|estamos|esta) (?:ya |ahora )?`+actGerundio+`\b`, `\b(?:i'm|i am|we're|we are) (?:now |currently |already )?`+actGerund+` (?:the|your|a|it|step|this|room|now|sala)\b`, `\bplan (?:en ejecucion|en marcha|en curso|iniciado|lanzado|running|started|in progress|is (?:now )?running|executing)`, `\b(?:paso|step) \d+(?: ?(?:de|of|/) ?\d+)?:? (?:en ejecucion|en curso|running|executing|in progress|ejecutando|completado|ok|done)`, `\biniciando (?:el )?plan\b`, `\b(?:paso|step) \d+[^a-z0-9\n]*[✅⏳❌⚠🔄▶]`, `\bplan\b[^.?]{0,40}\b(?:en marcha|en curso|en ejecucion|corriendo|ejecutandose|under ?way|in progress|being executed)`, `\b(?:iniciado|lanzado|arrancado|puesto en marcha|started|launched|kicked off) (?:el|the|tu|your) (?:plan|proceso|ejecucion|run|process|execution)`, `\b(?:esta|estan) siendo (?:procesad|ejecutad|cread|reservad|cancelad|enviad|eliminad|actualizad|borrad)`, `\baction: ?\w+.*\brunning\b|\brunning action\b|\brunning step\b`, `^\W*\[?(?:running|ejecutando|executing)\]?(?: ?[:.\]]|$)`, `\bstatus: ?running`, `\bestado: ?(?:ejecutando|en ejecucion|running)`))

	// A heading that needs no steps after it.
	proposal = regexp.MustCompile(`^\W*` + oneOf(`plan propuesto`, `plan sugerido`, `propuesta de plan`, `accion(?:es)? propuestas?`, `proposed (?:plan|actions?)`, `suggested plan`, `plan de ejecucion`, `execution plan`) + `\W*(?:$|[:.(—–-]|para\b|con\b|to\b|with\b)`)

	// A heading or sentence that presents the text as the plan itself.
	planHeading = gate(`plan paso step action propuesta hare haria hacer what`, oneOf(
		`^\W*plan (?:ready|prepared|created|drafted|creado)\b`, `\btengo (?:ya )?list[oa] (?:el|un|la) (?:plan|propuesta)`, `\b(?:estos son|here are|these are) (?:los|the) (?:pasos|steps) (?:que|i will|i'll|i)`, `\b(?:hare|haria|voy a hacer) (?:lo siguiente|esto)\b`, `\b(?:here's|here is|this is) what (?:i'll|i will|i would|i'm going to) do\b`, `\b(?:he |i've |i have )(?:disenado|elaborado|armado|montado|designed|built|outlined|laid out) (?:un|el|a|the) (?:\w+ )?plan\b`, `\bplan(?:es)? (?:propuesto|de accion|de ejecucion|sugerido|preparado|listo)\b`, `\b(?:proposed|suggested|execution|action) plan\b`, `\bpropuesta de plan\b`, `^\W*(?:mi |el |tu |su |my |the |your )?plan ?:`, `^\W*plan$`, `\b(?:este|esto) (?:es|seria|sera) (?:el|mi) plan\b`, `\b(?:aqui (?:esta|tienes|va)|te (?:propongo|presento|dejo|comparto|muestro)|propongo|he preparado|prepare|prepare el|he creado|he hecho|tengo) (?:el |un |mi |este |el siguiente |tu )?(?:siguiente )?plan\b`, `\b(?:here is|here's|this is|i propose|i suggest|i've (?:prepared|drafted|created|made|put together)|i have (?:prepared|drafted|created|a)|i prepared|i made|i drafted) (?:the|my|a|this|the following|your)? ?(?:following )?(?:[a-z-]+ )?plan\b`, `\b(?:el|my|the) plan (?:que (?:te )?propongo |i propose |i suggest )?(?:es|seria|sera|is|would be|consta|tiene|has)\b[^.]{0,30}`, `\b(?:los|estos son los|seguire estos|hare los siguientes|voy a seguir estos) pasos:?$`, `\b(?:i will|i'll|i would|i'd) (?:follow|take|do|perform) (?:these|the following) (?:steps|actions)`))

	// A plan of one's own, told in one sentence.
	ownPlan = regexp.MustCompile(`\bplan (?:que (?:te )?propongo|i propose|i suggest)`)

	// Plans that are somebody's subject matter, not this system's.
	topicPlan = regexp.MustCompile(oneOf(
		`\bplan (?:de|del|para (?:tu|el|la|los|las|un|una|aprender|estudiar|perder|ahorrar|bajar|correr)) ?(?:estudi\w*|estudios|negocio\w*|marketing|entrenamiento|comidas?|dieta|viaje|pensiones|datos|salud|ahorro|carrera|formacion|clases?|lectura|emergencia|evacuacion|contingencia|limpieza|mejora|vuelo|gobierno|empresa|trabajo|proyecto|ejercicios|aprendizaje|\w+)`, `\b(?:study|studying|business|marketing|workout|training|meal|diet|travel|pension|data|health|savings?|lesson|floor|reading|learning|cleaning|emergency|retirement|fitness|payment|phone|weekly|monthly|daily|family|seating|garden|project|city|security|insurance|free|pro|basic|[0-9a-z]+-week|[0-9a-z]+-day|7-day) plan\b`, `\bplan (?:for (?:your|the|a|an|learning|studying|losing|saving|running)|to (?:learn|study|lose|save|run a))\b`))

	announcement = regexp.MustCompile(oneOf(
		`^\W*(?:te|ahora|ya|enseguida|ahora mismo) (?:te |l[ao]s? )*`+actPresent+` (?:la|el|una|un)\b`, `\b(?:voy a|vamos a|procedo a|procedere a|paso a|pasare a|me dispongo a|ire a) (?:ahora )?(?:proceder a )?`+actInfinitive+`\b`, `^\W*(?:primero |luego |ahora |a continuacion,? |despues |y |te |l[ao]s? )*`+oneOf(`reservare`, `creare`, `ejecutare`, `enviare`, `eliminare`, `borrare`, `cancelare`, `actualizare`, `programare`, `agendare`, `procedere`, `lanzare`)+`\b`,
		`\b(?:i'll|i will|i'm going to|i am going to|let me|we'll|we will|i'm about to) (?:now |then |first |go ahead and |also |proceed to )*`+actEnglish+`\b (?:the|your|a|an|it|this|that|room|sala|step|now|for|these|those|both|with|and|get|post|meeting)`, `\b(?:i'll|i will|i'm going to|let me) (?:now )?(?:proceed|go ahead)\b`, `^\W*(?:procedo|prosigo|continuo)\b`))

	describesService = regexp.MustCompile(oneOf(`\bapi (?:ofrece|tiene|permite|expone|has|offers|exposes|lets)`, `\b(?:ofrece|disponibles|operaciones|endpoints|documentacion|documentation|available)\b`))
)
