package consent

import (
	"math/bits"
	"slices"
	"strings"

	"piloto/internal/ground/lazy"
)

// reference is the meaning of the words of a thing.
type reference struct {
	something bool   // it points at something, or names it
	names     bool   // it names a thing of the plan
	value     bool   // by a value
	apart     uint64 // the steps that its names single out
	one, many bool   // it speaks of one thing, or of more
	all       bool   // of all there are
	unknown   bool   // a word names nothing of the plan

	stands, plan bool  // it has a word that stands for any plan, or “plan”
	called       bool  // and the document has that word
	acts         kinds // the acts that its nouns name
	doubled      bool  // it is an act on an act, or on the plan: “the cancellation of the request”
	detail       bool  // it has “details”
	pair, lot    bool  // it is of two, or of more than one
	writer       bool  // it goes to who writes, or is about them
	itself, bare bool  // it has the thing itself, or only that in which the thing is
	whose        bool  // and that is a person
}

// verb adds the meaning of an order's ending: «envíamelos» is of more than one, and goes to the writer.
func (t *reference) verb(word string) {
	of := acts()[word].of
	t.one, t.many, t.lot, t.itself = t.one || of == one, t.many || of == more, t.lot || of == more, t.itself || of != unsaid
	for _, ending := range [...]string{"me", "nos", "melo", "mela", "melos", "melas", "noslo", "nosla", "noslos", "noslas"} {
		if stem, ok := strings.CutSuffix(word, ending); ok && acts()[stem].form&verb != 0 {
			t.writer = true
		}
	}
}

// goesOtherWay reports whether a value after “to” is one from which something goes, or the reverse.
func (p *parser) goesOtherWay(way, word string) bool {
	if way == "" {
		return false
	}
	from := p.where(func(s step) bool { return s.sources[word] && !s.targets[word] }) != 0
	to := p.where(func(s step) bool { return s.targets[word] && !s.sources[word] }) != 0
	return from != to && from != (way == "from" || way == "desde")
}

// points reports whether a word points at something.
func (p *parser) points(word string) bool { return pointing()[word] || whole()[word] }

// isPronoun reports whether the word at a place stands for a thing, and does not go with the next word.
func isPronoun(words []string, i int) bool {
	return alone()[words[i]] || pointing()[words[i]] && (i+1 == len(words) || glue()[words[i+1]])
}

// reading is the state of reference while it reads.
type reading struct {
	way    string // the last direction
	value  bool   // a value was named
	placed bool   // “to”, “from” or “in” stands before
	mine   bool   // “my” stands before
	act    bool   // an act was named
	of     bool   // and “of” stands after it
}

// reference reads the words of a thing.
func (p *parser) reference(words []string) (t reference) {
	var r reading
	for i, w := range words {
		t.unknown = t.unknown || p.goesOtherWay(r.way, w)
		switch {
		case glue()[w]:
			p.hold(&t, &r, words, i)
		case plans()[w], standing()[w]:
			p.itself, p.anything = p.itself || plans()[w], p.anything || standing()[w]
			t.plan, t.stands, t.something, t.doubled = t.plan || plans()[w], true, true, t.doubled || r.of
			t.called = t.called || p.where(func(s step) bool { return s.called[w] }) != 0
			t.unknown = t.unknown || i > 0 && indefinite()[words[i-1]]
		case p.named(w) == 0 && details()[w]:
			t.something, t.detail = true, true
		default:
			p.name(&t, &r, w)
		}
	}
	return t
}

// hold reads a word that holds a thing together or points at one.
func (p *parser) hold(t *reference, r *reading, words []string, i int) {
	w := words[i]
	last := i+1 == len(words)
	if directions()[w] {
		r.way = w
		if r.value && !last && !pointing()[words[i+1]] { // from one value to another
			t.unknown = true
		}
	}
	switch {
	case ofs()[w]:
		r.placed, r.of = false, r.of || r.act
	case placing()[w]:
		r.placed, r.mine = true, false
	case mine()[w]:
		r.mine = true
	}
	t.unknown = t.unknown || r.way != "" && w == "you"
	t.writer = t.writer || w == "me" || w == "us" || w == "mi" && (last || glue()[words[i+1]])
	pronoun := isPronoun(words, i)
	t.itself = t.itself || pronoun && !r.placed
	t.pair = t.pair || pair()[w]
	t.lot = t.lot || (whole()[w] || several()[w] && pronoun) && !slices.ContainsFunc(words[i+1:], func(w string) bool { return details()[w] })
	t.something, t.many, t.one, t.all = t.something || p.points(w), t.many || several()[w], t.one || pointing()[w], t.all || whole()[w]
}

// name reads a word that must name the plan.
func (p *parser) name(t *reference, r *reading, w string) {
	of, act := p.named(w), nounOf(w)
	own := p.where(func(s step) bool { return act.meet(s.kinds & undoing) })
	t.unknown = t.unknown || of == 0
	if r.mine && !p.isValue(w) && p.where(func(s step) bool { return s.recipient }) != 0 { // “to my address”, of a step with another recipient
		t.unknown = true
	}
	t.unknown = t.unknown || p.isElsewhere(w, *r)
	t.value = t.value || p.isValue(w)
	t.doubled = t.doubled || own != 0 && r.of
	r.act, t.acts = r.act || act != 0, t.acts|acts()[w].kinds
	t.something, t.names, t.one, t.many = true, true, true, t.many || len(singulars(w)) > 1
	t.all = t.all || act != 0 && acts()[w].of == more
	t.lot = t.lot || act&p.does() == 0 && p.isMore(w)
	r.value = r.value || p.isValue(w)
	if of != p.every {
		t.apart |= of
	}
	in := p.where(func(s step) bool { return hasOne(s.around, w) && !hasOne(s.values, w) })
	value := p.isValue(w)
	object := value && p.where(func(s step) bool { return s.objects[w] }) != 0 || !value && (act == 0 || p.where(func(s step) bool { return hasOne(s.object, w) }) != 0)
	t.unknown = t.unknown || value && !object && !r.placed && r.way == "" && !t.itself // “pay the Visa”, of an invoice
	switch {
	case r.placed:
	case of&^in == 0:
		t.bare, t.whose = true, t.whose || customers()[w]
	case object:
		t.itself = true
	}
}

// isElsewhere reports whether a value has another role than the words give it: “to Bob”, of a mail to Ana in which Bob
// is mentioned. A free text names nobody to whom something goes, and no place or time.
func (p *parser) isElsewhere(word string, r reading) bool {
	if !p.isValue(word) {
		return false
	}
	towards := slices.Contains([]string{"to", "into", "a", "al"}, r.way)
	from := r.way == "from" || r.way == "desde"
	return p.where(func(s step) bool {
		stated := !s.facts[word] && (s.recipient || r.placed || r.way != "")
		got := r.way == "" && s.kinds.meet(exchanges|replaces) && s.targets[word] && !s.others[word] // “exchange the new one”
		return s.values[word] && !stated && !got && (!towards || s.targets[word]) && (!from || s.sources[word])
	}) == 0
}

// does returns the acts of the steps.
func (p *parser) does() (all kinds) {
	for _, s := range p.steps {
		all |= s.kinds
	}
	return all
}

// isMore reports whether a word is the plural of one that the plan has only as one.
func (p *parser) isMore(word string) bool {
	return p.where(func(s step) bool { return s.said[word] }) == 0 &&
		slices.ContainsFunc(singulars(word)[1:], func(w string) bool { return p.where(func(s step) bool { return s.said[w] }) != 0 })
}

// isFewer reports whether a word is the singular of one that the plan has only as more: “delete the user”, of two.
func (p *parser) isFewer(word string) bool {
	return p.where(func(s step) bool {
		return !s.said[word] && slices.ContainsFunc(plurals(word), func(w string) bool { return s.said[w] }) && slices.ContainsFunc(s.counts, func(n int) bool { return n > 1 })
	}) != 0
}

// undoing are the acts that may be done to a plan, too.
const undoing = cancels | removes | changes | revises | edits | reschedules | renames | upgrades | downgrades | replaces | rejects | closes | archives

// notThePlans reports whether a thing may be the object of an act on the plan, or on an act of it: “cancel the request”,
// “cancel the cancellation”. Some acts are done by the words, others are ordered of the thing.
func (p *parser) notThePlans(t reference, does, ordered kinds) bool {
	switch {
	case t.doubled, t.detail && ordered&^approves != 0, t.plan && does.meet(undoing) && !t.called:
		return true
	case ordered&^approves == 0, ordered.meet(rejects) && t.called: // a request that is rejected
		return false
	}
	return t.stands && !(t.called && t.names) || t.acts.meet(p.does()&undoing)
}

// isShown reports whether the steps that do it, or all, have as many things as the words say, the same recipient, and do
// it to the thing itself.
func (p *parser) isShown(t reference, does kinds, of uint64) bool {
	if of &= p.every; of == 0 {
		of = p.every
	}
	has := func(enough func(int) bool) bool {
		return enough(bits.OnesCount64(of)) || of&p.where(func(s step) bool {
			return slices.ContainsFunc(s.counts, enough) || does.meet(changes) && !t.names && enough(s.members)
		}) != 0
	}
	switch {
	case t.pair && !has(func(n int) bool { return n == 2 }), t.lot && of&p.where(func(s step) bool { return s.each }) == 0 && !has(func(n int) bool { return n > 1 }):
		return false
	case t.writer && of&^p.where(step.isForWriter) != 0:
		return false
	}
	return !t.bare || t.itself || !t.whose && does.meet(changes|upgrades|downgrades)
}

func hasOne(set map[string]bool, word string) bool {
	return slices.ContainsFunc(singulars(word), func(w string) bool { return set[w] })
}

var (
	alone      = lazy.Words(`it them everything esto eso ello me us todo`)
	indefinite = lazy.Words(`a an un una unos unas`)
	ofs        = lazy.Words(`of de del`)
	placing    = lazy.Words(`to from into in on with by at for al en desde para por con`)
	mine       = lazy.Words(`my our mi mis`)
)
