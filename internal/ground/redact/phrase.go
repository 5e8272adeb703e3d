package redact

import (
	"strings"

	"piloto/internal/ground/lazy"
)

// The lengths of a secret of words, in bytes.
const (
	leastPhrase = 4
	mostPhrase  = 80
	leastDigits = 6 // of one that has digits only
)

// The words that are not taken for a secret where a file of settings assigns them to the name of one. sorts name the type of
// a value; captions are parts of a text about a secret; noPhrase are parts of names that announce a value of another kind.
var (
	sorts = lazy.Words(`string text str varchar char integer number boolean object array any bytes read write inherit always never auto default
		disabled enabled off plain basic bearer oauth oauth2 jwt ldap kerberos md5 sha1 sha256 scram trust peer ident prompt ask stdin
		keychain keyring env file files vault literal identifier keyword comment operator punctuation variable delimiter separator`)
	captions = []string{
		"password", "passwd", "passphrase", "secret", "token", "credential",
		"contrase", "clave", "passwort", "kennwort", "senha", "passe", "key", "hasło", "wachtwoord",
	}
	noPhrase = []string{"idtoken", "signature", "secrets", "tokens", "passwords", "credential", "claves", "license"}
)

// unjoined removes the signs that join the words of a name.
var unjoined = strings.NewReplacer("-", "", "_", "")

// wordKind returns the kind of the name from i to to if a secret of words may be its value, and none if not.
func (s *judge) wordKind(i, to int, k kind) kind {
	if !s.rules.settings || k != password && k != token && k != short || to-i > maxName || !s.isKey(i, to) {
		return none
	}
	name := unjoined.Replace(s.v.lower(i, to))
	if k == short && !strings.HasSuffix(name, "pass") && !strings.HasSuffix(name, "pw") {
		return none
	}
	for _, part := range noPhrase {
		if strings.Contains(name, part) {
			return none
		}
	}
	s.bare = len(name) <= len("secret")
	return k
}

// isKey reports whether the word from i to to is a name that a file of settings gives a value, and no word of a text.
func (s *judge) isKey(i, to int) bool {
	if s.v.sign(i) == '-' || s.v.sign(to) == '=' && !isSpace(s.v.sign(to+1)) {
		return true // a flag, an attribute
	}
	j := i - 1
	for ; i-j < maxName && (isWord(s.v.sign(j)) || s.v.sign(j) == '.'); j-- {
	}
	if isQuote(s.v.sign(j)) {
		j--
	}
	for isBlank(s.v.sign(j)) {
		j--
	}
	switch c := s.v.sign(j); {
	case c == '-':
		return s.v.sign(j-1) != '-'
	case isSpace(c) || strings.IndexByte("{,<:[(&?;!=", c) >= 0:
		return true
	case isAlnum(c) && s.v.sign(s.v.skipBlanks(to)) == '=': // ldap admin password = X
		for ; i-j < maxName && (isWord(s.v.sign(j)) || isBlank(s.v.sign(j))); j-- {
		}
		return isSpace(s.v.sign(j))
	case c == 't' || c == 'T' || c == 'V':
		word := s.v.lower(max(0, j-5), j+1)
		return strings.HasSuffix(word, "export") || strings.HasSuffix(word, "set") || strings.HasSuffix(word, "env")
	}
	return false
}

// isPhrase reports whether the value from p to e may be a secret of words: it is no reference, and no label.
func (s *judge) isPhrase(p, e int) bool {
	if e-p < leastPhrase || e-p > mostPhrase {
		return false
	}
	var blanks, signs, digits, odd int
	for j := p; j < e; j++ {
		switch c := s.v.sign(j); {
		case c == ' ':
			blanks++
		case c == '-' || c == '_':
			signs++
		case isDigit(c):
			digits++
		case strings.IndexByte("!,'&;@#%*+=.", c) >= 0:
			odd++
		case !isLetter(c) && c != other:
			return false
		}
	}
	switch {
	case digits == e-p:
		return s.named == password && digits >= leastDigits
	case blanks == 0 && digits+odd > 0: // a longer one is judged otherwise
		return s.named == password && e-p < 6 && digits+odd < e-p
	}
	low := s.v.lower(p, e)
	if sorts()[low] || sentence()[low] || nothing()[low] || s.named == token && blanks+signs > 0 && s.bare {
		return false
	}
	for _, word := range samples {
		if strings.Contains(low, word) {
			return false
		}
	}
	for _, word := range captions {
		if at := strings.Index(low, word); at >= 0 && (low == word || blanks+signs > 0 || !s.v.isWordy(p, e)) {
			return false
		}
	}
	return blanks == 0 || blanks < 6 && s.v.sign(e-1) != '.' && !(isUpper(s.v.sign(p)) && digits == 0 && s.v.isSentence(p+1, e))
}
