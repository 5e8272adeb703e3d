package mask

import (
	"bytes"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode"

	"piloto/internal/ground/lazy"
	"piloto/internal/ground/redact"
	"piloto/internal/workspace"
)

// A Secret is a line of a file that has secrets.
type Secret struct {
	line, masked string   // without the blanks around it
	since        string   // the lines of the masked content from the secret before it, or the beginning, to this one
	values       []string // the masked values that are secrets anywhere
}

// Mentions reports whether Find may find secrets in a file, by its name, that Output does not find by itself: the file
// usually has secrets, or it has settings of which one may be a secret.
func Mentions(shown workspace.Shown, name string) bool {
	return !shown.Names(name) && (shown.Secrets(name) != workspace.NoSecrets || isSettings(name))
}

// Find returns the lines of a text file that have secrets, and its content with masks; nil if it has none.
func Find(shown workspace.Shown, name string, content []byte) (list []Secret, safe []byte) {
	safe, n := Content(shown, name, content)
	if n == 0 {
		return nil, nil
	}
	rest := map[string]bool{} // the words that are shown, but for comments
	for _, word := range words().FindAllString(strings.ReplaceAll(comments().ReplaceAllString(string(safe), ""), Mark, " "), -1) {
		rest[word] = true
	}
	kind := shown.Secrets(name)
	declared := kind != workspace.EveryValue && kind != workspace.SomeValues || isSettings(name) && kindSecret().Match(content)
	list = Apart(content, safe)
	for i, s := range list {
		for _, taken := range taken(s.line, s.masked) {
			for _, v := range taken.parts() {
				if v.isSecretAnywhere(rest, declared) {
					list[i].values = append(list[i].values, v.text)
				}
			}
		}
	}
	return list, safe
}

// Apart returns the lines of a text file in which its masked form differs, without the values of their masks.
func Apart(content, safe []byte) (list []Secret) {
	plain, masked := lines(content), lines(safe)
	from := 0
	for i := range min(len(plain), len(masked)) {
		if plain[i] != masked[i] {
			list = append(list, Secret{line: plain[i], masked: masked[i], since: joined(masked[from : i+1])})
			from = i + 1
		}
	}
	return list
}

// joined returns lines as one text, without the blanks around them.
func joined(lines []string) string {
	trimmed := make([]string, len(lines))
	for i, line := range lines {
		trimmed[i] = strings.TrimSpace(line)
	}
	return strings.Join(trimmed, "\n")
}

func lines(content []byte) []string {
	all := strings.Split(string(content), "\n")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}

var words = lazy.Pattern(`[\pL\pN_-]+`)

// comments are those of settings.
var comments = lazy.Pattern(`(?m)(?:^[ \t]*|[ \t])(?:#|//|;|<!--).*$`)

// value is a masked value of a line.
type value struct{ before, text string }

// taken returns the masked values of a line.
func taken(plain, masked string) (list []value) {
	parts := strings.Split(masked, Mark)
	at := 0
	for i, part := range parts[:len(parts)-1] {
		j := strings.Index(plain[at:], part)
		if i == 0 && j != 0 || j < 0 {
			return list
		}
		from, next := at+j+len(part), parts[i+1]
		to := len(plain)
		if i+1 < len(parts)-1 && next != "" {
			if j = strings.Index(plain[from:], next); j < 0 {
				return list
			}
			to = from + j
		} else if i+1 == len(parts)-1 {
			if to = len(plain) - len(next); to < from || !strings.HasSuffix(plain, next) {
				return list
			}
		}
		if text := strings.Trim(plain[from:to], `"' `); text != "" && text != Mark {
			list = append(list, value{plain[:from], text})
		}
		at = to
	}
	return list
}

// The parts of a value that are no secret: the tags and anchors of YAML, and all of an address but its password.
var (
	tags    = lazy.Pattern(`^(?:[!&]\S*[ \t]+)+`)
	address = lazy.Pattern(`//[^\s/:@]*:(\S+)@`)
)

// parts returns the parts of a value that are secrets by themselves: the password of an address, as it is and unescaped, the
// default of a reference, or the value without its tags.
func (v value) parts() []value {
	v.text = strings.Trim(tags().ReplaceAllString(v.text, ""), `"' `)
	text := v.text
	if strings.HasSuffix(v.before, "//") {
		text = "//" + text + "@"
	}
	if of := address().FindStringSubmatch(text); of != nil {
		v = value{text: of[1]}
	}
	if i := strings.LastIndex(v.before, "${"); i >= 0 && !strings.ContainsAny(v.before[i:], "} ") {
		v.before = v.before[:i]
	}
	if redact.Reference(v.text) {
		return nil
	}
	v.text = redact.Default(v.text)
	if plain, err := url.PathUnescape(v.text); err == nil && plain != v.text {
		return []value{v, {v.before, plain}}
	}
	return []value{v}
}

// leastWord is the least length of a word that is a secret in other texts, too: a shorter one is common.
const leastWord = 7

// isSecretAnywhere reports whether a value is a secret in other texts, too. A word is none if it is short or usual, or if the
// file shows it elsewhere. declared says that each masked value is one: none was masked only because it is a value of its file.
func (v value) isSecretAnywhere(rest map[string]bool, declared bool) bool {
	named := declared || strings.TrimSpace(v.before) == "" || namesSecret(v.before)
	switch {
	case len(v.text) < 4 || plain().MatchString(v.text):
		return false
	case letters().MatchString(v.text):
		return named && len(v.text) >= leastWord && !redact.Name(v.text) && !rest[v.text] && !redact.Usual(v.text)
	case len(v.text) < redact.MinSecret:
		return false
	}
	return named && !rest[v.text] || random(v.text) && (len(v.text) >= 16 || strings.ContainsAny(v.text, "!@#$%^&*~"))
}

var letters = lazy.Pattern(`^\pL+$`)

// Known finds the secrets of files in the outputs of commands. The zero value knows none.
type Known struct {
	lines map[string]string // a line of a file, as it is masked
	words map[string]bool
	texts map[string]bool

	mu   sync.Mutex        // guards made
	made *strings.Replacer // of the texts, in each of their forms
}

// Limits of the known secrets.
const (
	maxKnown     = 20_000 // secrets
	longestKnown = 1_000  // bytes of a line of a file that is found as it is
	longestWord  = 200    // bytes of a word of which a part is looked up
)

// Add makes secrets known.
func (k *Known) Add(list []Secret) {
	if k.lines == nil {
		k.lines, k.words, k.texts = map[string]string{}, map[string]bool{}, map[string]bool{}
	}
	for _, s := range list {
		if len(k.lines) >= maxKnown {
			return
		}
		if strings.ReplaceAll(s.masked, Mark, "") != "" || len(s.values) > 0 {
			k.lines[s.line], k.made = s.masked, nil
		}
		for _, v := range s.values {
			isWord := words().FindString(v) == v
			if isWord {
				k.words[v] = true
			}
			if !isWord || len(v) >= redact.MinSecret+2 && !letters().MatchString(v) { // also inside of another word
				k.texts[v] = true
			}
		}
	}
}

// Output returns the output of a command as a model may read it, and how many secrets have a mask: the known ones, and those
// that their form shows.
func (k *Known) Output(text string) (masked string, secrets int) {
	before := strings.Count(text, Mark)
	if k != nil && len(k.lines) > 0 {
		text = k.replace(text)
	}
	secrets = max(0, strings.Count(text, Mark)-before)
	text, n := redact.Lines(text, redact.Evident)
	text, more := shapes(text)
	return text, secrets + n + more
}

// Content is the function Content for a file that may have copies of secrets that are known. A nil Known knows none.
func (k *Known) Content(shown workspace.Shown, name string, content []byte) (masked []byte, secrets int) {
	masked, secrets = Content(shown, name, content)
	return k.copies(shown, name, masked, secrets)
}

// copies masks the copies of known secrets of other files in a content that has some masks.
func (k *Known) copies(shown workspace.Shown, name string, masked []byte, secrets int) ([]byte, int) {
	if k == nil || len(k.lines) == 0 || shown.Names(name) {
		return masked, secrets
	}
	text := k.replace(string(masked))
	if more := strings.Count(text, Mark) - bytes.Count(masked, []byte(Mark)); more > 0 {
		return []byte(text), secrets + more
	}
	return masked, secrets
}

// Copy returns a masked text with masks for all secrets that are known. A nil Known knows none.
func (k *Known) Copy(masked []byte) []byte {
	if k == nil || len(k.lines) == 0 {
		return masked
	}
	return []byte(k.replace(string(masked)))
}

// replacer masks the texts in each of their forms.
func (k *Known) replacer() *strings.Replacer {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.made == nil {
		var pairs []string
		for _, v := range slices.SortedFunc(maps.Keys(k.texts), func(a, b string) int { return len(b) - len(a) }) {
			for _, form := range redact.Forms(v) {
				pairs = append(pairs, form, Mark)
			}
		}
		k.made = strings.NewReplacer(pairs...)
	}
	return k.made
}

func (k *Known) replace(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(k.line(line))
	}
	text = k.replacer().Replace(b.String())
	return words().ReplaceAllStringFunc(text, k.word)
}

// word returns a word with masks for it, or for its known parts between - and _.
func (k *Known) word(word string) string {
	joins := func(c byte) bool { return c == '-' || c == '_' }
	for from := range min(len(word), longestWord) {
		if from > 0 && !joins(word[from-1]) {
			continue
		}
		for to := min(len(word), from+longestWord); to > from; to-- {
			if (to == len(word) || joins(word[to])) && k.words[word[from:to]] {
				return word[:from] + Mark + k.word(word[to:])
			}
		}
	}
	return word
}

// line returns a line of an output, whose end may be a line of a file: programs write names, numbers and signs before it.
func (k *Known) line(line string) string {
	if head := k.head(line); head != "" {
		return head
	}
	end := len(strings.TrimRight(line, " \t\r\n$"))
	for i := max(0, end-longestKnown); i < end; i++ {
		if line[i] == ' ' || i > 0 && isAlnum(line[i-1]) && isAlnum(line[i]) {
			continue
		}
		if masked, ok := k.lines[line[i:end]]; ok {
			return line[:i] + masked + line[end:]
		}
	}
	return line
}

// leastCut is the least length of a line of which a program shows only the beginning in the head of a part of a diff, in bytes:
// diff shows 40, and git 80. A shorter one is a whole line.
const leastCut = 36

// head returns the head of a part of a diff with a mask after the text with which a line that is known begins; "" for another
// line. It does not compare the masked value, because that would confirm a guess of a few letters.
func (k *Known) head(line string) string {
	if !strings.Contains(line, "@@ ") {
		return ""
	}
	at := headOf().FindStringIndex(line)
	if at == nil {
		return ""
	}
	rest := strings.TrimLeft(line[at[1]:], " \t")
	text := strings.TrimRight(rest, "\uFFFD \r\n")
	stays := len(text)
	for _, safe := range k.lines {
		before, _, _ := strings.Cut(safe, Mark)
		if strings.HasPrefix(text, before) && (len(text) >= leastCut || strings.ContainsFunc(before, unicode.IsLetter)) {
			stays = min(stays, len(before))
		}
	}
	if stays == len(text) {
		return ""
	}
	return line[:at[1]] + text[:stays] + Mark + rest[len(text):]
}

func isAlnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// Masks returns the lines of a masked text that have a mask, without the blanks around them.
func Masks(masked []byte) []string {
	if !bytes.Contains(masked, []byte(Mark)) {
		return nil
	}
	return slices.DeleteFunc(lines(masked), func(line string) bool { return !strings.Contains(line, Mark) })
}
