package beside

import (
	"slices"
	"strings"
	"unicode"

	"piloto/internal/chats/consent"
	"piloto/internal/ground/lazy"
)

// onAnother reports whether a text asks for an act that a yes names, on a thing that is not the plan's: «¿Te cancelo también la
// factura?», beside a plan that cancels an order. What a sentence announces, the next one may ask.
func (n names) onAnother(text string, yes consent.Yes) bool {
	announced := false
	for _, s := range sentencesOf(text) {
		another, asks := false, s.question
		for _, clause := range clausesOf(s.text) {
			request := isRequest(clause) || isOrder(clause)
			on, all := n.actsOnAnother(strings.Fields(clause), yes)
			if on && (s.question || request) {
				return true
			}
			another, asks = another || all && n.announces(clause), asks || request
		}
		if announced && asks {
			return true
		}
		announced = another
	}
	return false
}

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
		return is || meaningless()[w] || consent.Stands(w) || len(w) < shortest && !hasDigit(w)
	})
}

func hasDigit(word string) bool { return strings.ContainsFunc(word, unicode.IsDigit) }

// announces reports whether a clause says what will be done: «Cancelo la factura», “I'll cancel the invoice”.
func (n names) announces(clause string) bool {
	return slices.ContainsFunc(promising(), func(begin string) bool { return strings.HasPrefix(clause, begin+" ") }) ||
		slices.ContainsFunc(strings.Fields(clause), func(w string) bool { is, _ := n.act(w); return is && ordersSelf().MatchString(w) })
}

var (
	additions = lazy.Words(`tambien ademas otra otro otras otros also too another other additionally`)
	ending    = lazy.Words(`and or y o u e to for from in into on with by at using under via para por con en al desde hasta if si please now ahora`)
	clitics   = lazy.Words(`lo la los las`)
)
