package command

import (
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/lazy"
)

// Class is the danger of a command: how carefully a person should read it.
type Class int

// The classes, from the least dangerous.
const (
	Safe        Class = iota // it only reads inside its folder, reads no secret, and ends
	Sensitive                // it changes something, or its effect is unknown
	Destructive              // its effect cannot be reversed
)

// String returns the name of a class.
func (c Class) String() string {
	switch c {
	case Safe:
		return "safe"
	case Sensitive:
		return "sensitive"
	}
	return "destructive"
}

// Finding is one reason why a command is not safe. What is the part of the text (at most 120
// characters). Why is a key: "command.why.WHY" in locale is its sentence.
type Finding struct {
	What  string
	Why   string
	Class Class
}

// Result is the class of a text, which is the highest of its findings, and the findings in the
// order of discovery.
type Result struct {
	Class    Class
	Findings []Finding
}

// Limits of the analysis. Text beyond them is sensitive, or destructive when one of its words is
// destructive.
const (
	maxText        = 16 << 10 // bytes
	maxNesting     = 200      // opening brackets, and words that nest
	maxDepth       = 8        // texts within texts
	perByte        = 64       // bytes of all texts and words that are read, for each byte of the text
	maxFindings    = 40
	maxPending     = 1000
	longestFinding = 120 // characters
)

// Classify returns the danger of a shell command. It reads at most 16 KB, in linear time, and never
// fails: a text that cannot be parsed is sensitive.
func Classify(text string) Result { return analyse(text).result }

// Parts returns the findings of the parts that stand in a text as commands. Findings of texts that it prints, or writes to a
// file, are not among them, because they are guesses.
func Parts(text string) []Finding { return begin(text).result.Findings }

// analyse reads a text, and the code that it holds as data, and returns the analysis.
func analyse(text string) *analysis {
	j := begin(text)
	if len(text) <= maxText {
		j.readHidden()
	}
	return j
}

// begin reads the parts of a text.
func begin(text string) *analysis {
	j := &analysis{text: text, vars: map[string]value{}, funcs: map[string]bool{}, programs: map[string]Class{}}
	switch {
	case strings.TrimSpace(text) == "":
		j.addFinding("", "empty", Sensitive)
	case len(text) > maxText:
		j.addFinding(text, "long", j.unknownClass())
	default:
		j.read(text)
	}
	return j
}

// analysis is the state of the analysis of one text.
type analysis struct {
	text   string
	result Result
	vars   map[string]value
	funcs  map[string]bool
	depth  int
	spent  int
	waited float64 // seconds of all sleeps

	scanned, destroys bool // scanned means that destroys is set: whether a word of the text is destructive

	inProtected bool     // the command changed to a folder that a system depends on
	inShared    bool     // the command changed to a folder that any user can write
	runsUnseen  bool     // it runs code that is not in the text
	fetches     bool     // it fetches or unpacks code
	pending     [][]word // words that may be a command: arguments of functions, elements of arrays
	dataTexts   []string // texts that may be that code: of echo, and of here-documents

	trace    []string         // the commands and redirections, in order
	programs map[string]Class // the programs that are called, with the highest class of their calls
}

// value is the known value of a variable. number means that the value is a number, also when it is
// unknown.
type value struct {
	text   string
	known  bool
	number bool
}

func (j *analysis) addFinding(what, why string, c Class) {
	if c == Safe {
		return
	}
	j.result.Class = max(j.result.Class, c)
	if len(j.result.Findings) < maxFindings {
		j.result.Findings = append(j.result.Findings, Finding{What: clip.Runes(clip.LineWithout(what, func(r rune) bool { return r == utf8.RuneError }), longestFinding), Why: why, Class: c})
	}
}

// unknownClass returns the class of a part whose meaning is unknown: Sensitive, or Destructive when any
// word of the text is destructive.
func (j *analysis) unknownClass() Class {
	if !j.scanned {
		j.scanned, j.destroys = true, isDestructive(j.text)
	}
	if j.destroys {
		return Destructive
	}
	return Sensitive
}

// spend counts the bytes, words and nodes that were read. It returns false when there are too many.
func (j *analysis) spend(n int) bool {
	j.spent += n
	return j.spent <= perByte*(len(j.text)+256)
}

// read analyses a text as a shell reads it.
func (j *analysis) read(text string) {
	if j.depth >= maxDepth || !j.spend(len(text)) || nesting(text) > maxNesting {
		j.addFinding(text, "deep", j.unknownClass())
		j.runsUnseen = true
		return
	}
	j.depth++
	defer func() { j.depth-- }()
	file, ok := parse(text)
	if !ok {
		j.addFinding(text, "unparsed", j.unknownClass())
		if callsItself(text) {
			j.addFinding(text, "endless", Destructive)
		}
		j.readPieces(text)
		return
	}
	j.walk(file)
}

// parse parses a text as bash. A panic of the parser counts as a syntax error.
func parse(text string) (file *syntax.File, ok bool) {
	defer func() {
		if recover() != nil {
			file, ok = nil, false
		}
	}()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	return file, err == nil
}

// nesting counts the opening brackets and words. A text with too many is not parsed.
func nesting(text string) int {
	n := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{', '[', '`':
			n++
		}
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ';' || r == '\n' || r == '\t' || r == '!' }) {
		switch word {
		case "if", "while", "until", "for", "case", "select", "time", "coproc", "function":
			n++
		}
	}
	return n + strings.Count(text, "!")
}

// callsItself reports whether a text with a syntax error seems to declare a function that calls
// itself: its name stands before () and twice more.
func callsItself(text string) bool {
	head, _, ok := strings.Cut(strings.ReplaceAll(text, " ()", "()"), "()")
	names := strings.Fields(head)
	return ok && len(names) > 0 && strings.Count(text, names[len(names)-1]) > 2
}

// readPieces analyses a text with a syntax error, as if each of its parts were a command.
func (j *analysis) readPieces(text string) {
	parts := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(";|&\n(){}`", r) })
	for _, part := range parts {
		part = strings.TrimSpace(part)
		if part == "" || !j.spend(len(part)) {
			continue
		}
		var words []word
		for _, w := range strings.Fields(strings.NewReplacer("'", "", `"`, "", `\`, "").Replace(part)) {
			words = append(words, word{text: w, dynamic: strings.ContainsAny(w, "$*?")})
		}
		if len(words) > 1 { // the arguments, in case it is a function
			j.pending = append(j.pending, words[1:])
		}
		if file, ok := parse(part); ok {
			j.walk(file)
			continue
		}
		if truncates().MatchString(part) && !truncatesNothing().MatchString(part) {
			j.addFinding(part, "overwrites", Destructive)
		}
		j.run(words)
	}
}

// truncates matches a redirection that may empty a file, and truncatesNothing one to a device without content.
var (
	truncates        = lazy.Pattern(`(^|[^>-])>([^>&]|&\s*[^0-9\s-])`)
	truncatesNothing = lazy.Pattern(`^[^>]*>\s*/dev/(null|stdout|stderr|tty)\b[^>]*$`)
)

// readHidden analyses code that the text runs and that it holds only as data, or that comes from
// elsewhere.
func (j *analysis) readHidden() {
	if !j.runsUnseen {
		return
	}
	switch {
	case j.fetches:
		j.addFinding(j.text, "fetched", Destructive)
	case j.unknownClass() == Destructive:
		j.addFinding(j.text, "unseen", Destructive)
	}
	for i := 0; i < len(j.dataTexts); i++ {
		j.read(j.dataTexts[i])
	}
	for i := 0; i < len(j.pending) && i < maxPending; i++ {
		j.runInner(j.pending[i])
	}
}
