package claim

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"piloto/internal/ground/lazy"
)

// Record is what a chat knows of acts: of what was done, and of what was read.
type Record struct {
	did   bool
	kinds map[Kind]bool   // of what was done
	words map[string]bool // of what was done and read, folded
	told  map[string]bool // the beginnings of the words of what was done: the answer of a cancellation tells of a refund
	seen  []thing         // what was read, and what somebody told
	heard bool            // a service answered
	ran   bool            // a plan that only reads ran
}

// thing is an object that was read.
type thing struct {
	words map[string]bool // of its values, and their beginnings
	names map[string]bool // words of its members that have a value
	kinds map[Kind]bool   // families of its states: «"status": "booked"», «"paid": true», «"cancelled_at": "…"»
	dated map[Kind]bool   // families of the times that each thing has: «"updated_at"»
}

func newThing() thing {
	return thing{map[string]bool{}, map[string]bool{}, map[Kind]bool{}, map[Kind]bool{}}
}

// NewRecord returns a record of nothing.
func NewRecord() *Record {
	return &Record{kinds: map[Kind]bool{}, words: map[string]bool{}, told: map[string]bool{}}
}

// Did adds an act.
func (r *Record) Did(c Call) {
	r.did = true
	for _, k := range kindsOf(c) {
		r.kinds[k] = true
	}
	texts := []string{c.Tool, c.Path, c.Summary}
	for _, t := range slices.Concat(thingsIn(c.Sent), thingsIn(c.Answered)) {
		texts = slices.AppendSeq(slices.AppendSeq(texts, maps.Keys(t.words)), maps.Keys(t.names))
	}
	for _, text := range texts {
		for _, word := range namesIn(text) {
			r.words[word], r.told[stem(word)] = true, true
			for _, k := range verbs().noun[strings.TrimSuffix(word, "s")] {
				if apart(k) {
					r.kinds[k] = true
				}
			}
		}
	}
}

// Read adds an answer of a service.
func (r *Record) Read(text string) {
	r.heard = r.heard || text != ""
	r.Told(text)
}

// Ran adds what a step of a plan that only reads answered. “Done” is true then, and no act is.
func (r *Record) Ran(text string) {
	r.ran = true
	r.Read(text)
}

// Told adds what somebody told the model.
func (r *Record) Told(text string) {
	things := thingsIn(text)
	for _, t := range things {
		for word := range t.words {
			r.words[word] = true
		}
	}
	r.seen = append(r.seen, things...)
}

// thingsIn returns the objects of a JSON value, each with its own values, or what a text says.
func thingsIn(text string) []thing {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		value = text
	}
	top := newThing()
	list := top.add(value)
	return append(list, top)
}

// add adds a value to a thing. It returns the objects in the value.
func (t thing) add(value any) (inner []thing) {
	switch v := value.(type) {
	case map[string]any:
		own := newThing()
		for name, each := range v {
			own.name(name, each)
			inner = append(inner, own.add(each)...)
		}
		return append(inner, own)
	case []any:
		for _, each := range v {
			inner = append(inner, t.add(each)...)
		}
	case string:
		t.say(v)
	case float64:
		t.words[strconv.FormatFloat(v, 'f', -1, 64)] = true
	}
	return inner
}

// name adds what a member is called, if it has a value.
func (t thing) name(name string, value any) {
	if value == nil || value == false || value == "" || value == float64(0) {
		return
	}
	if value == true {
		t.say(name)
	}
	for _, word := range namesIn(name) {
		if each := verbs().done[word]; eachHas()[word] {
			t.put(t.dated, each)
		} else {
			t.put(t.kinds, each)
			t.names[word] = true
		}
	}
}

func (t thing) put(to map[Kind]bool, kinds []Kind) {
	for _, k := range kinds {
		to[k] = true
	}
}

// eachHas are the words of the times that each thing has.
var eachHas = lazy.Words(`created updated modified changed creado actualizado modificado`)

// mostOfState is the greatest number of words of a state. A longer text tells of more.
const mostOfState = 4

func (t thing) say(text string) {
	words := namesIn(text)
	for _, word := range words {
		t.words[word], t.words[stem(word)] = true, true
		for _, number := range digits().FindAllString(word, -1) {
			t.words[number] = true
		}
		if len(words) <= mostOfState {
			t.put(t.kinds, append(verbs().kindsOf(word), states[word]...))
		}
	}
}

// states are words of services that a text may translate as an act of a family, and that claim none themselves.
var states = map[string][]Kind{"shipped": {Send}, "dispatched": {Send}, "delivered": {Send}, "entregado": {Send}, "expedido": {Send}, "closed": {Run}, "finished": {Run}, "pending": {Wait}, "pendiente": {Wait}, "open": {Wait}, "abierto": {Wait}, "abierta": {Wait}, "free": {Wait}, "libre": {Wait}, "terminado": {Run}, "terminada": {Run}, "done": {Run}, "hecho": {Run}, "hecha": {Run}, "complete": {Run}, "ready": {Run}}

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

// Lacks reports whether the record does not have an act. What was read may tell of it, but not where the person orders it now: then
// only of a state that was there before.
func (r *Record) Lacks(a Act, ordered bool) bool {
	if a.Told && !ordered || r.ran && len(a.Kinds) == 0 {
		return false
	}
	if slices.ContainsFunc(a.Names, func(name string) bool { return !r.words[name] }) {
		return true
	}
	shares := func(kinds map[Kind]bool) bool {
		return len(a.Kinds) == 0 && kinds[Run] || slices.ContainsFunc(a.Kinds, func(k Kind) bool { return kinds[k] })
	}
	if r.did && (len(a.Kinds) == 0 || slices.Contains(a.Kinds, Run) || ofAny()[a.Verb] || !all(a.Kinds, apart) && !all(slices.Collect(maps.Keys(r.kinds)), apart) || shares(r.kinds) || r.told[stem(a.Verb)]) {
		return false
	}
	if r.did && !all(a.Kinds, apart) && slices.ContainsFunc(a.About, func(k Kind) bool { return apart(k) && r.kinds[k] }) {
		return false
	}
	if a.Own || ordered && !a.State {
		return true
	}
	things, named := r.seen, []thing(nil)
	if named = slices.DeleteFunc(slices.Clone(things), func(t thing) bool { return !slices.ContainsFunc(a.Numbers, func(n string) bool { return t.words[n] }) }); len(named) > 0 {
		things = named
	}
	if a.State && !ordered && r.heard && !slices.ContainsFunc(named, func(t thing) bool { return len(t.kinds) > 0 }) {
		return false // how a thing is may be said in other words than its service has
	}
	return !slices.ContainsFunc(things, func(t thing) bool { return shares(t.kinds) || a.State && shares(t.dated) || t.words[stem(a.Verb)] })
}

// Drafts reports whether an act may be one on a draft, whose calls the record has as if they were done: it made or changed
// what they make or change. A revision changes whatever they do.
func (r *Record) Drafts(a Act, revised bool) bool {
	return all(a.Kinds, drafting) && (revised || r.kinds[Create] || r.kinds[Change]) && !slices.ContainsFunc(a.Names, func(name string) bool { return !r.words[name] })
}

func drafting(k Kind) bool { return k == Create || k == Change }

// ofAny are verbs that may tell of any act.
var ofAny = lazy.Words(`submitted requested confirmed placed registered logged solicitado solicitada solicitados solicitadas tramitado tramitada confirmado confirmada confirmados confirmadas registrado registrada`)

// apart reports whether acts of a family are told in its own words only. What was booked may be confirmed, set, submitted or
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
		if i > 0 && articles()[words[i-1]] || verbs().done[w] != nil && verbs().base[w] == nil { // «la reserva», “the lamp I ordered”
			continue
		}
		kinds = append(kinds, verbs().orderOf(w)...)
	}
	return kinds
}

// asksDone reports whether a word has an auxiliary before it, which asks for what was: “have you cancelled”, «se ha cancelado».
func asksDone(words []string, at int) bool {
	return verbs().done[words[at]] != nil && slices.ContainsFunc(words[max(0, at-3):at], func(w string) bool { return perfects()[w] })
}

var perfects = lazy.Words(`have has had has've ha han hay haya is are está estan esta fue fueron sido been`)

// asked reports whether a word asks for what was: «cancelaste», «did», «have».
func asked(w string) bool {
	return w == "did" || w == "was" || w == "were" || strings.HasSuffix(w, "aste") || strings.HasSuffix(w, "iste")
}
