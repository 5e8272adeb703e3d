// Package consent reads a person's message as a yes to the plan on a card, by the values that the card sends. It knows
// the yeses of package intent, and those that also go on, thank and name the plan: «sí, cancélalo, gracias», “Yes,
// please proceed with the cancellation.”
//
// Every word of such a message must have a place in a small grammar. A word that names the plan comes from the request:
// the operation, as its document calls it, and its values. A title, a goal or a text of the model names nothing. An act
// of another kind than those of the plan is no yes to it.
package consent

import (
	"slices"
	"strings"

	"piloto/internal/chats/intent"
	"piloto/internal/ground/lazy"
)

// Card is a plan as a person sees it.
type Card struct {
	Acts   []Act    // its steps
	Titled []string // its goal and its titles, which the model wrote
}

// Act is one step of a plan.
type Act struct {
	Method, Path string   // Path is written as in the document, with {parameters}
	Tool         string   // its name, for a server that has tools
	Summary      string   // the document's description of the call
	Named        []string // other names of it in the document; no yes names it by these
	Sent         []string // its values, each as JSON or as text
	Each         bool     // it is done to each element of a list
}

// Words returns every text by which a card names its plan, but for the titles.
func (c Card) Words() []string {
	var out []string
	for _, a := range c.Acts {
		out = append(out, a.Tool, a.Path, a.Summary)
		out = append(append(out, a.Named...), a.Sent...)
	}
	return out
}

// Counts returns how many steps the card has, and how many elements each list that it sends.
func (c Card) Counts() []int {
	counts := []int{len(c.Acts)}
	for _, a := range c.Acts {
		counts = append(counts, newStep(a).counts...)
	}
	return counts
}

// Yes is a message as it refers to a card. The zero Yes is no yes and no refusal: intent.Other.
type Yes struct {
	// Meaning is the intent of the message. intent.Confirm names the plan, and intent.Assent does not.
	Meaning intent.Intent
	// Names is the part of the plan that a yes names.
	Names Naming
	// Points says that it names no value: «cancélalo» and «cancela el pedido» may mean the last thing of which somebody spoke.
	Points bool
	// Confirms says that it confirms in so many words: «confirmo la cancelación».
	Confirms bool

	kinds kinds
	verbs string // of documents, by which it names the plan
}

// Naming is that by which a yes names a plan.
type Naming int

const (
	// Nothing is named: the message answers the last one.
	Nothing Naming = iota
	// Anything is a word that stands for any plan: “the request”.
	Anything
	// ItsAct is the act of the plan.
	ItsAct
	// Itself is the plan, or its confirmation.
	Itself
)

// Does reports whether a word is one of the acts by which the yes names the plan, or near to one.
func (y Yes) Does(word string) bool {
	return acts()[word].kinds.meet(near(y.kinds)) || slices.Contains(strings.Fields(y.verbs), word)
}

// Act reports of a word in normal form whether it is one of acts, and whether a step of the card does that act, or one near to it.
func (c Card) Act() func(word string) (is, does bool) {
	var all kinds
	for _, s := range newSteps(c) {
		all |= s.kinds
	}
	return func(word string) (is, does bool) {
		w := acts()[word]
		return w.kinds != 0, w.kinds.meet(near(all)) || w.light
	}
}

// Stands reports whether a word in normal form holds a sentence together, or stands for any plan: it names no thing.
func Stands(word string) bool {
	return glue()[word] || standing()[word] || plans()[word] || details()[word] || items()[word] || particles()[word]
}

// IsAnyPlan reports whether a word in normal form is “plan”, or stands for any plan: “request”.
func IsAnyPlan(word string) bool { return standing()[word] || plans()[word] }

// Praises reports whether words in normal form say that all is right.
func Praises(words string) bool { return phrases()[words] == praise }

// mostWords bounds a yes. A longer message says something else, too.
const mostWords = 30

// Read returns the meaning of a message for a card. It never fails: every other message is intent.Other.
func Read(message string, card Card) Yes {
	meaning := intent.Classify(message)
	if meaning.Agrees() && decides(message) && slices.ContainsFunc(newSteps(card), func(s step) bool { return s.kinds.meet(rejects) }) {
		return Yes{} // “I approve”, of a rejection
	}
	if (meaning == intent.Other || meaning == intent.Cancel) && MayAgree(message) {
		if yes := parse(message, card); yes.Meaning != intent.Other {
			return yes
		}
	}
	switch {
	case meaning == intent.Confirm:
		return Yes{Meaning: meaning, Names: Itself}
	case meaning == intent.Cancel && mayOrder(message, card):
		return Yes{}
	}
	return Yes{Meaning: meaning}
}

// mayOrder reports whether a message that drops a plan may order the plan's act: “ok cancel it”, of a plan that cancels.
func mayOrder(message string, card Card) bool {
	if !slices.ContainsFunc(newSteps(card), func(s step) bool { return s.kinds.meet(cancels) }) {
		return false
	}
	words := strings.Fields(intent.Normalize(message))
	first := phrases()[words[0]]
	of := func(w string) bool { return alone()[w] || acts()[w].of != unsaid && acts()[w].form == verb } // «cancélalo», “it”
	return (first == yes || first == nod) && slices.ContainsFunc(words, of) && !slices.ContainsFunc(words, IsAnyPlan)
}

// decides reports whether a message approves or accepts, in one of its words.
func decides(message string) bool {
	return slices.ContainsFunc(strings.Fields(intent.Normalize(message)), func(w string) bool { return deciding()[w] })
}

var deciding = lazy.Words(`approve approved accept accepted apruebo aprobado aprobada acepto aceptado aceptada`)

// MayAgree reports whether a message could be a yes to some card. It needs no values of a plan.
func MayAgree(message string) bool {
	if intent.Classify(message).Agrees() {
		return true
	}
	words := strings.Fields(intent.Normalize(message))
	if len(words) > mostWords || !intent.IsPlain(message) {
		return false
	}
	for i := range words {
		for end := min(i+longestPhrase, len(words)); end > i; end-- {
			if phrases()[strings.Join(words[i:end], " ")].agrees() {
				return true
			}
		}
	}
	return false
}

// Lists holds the lists by which a page finds messages that may be yeses.
type Lists struct {
	intent.Lists
	Agreeing []string `json:"agreeing"` // phrases; a yes that is on no list has one
	Words    int      `json:"words"`    // the most words of such a yes
}

// Listed returns the lists of MayAgree.
func Listed() Lists { return Lists{intent.Listed(), agreeing(), mostWords} }
