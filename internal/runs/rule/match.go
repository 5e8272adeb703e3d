package rule

import "slices"

// machine matches a glob. It stores the possible positions in the glob as bits, so that a character costs a few words and
// not one comparison for each token.
type machine struct {
	tokens glob
	one    bits          // tokens that match any one character of a name
	names  bits          // tokens that match runs of these
	all    bits          // tokens that match runs of any characters
	exact  map[rune]bits // tokens that match this character
	steps  int           // number of words that were read
}

// bits has one bit for each position of a glob: before a token, or after the last.
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

// matches reports whether the glob matches a text. An unknown part of the text matches anything
// when may is set, and otherwise only a token that matches any name.
func (m *machine) matches(text []rune, may bool) bool {
	now, next := newBits(len(m.tokens)), newBits(len(m.tokens))
	now.set(0)
	m.skipRuns(now)
	for _, r := range text {
		if r == unknown && may {
			m.flood(now)
			continue
		}
		if !m.advance(now, next, r) {
			return false
		}
		now, next = next, now
	}
	return now.has(len(m.tokens))
}

// advance moves from each position in now to the positions after one character, and reports whether
// there are any.
func (m *machine) advance(now, next bits, r rune) bool {
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
	m.skipRuns(next)
	return alive != 0
}

// skipRuns adds the positions after tokens that match runs, because a run may be empty. No two such
// tokens are adjacent.
func (m *machine) skipRuns(now bits) {
	carry := uint64(0)
	for i := range now {
		m.steps++
		past := now[i] & (m.names[i] | m.all[i])
		now[i] |= past<<1 | carry
		carry = past >> 63
	}
}

// flood adds all positions that unknown characters may lead to: any number of characters, without a
// slash.
func (m *machine) flood(now bits) {
	for i, token := range m.tokens {
		m.steps++
		if now.has(i) && token != '/' {
			now.set(i + 1)
		}
	}
}

// anyMatches reports whether any of the machines matches any of the texts.
func anyMatches(machines []*machine, texts [][]rune, may bool) bool {
	return slices.ContainsFunc(texts, func(text []rune) bool { return oneMatches(machines, text, may) })
}

// oneMatches reports whether any of the machines matches a text.
func oneMatches(machines []*machine, text []rune, may bool) bool {
	return slices.ContainsFunc(machines, func(m *machine) bool { return m.matches(text, may) })
}
