package consent

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"piloto/internal/chats/intent"
	"piloto/internal/ground/lazy"
)

// parser reads one message. Sets of steps are bits by their positions.
type parser struct {
	steps   []step
	every   uint64
	last    sort             // of the phrase before, without the polite ones
	fresh   bool             // no phrase of this clause was read
	had     [acting + 1]bool // the sorts of its phrases
	simply  bool             // thanks after its yes close no conversation
	governs kinds            // the act that is ordered of this thing
	spoken  bool             // the agent of the act states it as its own

	kinds            kinds    // of the acts that it names
	verbs            []string // the verbs of documents by which it names them
	acts, things     uint64   // the steps of which it names the act, or only a thing
	anything, itself bool     // it has a word that stands for any plan, or “plan”
	grounded         bool     // it names a value
	accepts          bool     // it accepts, which may be something else than the plan
	approves         bool     // it approves, which beside a rejection is the opposite
	sees             bool     // it says that it was understood
}

// mostSteps is the number of steps that a yes can distinguish.
const mostSteps = 64

// parse reads a message as a yes by the grammar.
func parse(message string, card Card) Yes {
	p := parser{steps: newSteps(card)}
	if !intent.IsPlain(message) || len(p.steps) == 0 || len(p.steps) > mostSteps || len(strings.Fields(message)) > mostWords || statesPast(message) {
		return Yes{}
	}
	p.every = 1<<len(p.steps) - 1
	for part := range strings.FieldsFuncSeq(inWords().ReplaceAllString(message, "$1$2 "), func(r rune) bool { return strings.ContainsRune(".,;:!¡…()—–\n", r) }) {
		if supposes(part) || !p.clause(fieldsOf(part)) {
			return Yes{}
		}
	}
	return p.yes()
}

// inWords matches a point that ends nothing: of an address, and of “Dr.”.
var inWords = lazy.Pattern(`(?i)(\b(?:dr|dra|sr|sra|mr|mrs|ms))\.|([\pL\d])\.\b`)

// statesPast reports a word like «cancelé», which without its accent would be an order.
func statesPast(message string) bool {
	for word := range strings.FieldsFuncSeq(norm.NFC.String(strings.ToLower(message)), func(r rune) bool { return !unicode.IsLetter(r) }) {
		if (strings.HasSuffix(word, "é") || strings.HasSuffix(word, "ó") || strings.HasSuffix(word, "í")) && acts()[intent.Normalize(word)].form != 0 {
			return true
		}
	}
	return false
}

// yes returns the yes that was read.
func (p *parser) yes() Yes {
	named := p.acts | p.things
	switch {
	case !p.had[goes] && !p.had[confirms] && !p.had[yes] && p.acts == 0, !p.coversAll(), p.approves && !p.itself && !p.isGiven():
		return Yes{}
	case p.acts != 0:
		return Yes{intent.Confirm, ItsAct, !p.grounded, p.had[confirms] && !p.accepts, p.kinds, strings.Join(p.verbs, " ")}
	case p.itself, p.had[confirms] && named == 0 && !p.anything && !p.accepts:
		return Yes{Meaning: intent.Confirm, Names: Itself}
	case p.anything, named != 0:
		return Yes{Meaning: intent.Confirm, Names: Anything, Points: !p.grounded}
	case p.sees && !p.had[goes] && !p.had[confirms]:
		return Yes{}
	case p.had[grateful] && !p.had[goes] && (!p.simply || p.had[praise]):
		return Yes{}
	}
	return Yes{Meaning: intent.Assent}
}

// Proceeding returns a function that reports whether some words in normal form, after a request like “shall I”, are to go on
// with the plan of a card: “proceed with the cancellation”, «reservo la Sala Norte».
func Proceeding(card Card) func(words string) bool {
	steps := newSteps(card)
	return func(words string) bool {
		if len(steps) == 0 || len(steps) > mostSteps {
			return false
		}
		p := parser{steps: steps, every: 1<<len(steps) - 1, spoken: true, last: leads}
		return p.clause(strings.Fields(words)) && (p.had[goes] || p.acts != 0) && p.coversAll()
	}
}

// coversAll reports whether no step is left out: every one is named, or none is.
func (p *parser) coversAll() bool {
	named := p.acts | p.things
	return named == 0 || named == p.every
}

// clause reads the words between two signs.
func (p *parser) clause(words []string) bool {
	p.fresh = true
	for len(words) > 0 {
		n := p.phrase(words)
		if n == 0 {
			return false
		}
		words = words[n:]
	}
	return p.last != leads
}

// phrase reads the phrase with which some words begin. It returns its length; 0 when it has no place in a yes.
func (p *parser) phrase(words []string) int {
	s, n := phraseAt(words)
	if p.spoken && s == none && spoken()[words[0]] {
		s, n = goes, 1
	}
	switch {
	case s == none && conjoining()[words[0]]:
		return p.also(words)
	case s == none:
		return p.act(words)
	case p.last == leads && s != goes && s != leads && s != polite:
		return 0
	}
	p.had[s] = true
	text := strings.Join(words[:n], " ")
	p.accepts, p.approves, p.sees = p.accepts || accepting()[text], p.approves || acceptingIt()[text], p.sees || seeing()[text]
	if s == polite {
		return n
	}
	p.last, p.fresh = s, false
	rest := words[n:]
	switch s {
	case yes:
		p.simply = n == 1 && simple()[words[0]]
	case grateful:
		for len(rest) > 0 && thanked()[rest[0]] {
			rest, n, p.simply = rest[1:], n+1, false
		}
	case goes:
		if len(rest) > 0 && towards()[rest[0]] {
			return joined(n+1, p.thing(rest[1:], false))
		}
	case confirms:
		if len(rest) > 0 && !isOrder(rest[0]) {
			more := p.thing(rest, false)
			if wishing()[text] && !p.isPlans(rest[:more]) { // “I want to confirm the amount”
				return 0
			}
			n += more
			p.approves = p.approves || more > 0 && accepting()[text] && !canConfirm()[text]
		}
	}
	return n
}

// isPlans reports whether some words are of the plan or its act, and not of a value: who wants to confirm a value may
// want to see it first.
func (p *parser) isPlans(words []string) bool {
	named := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return glue()[w] })
	return !slices.ContainsFunc(named, func(w string) bool { return details()[w] }) &&
		(len(named) == 0 || slices.ContainsFunc(named, func(w string) bool { return IsAnyPlan(w) || nounOf(w).meet(p.does()) }))
}

// also reads the phrase that “and” joins to another. «Sí, y cancela el otro» says more than yes.
func (p *parser) also(words []string) int {
	if p.last == none || p.last == yes || p.last == nod || len(words) == 1 {
		return 0
	}
	if s, _ := phraseAt(words[1:]); s == yes || s == nod || s == none && acts()[words[1]].form&verb == 0 && !p.isOwn(words[1]) {
		return 0
	}
	return joined(1, p.phrase(words[1:]))
}

// joined returns the length of a phrase with the one that must follow it; 0 when that does not.
func joined(n, following int) int {
	if following == 0 {
		return 0
	}
	return n + following
}

// isOrder reports whether a word orders an act, and is no noun.
func isOrder(word string) bool { return acts()[word].form&(verb|noun) == verb }

// act reads an order and its thing: “cancel the order”.
func (p *parser) act(words []string) int {
	switch {
	case p.last == yes, p.last == goes, p.last == leads, p.last == acting, p.last == praise && p.had[yes], p.last == confirms && p.fresh && len(words) > 1:
	case (p.last == praise || p.last == nod) && !p.does().meet(undoing): // “great, send it”; “great, change it” may be of the plan
	default:
		return 0
	}
	if !p.ordered(words[0]) && !p.isOwn(words[0]) {
		return 0
	}
	p.last, p.fresh = acting, false
	return p.thing(words, true)
}

// ordered reports whether a word is the verb of the ordered act.
func (p *parser) ordered(word string) bool {
	form := acts()[word].form
	return form&verb != 0 || p.spoken && form&said != 0
}

// isOwn reports whether a word is the verb of a document, of an act that the grammar does not know.
func (p *parser) isOwn(word string) bool {
	return p.where(func(s step) bool { return s.own[word] }) != 0
}

// where returns the steps of which something holds.
func (p *parser) where(holds func(step) bool) (of uint64) {
	for i, s := range p.steps {
		if holds(s) {
			of |= 1 << i
		}
	}
	return of
}

// named returns the steps that a word names.
func (p *parser) named(word string) uint64 {
	all := singulars(word)
	of := p.where(func(s step) bool {
		return slices.ContainsFunc(all, func(w string) bool { return s.called[w] || s.values[w] || s.own[w] })
	})
	for _, w := range all {
		for _, alike := range thingsToo()[w] {
			of |= p.where(func(s step) bool { return s.called[alike] || s.values[alike] })
		}
	}
	isThing := slices.ContainsFunc(all, func(w string) bool { return thingsToo()[w] != nil })
	if k := nounOf(word); of == 0 && k != 0 && !isThing {
		of = p.where(func(s step) bool { return k.meet(s.kinds | s.nouns) })
	}
	return of
}

// isValue reports whether a word is sent as a value, and is no word of the document.
func (p *parser) isValue(word string) bool {
	return p.where(func(s step) bool { return s.values[word] }) != 0 && p.where(func(s step) bool { return s.called[word] }) == 0
}

// supposes reports whether a clause has an «if» in Spanish: a «sí» without its accent, and no yes of package intent.
func supposes(clause string) bool {
	words := strings.Fields(clause)
	if len(words) > 1 && intent.Normalize(words[0]) == "si" {
		if next := intent.Normalize(words[1]); next == "confirmo" || acts()[next].of != unsaid && acts()[next].form == verb { // «si devuélvelo»
			words = words[1:]
		}
	}
	return len(words) > 1 && !isListed(clause) && slices.ContainsFunc(words, func(w string) bool {
		return intent.Normalize(w) == "si" && !strings.ContainsRune(norm.NFC.String(strings.ToLower(w)), 'í')
	})
}

// isListed reports whether a clause is a yes of package intent, and may be no condition: «si está bien» may.
func isListed(clause string) bool {
	_, rest, _ := strings.Cut(intent.Normalize(clause), "si ")
	s := phrases()[rest]
	return intent.Classify(clause).Agrees() && s != praise && s != leads && !strings.HasPrefix(rest, "pued") && !strings.HasPrefix(rest, "quier")
}

// thing reads the object of an act, or of going on, in words that hold it together, point at it, stand for any plan or
// name this one. The first word of an ordered object is the order. It returns its length; 0 for an object that is not
// the plan's.
func (p *parser) thing(words []string, ordered bool) int {
	n := 0
	if ordered {
		n = 1
	}
	for n < len(words) && p.fits(words[n:]) {
		n++
	}
	from := 0
	p.governs = 0
	for i := 0; i <= n; i++ {
		if i < n && !conjoining()[words[i]] {
			continue
		}
		if !p.part(words[from:i], ordered && from == 0) {
			return 0
		}
		from = i + 1
	}
	return n
}

// fits reports whether the first of some words may be one of a thing.
func (p *parser) fits(words []string) bool {
	if conjoining()[words[0]] {
		if words = words[1:]; len(words) == 0 {
			return false
		}
	}
	w := words[0]
	if s, m := phraseAt(words); s != none && (m > 1 || !glue()[w]) {
		return false
	}
	return glue()[w] || standing()[w] || plans()[w] || details()[w] || acts()[w].form&(verb|noun) != 0 || p.named(w) != 0
}
