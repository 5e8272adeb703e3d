package claim

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"

	"piloto/internal/ground/lazy"
)

// thing is an object that was read or sent.
type thing struct {
	words   map[string]bool // of its values, and their beginnings
	names   map[string]bool // words of its members that have a value
	kinds   map[Kind]bool   // families of its states: «"status": "booked"», «"paid": true», «"cancelled_at": "…"»
	empty   map[Kind]bool   // families of its members without a value: «"cancelled_at": null», «"paid": false»
	implies map[Kind]bool   // families of participles and nouns in its names and its short values: «"refund": 30»
	texts   map[Kind]bool   // the same of its long values
	means   map[Kind]bool   // the same of names that say how a thing is paid: «"payment_method_id": "card_1"»
}

func newThing() thing {
	return thing{map[string]bool{}, map[string]bool{}, map[Kind]bool{}, map[Kind]bool{}, map[Kind]bool{}, map[Kind]bool{}, map[Kind]bool{}}
}

// thingsIn returns the objects of a JSON value, each with its own values, or the statements of a text.
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
		own, ofTool := newThing(), v["type"] == "text" // the answer of a tool is a text, or JSON in one
		for name, each := range v {
			words := namesIn(name)
			if text, ok := each.(string); ok && ofTool {
				if name == "text" {
					inner = append(inner, own.add(text)...)
				}
				continue
			} else if ok && has(words, free()) {
				own.hear(namesIn(text))
				continue
			}
			own.name(name, words, each)
			inner = append(inner, own.add(each)...)
		}
		return append(inner, own)
	case []any:
		for _, each := range v {
			inner = append(inner, t.add(each)...)
		}
	case string:
		if inner := inText(v); inner != nil {
			return t.add(inner)
		}
		t.say(v)
	case float64:
		t.words[strconv.FormatFloat(v, 'f', -1, 64)] = true
	}
	return inner
}

// inText returns the object or the list that a text is, or nil.
func inText(text string) (value any) {
	if text = strings.TrimSpace(text); text == "" || text[0] != '{' && text[0] != '[' || json.Unmarshal([]byte(text), &value) != nil {
		return nil
	}
	return value
}

// name adds the name of a member, if it has a value. The time of a thing's creation or last change is no evidence of an
// act, and neither is a rule: «"refundable": true».
func (t thing) name(name string, words []string, value any) {
	kinds := t.kinds
	if isEmpty(value) {
		kinds = t.empty
	} else if value == true {
		t.say(name)
	}
	for _, word := range words {
		if eachHas()[word] {
			continue
		}
		t.put(kinds, verbs().done[word])
		if isEmpty(value) {
			continue
		}
		t.names[word] = true
		if has(words, meansWords()) {
			t.put(t.means, familiesOf(word))
		} else if !has(words, ruling()) {
			t.put(t.implies, familiesOf(word))
		}
	}
}

// isEmpty reports whether a member has no value: null, false, zero, or a text that says so.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case bool:
		return !v
	case float64:
		return v == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	case string:
		return noValue()[strings.ToLower(strings.TrimSpace(v))] || strings.HasPrefix(v, "0000-") || strings.HasPrefix(v, "0001-")
	}
	return false
}

var noValue = sync.OnceValue(func() map[string]bool {
	return map[string]bool{"": true, "-": true, "0": true, "0.00": true, "false": true, "no": true, "none": true, "null": true, "n/a": true, "never": true, "nunca": true, "ninguno": true, "ninguna": true}
})

// free are words of members whose text anybody wrote; ruling are those of permissions and of costs.
var (
	free   = lazy.Words(`reason reasons motive note notes comment comments remark text body content subject motivo nota notas comentario comentarios observaciones texto cuerpo asunto policy policies terms conditions politica condiciones terminos`)
	ruling = lazy.Words(`policy policies terms conditions window deadline limit until allowed eligible eligibility possible can may fee fees options history refundable returnable cancellable cancelable politica condiciones plazo limite permitido`)
)

var meansWords = lazy.Words(`method methods metodo metodos history`)

// familiesOf returns the families of a participle or of a noun.
func familiesOf(word string) []Kind {
	v := verbs()
	return slices.Concat(v.done[word], v.noun[strings.TrimSuffix(word, "s")], states[word])
}

func (t thing) put(to map[Kind]bool, kinds []Kind) {
	for _, k := range kinds {
		to[k] = true
	}
}

// eachHas are the words of the times that each thing has.
var eachHas = lazy.Words(`created updated modified changed creado actualizado modificado`)

// mostOfState is the greatest number of words of a state. A longer text has more.
const mostOfState = 4

func (t thing) say(text string) {
	words := namesIn(text)
	t.hear(words)
	for _, word := range words {
		if len(words) <= mostOfState {
			t.put(t.kinds, append(verbs().kindsOf(word), states[word]...))
			t.put(t.implies, familiesOf(word))
		} else if verbs().done[word] != nil || !slices.Contains(familiesOf(word), Remove) { // “free cancellation until Friday”
			t.put(t.texts, familiesOf(word))
		}
	}
}

// hear adds the words of a value.
func (t thing) hear(words []string) {
	for _, word := range words {
		t.words[word], t.words[stem(word)] = true, true
		for _, number := range digits().FindAllString(word, -1) {
			t.words[number] = true
		}
	}
}

// states are words of services that a text may translate as an act of a family, and that claim none themselves.
var states = map[string][]Kind{"delayed": {Change}, "shipped": {Send}, "dispatched": {Send}, "delivered": {Send}, "entregado": {Send}, "expedido": {Send}, "closed": {Run}, "finished": {Run}, "pending": {Wait}, "pendiente": {Wait}, "open": {Wait}, "abierto": {Wait}, "abierta": {Wait}, "free": {Wait}, "libre": {Wait}, "terminado": {Run}, "terminada": {Run}, "done": {Run}, "hecho": {Run}, "hecha": {Run}, "complete": {Run}, "ready": {Run}}

// stem returns how a long word begins; the star keeps it from being a word.
func stem(word string) string {
	const length = 5
	if letters := []rune(word); len(letters) > length {
		return string(letters[:length]) + "*"
	}
	return word
}
