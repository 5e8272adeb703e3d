package beside

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"piloto/internal/chats/consent"
	"piloto/internal/chats/intent"
	"piloto/internal/ground/lazy"
)

// onAnother reports whether a text asks for an act that a yes names, on a thing that is not the plan's: «¿Te cancelo
// también la factura?», beside a plan that cancels an order. A sentence may ask for the act that the one before
// announces.
func (n names) onAnother(text string, yes consent.Yes) bool {
	if intent.HasQuestionMark(text) && slices.ContainsFunc(strings.Fields(text), n.isOtherAddress) {
		return true
	}
	announced := false
	for _, s := range sentencesOf(text) {
		another, asks := false, s.question
		if s.question && (dropsPlan(s.text) || n.strangerIn(s.text)) {
			return true
		}
		for _, clause := range clausesOf(s.text) {
			request := isRequest(clause) || isOrder(clause)
			on, all := n.actsOnAnother(strings.Fields(clause), yes)
			if on && (s.question || request) || n.passesOn(clause, yes) {
				return true
			}
			another, asks = another || all && n.announces(clause) || on && has(strings.Fields(intent.Normalize(s.text)), additions()), asks || request
		}
		if announced && asks {
			return true
		}
		announced = another
	}
	return false
}

// asksWhich reports whether a question of a text is about which thing, or when: “now or at the end of the month?”
func asksWhich(text string) bool {
	for _, s := range sentencesOf(text) {
		if s.question && slices.ContainsFunc(strings.Fields(intent.Normalize(s.text)), func(w string) bool { return choosing()[w] }) {
			return true
		}
	}
	return false
}

var choosing = lazy.Words(`or o u which when where how instead cual cuando donde como`)

// actsOnAnother reports whether some words have an act that a yes names, on a thing that is not the plan's, and whether no other
// word of them names the plan either.
func (n names) actsOnAnother(words []string, yes consent.Yes) (on, all bool) {
	for i, w := range words {
		words[i] = strings.Trim(w, "$€£¥")
	}
	for i, w := range words {
		if !yes.Does(w) {
			continue
		}
		after := words[i+1:]
		if end := slices.IndexFunc(after, func(w string) bool { return ending()[w] }); end >= 0 {
			after = after[:end]
		}
		around := slices.Concat(words[:i], words[i+1:])
		on = on || has(words, additions()) || n.another(after) || i > 0 && clitics()[words[i-1]] && len(n.things(after)) == 0 && n.another(words[:i])
		all = all || !slices.ContainsFunc(n.things(around), n.sends)
	}
	return on, on && all
}

// another reports whether some words name a thing, and none that is sent.
func (n names) another(words []string) bool {
	things := n.things(words)
	return len(things) > 0 && !slices.ContainsFunc(things, n.sends) || slices.ContainsFunc(things, func(w string) bool { return hasDigit(w) && !n.sent[w] })
}

// things returns the words that may name a thing.
func (n names) things(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		is, _ := n.act(w)
		return is || meaningless()[w] || consent.Stands(w) || slices.Contains(numerals, w) || len(w) < shortest && !hasDigit(w)
	})
}

func hasDigit(word string) bool { return strings.ContainsFunc(word, unicode.IsDigit) }

// isOtherAddress reports whether a word is an address of mail that is not sent.
func (n names) isOtherAddress(word string) bool {
	return strings.Contains(word, "@") && slices.ContainsFunc(strings.Fields(intent.Normalize(word)), func(w string) bool { return len(w) >= shortest && !meaningless()[w] && !n.sends(w) })
}

// strangerIn reports whether a question has an id that is not sent, or a name at its end: “Is W9 the one?”, «¿Borro el evento
// Gym?»
func (n names) strangerIn(question string) bool {
	fields := strings.Fields(question)
	for i, field := range fields {
		words := strings.Fields(intent.Normalize(field))
		if len(words) == 0 || slices.ContainsFunc(words, n.sends) {
			continue
		}
		first, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(field, func(r rune) bool { return !unicode.IsLetter(r) }))
		if i > 0 && i == len(fields)-1 && unicode.IsUpper(first) && len(n.things(words)) > 0 || code().MatchString(words[0]) {
			return true
		}
	}
	return false
}

// dropsPlan reports whether a question is to drop the plan: «¿Descarto el plan?», “Shall I withdraw this request?”
func dropsPlan(question string) bool {
	words := strings.Fields(intent.Normalize(question))
	for i, w := range words {
		if !dropping()[w] {
			continue
		}
		if i > 0 && clitics()[words[i-1]] { // «lo dejo»
			return leaving()[w]
		}
		if rest := words[i+1:]; len(rest) > 0 && (leaving()[w] && rest[0] == "it" || consent.IsAnyPlan(rest[0]) || len(rest) > 1 && determining()[rest[0]] && consent.IsAnyPlan(rest[1])) {
			return true
		}
	}
	return false
}

// passesOn reports whether a clause is to do the act to the person, of a plan that is about none: “I can transfer you to an agent”.
func (n names) passesOn(clause string, yes consent.Yes) bool {
	words := strings.Fields(clause)
	for i, w := range words[:max(0, len(words)-1)] {
		if yes.Does(w) && words[i+1] == "you" && !slices.ContainsFunc([]string{"user", "customer", "client", "usuario", "cliente"}, n.sends) {
			return true
		}
	}
	return false
}

// announces reports whether a clause announces an act: «Cancelo la factura», “I'll cancel the invoice”.
func (n names) announces(clause string) bool {
	return slices.ContainsFunc(promising(), func(begin string) bool { return strings.HasPrefix(clause, begin+" ") }) ||
		slices.ContainsFunc(strings.Fields(clause), func(w string) bool { is, _ := n.act(w); return is && ordersSelf().MatchString(w) })
}

var (
	additions = lazy.Words(`tambien ademas otra otro otras otros also too another other additionally instead both ambos ambas`)
	code      = lazy.Pattern(`^(\pL+\d|\d+\pL)[\pL\d]*$`)
	leaving   = lazy.Words(`dejo deja dejamos retiro retiramos descarto descartamos olvido drop withdraw discard abandon scrap forget`)
	dropping  = lazy.Words(`dejo deja dejamos retiro retire retirar retiramos descarto descarte descartar descartamos olvido olvidar anulo anule anular cancelo cancele cancelar borro borre borrar elimino elimine eliminar quito quite quitar abandono abandone
		abandonar cambio cambie cambiar modifico modifique modificar drop withdraw discard abandon cancel void delete remove scrap forget dropping withdrawing cancelling canceling change modify revise adjust`)
	determining = lazy.Words(`el la este esta ese esa tu mi the this that your my`)
	ending      = lazy.Words(`and or y o u e to for from in into on with by at using under via para por con en al desde hasta if si please now ahora`)
	clitics     = lazy.Words(`lo la los las`)
)
