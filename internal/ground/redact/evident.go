package redact

import (
	"encoding/base64"
	"strings"

	"piloto/internal/ground/lazy"
)

// A Depth says which values of a text are taken for secrets.
type Depth int

// The depths. Text is of the first.
const (
	Whole    Depth = iota // each that may be one
	Settings              // those that a file of settings assigns to the name of a secret, without references and labels
	Evident               // only those that are hardly anything else: source code stays readable
)

// Lines replaces the secrets of a text by marks. Each line of the text stays on its line: a secret of several lines has a
// mark on each. It also returns how many secrets it replaced.
func Lines(text string, d Depth) (masked string, secrets int) {
	before := withGaps(text)
	clean, _, ok := rules{lines: true, evident: d != Whole, settings: d == Settings}.fixpoint(before)
	if !ok {
		clean = gapText + strings.Repeat("\n"+gapText, strings.Count(text, "\n"))
	}
	if clean == before {
		return text, 0
	}
	return strings.ReplaceAll(clean, gapText, Mark), max(1, secretsOf(clean)-secretsOf(before))
}

// secretsOf counts the gaps of a text. Those that are alone on lines one after the other are one.
func secretsOf(text string) int {
	n := strings.Count(text, gapText)
	last := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if last && strings.HasPrefix(line, gapText) {
			n--
		}
		last = strings.HasSuffix(line, gapText)
	}
	return n
}

// leastKey is the least length of a key of a known form that is evident, after its prefix.
const leastKey = 16

// least returns the least length of a key of a form, after its prefix.
func (s keys) least(f form) int {
	if s.rules.evident && f.random {
		return max(f.least, leastKey)
	}
	return f.least
}

// announces reports whether a name announces an evident secret. A weak one does if it is a setting: STRIPE_KEY=X.
func (s *judge) announces(i, to int, k kind) bool {
	switch k {
	case cookie:
		return false
	case weak:
		return s.isSetting(i, to)
	}
	return true
}

// isSetting reports whether the word from i to to is in capitals, and begins a line or follows export or set. The prefix that
// tools put before a line does not count; it may end with a dash in the word.
func (s *judge) isSetting(i, to int) bool {
	for j := to - 1; j >= i; j-- {
		if s.v.sign(j) == '-' {
			i = j + 1
			break
		}
	}
	for j := i; j < to; j++ {
		if c := s.v.sign(j); !isUpperOrDigit(c) && c != '_' {
			return false
		}
	}
	j := i - 1
	for isBlank(s.v.sign(j)) {
		j--
	}
	switch c := s.v.sign(j); {
	case c == '\n' || c == end:
		return true
	case j < i-1 && c == 't' && j >= 2:
		if word := s.v.lower(max(0, j-5), j+1); strings.HasSuffix(word, "export") || strings.HasSuffix(word, "set") {
			return true
		}
	}
	from := i
	for from > 0 && i-from <= mostFramed && s.v.sign(from-1) != '\n' {
		from--
	}
	return i-from <= mostFramed && framed().MatchString(string(s.v.signs[from:i]))
}

// mostFramed is the longest prefix that tools put before a line, in characters: the name of its file, and who wrote it.
const mostFramed = 300

// framed is the prefix that tools put before a line: the signs of a difference, the name of its file and its number, and the
// columns of git blame. A number or a name is followed by a colon, a dash or a blank.
var framed = lazy.Pattern(`^(?:[|*\\/<>+\- \t]*|[ \t]*(?:[^\s"'` + "`" + `(){}\[\]=,;]+[:\-])?(?:\d+(?:[:\-]|[ \t]+))?[+\- \t]*|\^?[0-9a-f]{7,40} [^\n]*\d+\)[ \t]+)(?:export[ \t]+|set[ \t]+)?$`)

// samples are parts of values that stand for a secret.
var samples = []string{
	"example", "ejemplo", "changeme", "change_me", "change-me", "your", "placeholder", "dummy", "xxxx", "sample", "insert", "replace", "redacted",
}

// isEvident reports whether the value from p to e is hardly anything but a secret. In quotes, or as a setting, it has
// signs of several kinds; elsewhere it is random.
func (s *judge) isEvident(p, e int) bool {
	n := e - p
	if s.rules.settings {
		return s.isSet(p, e)
	}
	if n < 8 || n > maxJudged {
		return n > maxJudged && s.v.isBlob(p, p+maxJudged)
	}
	var small, large, digit, odd, sign, turns, changes int
	for j := p; j < e; j++ {
		c, before := s.v.sign(j), s.v.sign(j-1)
		switch {
		case isLower(c):
			small++
		case isUpper(c):
			large++
		case isDigit(c):
			digit++
		case strings.IndexByte("!#&*+@^~?%=/-_$.", c) >= 0:
			odd++
			sign += flagOf(strings.IndexByte("!#&*@^~?%", c) >= 0)
		default:
			return false // a blank, a bracket, an escape: it is code, or a text
		}
		changes += flagOf(j > p && isAlnum(before) && isAlnum(c) && (isDigit(c) != isDigit(before) || isUpper(c) != isUpper(before)))
		turns += flagOf(j > p && isDigit(c) != isDigit(before) && isAlnum(before) && isAlnum(c))
	}
	low := s.v.lower(p, e)
	for _, word := range samples {
		if strings.Contains(low, word) {
			return false
		}
	}
	if c := s.v.sign(p); c == '$' || c == '*' || c == '&' || c == '/' || c == '.' || c == '%' || small+large < 2 || strings.Contains(low, "://") {
		return false // a reference, a path, an address, a number
	}
	kinds := flagOf(small > 0) + flagOf(large > 0) + flagOf(digit > 0) + flagOf(sign > 0)
	random := n >= 16 && (turns >= 3 || 5*changes >= 2*n) && kinds >= 2 && odd <= n/6
	if isQuote(s.v.sign(p-1)) && s.v.sign(e) == s.v.sign(p-1) {
		return random || kinds >= 3 && turns >= 1 && sign > 0 || n >= 12 && kinds >= 3 && turns >= 2 && odd == 0
	}
	if c := s.v.sign(e); !isSpace(c) && c != '&' && c != ';' && c != ',' && c != '"' && c != '\'' {
		return false
	}
	return random || s.v.endsLine(e) && kinds >= 3 && (sign > 0 && turns+sign >= 2 || turns >= 2 && s.v.isAssigned(p))
}

// isSet reports whether a file of settings has a secret from p to e: letters with digits or signs among them, and no
// reference, path or sample. The value of the name of a password may be of words.
func (s *judge) isSet(p, e int) bool {
	if s.named != none && s.isPhrase(p, e) {
		return true
	}
	if e-p < 6 || e-p > maxJudged {
		return e-p > maxJudged && s.v.isBlob(p, p+maxJudged)
	}
	letters, others := 0, 0
	for j := p; j < e; j++ {
		switch c := s.v.sign(j); {
		case isLetter(c):
			letters++
		case isDigit(c) || strings.IndexByte("!#&*@^~?%$+=", c) >= 0:
			others++
		case isSpace(c) || c == gap || strings.IndexByte("{}()[]<>`\"\\", c) >= 0:
			return false
		}
	}
	low := s.v.lower(p, e)
	for _, word := range samples {
		if strings.Contains(low, word) {
			return false
		}
	}
	if c := s.v.sign(p); c == '$' || c == '/' || c == '.' || c == '%' && s.v.sign(e-1) == '%' || strings.Contains(low, "://") || strings.HasPrefix(low, "arn:") {
		return false
	}
	return letters > 0 && others > 0 && (e-p != len("00000000-0000-0000-0000-000000000000") || !s.v.isIdentifier(p, e))
}

func flagOf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// isEncodedKey reports whether the base64 text at i is a private key, and no certificate.
func (s keys) isEncodedKey(i int) bool {
	first, err := base64.StdEncoding.DecodeString(string(s.v.signs[i:min(i+64, len(s.v.signs))]))
	return err != nil || strings.Contains(string(first), "PRIVATE KEY")
}
