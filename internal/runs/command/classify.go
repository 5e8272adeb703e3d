package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Class says how much a person should look at a command.
type Class int

// The classes, from the least dangerous.
const (
	Safe        Class = iota // it only reads, of its folder, no secret, and ends
	Sensitive                // it changes something, or nobody knows what it does
	Destructive              // what it takes away does not come back
)

// String names a class.
func (c Class) String() string {
	switch c {
	case Safe:
		return "safe"
	case Sensitive:
		return "sensitive"
	}
	return "destructive"
}

// Finding is one thing in a command that makes it more than safe. What is the part
// of the text (at most 120 characters), Why a key: "command.why.WHY" in locale is
// its sentence.
type Finding struct {
	What  string
	Why   string
	Class Class
}

// Result is the class of a text, the highest of its findings, and what was found,
// in the order in which it was.
type Result struct {
	Class    Class
	Findings []Finding
}

// Bounds of what is read. What is beyond them is sensitive, or destructive when a
// word of it destroys.
const (
	maxText     = 16 << 10 // bytes
	maxNesting  = 200      // brackets that open, and words that do
	maxDepth    = 8        // texts within texts
	perByte     = 64       // bytes of all texts and words together that are read for one of the text
	maxFindings = 40
	maxPending  = 1000
)

// Classify says how dangerous a shell command is. It reads at most 16 KB, in time
// that grows in proportion to the text, and never fails: what cannot be read is
// sensitive.
func Classify(text string) Result { return judged(text).result }

// judged reads a text.
func judged(text string) *judge {
	j := &judge{text: text, vars: map[string]value{}, funcs: map[string]bool{}, programs: map[string]Class{}}
	switch {
	case strings.TrimSpace(text) == "":
		j.find("", "empty", Sensitive)
	case len(text) > maxText:
		j.find(text, "long", j.unknown())
	default:
		j.read(text)
		j.hidden()
	}
	return j
}

// judge is what is known of one text while it is read.
type judge struct {
	text   string
	result Result
	vars   map[string]value
	funcs  map[string]bool
	depth  int
	spent  int
	waited float64 // seconds of all sleeps

	scanned, destroys bool // whether a word of the text destroys, once it was asked

	inside  bool     // it went to a place that a system depends on
	away    bool     // it went to a folder that anybody may write
	unseen  bool     // it runs code that is not in the text
	fetches bool     // it brings code from elsewhere, or unpacks it
	pending [][]word // words that may be a command: arguments of functions, elements of arrays
	spoken  []string // texts that may be that code: of echo, and of here-documents

	trace    []string         // what is run, in order: commands, and where they are redirected
	programs map[string]Class // what is run, by name, with the highest class of its calls
}

// value is what a variable is known to hold; a number also when it is not known which.
type value struct {
	text   string
	known  bool
	number bool
}

func (j *judge) find(what, why string, c Class) {
	if c == Safe {
		return
	}
	j.result.Class = max(j.result.Class, c)
	if len(j.result.Findings) < maxFindings {
		j.result.Findings = append(j.result.Findings, Finding{What: clipped(what), Why: why, Class: c})
	}
}

func clipped(s string) string {
	const most = 120
	s = strings.ToValidUTF8(strings.Join(strings.Fields(s), " "), "")
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

// unknown is the class of a part whose meaning is not known: Sensitive, or Destructive
// when a word anywhere in the text destroys.
func (j *judge) unknown() Class {
	if !j.scanned {
		j.scanned, j.destroys = true, destroys(j.text)
	}
	if j.destroys {
		return Destructive
	}
	return Sensitive
}

// spend counts the bytes, words and nodes that were read. It reports false when they are too
// many.
func (j *judge) spend(n int) bool {
	j.spent += n
	return j.spent <= perByte*(len(j.text)+256)
}

// read judges a text as a shell would.
func (j *judge) read(text string) {
	if j.depth >= maxDepth || !j.spend(len(text)) || nesting(text) > maxNesting {
		j.find(text, "deep", j.unknown())
		j.unseen = true
		return
	}
	j.depth++
	defer func() { j.depth-- }()
	file, ok := parse(text)
	if !ok {
		j.find(text, "unparsed", j.unknown())
		if callsItself(text) {
			j.find(text, "endless", Destructive)
		}
		j.pieces(text)
		return
	}
	j.walk(file)
}

// parse reads a text as bash does. A parser that cannot cope has not parsed.
func parse(text string) (file *syntax.File, ok bool) {
	defer func() {
		if recover() != nil {
			file, ok = nil, false
		}
	}()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	return file, err == nil
}

// nesting counts what opens: more of it than anybody writes is not worth parsing.
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

// callsItself reports whether a text that does not parse seems to declare a function
// that calls itself: its name stands before () and twice more.
func callsItself(text string) bool {
	head, _, ok := strings.Cut(strings.ReplaceAll(text, " ()", "()"), "()")
	names := strings.Fields(head)
	return ok && len(names) > 0 && strings.Count(text, names[len(names)-1]) > 2
}

// pieces judges a text that does not parse by what its parts would be.
func (j *judge) pieces(text string) {
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
		if len(words) > 1 { // what it is given, should it be a function
			j.pending = append(j.pending, words[1:])
		}
		if file, ok := parse(part); ok {
			j.walk(file)
			continue
		}
		j.run(words)
	}
}

// hidden judges code that the text runs and that is in it only as data, or comes
// from elsewhere.
func (j *judge) hidden() {
	if !j.unseen {
		return
	}
	switch {
	case j.fetches:
		j.find(j.text, "fetched", Destructive)
	case j.unknown() == Destructive:
		j.find(j.text, "unseen", Destructive)
	}
	for i := 0; i < len(j.spoken); i++ {
		j.read(j.spoken[i])
	}
	for i := 0; i < len(j.pending) && i < maxPending; i++ {
		j.inner(j.pending[i])
	}
}
