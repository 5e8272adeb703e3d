// Package beside owns one rule: which texts of the model may stand beside the card of a plan, so that a bare yes is
// still one to the plan. Requests to go on are a closed list, and a statement must say what the plan does, because the
// cost is one-sided: a missing form costs a second message, and a yes to something else has an effect in the world.
package beside

import (
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"piloto/internal/chats/consent"
	"piloto/internal/chats/intent"
	"piloto/internal/ground/clip"
	"piloto/internal/ground/lazy"
)

// AsksElse reports whether a yes could answer something else in a text than to go on with the plan that stands beside it.
//
// A yes that names no act of the plan is the plan's when the text has at most one request to go on, and when no sentence
// sets a condition, wants something of the person, says something of them that is not the plan, speaks of a yes in
// another way, or denies the effect of the plan. A statement that no such request follows must name the plan, or say
// nothing of its own. A yes that names the act is the plan's unless the text asks for that act on another thing, with a
// figure or in a manner that the plan does not have, or, where the yes names no value, which or when. One that names the
// plan itself always is.
func AsksElse(text string, yes consent.Yes, of consent.Card) bool {
	text = plain(text)
	switch {
	case yes.Names == consent.Itself:
		return false
	case mixesScripts(text):
		return true
	case yes.Names == consent.ItsAct:
		names := newNames(of)
		return names.onAnother(text, yes) || names.strays(text, yes.Does) || yes.Points && asksWhich(text)
	}
	names := newNames(of)
	return names.asksElse(text) || names.strays(text, names.does)
}

// Takes reports whether a message confirms a plan, right after its card and beside a text of the model; neither of a plan that
// destroys nor of one with a request that may have been done.
func Takes(message, text string, of consent.Card) bool {
	yes := consent.Read(message, of)
	return yes.Meaning.Agrees() && !AsksElse(text, yes, of)
}

// AsksForIt reports whether a text asks for the confirmation of a plan, and for nothing else: “Please press its button or write
// confirm.”
func AsksForIt(text string, of consent.Card) bool {
	text = plain(text)
	n := newNames(of)
	asks := slices.ContainsFunc(sentencesOf(text), func(s spoken) bool {
		clauses := clausesOf(s.text)
		return slices.ContainsFunc(append(clauses, strings.Join(clauses, " ")), func(c string) bool { return n.goesOn(c) || n.confirms(c) || n.tellsHow(c) || n.instructs(c) })
	})
	return asks && !AsksElse(text, consent.Yes{Meaning: intent.Assent}, of)
}

func (n names) asksElse(text string) bool {
	asked, strange := 0, false
	for _, s := range sentencesOf(text) {
		clauses := clausesOf(s.text)
		for i := range clauses {
			clauses[i] = n.withoutValues(clauses[i])
		}
		clauses = slices.DeleteFunc(clauses, func(c string) bool { return thanking().MatchString(c) || listed(cautions(), c) })
		if len(clauses) == 0 {
			if s.question && strings.TrimSpace(s.text) != "" { // signs alone
				return true
			}
			continue
		}
		if n.sendsNo && len(clauses) == 2 && clauses[1] == "no" && n.named(clauses[0]) { // «Seguro: no»
			continue
		}
		if slices.ContainsFunc(clauses, n.disclaims) || slices.ContainsFunc(clauses, n.announcesAct) {
			return true
		}
		if !s.question && (n.instructs(s.text) || !slices.ContainsFunc(clauses, func(c string) bool { return !n.promised(c) && !n.ofTheCard(c) })) {
			strange = strange && slices.ContainsFunc(clauses, func(c string) bool { return !n.promised(c) })
			continue // a sentence before an instruction stays as strange as it was
		}
		if kept := slices.DeleteFunc(slices.Clone(clauses), n.promised); len(kept) > 0 {
			clauses = kept
		} else if !s.question {
			strange = false
			continue
		}
		was := strange
		whole, before, last := strings.Join(clauses, " "), clauses[:len(clauses)-1], clauses[len(clauses)-1]
		if supposes(clauses[0]) && (len(before) == 0 || n.goesOn(last) || n.confirms(last) || n.instructs(last)) {
			whole, before, strange = last, nil, true // «If that is right, shall I go ahead?»; «Si es correcto, » is a sentence before «¿lo confirmas?»
			if !s.question && !n.confirms(last) && n.instructs(last) {
				strange = was
				continue
			}
		} else if isConditional(s.text) && !n.confirms(whole) && !slices.ContainsFunc(clauses, untilConfirmed) {
			return true
		}
		switch {
		case n.confirms(whole) && !s.question:
			strange = false
		case s.question, isRequest(whole), n.goesOn(whole):
			if asked++; asked > 1 || !n.goesOn(whole) && !n.goesOn(last) || slices.ContainsFunc(before, isRequest) || slices.ContainsFunc(before, isOrder) {
				return true
			}
			strange = false
		case asked > 0 && listed(plainOrders(), whole):
		case slices.ContainsFunc(clauses, func(c string) bool { return isOrder(c) && !untilConfirmed(c) }), speaksOfYes(s.text) && !slices.ContainsFunc(clauses, untilConfirmed), len(clauses) > 1 && tags()[last]:
			return true
		case !n.in(clauses):
			if slices.ContainsFunc(clauses, speaksOfThem) || n.announcesElse(clauses[0], false) { // «Eres mayor de edad. ¿Lo confirmas?»
				return true
			}
			strange = true
		case n.announcesElse(clauses[0], true):
			return true
		}
	}
	return strange
}

// thanking matches a clause that only thanks: “Thank you for the details”.
var thanking = lazy.Pattern(`^(?:thank you|thanks|gracias)(?: for (?:the|your|that|those|this) \pL+| por (?:la|los|las|tu|tus|el) \pL+)?$|^(?:you are|youre)(?: very| most)? welcome$|^(?:gladly|with pleasure|understood|i understand|i am sorry(?: for the \pL+)?|im sorry(?: for the \pL+)?|de nada|con gusto|entendido|entiendo|lo siento|perdona|my apologies)$`)

var markup = regexp.MustCompile(`<[^<>]*>`)

// plain returns a text as it reads: without tags, with its entities and escapes as the signs they stand for.
func plain(text string) string {
	if decoded, err := url.PathUnescape(text); err == nil {
		text = decoded
	}
	return markup.ReplaceAllString(html.UnescapeString(text), "")
}

// mixesScripts reports whether a word mixes the letters of two alphabets, because some of these have the same shape.
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

var yesses = regexp.MustCompile(`(?i)(^|[^\pL])(sí|si\s*/\s*no|s\s*/\s*n|yes|y\s*/\s*n)($|[^\pL])|thumbs up|afirmativ[oa]|affirmative|pulgar|👍|✅`)

// answers matches a yes of the model itself, at the beginning of its text.
var answers = regexp.MustCompile(`(?i)^[^\pL]*((claro|por supuesto) que )?(sí|yes)\s*(,|$)`)

// speaksOfYes reports whether a sentence that is neither a question nor a known order names a yes: it explains one.
func speaksOfYes(sentence string) bool {
	return yesses.MatchString(answers.ReplaceAllString(norm.NFC.String(sentence), ""))
}

// tags turn the text before them into a question.
var tags = lazy.Words(`verdad no eh cierto right ok vale okay correct`)

// TitleAsksElse reports the same of a goal or a title, which may be an order to a service, and needs no other name.
func TitleAsksElse(title string, yes consent.Yes, of consent.Card) bool {
	if yes.Names >= consent.ItsAct {
		return false
	}
	title = plain(title)
	names := newNames(of)
	return intent.HasQuestionMark(title) || slices.ContainsFunc(sentencesOf(title), func(s spoken) bool {
		return slices.ContainsFunc(clausesOf(s.text), func(clause string) bool {
			clause = names.withoutValues(clause)
			return names.disclaims(clause) || wantsYes(clause)
		})
	})
}

// withoutValues returns a clause without the sent values of several words that it repeats: “reason: no longer needed”.
func (n names) withoutValues(clause string) string {
	for _, value := range n.phrases {
		before, _, ok := strings.Cut(clause, value)
		if words := strings.Fields(before); ok && (len(words) == 0 || labels()[words[len(words)-1]]) { // “reason: no longer needed”
			clause = clip.Line(strings.Replace(clause, value, "", 1))
		}
	}
	return clause
}

// labels stand before a value.
var labels = lazy.Words(`reason reasons motivo because porque por as with con`)

// phrasesSent matches a value of two words or more in JSON.
var phrasesSent = lazy.Pattern(`"([^"\\]+ [^"\\]+)"`)

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
	runes := []rune(text)
	for i, r := range runes {
		switch {
		case r == '.' && (isWithin(runes, i) || abbreviations()[lastWord(now.String())]): // 200.00, Dr. Ruiz
			now.WriteRune(r)
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

// isWithin reports whether a sign stands between two digits.
func isWithin(text []rune, i int) bool {
	return i > 0 && i+1 < len(text) && unicode.IsDigit(text[i-1]) && unicode.IsDigit(text[i+1])
}

func lastWord(text string) string {
	text = strings.ToLower(text)
	return text[strings.LastIndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })+1:]
}

var abbreviations = lazy.Words(`dr dra sr sra srta mr mrs ms st prof`)

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

var choices = []string{"si o no", "yes or no", "yes no", "si no", "s n", "y n"}

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
