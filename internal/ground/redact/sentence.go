package redact

import "piloto/internal/ground/lazy"

var (
	verbs  = lazy.Words("is es era sera was are son")
	joins  = lazy.Words("de del for of para al")
	owners = lazy.Words("my mi tu su our your nuestra nuestro his her")
)

// maxBetween limits the words between a name and its verb: the password of the database of the shop is.
const maxBetween = 6

// inSentence removes the value that a sentence assigns to the name at i: my password is X, the token of the shop is
// X, password X. The text after the name begins at p.
func (s *scan) inSentence(i, p int, k kind) int {
	from, verb, first := p, false, true
	for n := 0; n < maxBetween; n++ {
		w := p
		for isLetter(s.v.sign(w)) && w < p+20 {
			w++
		}
		word := s.v.lower(p, min(w, len(s.v.signs)))
		next := s.v.skipBlanks(w)
		if verbs()[word] && (next > w || s.v.sign(w) == ':') {
			if s.v.sign(next) == ':' {
				next = s.v.skipBlanks(next + 1)
			}
			p, verb = next, true
			break
		}
		if n > 1 && word != "" && s.v.sign(w) == ':' && isBlank(s.v.sign(w+1)) { // contraseña del wifi: X
			p, verb = s.v.skipBlanks(w+1), true
			break
		}
		if word == "" || next == w || first && !joins()[word] {
			break
		}
		p, first = next, false
	}
	if !verb {
		p = from
	}
	return s.sentenceValue(i, p, verb, k)
}

// sentenceValue removes the value at p, of a sentence with or without a verb.
func (s *scan) sentenceValue(i, p int, verb bool, k kind) int {
	quoted := isQuote(s.v.sign(p))
	from, e := s.limits.bounds(p, ' ')
	if quoted && e-from > 200 || e <= from || e > len(s.v.signs) {
		return 0
	}
	for !quoted && e > from && (s.v.sign(e-1) == '.' || s.v.sign(e-1) == ',') {
		e--
	}
	switch {
	case quoted && verb:
		if s.judge.isSecret(from, e, '=', k, true) {
			return s.out.take(from, e)
		}
	case s.v.looksSecret(from, e):
		return s.out.take(from, e)
	case verb && k == password && s.hasOwner(i) && e-from >= 4 && !sentence()[s.v.lower(from, e)]:
		return s.out.take(from, e)
	}
	return 0
}

// hasOwner reports whether the word before the name at i names an owner.
func (s *scan) hasOwner(i int) bool {
	if !isBlank(s.v.sign(i - 1)) {
		return false
	}
	from := i - 1
	for isLetter(s.v.sign(from-1)) && i-from < 12 {
		from--
	}
	return owners()[s.v.lower(from, i-1)]
}
