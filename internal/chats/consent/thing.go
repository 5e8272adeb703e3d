package consent

import (
	"slices"
	"strings"
	"unicode"

	"piloto/internal/ground/lazy"
)

// thing is the object of a step's act. Its words are in normal form.
type thing struct {
	object, around map[string]bool // words of it, and of that in which it is: an event in a calendar
	said           map[string]bool // words as the document and the values have them
	counts         []int           // how many elements each list has that is sent
	members        int             // how many values are sent
	recipient      bool            // a value is somebody to whom it goes
	facts, others  map[string]bool // words of the values that are no free text, and of those to which nothing goes
	person         bool            // its document is about a person who is a customer
	each           bool            // it is done to each of a list
}

func newThing(a Act) thing {
	t := thing{object: map[string]bool{}, around: map[string]bool{}, said: map[string]bool{}, each: a.Each, facts: map[string]bool{}, others: map[string]bool{}}
	about := documented(a.Summary)
	if len(about) == 0 {
		about = wordsOf(a.Tool)
	}
	t.person = hasAny(setOf(wordsOf(a.Summary+" "+a.Tool)), customers())
	t.readObject(about)
	t.readPath(a.Path)
	for w := range t.object {
		delete(t.around, w)
	}
	return t
}

// readObject finds the object of a sentence by the words after it: “an event”, “of a user”. A noun for an act has its
// object after it.
func (t thing) readObject(words []string) {
	head := max(0, slices.IndexFunc(words, func(w string) bool { return acts()[w].form&verb != 0 }))
	if len(words) == 0 {
		return
	}
	rest := words[head+1:]
	end := slices.IndexFunc(rest, func(w string) bool { return placing()[w] || ofs()[w] })
	if end < 0 || acts()[words[head]].light && nounHead(rest) != 0 {
		end = len(rest)
	}
	object := slices.DeleteFunc(slices.Clone(rest[:end]), func(w string) bool { return glue()[w] })
	for i, w := range object {
		if last := object[len(object)-1]; i < len(object)-1 && nounOf(last)&^(reserves|buys) != 0 && !acts()[words[head]].light {
			addOne(t.around, w) // the card of “Cancel card replacement”
			continue
		}
		addOne(t.object, w)
	}
	for _, w := range rest[end:] {
		if !glue()[w] {
			addOne(t.around, w)
		}
	}
}

// readPath adds the parts of a path before that of the thing.
func (t thing) readPath(path string) {
	var names []string
	for segment := range strings.SplitSeq(path, "/") {
		if segment != "" && !strings.Contains(segment, "{") {
			names = append(names, segment)
		}
	}
	if n := len(names); n > 0 && acts()[strings.ToLower(names[n-1])].form&verb != 0 {
		names = names[:n-1]
	}
	for _, name := range names[:max(0, len(names)-1)] {
		for _, w := range wordsOf(name) {
			addOne(t.around, w)
		}
	}
}

func addOne(set map[string]bool, word string) {
	for _, w := range singulars(word) {
		set[w] = true
	}
}

func setOf(words []string) map[string]bool {
	set := map[string]bool{}
	for _, w := range words {
		set[w] = true
	}
	return set
}

// isForWriter reports whether a step may be about who writes: its document speaks of a customer, or it is something that one
// orders for oneself; and nobody else is sent.
func (s step) isForWriter() bool {
	return !s.recipient && (s.person || s.kinds.meet(reserves|buys|cancels))
}

// sentIn returns the values of an act. Of its path, these are the parts that its template leaves open.
func sentIn(a Act) (out []string) {
	template := strings.Split(a.Path, "/")
	for _, text := range a.Sent {
		if !strings.HasPrefix(text, "/") {
			out = append(out, text)
			continue
		}
		for i, segment := range strings.Split(text, "/") {
			if i >= len(template) || template[i] != segment {
				out = append(out, segment)
			}
		}
	}
	return out
}

// mostOfAName bounds the words of a name.
const mostOfAName = 6

// isSentence reports whether a value says something, and names nothing: “See you at noon.”
func isSentence(value string) bool {
	words := wordsOf(value)
	return len(words) > mostOfAName || sentences().MatchString(value) ||
		len(words) > 1 && slices.ContainsFunc(words, func(w string) bool { return speaking()[w] || isOrder(w) && !strings.HasSuffix(w, "ing") })
}

// isTime reports whether a word says when.
func isTime(word string) bool { return times()[word] || clocks().MatchString(word) }

// isRecipient reports whether a value is somebody to whom something goes.
func isRecipient(name, value string) bool {
	parts := wordsOf(name)
	if len(parts) == 0 || value == "" {
		return strings.Contains(value, "@")
	}
	return strings.Contains(value, "@") || !ids()[parts[len(parts)-1]] && slices.ContainsFunc(parts, func(w string) bool { return recipients()[w] })
}

func isNumber(word string) bool {
	return !strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsDigit(r) })
}

var (
	sentences = lazy.Pattern(`\pL{3,}[.!?;…]\s+\pL`)
	clocks    = lazy.Pattern(`^\d+(am|pm|h|hs|hr|hrs|st|nd|rd|th|min|mins)$`)
)

// implied adds the acts that the acts of a document imply.
func implied(k kinds) kinds {
	if k.meet(revises | edits | reschedules | renames) {
		k |= changes
	}
	if k.meet(forwards) {
		k |= sends
	}
	return k
}

// near adds the acts of which people speak alike.
func near(k kinds) kinds {
	for _, alike := range [...]kinds{cancels | removes, changes | revises | edits | reschedules | renames, upgrades | downgrades | changes, sends | forwards, publishes | shares, pays | charges, exchanges | replaces, closes | archives} {
		if k.meet(alike) {
			k |= alike
		}
	}
	return k
}

// saidOf returns the acts of which the document of an operation has the verb.
func saidOf(a Act) (all kinds) {
	for _, w := range wordsOf(a.Summary + " " + a.Tool + " " + a.Path) {
		if act := acts()[w]; act.form&verb != 0 {
			all |= act.kinds
		}
	}
	return all
}

var (
	customers  = lazy.Words(`user customer client usuario usuaria cliente clienta`)
	recipients = lazy.Words(`to recipient receiver destination email mail phone user customer client guest attendee attendees invitee member payee beneficiary para destinatario destinataria correo telefono usuario cliente invitado invitada miembro beneficiario`)
	ids        = lazy.Words(`id ids`)
	// freely are the members that hold free texts of somebody.
	freely = lazy.Words(`subject text body concept summary description title comment comments note notes message reason content asunto texto cuerpo concepto resumen descripcion titulo comentario nota notas mensaje motivo contenido`)

	// speaking are words of a sentence.
	speaking = lazy.Words(`i you he she we they am is are was were be been will would can could should may might must do does did have has had see let hope know think thanks thank hello hi dear
		yo ella nosotros ellos es son era fue sera soy somos esta estan estas estoy vamos vemos veo ve hay puede puedes puedo nos os hola gracias querido querida que`)
	times = lazy.Words(`tomorrow today tonight yesterday noon midday midnight morning afternoon evening night later soon monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun weekend
		week weeks month months year years hour hours minute minutes second seconds oclock am pm january february march april may june july august september october november december spring summer autumn winter
		jan feb mar apr jun jul aug sep sept oct nov dec manana hoy ayer anteayer mediodia medianoche tarde noche madrugada luego pronto lunes martes miercoles jueves viernes sabado domingo finde semana semanas mes meses ano anos hora horas
		minuto minutos segundo segundos enero febrero marzo abril mayo junio julio agosto septiembre setiembre octubre noviembre diciembre primavera verano otono invierno`)
)
