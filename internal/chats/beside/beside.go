// Package beside owns one rule: what a text of the model may ask beside the card of a plan, so that a bare yes is still
// one to the plan. Requests to go on are a closed list, because the cost is one-sided: a request that is missing costs a
// second message, and a yes to another question has an effect in the world.
package beside

import (
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"piloto/internal/chats/intent"
	"piloto/internal/ground/lazy"
)

// AsksElse reports whether a bare yes could answer something else in a text than to go on with the plan that stands
// beside it: the text has a question that is on no closed list, two questions, another order what to reply, speaks of a yes
// in another way, or it says that nothing happens. A statement that does none of these leaves the yes to the plan.
func AsksElse(text string) bool {
	text = plain(text)
	if mixesScripts(text) {
		return true
	}
	asked := 0
	for _, s := range sentencesOf(text) {
		clauses := clausesOf(s.text)
		if slices.ContainsFunc(clauses, denies) {
			return true
		}
		if len(clauses) == 0 {
			if s.question && strings.TrimSpace(s.text) != "" { // signs alone
				return true
			}
			continue
		}
		whole, before, last := strings.Join(clauses, " "), clauses[:len(clauses)-1], clauses[len(clauses)-1]
		switch {
		case s.question, isRequest(whole):
			if asked++; asked > 1 || !listed(goesOn(), whole) && !listed(goesOn(), last) || slices.ContainsFunc(before, isRequest) || slices.ContainsFunc(before, isOrder) {
				return true
			}
		case slices.ContainsFunc(clauses, isOrder):
			if !listed(confirmingOrders(), whole) && (asked == 0 || !listed(plainOrders(), whole)) {
				return true
			}
		case speaksOfYes(s.text), len(clauses) > 1 && tags()[last]:
			return true
		}
	}
	return false
}

var markup = regexp.MustCompile(`<[^<>]*>`)

// plain returns a text as it reads: without tags, with its entities and escapes as the signs they stand for.
func plain(text string) string {
	if decoded, err := url.PathUnescape(text); err == nil {
		text = decoded
	}
	return markup.ReplaceAllString(html.UnescapeString(text), "")
}

// mixesScripts reports whether a word has letters of two alphabets, which look alike.
func mixesScripts(text string) bool {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		latin, other := false, false
		for _, r := range word {
			latin = latin || unicode.Is(unicode.Latin, r)
			other = other || unicode.In(r, unicode.Cyrillic, unicode.Greek)
		}
		if latin && other {
			return true
		}
	}
	return false
}

var yesses = regexp.MustCompile(`(?i)(^|[^\pL])(sí|si\s*/\s*no|s\s*/\s*n|yes|y\s*/\s*n)($|[^\pL])|thumbs up|👍|✅\s*=`)

// answers is a yes of the model itself, at the beginning of what it says.
var answers = regexp.MustCompile(`(?i)^[^\pL]*((claro|por supuesto) que )?(sí|yes)\s*(,|$)`)

// speaksOfYes reports whether a sentence that is neither a question nor a known order names a yes: it says what one means.
func speaksOfYes(sentence string) bool {
	return yesses.MatchString(answers.ReplaceAllString(norm.NFC.String(sentence), ""))
}

// tags make a question of what stands before them.
var tags = lazy.Words(`verdad no eh cierto right ok vale okay correct`)

// TitleAsksElse reports the same of a goal or a title, which may be an order to a service.
func TitleAsksElse(title string) bool {
	title = plain(title)
	return intent.HasQuestionMark(title) || slices.ContainsFunc(sentencesOf(title), func(s spoken) bool {
		return slices.ContainsFunc(clausesOf(s.text), func(clause string) bool { return denies(clause) || wantsYes(clause) })
	})
}

type spoken struct {
	text     string
	question bool
}

// sentencesOf splits a text at the ends of its sentences, and before a question that is marked at its beginning.
func sentencesOf(text string) []spoken {
	var list []spoken
	var now strings.Builder
	opened := false // by ¿
	end := func(question bool) {
		if s := now.String(); strings.TrimSpace(s) != "" || question {
			list = append(list, spoken{s, question})
		}
		now.Reset()
		opened = false
	}
	for _, r := range text {
		switch {
		case r == '¿':
			end(opened)
			opened = true
		case intent.HasQuestionMark(string(r)):
			if opened || strings.TrimSpace(now.String()) != "" {
				end(true)
			}
		case strings.ContainsRune(".!¡…\n。！", r):
			end(opened)
		default:
			now.WriteRune(r)
		}
	}
	end(opened)
	return list
}

// clausesOf returns the clauses of a sentence in normal form, without an appended "yes or no".
func clausesOf(sentence string) []string {
	var list []string
	for part := range strings.FieldsFuncSeq(sentence, func(r rune) bool { return strings.ContainsRune(",;:()—–", r) }) {
		if text := intent.Normalize(part); text != "" && !slices.Contains(courtesies, text) {
			list = append(list, text)
		}
	}
	if n := len(list); n > 1 && slices.Contains(choices, list[n-1]) {
		list = list[:n-1]
	}
	for i := range list {
		for _, choice := range choices {
			list[i] = strings.TrimSuffix(list[i], " "+choice)
		}
	}
	return list
}

var courtesies = []string{"por favor", "porfa", "please", "gracias", "thanks"}

var choices = []string{"si o no", "yes or no", "si no", "s n", "y n"}

// listed reports whether a clause is on a list, without or with words around it that mean nothing.
func listed(list map[string]bool, clause string) bool { return list[clause] || list[trimLead(clause)] }

// trimLead removes words without a meaning of their own from both ends.
func trimLead(text string) string {
	words := strings.Fields(text)
	for len(words) > 1 && leads()[words[0]] {
		words = words[1:]
	}
	for len(words) > 1 && leads()[words[len(words)-1]] {
		words = words[:len(words)-1]
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.Join(words, " "), "por favor "), " por favor")
}

var leads = lazy.Words(`entonces y asi pues bueno listo vale ok okay perfecto genial bien so well great then please now ahora ya and`)

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
	return tellings()[first] || slices.ContainsFunc(needings, func(begin string) bool { return strings.HasPrefix(clause, begin) }) || wantsYes(clause)
}

var needings = []string{"let me know", "necesito que me", "necesito saber", "i need to know", "i need you to"}

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
	for _, say := range strings.Fields("responde responda contesta conteste escribe escriba di dime diga reply respond answer type say write") {
		for _, yes := range []string{"", "si", "si o no", "ok", "yes", "yes or no", "with yes", "con si", "con un si"} {
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
