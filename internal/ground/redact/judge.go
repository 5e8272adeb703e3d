package redact

import "piloto/internal/ground/lazy"

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

// judge distinguishes secrets from other values.
type judge struct {
	v     *view
	rules rules
	named kind // of the name whose value is judged, if it may be of words
	bare  bool // that name is no more than secret or token: it may name another thing
}

// isSecret reports whether the value from p to e is a secret, for a name of a kind. The value may be a text in
// quotes.
func (s *judge) isSecret(p, e int, sep byte, k kind, quoted bool) bool {
	e = min(e, len(s.v.signs))
	if e <= p {
		return false
	}
	if !quoted && e-p > maxJudged {
		return true // such a value is not read again
	}
	long, alnum := e-p, false
	for j := p; j < min(e, p+100) && !alnum; j++ {
		c := s.v.sign(j)
		alnum = isAlnum(c) || c == gap || c == other
	}
	if !alnum || s.v.isNothing(p, e) {
		return false
	}
	if s.named != none {
		return true // the value is judged when it is taken
	}
	switch k {
	case weak:
		return s.v.isRandom(p, e)
	case short:
		return !s.v.isWordy(p, e) && (quoted || sep == '=' || s.v.looksSecret(p, e)) && !(long < 4 && s.v.areDigits(p, e))
	case password:
		if quoted || sep == '=' {
			return !(long <= 3 && s.v.areDigits(p, e))
		}
		return !(long <= 24 && sentence()[s.v.lower(p, e)])
	case none, token, scheme, cookie:
		if quoted || sep == '=' {
			return true
		}
		return !s.v.isWordy(p, e) && !(s.v.areDigits(p, e) && long < 6)
	}
	return true
}
