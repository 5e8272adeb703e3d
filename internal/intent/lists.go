package intent

import (
	"slices"
	"strings"
	"sync"
)

// The lists are built once, when the first message is classified, from the words below, all in the form of Normalize.
// They stay closed: a product of two finite lists is finite. No entry of the
// confirmations may hold a word of negations.
var (
	confirmations = sync.OnceValue(buildConfirmations)
	cancellations = sync.OnceValue(buildCancellations)
)

// assents confirm alone and may precede a command.
var assents = map[string][]string{
	"es": {
		"si", "sii", "siii", "siiii", "sip", "ok", "okey", "okay", "oki", "okis", "vale", "dale",
		"claro", "claro que si", "por supuesto", "por supuesto que si", "desde luego", "de acuerdo",
		"afirmativo", "esta bien",
	},
	"en": {
		"yes", "yep", "yup", "yeah", "yess", "yesss", "ok", "okay", "sure", "sure thing", "of course",
		"absolutely", "definitely", "certainly", "agreed", "affirmative", "all right", "alright",
		"sounds good",
	},
}

// openers are praise or acknowledgement: alone they say nothing about running,
// so they count only before a command.
var openers = map[string][]string{
	"es": {"perfecto", "listo", "bueno", "bien", "muy bien", "genial", "excelente", "va", "venga", "vamos", "entendido", "todo bien", "todo correcto"},
	"en": {"great", "perfect", "good", "fine", "cool", "looks good", "excellent", "right", "all good"},
}

// commands tell the plan to run.
var commands = map[string][]string{
	"es": {
		"confirmo", "confirmado", "confirma", "confirmar", "lo confirmo", "la confirmo", "confirmo el plan",
		"confirmo la reserva", "te confirmo", "yo confirmo", "plan confirmado", "queda confirmado",
		"adelante", "sigue adelante", "adelante con el plan", "adelante con eso",
		"ejecuta", "ejecutalo", "ejecutala", "ejecutar", "ejecuta el plan", "ejecutar plan", "ejecuta ya",
		"ejecute", "ejecutelo", "hazlo", "hazlo ya", "hagalo", "hagamoslo", "dale", "dale adelante",
		"procede", "proceda", "proceder", "procedamos", "procede con el plan", "puedes proceder",
		"puede proceder", "puedes ejecutarlo", "puedes hacerlo", "apruebo", "aprobado", "lo apruebo",
		"apruebo el plan", "plan aprobado", "acepto", "aceptado", "lo acepto", "acepto el plan",
		"autorizo", "autorizado", "lo autorizo", "tienes mi confirmacion", "tienes luz verde",
	},
	"en": {
		"confirm", "confirmed", "i confirm", "i confirm it", "confirm it", "confirm the plan",
		"i confirm the plan", "go", "go ahead", "go for it", "please do", "do it", "do it now", "do that",
		"lets do it", "lets go", "run", "run it", "run it now", "run the plan", "execute", "execute it",
		"execute the plan", "proceed", "please proceed", "proceed with the plan", "you may proceed",
		"you can proceed", "approve", "approved", "i approve", "i approve it", "approve it",
		"approve the plan", "i accept", "accepted", "i agree", "make it so", "make it happen", "ship it",
		"you have my confirmation", "green light",
	},
}

// core are the commands that are natural after an assent or an opener; the
// product stays small enough to hand to the page.
var core = map[string][]string{
	"es": {
		"confirmo", "confirmado", "lo confirmo", "confirmo el plan", "adelante", "ejecuta", "ejecutalo",
		"ejecuta el plan", "hazlo", "dale", "procede", "puedes proceder", "aprobado", "acepto",
	},
	"en": {
		"confirm", "confirmed", "i confirm", "go ahead", "go for it", "do it", "run it", "execute", "execute it",
		"proceed", "approved", "lets do it", "run the plan",
	},
}

var courtesies = map[string][]string{
	"es": {"por favor", "porfa", "porfavor"},
	"en": {"please", "pls"},
}

// doubled are the natural pairs of assents, and thanks where the rest is
// unmistakable («ok gracias» closes conversations, so it is not here).
var doubled = []string{
	"si si", "si si si", "ok ok", "dale dale", "vale vale", "ok dale", "si dale", "vale dale", "dale ok",
	"dale si", "si ok", "ok si", "si vale", "vale si", "ok vale", "vale ok", "si de acuerdo", "ok de acuerdo",
	"si por supuesto", "si claro que si", "si esta bien", "si correcto", "si es correcto", "si perfecto",
	"si adelante dale", "dale nomas", "dale pues", "si pues", "ok pues", "vale pues", "pues si",
	"pues vale", "pues adelante", "ah si dale", "o k", "oki doki", "okey dokey", "si quiero", "si hazlo ya",
	"si gracias", "si muchas gracias", "confirmo gracias", "adelante gracias", "confirmado gracias",
	"si confirmo gracias", "hazlo gracias", "procede gracias", "si adelante gracias",
	"yes yes", "yes yes yes", "yes ok", "ok yes", "yes sure", "sure yes", "yes of course", "yes absolutely",
	"yes definitely", "yes thanks", "yes thank you", "yes do", "yes i do", "yes i confirm that",
	"go ahead thanks", "confirmed thanks", "go ahead and do it", "go ahead and run it", "go go go",
	"yes lets", "ok lets", "okay lets", "okie dokie", "si yes", "ok go", "si go ahead",
}

// negations never appear in a confirmation.
var negations = []string{
	"no", "nop", "nope", "nel", "nah", "not", "none", "never", "nunca", "jamas", "tampoco", "ni", "nada", "nadie",
	"ningun", "ninguno", "ninguna", "sin", "without", "cannot", "cant", "dont", "doesnt", "didnt", "wont",
	"wouldnt", "shouldnt", "isnt", "arent", "niego", "negativo", "negative", "neither", "nor",
}

func buildConfirmations() map[string]bool {
	set := map[string]bool{}
	for lang, assent := range assents {
		first := slices.Concat(assent, openers[lang])
		for _, opener := range first {
			for _, command := range core[lang] {
				set[opener+" "+command] = opener != command
			}
		}
		for _, text := range slices.Concat(assent, commands[lang]) {
			set[text] = true
			for _, courtesy := range courtesies[lang] {
				set[text+" "+courtesy] = true
			}
		}
		for _, text := range slices.Concat(assent[:1], core[lang]) {
			for _, courtesy := range courtesies[lang] {
				set[courtesy+" "+text] = text != "confirm" // a request to be told
				for _, yes := range []string{assent[0], "ok"} {
					set[yes+" "+text+" "+courtesy] = yes != text
				}
			}
		}
	}
	for _, text := range doubled {
		set[text] = true
	}
	for text, on := range set {
		if !on || negated(text) {
			delete(set, text)
		}
	}
	return set
}

func buildCancellations() map[string]bool {
	spanish := []string{
		"no", "nop", "nope", "nah", "nel", "noo", "nooo", "no no", "no no no", "negativo", "negative",
		"cancela", "cancelar", "cancelalo", "cancelala", "cancelado", "cancele", "cancelo", "cancelemos",
		"cancela eso", "cancela todo", "cancela el plan", "cancelar plan", "cancelar el plan", "lo cancelo",
		"quiero cancelar", "quiero cancelarlo", "mejor cancela", "mejor cancelalo", "mejor no", "anula",
		"anular", "anulalo", "anulala", "anulado", "anula el plan", "detener", "deten", "detente", "detenlo",
		"detenla", "detengase", "detener plan", "deten el plan", "para", "paralo", "parala", "parar", "para ya",
		"para todo", "alto", "basta", "aborta", "abortar", "abortalo", "dejalo", "dejala", "dejalo asi",
		"dejalo estar", "olvidalo", "olvidala", "olvidalo todo", "olvida eso", "olvida el plan", "descarta",
		"descartar", "descartalo", "descarta el plan", "rechazo", "rechazar", "rechazado", "rechaza",
		"rechazo el plan", "no lo hagas", "no hagas nada", "no hagas eso", "no ejecutes", "no lo ejecutes",
		"no procedas", "no sigas", "no continues", "no quiero", "no lo quiero", "ya no", "ya no quiero",
		"no hace falta", "para nada", "de ninguna manera",
	}
	english := []string{
		"no", "nope", "nah", "cancel", "cancel it", "cancel that", "cancel this", "cancel the plan", "cancelled", "canceled",
		"cancel everything", "i cancel", "stop", "stop it", "stop that", "stop now", "stop everything",
		"stop the plan", "abort", "abort it", "abort the plan", "halt", "never mind", "nevermind", "forget it",
		"forget that", "forget about it", "drop it", "discard", "discard it", "discard the plan", "reject",
		"reject it", "rejected", "i reject", "dont", "dont do it", "dont do that", "do not", "do not do it",
		"do not run", "do not run it", "dont run it", "dont proceed", "do not proceed", "dont execute",
		"no way", "not now", "leave it", "scrap it", "scrap that", "undo", "call it off", "quit",
	}
	set := map[string]bool{}
	for _, text := range spanish {
		set[text], set[text+" por favor"], set[text+" gracias"] = true, true, true
	}
	for _, text := range english {
		set[text], set[text+" please"], set[text+" thanks"] = true, true, true
	}
	for _, text := range []string{
		"no muchas gracias", "no thank you", "no dejalo", "no dejalo asi", "no olvidalo", "no mejor no", "no no lo hagas", "no cancelalo", "no cancela el plan",
		"no never mind", "no forget it", "no dont", "no dont do it", "no no gracias", "no thank you very much",
		"por favor cancela", "por favor cancelalo", "por favor no", "please cancel", "please stop", "please cancel it",
		"please dont", "ok cancela", "ok cancelalo", "ok cancel", "ok cancel it", "si cancela", "si cancelalo",
		"yes cancel", "yes cancel it",
	} {
		set[text] = true
	}
	for text := range set {
		if confirmations()[text] {
			delete(set, text)
		}
	}
	return set
}

// negated reports a text in normal form that holds a negation.
func negated(text string) bool {
	for word := range strings.FieldsSeq(text) {
		if slices.Contains(negations, word) {
			return true
		}
	}
	return false
}
