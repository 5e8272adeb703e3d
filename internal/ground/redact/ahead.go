package redact

// goal is what is looked for ahead of a position: the end of a value of a sort, in a text of a level, or its quote.
type goal struct {
	sort  byte
	level uint8
}

// The sorts of ends. The end of a text in quotes has its quote as its sort, and that of a line in quotes the quote with the
// bit inLine.
const (
	ofValue    = 'v'
	ofArgument = 'a'
	ofTag      = '<'
	ofBlock    = '|'
	inLine     = 0x80
)

// ahead returns the first position from p on at which stops holds, or the end of the text. It remembers what it found,
// because many names in a row look for the same end. What stops reports depends on the position and the goal only.
func (s *scan) ahead(g goal, p int, stops func(int) bool) int {
	if known, ok := s.found[g]; ok && known.from <= p && p <= known.to {
		return known.to
	}
	e := p
	for e < len(s.signs) && !stops(e) {
		e++
	}
	if s.found == nil {
		s.found = map[goal]span{}
	}
	s.found[g] = span{p, e}
	return e
}

// quoteEnd returns the position from p on of the quote that ends a text in quotes of a level.
func (s *scan) quoteEnd(p int, quote byte, level uint8) int {
	return s.ahead(goal{quote, level}, p, func(e int) bool { return s.sign(e) == quote && s.levelOf(e) <= level })
}
