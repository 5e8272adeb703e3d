package redact

import (
	"strings"

	"piloto/internal/ground/lazy"
)

// sentence holds words that follow a name in a sentence; nothing holds words that mean no value.
var (
	sentence = lazy.Words(`must should is was are be has have had will can cannot may needs required requires invalid incorrect wrong
		missing expired not too at refused rejected the a an for of in on to from with and or but if when field policy reset
		debe deben es son fue esta no ha han requerida requerido obligatoria obligatorio incorrecta incorrecto invalida
		invalido caducada caducado tiene tienen el la los las un una de del para por en con y o que muy demasiado su tu mi
		primaria foranea your my wrong weak strong empty unset set obrigatoria obrigatorio obligatoire requis requise erforderlich ungueltig invalide deve doit muss`)
	nothing = lazy.Words(`null nil none true false undefined string required optional yes no empty hidden masked func struct
		redacted filtered removed omitted censored sanitized scrubbed oculto oculta omitido omitida censurado censurada eliminado`)
)

// maxJudged is the maximum length of a value that is checked. A longer value beside a name counts as a secret.
const maxJudged = 512

// isSecret reports whether the value from p to e is a secret, for a name of a kind. The value may be a text in
// quotes.
func (s *scan) isSecret(p, e int, sep byte, k kind, quoted bool) bool {
	e = min(e, len(s.signs))
	if e <= p {
		return false
	}
	if !quoted && e-p > maxJudged {
		return true // such a value is not read again
	}
	long, alnum := e-p, false
	for j := p; j < min(e, p+100) && !alnum; j++ {
		c := s.sign(j)
		alnum = isAlnum(c) || c == gap || c == other
	}
	if !alnum || s.isNothing(p, e) {
		return false
	}
	if s.named != none {
		return true // the value is judged when it is taken
	}
	switch k {
	case weak:
		return s.isRandom(p, e)
	case short:
		return !s.isWordy(p, e) && (quoted || sep == '=' || s.looksSecret(p, e)) && !(long < 4 && s.areDigits(p, e))
	case password:
		if quoted || sep == '=' {
			return !(long <= 3 && s.areDigits(p, e))
		}
		return !(long <= 24 && sentence()[s.lower(p, e)])
	case none, token, scheme, cookie:
		if quoted || sep == '=' {
			return true
		}
		return !s.isWordy(p, e) && !(s.areDigits(p, e) && long < 6)
	}
	return true
}

// isNothing reports whether a value is a word that means none, or the mask of another program.
func (s *scan) isNothing(p, e int) bool {
	return e-p <= 24 && nothing()[strings.Trim(s.lower(p, e), "[](){}<>*-_#.")]
}

// isWordy reports whether all characters are letters, without a capital inside.
func (s *scan) isWordy(p, e int) bool {
	for j := p; j < e; j++ {
		c := s.sign(j)
		if !isLower(c) && c != other && !(j == p && isUpper(c)) && !(j == e-1 && (c == '.' || c == ',' || c == '?')) {
			return false
		}
	}
	return true
}

func (s *scan) areDigits(p, e int) bool {
	for j := p; j < e; j++ {
		if !isDigit(s.sign(j)) {
			return false
		}
	}
	return true
}

// isIdentifier reports whether a value is an id: a ULID, a UUID, a digest.
func (s *scan) isIdentifier(p, e int) bool {
	n, hexes, dashes, ulid := e-p, 0, 0, 0
	if n != 26 && n != 36 && n != 32 && n != 40 && n != 64 {
		return false
	}
	for j := p; j < e; j++ {
		switch c := s.sign(j); {
		case c == '-':
			dashes++
		case isHex(lower(c)):
			hexes++
			ulid++
		case isUpper(c):
			ulid++
		}
	}
	return n == 26 && ulid == 26 && s.sign(p) <= '7' || n == 36 && dashes == 4 && hexes == 32 || n != 26 && hexes == n
}

// isRandom reports whether a value looks machine-generated: long, with digits and letters, and no id, path or date.
func (s *scan) isRandom(p, e int) bool {
	if e-p < 16 || s.isIdentifier(p, e) {
		return false
	}
	digit, small, large, odd, slashes := 0, 0, 0, 0, 0
	for j := p; j < min(e, p+200); j++ {
		switch c := s.sign(j); {
		case isDigit(c):
			digit++
		case isLower(c):
			small++
		case isUpper(c):
			large++
		case c == '/':
			slashes++
		case c == '.' || c == ':' || c == ' ' || c == other:
			odd++
		}
	}
	return (digit >= 2 && small+large >= 4 || e-p >= 20 && small >= 4 && large >= 4) && odd <= 1 && (slashes == 0 || e-p >= 32 && small >= 4 && large >= 4)
}

// looksSecret reports whether a word of a sentence is a secret: it has digits or signs among its letters, and is no
// id.
func (s *scan) looksSecret(p, e int) bool {
	if e-p < 6 || e-p > 512 || e-p != 32 && s.isIdentifier(p, e) {
		return false
	}
	digit, letter, odd, dots := 0, 0, 0, 0
	for j := p; j < e; j++ {
		switch c := s.sign(j); {
		case isDigit(c):
			digit++
		case isLetter(c):
			letter++
		case c == '!' || c == '$' || c == '#' || c == '&' || c == '*' || c == '+':
			odd++
		case c == '/' || c == ':' || c == '(' || c == '=' || c == '{' || c == other:
			dots++
		}
	}
	return letter > 0 && digit+odd > 0 && dots == 0
}
