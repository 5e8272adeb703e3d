package redact

import (
	"strings"

	"piloto/internal/ground/lazy"
)

// goal is an end that is searched ahead of a position: of a value of a sort, in a text of a level, or its quote.
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

// limits finds where values end.
type limits struct {
	v     *view
	found map[goal]span // the last search for each goal, and its end
}

// ahead returns the first position from p on at which stops holds, or the end of the text. It caches the position, because
// many names in a row search for the same end. The result of stops depends on the position and the goal only.
func (l *limits) ahead(g goal, p int, stops func(int) bool) int {
	if known, ok := l.found[g]; ok && known.from <= p && p <= known.to {
		return known.to
	}
	e := p
	for e < len(l.v.signs) && !stops(e) {
		e++
	}
	if l.found == nil {
		l.found = map[goal]span{}
	}
	l.found[g] = span{p, e}
	return e
}

// quoteEnd returns the position from p on of the quote that ends a text in quotes of a level.
func (l *limits) quoteEnd(p int, quote byte, level uint8) int {
	return l.ahead(goal{quote, level}, p, func(e int) bool { return l.v.sign(e) == quote && l.v.levelOf(e) <= level })
}

// bounds returns the start and end of an argument, without its quotes.
func (l *limits) bounds(p int, sep byte) (int, int) {
	if q := l.v.sign(p); isQuote(q) {
		return p + 1, l.quoteEnd(p+1, q, l.v.levelOf(p))
	}
	return l.boundsAt(p, sep, l.v.levelOf(p))
}

// boundsAt returns the start and end of a value without quotes. A delimiter that may also be part of the value ends
// it only where it really separates.
func (l *limits) boundsAt(p int, sep byte, level uint8) (int, int) {
	sort := byte(ofValue)
	if sep == ' ' {
		sort = ofArgument
	}
	return p, l.ahead(goal{sort, level}, p, func(e int) bool {
		switch c := l.v.sign(e); {
		case c == end:
			return true
		case l.v.levelOf(e) > level && !isQuote(c):
			return false
		case isSpace(c), c == '"', c == '<':
			return true
		case c == '\'', c == '`', c == ')', c == ']', c == '}':
			return !isAlnum(l.v.sign(e + 1))
		case c == '&', c == ';', c == ',':
			return (c != '&' || sort != ofArgument) && l.delimits(e+1)
		}
		return false
	})
}

// delimits reports whether another name or a blank begins at p, or the text ends.
func (l *limits) delimits(p int) bool {
	if c := l.v.sign(p); isSpace(c) || isQuote(c) {
		return true
	}
	for j := p; j < p+40; j++ {
		switch c := l.v.sign(j); {
		case c == '=' || c == ':':
			return j > p
		case !isWord(c) && c != '.' && c != ' ':
			return false
		}
	}
	return false
}

// line returns the end of the line, or of the quotes around the name at i.
func (l *limits) line(i, p int) int {
	q, level := l.v.sign(i-1), l.v.levelOf(i-1)
	if !isQuote(q) {
		q, level = '\n', 0
	}
	return l.ahead(goal{q | inLine, level}, p, func(e int) bool {
		c := l.v.sign(e)
		return c == '\n' || c == '\r' || c == q && l.v.levelOf(e) <= level
	})
}

// phraseEnd returns the end of the words from p on, if the name at i begins its line, and nothing but words follows. Else it
// returns e.
func (l *limits) phraseEnd(i, p, e int) int {
	for j := i - 1; ; j-- {
		c := l.v.sign(j)
		if c == '\n' || c == end && j < 0 {
			break
		}
		if !isWord(c) && c != '.' && c != ' ' && c != '\t' && c != ':' || i-j > maxName {
			return e
		}
	}
	j, last := p, p
	for ; j-p <= mostPhrase; j++ {
		switch c := l.v.sign(j); {
		case c == '\n' || c == '\r' || c == end || c == '#' && isBlank(l.v.sign(j-1)):
			return max(e, last)
		case isAlnum(c) || c == other || strings.IndexByte("-_!,'&@%*+.", c) >= 0:
			last = j + 1
		case !isBlank(c):
			return e
		}
	}
	return e
}

// attribute is one attribute of a cookie, after its first pair: Path, and others that are no secret.
var attribute = lazy.Pattern(`(?i)^\s*(?:path=[^,;=\s]*|domain=[\w.-]*|max-age=-?\d+|samesite=\w+|secure|httponly|partitioned|priority=\w+|expires=[\w ,:+-]+)[\]}\s]*$`)

// pairsEnd returns the position before the attributes that end the cookies from p to e, and e when none do.
func (l *limits) pairsEnd(p, e int) int {
	semi := p
	for semi < e && l.v.sign(semi) != ';' {
		semi++
	}
	if semi >= e || e-semi > maxJudged {
		return e
	}
	for part := range strings.SplitSeq(l.v.lower(semi+1, e), ";") {
		if !attribute().MatchString(part) {
			return e
		}
	}
	return semi
}
