package consent

import (
	"cmp"
	"math/bits"
	"slices"
)

// part is one thing of a yes, and the act on it.
type part struct {
	words, things []string
	ordered       bool // the first word is the order, and the others the things
	says          bool // the act
	does          kinds
	of            uint64 // the steps that do it
	ref           reference
}

// part reads one thing. Its act must be one of a step.
func (p *parser) part(words []string, ordered bool) bool {
	for !ordered && len(words) > 0 && glue()[words[0]] && !p.points(words[0]) && !mine()[words[0]] {
		words = words[1:]
	}
	if len(words) == 0 {
		return false
	}
	t := part{words: words, things: words, ordered: ordered, says: true}
	if ordered || isOrder(words[0]) {
		p.order(&t)
	} else {
		t.does = p.nounHead(words)
		p.outcome(&t)
	}
	t.of |= p.where(func(s step) bool { return s.kinds.meet(t.does) })
	if t.does != 0 && t.of == 0 {
		return false
	}
	if t.ref = p.reference(t.things); t.ordered {
		t.ref.verb(words[0])
	}
	for _, refused := range refusals {
		if refused.when(p, t) {
			return false
		}
	}
	switch {
	case t.of == 0 && t.ref.names:
		p.things |= cmp.Or(t.ref.apart, p.every)
	case t.ref.apart != 0:
		t.of &= t.ref.apart
	}
	p.grounded, p.accepts = p.grounded || t.ref.value, p.accepts || t.ref.detail
	p.kinds |= t.does
	p.acts |= t.of
	return true
}

// order reads the verb of an order.
func (p *parser) order(t *part) {
	t.ordered, t.things = true, t.words[1:]
	act := acts()[t.words[0]]
	t.does, p.governs = act.kinds, act.kinds
	if k := p.nounHead(t.things); act.light && k != 0 {
		t.does, p.governs = k, 0
	}
	if t.of = p.where(func(s step) bool { return s.own[t.words[0]] }); t.of != 0 {
		p.verbs = append(p.verbs, t.words[0])
	}
	t.says = t.does != 0 || t.of != 0
}

// outcome reads a noun that the document has as its verb: «la pausa», of «Pausa una suscripción».
func (p *parser) outcome(t *part) {
	named := slices.DeleteFunc(slices.Clone(t.words), func(w string) bool { return glue()[w] })
	if t.does != 0 || len(named) == 0 || !p.isOwn(named[0]) {
		return
	}
	t.of = p.where(func(s step) bool { return s.own[named[0]] })
	p.verbs = append(p.verbs, named[0])
}

// refusals are the reasons why a thing has no place in a yes, each with a sentence that it refuses.
var refusals = []struct {
	of   string
	when func(*parser, part) bool
}{
	{"“start it”", func(_ *parser, t part) bool { return !t.says && !t.ref.stands }},
	{"“go ahead with the proposal” that is to be rejected", func(p *parser, t part) bool {
		return (!t.ordered || t.does == 0) && t.ref.stands && t.ref.called && !p.isGiven()
	}},
	{"“turn it on”, of what is turned off", func(p *parser, t part) bool { return t.ordered && !p.hasParticles(t.words) }},
	{"«crea el registro», of another thing", func(p *parser, t part) bool { return t.ordered && p.creates(t.does, t.things) }},
	{"“continue with the membership” that is to be ended", func(p *parser, t part) bool {
		return t.of == 0 && t.ref.names && p.governs == 0 && !p.isGiven()
	}},
	{"“delete the user”, of two", func(p *parser, t part) bool { return slices.ContainsFunc(t.things, p.isFewer) }},
	{"“cancel the flight”, of an order", func(_ *parser, t part) bool { return t.ref.unknown }},
	{"“go ahead with”", func(_ *parser, t part) bool { return !t.ordered && !t.ref.something }},
	{"“cancel the cancellation”", func(p *parser, t part) bool { return p.notThePlans(t.ref, t.does, p.governs) }},
	{"“cancel both”, of one", func(p *parser, t part) bool { return !p.isShown(t.ref, t.does, t.of) }},
	{"“cancel the room”, of a plan that cancels an order and books a room", func(_ *parser, t part) bool {
		return t.ref.apart != 0 && t.of&t.ref.apart == 0 && t.of != 0
	}},
	{"“cancel all orders”, of one", func(p *parser, t part) bool {
		return t.ref.all && t.does.meet(removes|cancels) && len(p.steps) == 1
	}},
	{"“cancel the order”, of two", func(p *parser, t part) bool {
		return t.ref.apart == 0 && t.ordered && t.ref.one && !t.ref.many && (bits.OnesCount64(t.of) > 1 || t.of&p.where(func(s step) bool { return s.each }) != 0)
	}},
}

// given are the acts of which a thing that is confirmed, or gone on with, may be the subject: nothing is ended by them.
const given = creates | opens | adds | reserves | buys | sends | forwards | publishes | shares | pays | transfers | grants | issues | assigns | approves

// isGiven reports whether every step does such an act, and no other.
func (p *parser) isGiven() bool {
	return p.where(func(s step) bool { return s.kinds != 0 && s.kinds&^given == 0 }) == p.every
}

// creates reports whether some words are the created thing, by no name of its own: «crea el registro».
func (p *parser) creates(does kinds, things []string) bool {
	return does.meet(creates|opens) && p.nounHead(things).meet(creates|opens)
}

// hasParticles reports whether an order has the particles of the document's verb, and no other: “turn it off”.
func (p *parser) hasParticles(words []string) bool {
	for i, w := range words {
		if particles()[w] && (i == 1 || i == len(words)-1) && p.where(func(s step) bool { return s.particles[w] }) != p.every {
			return false
		}
	}
	return p.where(func(s step) bool {
		return s.own[words[0]] && len(s.particles) > 0 && !slices.ContainsFunc(words, func(w string) bool { return s.particles[w] })
	}) == 0
}

// nounHead returns the act of a noun phrase: «la reserva Sala Norte» is a reservation.
func (p *parser) nounHead(words []string) kinds {
	for n := len(words); n > 0 && p.isValue(words[n-1]) && nounOf(words[n-1]) == 0; n-- {
		words = words[:n-1]
	}
	return nounHead(words)
}
