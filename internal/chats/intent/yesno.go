package intent

import (
	"slices"
	"strings"
	"sync"
)

// The lists are built once, when the first message is classified, from the words below, all in the form of Normalize.
// They stay closed: a product of two finite lists is finite. No entry of the
// yeses may hold a word of negations.
var (
	yeses = sync.OnceValue(buildYeses)
	noes  = sync.OnceValue(buildNoes)
)

// assents confirm alone and may precede a command.
var assents = map[string][]string{
	"es": {
		"si", "sii", "sip", "ok", "okey", "okay", "oki", "okis", "vale", "dale",
		"claro", "claro que si", "por supuesto", "por supuesto que si", "desde luego", "de acuerdo",
		"afirmativo", "esta bien", "me parece bien", "orale", "vale venga",
		"va", "orale va", "orale pues", "va que va", "sale", "sale y vale", "de una", "hagale", "hagale pues",
	},
	"en": {
		"yes", "yep", "yup", "yeah", "yess", "ok", "okay", "sure", "sure thing", "of course",
		"absolutely", "definitely", "certainly", "agreed", "affirmative", "all right", "alright",
		"sounds good", "looks good to me", "by all means", "alright then", "ok then", "okay then",
	},
}

// openers are praise or acknowledgement. Alone they do not mean that the plan should run, so
// they count only before a command.
var openers = map[string][]string{
	"es": {"perfecto", "listo", "bueno", "bien", "muy bien", "genial", "excelente", "venga", "vamos", "entendido", "todo bien", "todo correcto"},
	"en": {"great", "perfect", "good", "fine", "cool", "looks good", "excellent", "right", "all good"},
}

// commands order the plan to run.
var commands = map[string][]string{
	"es": {
		"confirmo", "confirmado", "confirma", "confirmar", "confirmalo", "confirme", "confirma el plan", "confirmar el plan",
		"confirmar plan", "confirme el plan", "confirmamos", "ejecutar el plan", "ejecute el plan", "aprueba el plan", "aprobar el plan",
		"lanza el plan", "corre el plan", "pon en marcha el plan", "ejecutalo ya", "confirmo todo", "quiero confirmar", "quiero confirmar el plan",
		"puedes ejecutar el plan", "plan aprobado ejecutalo", "haz el plan", "lo confirmo", "la confirmo", "confirmo el plan",
		"te confirmo", "yo confirmo", "plan confirmado", "queda confirmado",
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
		"i confirm the plan", "confirm plan", "run plan", "execute plan", "run this plan", "run that plan", "confirm this plan", "start the plan", "start the plan now", "im confirming", "i am confirming", "go ahead and execute", "go ahead and confirm",
		"go ahead with the plan", "accept the plan", "i approve the plan", "i accept the plan", "plan approved", "plan confirmed", "go", "go ahead", "go for it", "please do", "do it", "do it now", "do that",
		"lets do it", "lets go", "run", "run it", "run it now", "run the plan", "execute", "execute it",
		"execute the plan", "proceed", "please proceed", "proceed with the plan", "you may proceed",
		"you can proceed", "approve", "approved", "i approve", "i approve it", "approve it",
		"approve the plan", "i accept", "accepted", "i agree", "make it so", "make it happen", "ship it",
		"you have my confirmation", "green light",
	},
}

// core lists the commands that are natural after an assent or an opener; the product is small
// enough to send to the page.
var core = map[string][]string{
	"es": {
		"confirmo", "confirmado", "lo confirmo", "confirmo el plan", "adelante", "ejecuta", "ejecutalo",
		"ejecuta el plan", "puedes ejecutar el plan", "hazlo", "dale", "procede", "puedes proceder", "aprobado", "acepto",
	},
	"en": {
		"confirm", "confirmed", "i confirm", "im confirming", "confirm it", "confirm the plan", "go ahead", "go for it", "do it", "run it", "execute", "execute it",
		"proceed", "approved", "lets do it", "run the plan",
	},
}

var courtesies = map[string][]string{
	"es": {"por favor", "porfa", "porfavor"},
	"en": {"please", "pls"},
}

var thanks = map[string]string{"es": "gracias", "en": "thanks"}

// doubled lists the natural pairs of assents, and thanks after an unmistakable assent («ok
// gracias» closes conversations, so it is absent).
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
	"yeah ok", "yeah okay", "yeah sure", "yes lets", "ok lets", "okay lets", "okie dokie", "si yes", "ok go", "si go ahead",
}

// negations never appear in a confirmation.
var negations = []string{
	"no", "nop", "nope", "nel", "nah", "not", "none", "never", "nunca", "jamas", "tampoco", "ni", "nada", "nadie",
	"ningun", "ninguno", "ninguna", "sin", "without", "cannot", "cant", "dont", "doesnt", "didnt", "wont",
	"wouldnt", "shouldnt", "isnt", "arent", "niego", "negativo", "negative", "neither", "nor",
}

func buildYeses() map[string]Intent {
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
			if namesPlan(text) { // «ok gracias» closes conversations, «confirmo, gracias» does not
				set[text+" "+thanks[lang]] = true
			}
		}
		for _, text := range slices.Concat(assent[:1], core[lang]) {
			for _, courtesy := range courtesies[lang] {
				set[courtesy+" "+text] = text != "confirm" // a request for a notice
				for _, yes := range []string{assent[0], "ok"} {
					set[yes+" "+text+" "+courtesy] = yes != text
				}
			}
		}
	}
	for _, text := range doubled {
		set[text] = true
	}
	kinds := map[string]Intent{}
	for text, on := range set {
		switch {
		case !on || hasNegation(text):
		case namesPlan(text):
			kinds[text] = Confirm
		default:
			kinds[text] = Assent
		}
	}
	return kinds
}

// namesPlan reports whether an assent in normal form names the plan, its confirmation or its
// run. Any other assent may answer another question.
func namesPlan(text string) bool {
	for word := range strings.FieldsSeq(text) {
		switch {
		case word == "plan", word == "run", strings.HasPrefix(word, "execut"),
			strings.HasPrefix(word, "confirm"), strings.HasPrefix(word, "ejecut"):
			return true
		}
	}
	return false
}

// refused lists the messages that refuse. A bare no may answer another question; the others drop
// the plan, or stop the run.
var refused = map[Intent]map[string][]string{
	Refusal: {
		"es": {
			"no", "nop", "nope", "nah", "nel", "noo", "no no", "no no no", "que no", "ni hablar", "negativo", "negative", "mejor no",
			"no quiero", "no lo quiero", "ya no", "ya no quiero", "no hace falta", "para nada", "de ninguna manera",
			"dejalo", "dejala", "dejalo asi", "dejalo estar", "olvidalo", "olvidala", "olvidalo todo", "olvida eso",
		},
		"en": {
			"no", "nope", "nah", "never mind", "nevermind", "forget it", "forget that", "forget about it", "drop it",
			"no way", "not now", "rather not", "id rather not", "leave it", "dont", "do not",
		},
	},
	Cancel: {
		"es": {
			"cancelalo", "cancelala", "cancelado", "cancelo", "cancelemos", "lo cancelo",
			"quiero cancelar", "quiero cancelarlo", "mejor cancela", "mejor cancelalo",
			"anulalo", "anulala", "anulado", "rechazalo", "olvida el plan", "descartalo", "rechazo", "rechazado",
			"rechazo el plan", "no lo hagas", "no hagas nada", "no hagas eso", "no ejecutes", "no lo ejecutes",
			"no procedas", "no sigas", "no continues", "abortalo",
		},
		"en": {
			"cancelled", "canceled", "i cancel", "rejected", "i reject", "dont do it", "dont do that", "do not do it",
			"do not run", "do not run it", "dont run it", "dont proceed", "do not proceed", "dont execute",
			"forget the plan", "drop the plan", "call it off",
		},
	},
	Stop: {
		"es": {"detente", "detenlo", "detenla", "detengase", "paralo", "parala", "para para", "alto", "basta"},
		"en": {"stop stop", "quit"},
	},
}

// dropping and stopping combine each verb with each object.
var dropping, stopping = phrases{
	"es": {
		{"cancela", "cancelar", "cancele", "anula", "anular", "descarta", "descartar", "rechaza", "rechazar", "aborta", "abortar"},
		{"", "plan", "el plan", "este plan", "ese plan", "el borrador", "la propuesta", "eso", "todo"},
	},
	"en": {
		{"cancel", "abort", "discard", "reject", "scrap"},
		{"", "it", "that", "this", "plan", "the plan", "this plan", "that plan", "the draft", "the proposal", "everything"},
	},
}, phrases{
	"es": {
		{"para", "parar", "deten", "detener", "frena"},
		{"", "ya", "todo", "ya todo", "eso", "plan", "el plan", "la ejecucion"},
	},
	"en": {
		{"stop", "halt"},
		{"", "it", "that", "this", "now", "it now", "right now", "everything", "the plan", "the run"},
	},
}

// phrases holds, by language, the verbs and then their objects.
type phrases map[string][2][]string

// refusedWhole lists refusals with other words that do not change their meaning.
var refusedWhole = map[Intent][]string{
	Refusal: {
		"no muchas gracias", "no thank you", "no dejalo", "no dejalo asi", "no olvidalo", "no mejor no",
		"no never mind", "no forget it", "no dont", "no no gracias", "no thank you very much",
	},
	Cancel: {
		"no no lo hagas", "no cancelalo", "no cancela el plan", "nel cancelalo", "no dont do it", "ok cancela", "ok cancelalo", "ok cancel", "ok cancel it", "si cancela",
		"si cancelalo", "yes cancel", "yes cancel it",
	},
}

func buildNoes() map[string]Intent {
	set := map[string]Intent{}
	for kind, byLanguage := range refused {
		for _, list := range byLanguage {
			for _, text := range list {
				set[text] = kind
			}
		}
		for _, text := range refusedWhole[kind] {
			set[text] = kind
		}
	}
	for kind, lists := range map[Intent]phrases{Cancel: dropping, Stop: stopping} {
		for _, parts := range lists {
			for _, verb := range parts[0] {
				for _, object := range parts[1] {
					set[strings.TrimSpace(verb+" "+object)] = kind
				}
			}
		}
	}
	for text := range set {
		if yeses()[text] != Other {
			delete(set, text)
		}
	}
	return set
}

// polite lists the courtesies that may stand before or after a no.
var polite = []string{"por favor", "porfa", "porfavor", "please", "pls", "gracias", "thanks"}

// trimCourtesy removes a courtesy before or after a text in normal form.
func trimCourtesy(text string) string {
	for _, p := range polite {
		if rest, ok := strings.CutPrefix(text, p+" "); ok {
			return rest
		}
		if rest, ok := strings.CutSuffix(text, " "+p); ok {
			return rest
		}
	}
	return text
}

// hesitations lists words without meaning, at any position.
var hesitations = []string{"uh", "um", "uhm", "er", "eh", "ehm"}

// slips maps common typing errors to their correction.
var slips = map[string]string{
	"comfirmo": "confirmo", "confrimo": "confirmo", "confimo": "confirmo", "cofirmo": "confirmo", "confirno": "confirmo",
	"comfirm": "confirm", "confrim": "confirm", "confirmd": "confirmed", "cancle": "cancel", "cansela": "cancela", "cancella": "cancela",
}

// repair removes hesitations, typing errors and repeated letters from a text in normal form. No
// word has the same letter three times in a row.
func repair(text string) string {
	var words []string
	for word := range strings.FieldsSeq(text) {
		word = collapseRepeats(word)
		if right := slips[word]; right != "" {
			word = right
		}
		if !slices.Contains(hesitations, word) {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}

// collapseRepeats reduces three or more equal letters in a row to one.
func collapseRepeats(word string) string {
	var b strings.Builder
	letters := []rune(word)
	for i := 0; i < len(letters); {
		end := i + 1
		for end < len(letters) && letters[end] == letters[i] {
			end++
		}
		n := end - i
		if n > 2 {
			n = 1
		}
		b.WriteString(string(letters[i : i+n]))
		i = end
	}
	return b.String()
}

// hasNegation reports a text in normal form with a negation.
func hasNegation(text string) bool {
	for word := range strings.FieldsSeq(text) {
		if slices.Contains(negations, word) {
			return true
		}
	}
	return false
}
