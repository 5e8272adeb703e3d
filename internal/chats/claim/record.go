package claim

import (
	"slices"
	"strings"
	"unicode"
)

// Record is what a chat knows of acts: of what was done, and of what was read.
type Record struct {
	did   bool
	kinds map[Kind]bool   // of what was done
	words map[string]bool // of what was sent, what was answered and what was read, folded, and the beginnings of the long ones
	read  map[Kind]bool   // families of the words that were read: «"status": "booked"»
	seen  map[string]bool // the words that were read
}

// NewRecord returns a record of nothing.
func NewRecord() *Record {
	return &Record{kinds: map[Kind]bool{}, words: map[string]bool{}, read: map[Kind]bool{}, seen: map[string]bool{}}
}

// Did adds an act.
func (r *Record) Did(c Call) {
	r.did = true
	for _, k := range kindsOf(c) {
		r.kinds[k] = true
	}
	for _, text := range []string{c.Tool, c.Path, c.Summary, c.Sent, c.Answered} {
		r.add(text, r.words)
	}
}

// Read adds an answer that was read.
func (r *Record) Read(text string) {
	r.add(text, r.words)
	for word := range r.add(text, r.seen) {
		for _, k := range append(verbs().kindsOf(word), states[word]...) {
			r.read[k] = true
		}
	}
}

// states are words of services that a text may translate as an act of a family, and that claim none themselves.
var states = map[string][]Kind{"shipped": {Send}, "dispatched": {Send}, "delivered": {Send}, "entregado": {Send}, "expedido": {Send}, "closed": {Run}, "finished": {Run}, "terminado": {Run}}

func (r *Record) add(text string, to map[string]bool) map[string]bool {
	added := map[string]bool{}
	for _, word := range namesIn(text) {
		to[word], to[stem(word)], added[word] = true, true, true
	}
	return added
}

// stem returns how a long word begins; the star keeps it from being a word.
func stem(word string) string {
	const length = 5
	if letters := []rune(word); len(letters) > length {
		return string(letters[:length]) + "*"
	}
	return word
}

// Call is what a document says of a request, and what it says itself.
type Call struct {
	Method, Tool, Path string // Path is the one that is sent
	Summary            string // of the operation, in its document
	Sent, Answered     string
}

// kindsOf returns the families of a call: of the verb in the name of its tool, of the first verb of its summary, of the last
// word of its path where that is an act («/orders/7/cancel»), and of its method.
func kindsOf(c Call) []Kind {
	v := verbs()
	kinds := slices.Concat(firstKinds(c.Tool, v.orderOf), firstKinds(c.Summary, v.presentOf))
	switch c.Method {
	case "DELETE":
		return append(kinds, Remove)
	case "PUT", "PATCH":
		return append(kinds, Change)
	}
	segments := namesIn(c.Path)
	for _, segment := range slices.Backward(segments) {
		if strings.ContainsFunc(segment, unicode.IsDigit) {
			continue
		}
		kinds = slices.Concat(kinds, v.base[segment], v.noun[segment])
		break
	}
	if len(kinds) == 0 {
		kinds = []Kind{Create}
	}
	return kinds
}

// firstKinds returns the families of the first word of a text that has some.
func firstKinds(text string, of func(string) []Kind) []Kind {
	for _, word := range namesIn(text) {
		if kinds := of(word); len(kinds) > 0 {
			return kinds
		}
	}
	return nil
}

// namesIn returns the words of a text, folded.
func namesIn(text string) []string {
	return strings.FieldsFunc(fold(strings.ReplaceAll(text, "_", " ")), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// Lacks reports whether the record does not have an act.
func (r *Record) Lacks(a Act) bool {
	if slices.ContainsFunc(a.Names, func(name string) bool { return !r.words[name] }) {
		return true
	}
	told := func(kinds map[Kind]bool, words map[string]bool) bool {
		return slices.ContainsFunc(a.Kinds, func(k Kind) bool { return kinds[k] }) || words[stem(a.Verb)]
	}
	if r.did && (len(a.Kinds) == 0 || slices.Contains(a.Kinds, Run) || told(r.kinds, r.words)) {
		return false
	}
	return a.Own || !told(r.read, r.seen)
}

// Orders returns the families of the acts that a person's message asks for. One that asks whether something was done orders
// nothing.
func Orders(message string) []Kind {
	var kinds []Kind
	words := wordsOf(fold(message))
	for i, w := range words {
		if verbs().done[w] != nil || verbs().past[w] != nil || verbs().became[w] != nil || asked(w) {
			return nil
		}
		if i > 0 && articles()[words[i-1]] { // «la reserva»
			continue
		}
		kinds = append(kinds, verbs().orderOf(w)...)
	}
	return kinds
}

// asked reports whether a word asks for what was: «cancelaste», «did», «have».
func asked(w string) bool {
	return w == "did" || w == "was" || w == "were" || strings.HasSuffix(w, "aste") || strings.HasSuffix(w, "iste")
}
