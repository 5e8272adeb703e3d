package claim

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"unicode"

	"piloto/internal/ground/lazy"
)

// Record has a chat's evidence of acts: the done acts, and the reads.
type Record struct {
	did    bool
	kinds  map[Kind]bool   // of the done acts
	words  map[string]bool // of the done acts and the reads, folded
	acted  map[string]bool // words of the objects of done acts, and their other names; of earlier acts, too
	shapes map[string]bool // of the names in it
	sent   int             // the number of objects of the acts, at least
	stems  map[string]bool // the stems of the words of the done acts: the answer of a cancellation has the refund
	seen   []thing         // the reads, and the texts for the model
	asked  []thing         // questions in these texts: they are no evidence of a plan that never ran
	heard  bool            // a service answered
	ran    bool            // a plan that only reads ran

	machine  bool // a client carries out calls
	commands []Command

	withdrawn []*Record // plans that were taken back, with the acts that they would have done
	ended     []*Record // plans that ended otherwise before they ran
}

// NewRecord returns a record of nothing.
func NewRecord() *Record {
	return &Record{kinds: map[Kind]bool{}, words: map[string]bool{}, acted: map[string]bool{}, shapes: map[string]bool{}, stems: map[string]bool{}}
}

// Did adds an act.
func (r *Record) Did(c Call) {
	r.did = true
	r.Before(c)
	kinds := kindsOf(c)
	for _, k := range kinds {
		r.kinds[k] = true
	}
	sent, answered := thingsIn(c.Sent), thingsIn(c.Answered)
	for _, t := range slices.Concat(sent, answered) {
		r.know(maps.Keys(t.words))
		r.know(maps.Keys(t.names))
	}
	for _, t := range sent {
		r.imply(t.implies)
		r.imply(t.means)
	}
	pays := slices.ContainsFunc(kinds, paying)
	for _, t := range answered {
		if !pays && !has(slices.Collect(maps.Keys(t.names)), charged()) && !has(slices.Collect(maps.Keys(t.words)), charged()) {
			delete(t.implies, Pay)
			delete(t.texts, Pay)
		}
		r.imply(t.implies)
		r.imply(t.texts)
	}
	for _, text := range []string{c.Tool, c.Path, c.Summary} {
		words := namesIn(text)
		r.know(slices.Values(words))
		for _, word := range words {
			for _, k := range verbs().noun[strings.TrimSuffix(word, "s")] {
				if apart(k) {
					r.kinds[k] = true
				}
			}
		}
	}
}

// paying reports whether acts of a family may pay. A cancellation or a change only says how it was paid.
func paying(k Kind) bool { return k == Any || k == Create || k == Pay || k == Exchange || k == Run }

var charged = lazy.Words(`charged cobrado cobrada cobrados`)

// imply adds the other families that the request and the answer of an act name.
func (r *Record) imply(kinds map[Kind]bool) {
	for k := range kinds {
		if apart(k) {
			r.kinds[k] = true
		}
	}
}

// know adds words of done acts.
func (r *Record) know(words iter.Seq[string]) {
	for word := range words {
		r.words[word], r.stems[stem(word)] = true, true
	}
}

// Read adds an answer of a service.
func (r *Record) Read(text string) {
	r.heard = r.heard || text != ""
	r.see(text)
}

// Ran adds the answer of a step of a plan that only reads. “Done” is true then, and no act is.
func (r *Record) Ran(text string) {
	r.ran = true
	r.Read(text)
}

// Given adds a text for the model, and its questions apart: “is it cancelled?”.
func (r *Record) Given(text string) {
	if strings.Contains(text, "?") && inText(text) == nil {
		states, asks := withoutQuestions(text)
		r.asked = append(r.asked, r.thingsOf(asks)...)
		text = states
	}
	r.see(text)
}

func (r *Record) see(text string) { r.seen = append(r.seen, r.thingsOf(text)...) }

// thingsOf returns the things of a text, whose words the record knows then.
func (r *Record) thingsOf(text string) []thing {
	things := thingsIn(text)
	for _, t := range things {
		for word := range t.words {
			r.words[word] = true
		}
	}
	return things
}

// withoutQuestions returns the statements of a text, also before a question, and its questions.
func withoutQuestions(text string) (states, asks string) {
	for _, s := range sentencesOf(text) {
		from := len(s.text)
		if first, _, _ := strings.Cut(s.text, " "); s.question {
			from = max(0, strings.LastIndex(s.text, ", ")) // “my flight is cancelled, what now?”
			if perfects()[first] || asked(first) || first == "se" {
				from = 0
			}
		}
		states, asks = states+s.text[:from]+". ", asks+s.text[from:]+" "
	}
	return states, asks
}

// Call is a request, with the text of its document about it.
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
		kinds = slices.Concat(kinds, v.base[strings.TrimSuffix(segment, "s")], v.base[segment], v.noun[segment])
		break
	}
	if len(kinds) == 0 {
		kinds = []Kind{Any, Create}
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

// Lacks reports whether the record does not have an act. A read may be evidence of it, but not where the person orders
// it now: then only of a state that was there before.
func (r *Record) Lacks(a Act, ordered bool) bool {
	if a.OnMachine || r.machine && r.needed(a) {
		return r.machine && r.needed(a)
	}
	dropped := r.dropped(a)
	if a.Narrated && !ordered && !dropped || r.ran && len(a.Kinds) == 0 || r.saysWithdrawn(a) {
		return false
	}
	if r.saysNoneWithdrawn(a) {
		return true
	}
	if slices.ContainsFunc(a.Names, func(name string) bool { return !r.words[name] && !r.acted[name] }) {
		return true
	}
	missed := r.did && r.missed(a)
	if r.did && !missed && r.excuses(a) {
		return false
	}
	if a.Own && (!a.We || ordered) || ordered && !a.State {
		return true
	}
	things, named := r.seen, []thing(nil)
	if !dropped {
		things = slices.Concat(r.seen, r.asked)
	}
	if named = slices.DeleteFunc(slices.Clone(things), func(t thing) bool { return !slices.ContainsFunc(a.Numbers, func(n string) bool { return t.words[n] }) }); len(named) > 0 {
		things = named
	}
	denied := func(t thing) bool { return len(a.Kinds) > 0 && a.is(t.empty) }
	if a.State && !ordered && !(dropped && len(named) == 0) && r.heard && !(missed && a.Both != "") && !slices.ContainsFunc(named, func(t thing) bool { return len(t.kinds) > 0 }) && !slices.ContainsFunc(things, denied) {
		return false // how a thing is may be said in other words than its service has
	}
	return !slices.ContainsFunc(things, func(t thing) bool {
		return a.is(t.kinds) || t.words[stem(a.Verb)] || !ordered && len(named) > 0 && t.holds(a)
	})
}

// holds reports whether a thing is all that an act says was assigned: “seats 12A and 12B have been assigned to you”.
func (t thing) holds(a Act) bool {
	return holding()[a.Verb] && !t.kinds[Wait] && !t.names["available"] && !t.names["disponible"] && !slices.ContainsFunc(a.Numbers, func(n string) bool { return !t.words[n] })
}

var holding = lazy.Words(`assigned asignado asignada asignados asignadas`)

// excuses reports whether the done acts may be claimed as an act. An act on a thing that has a family, as a refund, is of it.
func (r *Record) excuses(a Act) bool {
	of := func(k Kind) bool { return r.kinds[k] }
	switch {
	case len(a.Of) > 0 && !slices.ContainsFunc(a.Of, of):
		return false
	case len(a.Kinds) == 0, slices.Contains(a.Kinds, Run), ofAny()[a.Verb], a.is(r.kinds):
		return true
	case all(a.Kinds, apart):
		return false
	case r.stems[stem(a.Verb)]:
		return true
	case all(a.Kinds, func(k Kind) bool { return k == Hold }):
		return of(Any) || of(Change) || of(Run)
	}
	return !all(slices.Collect(maps.Keys(r.kinds)), apart) || slices.ContainsFunc(a.About, func(k Kind) bool { return apart(k) && r.kinds[k] })
}

// is reports whether an act is of one of some families. One of no family is any that was done.
func (a Act) is(kinds map[Kind]bool) bool {
	return len(a.Kinds) == 0 && kinds[Run] || slices.ContainsFunc(a.Kinds, func(k Kind) bool { return kinds[k] })
}

// Drafts reports whether an act may be one on a draft, whose calls the record has as if they were done: it made or
// changed the same things. A revision changes the things of any call.
func (r *Record) Drafts(a Act, revised bool) bool {
	return all(a.Kinds, drafting) && (revised || r.kinds[Create] || r.kinds[Change]) && !slices.ContainsFunc(a.Names, func(name string) bool { return !r.words[name] })
}

func drafting(k Kind) bool { return k == Create || k == Change }

// ofAny are verbs that fit any act.
var ofAny = lazy.Words(`submitted requested confirmed placed registered logged solicitado solicitada solicitados solicitadas tramitado tramitada confirmado confirmada confirmados confirmadas registrado registrada`)

// apart reports whether acts of a family have only words of their own. A booking may be confirmed, set, submitted or
// processed by another name; it is not paid, sent, given back or removed by another.
func apart(k Kind) bool { return k == Remove || k == Send || k == Pay || k == GiveBack }

func all(kinds []Kind, of func(Kind) bool) bool {
	return !slices.ContainsFunc(kinds, func(k Kind) bool { return !of(k) })
}

// Orders returns the families of the acts that a person's message asks for. One that asks whether something was done orders
// nothing.
func Orders(message string) []Kind {
	var kinds []Kind
	words := wordsOf(fold(message))
	for i, w := range words {
		if asked(w) && (i == 0 || words[i-1] != "i") || asksDone(words, i) {
			return nil
		}
		if i > 0 && (articles()[words[i-1]] || possessives()[words[i-1]]) || verbs().done[w] != nil && verbs().base[w] == nil { // «la reserva», “the lamp I ordered”
			continue
		}
		kinds = append(kinds, verbs().orderOf(w)...)
	}
	return kinds
}

// possessives stand before a noun: “my credit card”.
var possessives = lazy.Words(`my your our their his her mi mis tu tus su sus nuestro nuestra`)

// asksDone reports whether a word has an auxiliary before it, which asks for a past act: “have you cancelled”, «se ha cancelado».
func asksDone(words []string, at int) bool {
	return verbs().done[words[at]] != nil && slices.ContainsFunc(words[max(0, at-3):at], func(w string) bool { return perfects()[w] })
}

var perfects = lazy.Words(`have has had has've ha han hay haya is are está estan esta fue fueron sido been`)

// asked reports whether a word asks for a past act: «cancelaste», «did», «have».
func asked(w string) bool {
	return w == "did" || w == "was" || w == "were" || strings.HasSuffix(w, "aste") || strings.HasSuffix(w, "iste")
}
