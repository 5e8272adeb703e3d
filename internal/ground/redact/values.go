package redact

import (
	"strings"

	"piloto/internal/ground/lazy"
)

// takeValue removes the value of the name from i to to. It returns the next position, or 0 when there is no secret.
func (s *scan) takeValue(i, to int, k kind) int {
	p, quoted := to, false
	if isQuote(s.sign(p)) {
		p, quoted = p+1, true
	}
	if s.sign(p) == ']' {
		p++
	}
	if next := s.inTags(i, to, k); next > 0 {
		return next
	}
	if next := s.pairValue(i, p, k); next > 0 {
		return next
	}
	if j := s.afterType(p); j > 0 {
		p = j
	}
	p = s.skipBlanks(p)
	sep := s.sign(p)
	switch {
	case sep == '=' || sep == ':':
		for c := s.sign(p); c == '=' || c == ':' && s.sign(p+1) != ':' || c == '>'; c = s.sign(p) {
			p++
		}
		return s.valueAt(i, s.skipBlanks(p), sep, s.levelOf(p-1), k)
	case sep == ',' && quoted && (s.sign(i) == '-' || k >= scheme):
		if j := s.skipBlanks(p + 1); isQuote(s.sign(j)) {
			return s.valueAt(i, j, '=', 0, k)
		}
	case k < token || k >= scheme || quoted:
	case p > to && s.sign(i) == '-':
		if s.sign(p) != '-' && !isSpace(s.sign(p)) {
			return s.valueAt(i, p, '=', 0, k)
		}
	case p > to && isLetter(s.sign(i)):
		return s.inSentence(i, p, k)
	}
	return 0
}

// afterType returns the = after a name and its type, or 0: var secret string = "X".
func (s *scan) afterType(p int) int {
	j := s.skipBlanks(p)
	if s.sign(j) == ':' {
		j = s.skipBlanks(j + 1)
	}
	from := j
	for isLetter(s.sign(j)) && j < from+12 {
		j++
	}
	if to := s.skipBlanks(j); from > p && j > from && to > j && s.sign(to) == '=' && isQuote(s.sign(s.skipBlanks(to+1))) {
		return to
	}
	return 0
}

// skipBlanks returns the first position from p on without a blank.
func (s *scan) skipBlanks(p int) int {
	for j := 0; j < 16 && isBlank(s.sign(p)); j++ {
		p++
	}
	return p
}

// inTags removes the text between <name> and </name>.
func (s *scan) inTags(i, to int, k kind) int {
	j := i - 1
	if s.sign(j) == ':' {
		for j--; i-j < 20 && isWord(s.sign(j)); j-- {
		}
	}
	p := to
	if s.sign(j) == '<' {
		for p < to+100 && s.sign(p) != '>' && s.sign(p) != '<' && !(s.sign(p) == '=' && p == to) {
			p++
		}
	} else if !isQuote(s.sign(p)) || s.sign(p+1) != '>' { // name="password">
		return 0
	} else {
		p++
	}
	if s.sign(p) != '>' || s.sign(p-1) == '/' {
		return 0
	}
	e := s.ahead(goal{sort: ofTag}, p+1, func(e int) bool { return s.sign(e) == '<' })
	if k < token && e-p > maxJudged || !s.isSecret(p+1, e, '=', k, true) {
		return 0
	}
	return s.take(p+1, e)
}

// pairValue removes the value of a name that is itself a value: "name":"X","value":"Y".
func (s *scan) pairValue(i, p int, k kind) int {
	first := i
	for s.settings && i-first < maxName && (s.sign(first-1) == '.' || isWord(s.sign(first-1))) {
		first--
	}
	if c := s.sign(first - 1); !isQuote(c) && !isBlank(c) || k < short {
		return 0
	}
	for j := 0; j < 12; j++ {
		if c := s.sign(p); !isSpace(c) && !isQuote(c) && c != ',' || c == end {
			break
		}
		p++
	}
	if s.sign(p) != 'v' && s.sign(p) != 'V' || s.lower(p, min(p+5, len(s.signs))) != "value" {
		return 0
	}
	if p += 5; isQuote(s.sign(p)) {
		p++
	}
	p = s.skipBlanks(p)
	if c := s.sign(p); c != ':' && c != '=' {
		return 0
	}
	return s.valueAt(i, s.skipBlanks(p+1), '=', s.levelOf(p), k)
}

// valueAt removes the value that begins at p, after the separator sep of a level.
func (s *scan) valueAt(i, p int, sep byte, level uint8, k kind) int {
	if s.has(p, "[]string{") {
		p += 9
	}
	p = afterTags(s, p, sep)
	if key := s.pemAfter(p); key > 0 {
		return key
	}
	listed := false
	for c := s.sign(p); (c == '[' || c == '{' && isQuote(s.sign(p+1)) && sep == '{') && !listed; c = s.sign(p) {
		p, listed = s.skipBlanks(p+1), true
	}
	if k == cookie && !isQuote(s.sign(p)) {
		return s.take(p, s.pairsEnd(p, s.line(i, p)))
	}
	if isQuote(s.sign(p)) {
		next := s.takeQuoted(p, k)
		for next > 0 && listed && s.sign(next) != end {
			q := s.skipBlanks(next + 1)
			if s.sign(q) != ',' || !isQuote(s.sign(s.skipBlanks(q+1))) {
				break
			}
			more := s.takeQuoted(s.skipBlanks(q+1), k)
			if more == 0 {
				break
			}
			next = more
		}
		return next
	}
	if c := s.sign(p); (c == '|' || c == '>') && sep == ':' {
		return s.block(p)
	}
	if k == scheme {
		return s.authorization(i, p, level)
	}
	_, e := s.boundsAt(p, sep, level)
	if s.named != none && s.settings && s.sign(i) != '-' {
		e = s.phraseEnd(i, p, e)
	}
	if e == p || !s.isSecret(p, e, sep, k, false) {
		return s.query(i, p, e, sep)
	}
	return s.take(p, e)
}

// afterTags returns the position after the anchors and the types that YAML has before a value: &name, !!str.
func afterTags(s *scan, p int, sep byte) int {
	for c := s.sign(p); s.lines && sep == ':' && (c == '&' || c == '!' && s.sign(p+1) == '!'); c = s.sign(p) {
		q := p
		for q-p < maxName && !isSpace(s.sign(q)) {
			q++
		}
		if !isBlank(s.sign(q)) {
			break
		}
		p = s.skipBlanks(q)
	}
	return p
}

// query removes the value of a parameter whose name announces a secret only in a URL.
func (s *scan) query(i, p, e int, sep byte) int {
	if sep != '=' || e == p || s.isNothing(p, e) {
		return 0
	}
	if c := s.sign(i - 1); c == '?' || c == '&' || c == ';' {
		return s.take(p, e)
	}
	return 0
}

// takeQuoted removes the text in the quotes at p.
func (s *scan) takeQuoted(p int, k kind) int {
	q, level := s.sign(p), s.levelOf(p)
	p++
	if s.sign(p) == q && s.sign(p+1) == q {
		p += 2 // three quotes open a text of many lines
	} else if s.sign(p) == q && s.levelOf(p) <= level {
		return 0
	}
	e := s.quoteEnd(p, q, level)
	if k < token && e-p > maxJudged || !s.isSecret(p, e, '=', k, true) {
		return 0
	}
	if k == cookie {
		if pairs := s.pairsEnd(p, e); pairs < e {
			s.take(p, pairs)
			return e
		}
	}
	return s.take(p, e)
}

// attribute is one attribute of a cookie, after its first pair: Path, and others that are no secret.
var attribute = lazy.Pattern(`(?i)^\s*(?:path=[^,;=\s]*|domain=[\w.-]*|max-age=-?\d+|samesite=\w+|secure|httponly|partitioned|priority=\w+|expires=[\w ,:+-]+)[\]}\s]*$`)

// pairsEnd returns the position before the attributes that end the cookies from p to e, and e when none do.
func (s *scan) pairsEnd(p, e int) int {
	semi := p
	for semi < e && s.sign(semi) != ';' {
		semi++
	}
	if semi >= e || e-semi > maxJudged {
		return e
	}
	for part := range strings.SplitSeq(s.lower(semi+1, e), ";") {
		if !attribute().MatchString(part) {
			return e
		}
	}
	return semi
}

// block removes the indented lines below a name.
func (s *scan) block(p int) int {
	for !isSpace(s.sign(p)) {
		p++
	}
	from := p
	p = s.ahead(goal{sort: ofBlock}, p, func(e int) bool { return s.sign(e) == '\n' && !isBlank(s.sign(e+1)) })
	if s.named != none {
		return s.takeAll(from, p)
	}
	return s.take(from, p)
}

// line returns the end of the line, or of the quotes around the name at i.
func (s *scan) line(i, p int) int {
	q, level := s.sign(i-1), s.levelOf(i-1)
	if !isQuote(q) {
		q, level = '\n', 0
	}
	return s.ahead(goal{q | inLine, level}, p, func(e int) bool {
		c := s.sign(e)
		return c == '\n' || c == '\r' || c == q && s.levelOf(e) <= level
	})
}

// schemes lists the words before the value of Authorization. For those in fields the value is the rest of the line.
var (
	schemes = lazy.Words("bearer basic token apikey key bot")
	fields  = lazy.Words("digest negotiate ntlm aws4-hmac-sha256 hmac oauth signature")
)

// authorization removes the value of Authorization.
func (s *scan) authorization(i, p int, level uint8) int {
	w := p
	for isWord(s.sign(w)) && w < p+24 {
		w++
	}
	name := s.lower(p, min(w, len(s.signs)))
	q := w
	for isBlank(s.sign(q)) || s.sign(q) == '+' {
		q++
	}
	if q > w && fields()[name] {
		return s.take(p, s.line(i, p))
	}
	if q > w && schemes()[name] && s.sign(q) == gap {
		return q + 1
	}
	if q > w && schemes()[name] {
		_, e := s.boundsAt(q, ' ', level)
		return s.take(p, e)
	}
	_, e := s.boundsAt(p, ':', level)
	if !s.isSecret(p, e, ':', token, false) {
		return 0
	}
	return s.take(p, e)
}

// bounds returns the start and end of an argument, without its quotes.
func (s *scan) bounds(p int, sep byte) (int, int) {
	if q := s.sign(p); isQuote(q) {
		return p + 1, s.quoteEnd(p+1, q, s.levelOf(p))
	}
	return s.boundsAt(p, sep, s.levelOf(p))
}

// boundsAt returns the start and end of a value without quotes. A delimiter that may also be part of the value ends
// it only where it really separates.
func (s *scan) boundsAt(p int, sep byte, level uint8) (int, int) {
	sort := byte(ofValue)
	if sep == ' ' {
		sort = ofArgument
	}
	return p, s.ahead(goal{sort, level}, p, func(e int) bool {
		switch c := s.sign(e); {
		case c == end:
			return true
		case s.levelOf(e) > level && !isQuote(c):
			return false
		case isSpace(c), c == '"', c == '<':
			return true
		case c == '\'', c == '`', c == ')', c == ']', c == '}':
			return !isAlnum(s.sign(e + 1))
		case c == '&', c == ';', c == ',':
			return (c != '&' || sort != ofArgument) && s.delimits(e+1)
		}
		return false
	})
}

// delimits reports whether another name or a blank begins at p, or the text ends.
func (s *scan) delimits(p int) bool {
	if c := s.sign(p); isSpace(c) || isQuote(c) {
		return true
	}
	for j := p; j < p+40; j++ {
		switch c := s.sign(j); {
		case c == '=' || c == ':':
			return j > p
		case !isWord(c) && c != '.' && c != ' ':
			return false
		}
	}
	return false
}
