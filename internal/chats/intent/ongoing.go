package intent

import (
	"strings"

	"piloto/internal/ground/lazy"
)

// claimsOngoing reports a sentence that claims an act in progress.
func claimsOngoing(s *sentence, plain bool) bool {
	if s.question || denies(s) || onlyThinks(s) {
		return false
	}
	if !plain || explains(s) {
		return false
	}
	from, rest, ok := runs.find(s.tokens)
	return ok && !hasAgent(rest) && !conditions.match(rest) && !markUnasserted(s)[len(s.tokens)-len(from)] || startsRun(s)
}

// onlyThinks reports a present that only works on the text of the chat: «estoy revisando tu
// mensaje».
func onlyThinks(s *sentence) bool {
	for i := range s.tokens {
		if t := &s.tokens[i]; t.form&gerund != 0 && !t.quoted {
			near := s.tokens[i:min(len(s.tokens), i+7)]
			return t.form&look != 0 && (mentions(near, chatNouns()) || mentions(near, readNouns())) || shaping()[t.word] && objectAmong(near, chatNouns()) ||
				len(near) > 1 && (near[1].word == "forward" || near[1].word == "at")
		}
	}
	return false
}

// shaping lists gerunds that may only work on a text.
var shaping = lazy.Words(`generando creando haciendo ordenando corrigiendo cambiando anadiendo dejando generating creating making putting fixing adding changing building`)

// runs match the claim of an act in progress.
var runs = compile(`
estoy|estamos {c}* {ad}* {G}
^ i'm|we're {ad}* {G}
^ i|we am|are {ad}* {G}
i'm|we're currently|now|just|already {G}
i|we am|are currently|now|just|already {G}
plan|request|solicitud|peticion|accion|operacion|reserva|orden|pedido|tarea|ejecucion|envio|pago ..1 esta|queda siendo
plan|request|action|task|operation|execution|booking|order ..2 is|are ..1 running|executing|underway|progress|processing|processed|starting
esta|estan ..1 en curso|marcha|proceso
is|are ..1 in progress
is|are ..1 underway
^ working on it|this|that|your|the
^ i'm on it|that
^ on it
^ estoy|ando en ello|eso
^ me pongo ..1 ello|manos|con
^ one|un|just|give|dame|deme|hold|hang|bear|please momento|moment|second|segundo|sec|minuto|minute|instante|me|un|unos|on|tight|with|a ..1 moment|second|sec|minute|segundo|segundos|momento|minuto|instante|moment|please|por|while|mientras|me
^ un|one momento|moment|segundo|second
ya mismo|esta {c}* {P}
as we speak
is|are now {G}
is|are {GA} ..6 now $
se esta|estan {GA}
is|are being {ed}
i've|i|he|hemos started|initiated|begun|kicked|queued|launched|iniciado|comenzado|empezado|lanzado ..1 the|a|your|el|la|tu|su|off
ya esta|estan {GA}
voy|vamos|ando|andamos {G}
^ will do $
consider it|that|them {ed}
dalo|delo por hecho
^ enseguida|inmediatamente $
^ wait|standby|espere|espera|please ..2 while|mientras
mientras {c}* {P}
manos a la obra
`)

// startsRun reports a gerund that begins a clause and claims a run: «Reservando la sala…».
func startsRun(s *sentence) bool {
	for i := range s.tokens {
		t := &s.tokens[i]
		if t.quoted || t.form&gerund == 0 || t.word == "going" || t.word == "using" || t.form&(tell|consent) != 0 || !opensClause(s.tokens, i) || i > 3 && t.opens && !s.trailing && !s.label {
			continue
		}
		if i > 0 && (!t.opens && s.tokens[i-1].word == "y" || mentions(s.tokens[:min(i, 4)], later())) {
			continue
		}
		rest := s.tokens[i+1:]
		if len(rest) > 0 && particles()[rest[0].word] {
			rest = rest[1:]
		}
		switch {
		case s.trailing, len(s.tokens) == 1 && t.form&act != 0 && !s.item && !s.heading && strings.HasSuffix(s.raw, "."):
			return true
		case t.form&(act|advance|look) == 0 || len(rest) > 12 || hasFinite(rest) || isThirdPersonAct(rest):
		case s.label, i > 0 && nowWords()[s.tokens[i-1].word], t.form&advance != 0 && len(rest) > 0 && proceedTo()[rest[0].word], hasGerundObject(t, rest), plainStatus(s, i, rest), mentions(rest, nowWords()), len(rest) > 0 && callWords()[rest[0].word]:
			return true
		}
	}
	return false
}

var (
	later            = lazy.Words(`next siguiente`)
	acknowledgements = lazy.Words(`got understood noted right absolutely certainly good excellent done awesome entendido hecho anotado de excelente buenisimo recibido correcto`)
	proceedTo        = lazy.Words(`with to con ahead forward on`)
	particles        = lazy.Words(`off up out over down back through`)
	determiners      = lazy.Words(`the your this it el la los las tu su a an un una step paso action accion`)
	callWords        = lazy.Words(`accion action plan step paso request tool mcp_request propose_plan search_tools`)
	nowWords         = lazy.Words(`currently actualmente now ahora mismo momento moment please espera`)
	finite           = lazy.Words(`can't couldn't won't isn't aren't doesn't incluye incluyen contiene contienen tiene tienen exige exigen pide cubre lleva consta consiste ofrece includes include contains is are was were will can may requires require means takes take lets allows allow helps makes needs need should could would has have does gives returns
		es son era fue sera puede pueden requiere significa toma permite ayuda hace necesita debe deben suele tiene devuelve da se evita cuesta costs lasts last avoids improves implies implica`)
)

// isThirdPersonAct reports an English third person with its object: "Switching saves $40".
func isThirdPersonAct(rest []token) bool {
	for i := 0; i+1 < len(rest); i++ {
		verb, ok := strings.CutSuffix(rest[i].word, "s")
		next := rest[i+1].word
		if ok && lexicon()[verb]&infinitive != 0 && !rest[i+1].opens && (isNumber(next) || determiners()[next] || objects()[next]) {
			return true
		}
	}
	return false
}

// plainStatus reports a sentence that is a gerund and its object: "Creating
// ticket 12." A title has no full stop and is oftener in the plural.
func plainStatus(s *sentence, at int, rest []token) bool {
	return at <= 2 && (at == 0 || lead()[s.tokens[0].word] || acknowledgements()[s.tokens[0].word]) && !s.item && !s.heading && len(rest) > 0 && len(rest) <= 8 && strings.HasSuffix(s.raw, ".") && !strings.HasSuffix(rest[0].word, "s")
}

// hasGerundObject reports whether the gerund has an object. In English a gerund may be a subject
// («Deleting a file moves it»), so an indefinite object must end the sentence.
func hasGerundObject(t *token, rest []token) bool {
	if len(rest) == 0 || !determiners()[rest[0].word] {
		return false
	}
	return (rest[0].word != "a" && rest[0].word != "an") || len(rest) < 4 || !strings.HasSuffix(t.word, "ing")
}
