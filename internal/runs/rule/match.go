package rule

import "slices"

// machine matches a glob. It keeps where in the glob a text may stand as bits, of all
// places at once, so that a character costs a few words and not a look at each token.
type machine struct {
	tokens glob
	one    bits          // tokens that take any one character of a name
	names  bits          // that take runs of them
	all    bits          // that take runs of any
	exact  map[rune]bits // that take this very character
	steps  int           // words that were looked at
}

// bits has one bit for each place of a glob: before a token, or after the last.
type bits []uint64

func newBits(n int) bits { return make(bits, n/64+1) }

func (b bits) set(i int)      { b[i/64] |= 1 << (i % 64) }
func (b bits) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }

func newMachine(g glob) *machine {
	n := len(g)
	m := &machine{tokens: g, one: newBits(n), names: newBits(n), all: newBits(n), exact: map[rune]bits{}}
	for i, token := range g {
		switch token {
		case anyOne:
			m.one.set(i)
		case anyName:
			m.names.set(i)
		case anyAll:
			m.all.set(i)
		default:
			if m.exact[token] == nil {
				m.exact[token] = newBits(n)
			}
			m.exact[token].set(i)
		}
	}
	return m
}

// matches reports whether a text is one of those that the glob describes. What is
// unknown in the text is taken as matching when may is set, and else only where the
// glob takes any name.
func (m *machine) matches(text []rune, may bool) bool {
	now, next := newBits(len(m.tokens)), newBits(len(m.tokens))
	now.set(0)
	m.skip(now)
	for _, r := range text {
		if r == unknown && may {
			m.flood(now)
			continue
		}
		if !m.take(now, next, r) {
			return false
		}
		now, next = next, now
	}
	return now.has(len(m.tokens))
}

// take moves from each place that now has to those that one character leads to, and
// reports whether there are any.
func (m *machine) take(now, next bits, r rune) bool {
	exact := m.exact[r]
	alive, carry := uint64(0), uint64(0)
	for i := range now {
		m.steps++
		stays, goes := m.all[i], uint64(0)
		if r != '/' {
			stays |= m.names[i]
		}
		if r != '/' && r != unknown {
			goes |= m.one[i]
		}
		if exact != nil {
			goes |= exact[i]
		}
		goes &= now[i]
		next[i] = now[i]&stays | goes<<1 | carry
		carry = goes >> 63
		alive |= next[i]
	}
	m.skip(next)
	return alive != 0
}

// skip adds what follows a token that takes runs, since one may be empty. No two of
// them follow each other.
func (m *machine) skip(now bits) {
	carry := uint64(0)
	for i := range now {
		m.steps++
		past := now[i] & (m.names[i] | m.all[i])
		now[i] |= past<<1 | carry
		carry = past >> 63
	}
}

// flood adds all places that characters which nobody knows may lead to: any number of
// them, none a slash.
func (m *machine) flood(now bits) {
	for i, token := range m.tokens {
		m.steps++
		if now.has(i) && token != '/' {
			now.set(i + 1)
		}
	}
}

// anyMatches reports whether any of some machines matches any of some texts.
func anyMatches(machines []*machine, texts [][]rune, may bool) bool {
	return slices.ContainsFunc(texts, func(text []rune) bool { return oneMatches(machines, text, may) })
}

// oneMatches reports whether any of some machines matches a text.
func oneMatches(machines []*machine, text []rune, may bool) bool {
	return slices.ContainsFunc(machines, func(m *machine) bool { return m.matches(text, may) })
}
