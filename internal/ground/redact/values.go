package redact

import "piloto/internal/ground/lazy"

// takeValue removes the value of the name from i to to. It returns the next position, or 0 when there is no secret.
func (s *scan) takeValue(i, to int, k kind) int {
	p, quoted := to, false
	if isQuote(s.v.sign(p)) {
		p, quoted = p+1, true
	}
	if s.v.sign(p) == ']' {
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
	p = s.v.skipBlanks(p)
	sep := s.v.sign(p)
	switch {
	case sep == '=' || sep == ':':
		for c := s.v.sign(p); c == '=' || c == ':' && s.v.sign(p+1) != ':' || c == '>'; c = s.v.sign(p) {
			p++
		}
		return s.valueAt(i, s.v.skipBlanks(p), sep, s.v.levelOf(p-1), k)
	case sep == ',' && quoted && (s.v.sign(i) == '-' || k >= scheme):
		if j := s.v.skipBlanks(p + 1); isQuote(s.v.sign(j)) {
			return s.valueAt(i, j, '=', 0, k)
		}
	case k < token || k >= scheme || quoted:
	case p > to && s.v.sign(i) == '-':
		if s.v.sign(p) != '-' && !isSpace(s.v.sign(p)) {
			return s.valueAt(i, p, '=', 0, k)
		}
	case p > to && isLetter(s.v.sign(i)):
		return s.inSentence(i, p, k)
	}
	return 0
}

// afterType returns the = after a name and its type, or 0: var secret string = "X".
func (s *scan) afterType(p int) int {
	j := s.v.skipBlanks(p)
	if s.v.sign(j) == ':' {
		j = s.v.skipBlanks(j + 1)
	}
	from := j
	for isLetter(s.v.sign(j)) && j < from+12 {
		j++
	}
	if to := s.v.skipBlanks(j); from > p && j > from && to > j && s.v.sign(to) == '=' && isQuote(s.v.sign(s.v.skipBlanks(to+1))) {
		return to
	}
	return 0
}

// inTags removes the text between <name> and </name>.
func (s *scan) inTags(i, to int, k kind) int {
	j := i - 1
	if s.v.sign(j) == ':' {
		for j--; i-j < 20 && isWord(s.v.sign(j)); j-- {
		}
	}
	p := to
	if s.v.sign(j) == '<' {
		for p < to+100 && s.v.sign(p) != '>' && s.v.sign(p) != '<' && !(s.v.sign(p) == '=' && p == to) {
			p++
		}
	} else if !isQuote(s.v.sign(p)) || s.v.sign(p+1) != '>' { // name="password">
		return 0
	} else {
		p++
	}
	if s.v.sign(p) != '>' || s.v.sign(p-1) == '/' {
		return 0
	}
	e := s.limits.ahead(goal{sort: ofTag}, p+1, func(e int) bool { return s.v.sign(e) == '<' })
	if k < token && e-p > maxJudged || !s.judge.isSecret(p+1, e, '=', k, true) {
		return 0
	}
	return s.out.take(p+1, e)
}

// pairValue removes the value of a name that is itself a value: "name":"X","value":"Y".
func (s *scan) pairValue(i, p int, k kind) int {
	first := i
	for s.rules.settings && i-first < maxName && (s.v.sign(first-1) == '.' || isWord(s.v.sign(first-1))) {
		first--
	}
	if c := s.v.sign(first - 1); !isQuote(c) && !isBlank(c) || k < short {
		return 0
	}
	for j := 0; j < 12; j++ {
		if c := s.v.sign(p); !isSpace(c) && !isQuote(c) && c != ',' || c == end {
			break
		}
		p++
	}
	if s.v.sign(p) != 'v' && s.v.sign(p) != 'V' || s.v.lower(p, min(p+5, len(s.v.signs))) != "value" {
		return 0
	}
	if p += 5; isQuote(s.v.sign(p)) {
		p++
	}
	p = s.v.skipBlanks(p)
	if c := s.v.sign(p); c != ':' && c != '=' {
		return 0
	}
	return s.valueAt(i, s.v.skipBlanks(p+1), '=', s.v.levelOf(p), k)
}

// valueAt removes the value that begins at p, after the separator sep of a level.
func (s *scan) valueAt(i, p int, sep byte, level uint8, k kind) int {
	if s.v.has(p, "[]string{") {
		p += 9
	}
	p = s.afterTags(p, sep)
	if key := s.pems.pemAfter(p); key > 0 {
		return key
	}
	listed := false
	for c := s.v.sign(p); (c == '[' || c == '{' && isQuote(s.v.sign(p+1)) && sep == '{') && !listed; c = s.v.sign(p) {
		p, listed = s.v.skipBlanks(p+1), true
	}
	if k == cookie && !isQuote(s.v.sign(p)) {
		return s.out.take(p, s.limits.pairsEnd(p, s.limits.line(i, p)))
	}
	if isQuote(s.v.sign(p)) {
		next := s.takeQuoted(p, k)
		for next > 0 && listed && s.v.sign(next) != end {
			q := s.v.skipBlanks(next + 1)
			if s.v.sign(q) != ',' || !isQuote(s.v.sign(s.v.skipBlanks(q+1))) {
				break
			}
			more := s.takeQuoted(s.v.skipBlanks(q+1), k)
			if more == 0 {
				break
			}
			next = more
		}
		return next
	}
	if c := s.v.sign(p); (c == '|' || c == '>') && sep == ':' {
		return s.block(p)
	}
	if k == scheme {
		return s.authorization(i, p, level)
	}
	_, e := s.limits.boundsAt(p, sep, level)
	if s.judge.named != none && s.rules.settings && s.v.sign(i) != '-' {
		e = s.limits.phraseEnd(i, p, e)
	}
	if e == p || !s.judge.isSecret(p, e, sep, k, false) {
		return s.query(i, p, e, sep)
	}
	return s.out.take(p, e)
}

// afterTags returns the position after the anchors and the types that YAML has before a value: &name, !!str.
func (s *scan) afterTags(p int, sep byte) int {
	for c := s.v.sign(p); s.rules.lines && sep == ':' && (c == '&' || c == '!' && s.v.sign(p+1) == '!'); c = s.v.sign(p) {
		q := p
		for q-p < maxName && !isSpace(s.v.sign(q)) {
			q++
		}
		if !isBlank(s.v.sign(q)) {
			break
		}
		p = s.v.skipBlanks(q)
	}
	return p
}

// query removes the value of a parameter whose name announces a secret only in a URL.
func (s *scan) query(i, p, e int, sep byte) int {
	if sep != '=' || e == p || s.v.isNothing(p, e) {
		return 0
	}
	if c := s.v.sign(i - 1); c == '?' || c == '&' || c == ';' {
		return s.out.take(p, e)
	}
	return 0
}

// takeQuoted removes the text in the quotes at p.
func (s *scan) takeQuoted(p int, k kind) int {
	q, level := s.v.sign(p), s.v.levelOf(p)
	p++
	if s.v.sign(p) == q && s.v.sign(p+1) == q {
		p += 2 // three quotes open a text of many lines
	} else if s.v.sign(p) == q && s.v.levelOf(p) <= level {
		return 0
	}
	e := s.limits.quoteEnd(p, q, level)
	if k < token && e-p > maxJudged || !s.judge.isSecret(p, e, '=', k, true) {
		return 0
	}
	if k == cookie {
		if pairs := s.limits.pairsEnd(p, e); pairs < e {
			s.out.take(p, pairs)
			return e
		}
	}
	return s.out.take(p, e)
}

// block removes the indented lines below a name.
func (s *scan) block(p int) int {
	for !isSpace(s.v.sign(p)) {
		p++
	}
	from := p
	p = s.limits.ahead(goal{sort: ofBlock}, p, func(e int) bool { return s.v.sign(e) == '\n' && !isBlank(s.v.sign(e+1)) })
	if s.judge.named != none {
		return s.out.takeAll(from, p)
	}
	return s.out.take(from, p)
}

// schemes lists the words before the value of Authorization. For those in fields the value is the rest of the line.
var (
	schemes = lazy.Words("bearer basic token apikey key bot")
	fields  = lazy.Words("digest negotiate ntlm aws4-hmac-sha256 hmac oauth signature")
)

// authorization removes the value of Authorization.
func (s *scan) authorization(i, p int, level uint8) int {
	w := p
	for isWord(s.v.sign(w)) && w < p+24 {
		w++
	}
	name := s.v.lower(p, min(w, len(s.v.signs)))
	q := w
	for isBlank(s.v.sign(q)) || s.v.sign(q) == '+' {
		q++
	}
	if q > w && fields()[name] {
		return s.out.take(p, s.limits.line(i, p))
	}
	if q > w && schemes()[name] && s.v.sign(q) == gap {
		return q + 1
	}
	if q > w && schemes()[name] {
		_, e := s.limits.boundsAt(q, ' ', level)
		return s.out.take(p, e)
	}
	_, e := s.limits.boundsAt(p, ':', level)
	if !s.judge.isSecret(p, e, ':', token, false) {
		return 0
	}
	return s.out.take(p, e)
}
