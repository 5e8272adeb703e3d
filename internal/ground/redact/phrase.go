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

// The words that are not taken for a secret where a file of settings assigns them to the name of one. sorts say what a
// value is; captions are parts of a text about a secret; noPhrase are parts of names that announce a value of another kind.
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

// wordKind returns the kind of the name from i to to if a secret of words may be its value, and none if not.
func (s *scan) wordKind(i, to int, k kind) kind {
	if !s.settings || k != password && k != token && k != short || to-i > maxName || !s.isKey(i, to) {
		return none
	}
	name := strings.NewReplacer("-", "", "_", "").Replace(s.lower(i, to))
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
func (s *scan) isKey(i, to int) bool {
	if s.sign(i) == '-' || s.sign(to) == '=' && !isSpace(s.sign(to+1)) {
		return true // a flag, an attribute
	}
	j := i - 1
	for ; i-j < maxName && (isWord(s.sign(j)) || s.sign(j) == '.'); j-- {
	}
	if isQuote(s.sign(j)) {
		j--
	}
	for isBlank(s.sign(j)) {
		j--
	}
	switch c := s.sign(j); {
	case c == '-':
		return s.sign(j-1) != '-'
	case isSpace(c) || strings.IndexByte("{,<:[(&?;!=", c) >= 0:
		return true
	case isAlnum(c) && s.sign(s.skipBlanks(to)) == '=': // ldap admin password = X
		for ; i-j < maxName && (isWord(s.sign(j)) || isBlank(s.sign(j))); j-- {
		}
		return isSpace(s.sign(j))
	case c == 't' || c == 'T' || c == 'V':
		word := s.lower(max(0, j-5), j+1)
		return strings.HasSuffix(word, "export") || strings.HasSuffix(word, "set") || strings.HasSuffix(word, "env")
	}
	return false
}

// phraseEnd returns the end of the words from p on, if the name at i begins its line, and nothing but words follows. Else it
// returns e.
func (s *scan) phraseEnd(i, p, e int) int {
	for j := i - 1; ; j-- {
		c := s.sign(j)
		if c == '\n' || c == end && j < 0 {
			break
		}
		if !isWord(c) && c != '.' && c != ' ' && c != '\t' && c != ':' || i-j > maxName {
			return e
		}
	}
	j, last := p, p
	for ; j-p <= mostPhrase; j++ {
		switch c := s.sign(j); {
		case c == '\n' || c == '\r' || c == end || c == '#' && isBlank(s.sign(j-1)):
			return max(e, last)
		case isAlnum(c) || c == other || strings.IndexByte("-_!,'&@%*+.", c) >= 0:
			last = j + 1
		case !isBlank(c):
			return e
		}
	}
	return e
}

// isPhrase reports whether the value from p to e may be a secret of words: it is no reference, and no label.
func (s *scan) isPhrase(p, e int) bool {
	if e-p < leastPhrase || e-p > mostPhrase {
		return false
	}
	var blanks, signs, digits, odd int
	for j := p; j < e; j++ {
		switch c := s.sign(j); {
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
	low := s.lower(p, e)
	if sorts()[low] || sentence()[low] || nothing()[low] || s.named == token && blanks+signs > 0 && s.bare {
		return false
	}
	for _, word := range samples {
		if strings.Contains(low, word) {
			return false
		}
	}
	for _, word := range captions {
		if at := strings.Index(low, word); at >= 0 && (low == word || blanks+signs > 0 || !s.isWordy(p, e)) {
			return false
		}
	}
	return blanks == 0 || blanks < 6 && s.sign(e-1) != '.' && !(isUpper(s.sign(p)) && digits == 0 && s.isSentence(p+1, e))
}

// isSentence reports whether a text has no capital.
func (s *scan) isSentence(p, e int) bool {
	for j := p; j < e; j++ {
		if isUpper(s.sign(j)) {
			return false
		}
	}
	return true
}
