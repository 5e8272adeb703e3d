package redact

import (
	"strings"
)

// Mark replaces a secret. While the rules run, a character that no text contains replaces it.
const Mark = "[redacted]"

const gapText = string(rune(gap))

// maxPasses limits how often the rules run until they find no more secrets. A text that needs more passes is
// replaced completely.
const maxPasses = 6

// Text returns text with every secret in it replaced by Mark: values with an announcing name, authorization
// schemes, user information in URLs, keys of known forms, and this program's own 43-character tokens. Its time is
// linear in the text, and redacting twice is redacting once.
func Text(text string) string {
	clean, _ := textAndCost(text)
	return clean
}

// textAndCost also returns the number of characters that were read.
func textAndCost(text string) (string, int) {
	if len(text) < 6 || isPlainName(text) {
		return text, 0
	}
	return byRules(text)
}

// byRules runs the rules until they find no more secrets.
func byRules(text string) (string, int) {
	clean, ops, ok := rules{}.fixpoint(withGaps(text))
	if !ok {
		return Mark, ops
	}
	return strings.ReplaceAll(clean, gapText, Mark), ops
}

// withGaps replaces each mark of a text by a gap.
func withGaps(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, gapText, "\uFFFD"), Mark, gapText)
}

// rules are the ways in which the rules can run.
type rules struct {
	lines    bool // each line keeps its number
	evident  bool // only evident secrets are taken
	settings bool // and values that are no word
}

// fixpoint runs the rules on a text with gaps until they find no more secrets. It returns false if they always do.
func (r rules) fixpoint(text string) (clean string, ops int, ok bool) {
	for range maxPasses {
		s := newScan(newView(text), r)
		s.run()
		next := s.out.result()
		ops += s.v.ops
		if next == text {
			return text, ops, true
		}
		text = next
	}
	return "", ops, false
}

// plainName is below the length of the shortest key that has neither digits nor capitals: whsec_ and eight letters.
const plainName = 13

// isPlainName reports a short name without digits or capitals, as the fields and messages of a log are. No rule takes
// any of it: it is no key of a known form, and announces no value.
func isPlainName(text string) bool {
	if len(text) > plainName {
		return false
	}
	for i := range len(text) {
		if c := text[i]; (c < 'a' || c > 'z') && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// scan reads a view once, from its beginning to its end.
type scan struct {
	v      *view
	rules  rules
	judge  judge
	keys   keys
	pems   pems
	limits limits
	out    output
	flags  byte // the flags with a secret of the command on this line
}

func newScan(v *view, r rules) *scan {
	s := &scan{v: v, rules: r, judge: judge{v: v, rules: r}, keys: keys{v, r}, pems: pems{v: v, rules: r}, limits: limits{v: v}, out: output{v: v, rules: r}}
	s.out.judge = &s.judge
	return s
}

func (s *scan) run() {
	rests := s.pems.pemRests()
	for i := 0; i < len(s.v.signs); {
		for len(rests) > 0 && rests[0].to <= i {
			rests = rests[1:]
		}
		c := s.v.sign(i)
		switch {
		case len(rests) > 0 && rests[0].from <= i:
			from := rests[0].from
			for int(s.v.at[from]) < s.out.kept {
				from++
			}
			i = s.out.takeAll(from, rests[0].to)
		case c == '-' && s.v.sign(i+1) == '-' && (s.v.has(i, "-----BEGIN") || s.v.has(i, "---- BEGIN")):
			if to := s.pems.pem(i); to > i {
				i = s.out.takeAll(i, to)
			} else {
				i += 10
			}
		case isWord(c):
			i = s.word(i)
		case c == '\n' && s.v.levelOf(i) == 0:
			s.flags = 0
			i++
		case c == ':' && s.v.sign(i+1) == '/' && s.v.sign(i+2) == '/':
			i = s.user(i + 3)
		default:
			i++
		}
	}
}

// word reads the word at i, and removes the secret that it is or announces. It returns the next position.
func (s *scan) word(i int) int {
	to := i
	for isWord(s.v.sign(to)) {
		if to > i && s.v.sign(to) == '-' && (s.v.has(to, "-----BEGIN") || s.v.has(to, "-----END ")) {
			break
		}
		to++
	}
	if from, end := s.keys.knownForm(i, to); end > from {
		return s.out.takeAll(from, end)
	}
	if from, end := s.pems.putty(i, to); end > from {
		return s.out.takeAll(from, end)
	}
	if s.v.sign(to) == '/' || s.v.sign(to) == '.' {
		if from, end := s.keys.hook(i, to); end > from {
			return s.out.takeAll(from, end)
		}
	}
	if from, end := s.keys.afterScheme(i, to); end > from {
		return s.out.takeAll(from, end)
	}
	if end := s.flagValue(i, to); end > to {
		return end
	}
	if k := s.v.nameAt(to); k != none && !s.isFolder(i, to) && (!s.rules.evident || s.judge.announces(i, to, k)) {
		s.judge.named = s.judge.wordKind(i, to, k)
		next := s.takeValue(i, to, k)
		if s.judge.named = none; next > to {
			return next
		}
	}
	if from, end := s.login(i, to); end > from {
		return s.out.take(from, end)
	}
	return to
}

// isFolder reports whether a word is the variable that has the current folder, PWD or OLDPWD, and its value is a path.
func (s *scan) isFolder(i, to int) bool {
	if n := to - i; n != 3 && n != 6 || s.v.sign(to) != '=' || s.v.sign(to+1) != '/' {
		return false
	}
	name := string(s.v.signs[i:to])
	return name == "PWD" || name == "OLDPWD"
}
