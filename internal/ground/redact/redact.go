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

// withGaps returns a text with a gap in place of each mark.
func withGaps(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, gapText, "\uFFFD"), Mark, gapText)
}

// rules are the ways in which the rules can run.
type rules struct {
	lines    bool // each line keeps its number
	evident  bool // only what is evident is taken
	settings bool // and what is no word
}

// fixpoint runs the rules on a text with gaps until they find no more secrets. It returns false if they always do.
func (r rules) fixpoint(text string) (clean string, ops int, ok bool) {
	for range maxPasses {
		s := scan{view: newView(text), rules: r}
		s.run()
		next := s.result()
		ops += s.ops
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
	*view
	rules
	out   strings.Builder
	kept  int           // the length of the text that is decided
	found map[goal]span // what was looked for last, and where it is
	noEnd bool          // no private key after this position has an end line
	named kind          // of the name whose value is looked at, if it may be of words
	bare  bool          // that name is no more than secret or token: it may name another thing
	flags byte          // the flags with a secret of the command on this line
}

// take replaces the characters between two positions by a gap. It returns to, or from when they are kept because they
// are not evident.
func (s *scan) take(from, to int) int {
	if s.lines && to-from <= maxJudged {
		from, to = inner(s, from, min(to, len(s.signs)))
	}
	if s.evident && !s.isEvident(from, min(to, len(s.signs))) {
		return from
	}
	return s.takeAll(from, to)
}

// takeAll is take for what is evident by its form.
func (s *scan) takeAll(from, to int) int {
	to = min(to, len(s.signs))
	empty := true
	for i := from; i < to && empty; i++ {
		empty = s.sign(i) == gap || isSpace(s.sign(i))
	}
	if empty {
		return max(from, to)
	}
	s.out.WriteString(s.text[s.kept:s.at[from]])
	s.out.WriteString(gapText)
	if s.lines {
		s.out.WriteString(strings.Repeat("\n"+gapText, strings.Count(s.text[s.at[from]:s.at[to]], "\n")))
	}
	s.kept = int(s.at[to])
	return to
}

func (s *scan) result() string {
	if s.kept == 0 {
		return s.text
	}
	s.out.WriteString(s.text[s.kept:])
	return s.out.String()
}

func (s *scan) run() {
	rests := s.pemRests()
	for i := 0; i < len(s.signs); {
		for len(rests) > 0 && rests[0].to <= i {
			rests = rests[1:]
		}
		c := s.sign(i)
		switch {
		case len(rests) > 0 && rests[0].from <= i:
			from := rests[0].from
			for int(s.at[from]) < s.kept {
				from++
			}
			i = s.takeAll(from, rests[0].to)
		case c == '-' && s.sign(i+1) == '-' && (s.has(i, "-----BEGIN") || s.has(i, "---- BEGIN")):
			if to := s.pem(i); to > i {
				i = s.takeAll(i, to)
			} else {
				i += 10
			}
		case isWord(c):
			i = s.word(i)
		case c == '\n' && s.levelOf(i) == 0:
			s.flags = 0
			i++
		case c == ':' && s.sign(i+1) == '/' && s.sign(i+2) == '/':
			i = s.user(i + 3)
		default:
			i++
		}
	}
}

// word reads the word at i, and removes the secret that it is or announces. It returns the next position.
func (s *scan) word(i int) int {
	to := i
	for isWord(s.sign(to)) {
		if to > i && s.sign(to) == '-' && (s.has(to, "-----BEGIN") || s.has(to, "-----END ")) {
			break
		}
		to++
	}
	if from, end := s.knownForm(i, to); end > from {
		return s.takeAll(from, end)
	}
	if from, end := s.putty(i, to); end > from {
		return s.takeAll(from, end)
	}
	if s.sign(to) == '/' || s.sign(to) == '.' {
		if from, end := s.hook(i, to); end > from {
			return s.takeAll(from, end)
		}
	}
	if from, end := s.afterScheme(i, to); end > from {
		return s.takeAll(from, end)
	}
	if end := s.flagValue(i, to); end > to {
		return end
	}
	if k := s.nameAt(to); k != none && !s.isFolder(i, to) && (!s.evident || s.announces(i, to, k)) {
		s.named = s.wordKind(i, to, k)
		next := s.takeValue(i, to, k)
		if s.named = none; next > to {
			return next
		}
	}
	if from, end := s.login(i, to); end > from {
		return s.take(from, end)
	}
	return to
}

// knownForm returns the secret with a known form in the word from i to to.
func (s *scan) knownForm(i, to int) (int, int) {
	if !s.evident && s.isOwnToken(i, to) {
		return i, to
	}
	if from, end := s.twilio(i, to); end > 0 {
		return from, end
	}
	if end := s.telegram(i, to); end > 0 {
		return i, end
	}
	for j := i; j < to; j++ {
		if j == i || !isAlnum(s.sign(j-1)) {
			if end := s.keyEnd(j, to); end > 0 {
				return j, end
			}
		}
	}
	return 0, 0
}

// afterScheme returns the credentials after Bearer and Basic, if they are no word.
func (s *scan) afterScheme(i, to int) (int, int) {
	if n := to - i; n != 5 && n != 6 {
		return 0, 0
	}
	if w := s.lower(i, to); w != "basic" && w != "bearer" {
		return 0, 0
	}
	from := to
	for isBlank(s.sign(from)) || s.sign(from) == '+' {
		from++
	}
	j := from
	goesOn := func() bool { c := s.sign(j); return isBase64(c) || c == '.' || c == '~' }
	for j < from+mostRead && goesOn() {
		j++
	}
	if from == to || j-from < 6 || !s.isMixed(from, j) || s.evident && !s.isRandom(from, j) {
		return 0, 0
	}
	for goesOn() {
		j++
	}
	return from, j
}

// isFolder reports whether a word is the variable that has the current folder, PWD or OLDPWD, and its value is a path.
func (s *scan) isFolder(i, to int) bool {
	if n := to - i; n != 3 && n != 6 || s.sign(to) != '=' || s.sign(to+1) != '/' {
		return false
	}
	name := string(s.signs[i:to])
	return name == "PWD" || name == "OLDPWD"
}
