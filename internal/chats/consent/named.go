package consent

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"piloto/internal/chats/intent"
	"piloto/internal/ground/lazy"
	"piloto/internal/tools/tool"
)

// step is one step of a plan, by the words that name it. They are in normal form.
type step struct {
	kinds  kinds           // its acts
	own    map[string]bool // the first words of its document for these, other than those of acts
	nouns  kinds           // the acts of which it speaks otherwise: the reservation that it cancels
	called map[string]bool // words of its document
	values map[string]bool // words of its values
	// sources and targets are words of the values from which and to which something goes, and objects of those on which
	// the step acts.
	sources, targets, objects map[string]bool
	particles                 map[string]bool // the “off” of “Turn off a light”
	higher                    bool            // a class is sent that is the highest of its kind: “upgrade it”
	thing
}

// newSteps returns the steps that a yes is about: those that write, if any does.
func newSteps(card Card) []step {
	writing := slices.DeleteFunc(slices.Clone(card.Acts), func(a Act) bool { return tool.IsSafe(a.Method) })
	if len(writing) == 0 {
		writing = card.Acts
	}
	var out []step
	for _, a := range writing {
		out = append(out, newStep(a))
	}
	return out
}

func newStep(a Act) step {
	a.Summary = firstSentence(a.Summary)
	s := step{own: map[string]bool{}, called: map[string]bool{}, values: map[string]bool{}, sources: map[string]bool{}, targets: map[string]bool{}, objects: map[string]bool{}, thing: newThing(a)}
	s.kinds = s.kindsOf(a)
	s.name(s.called, a.Tool+" "+lastSegment(a.Path), 30)
	clear(s.said) // which have plurals for any number
	s.name(s.called, a.Summary, 30)
	s.particles = map[string]bool{}
	for _, text := range []string{a.Summary, a.Tool, lastSegment(a.Path)} {
		for i, words := 0, wordsOf(text); i < len(words); i++ {
			if particles()[words[i]] && (i < 2 || i == len(words)-1) { // not the “in” of “Mute a user in a channel”
				s.particles[words[i]] = true
			}
		}
	}
	s.sendAll(a)
	for _, more := range []struct {
		of, also kinds
		naming   map[string]bool // of which its document names one; empty: any name
	}{
		{of: upgrades | downgrades, also: changes}, {reserves | buys, pays, paid()}, {of: sends, also: issues}, {returns, refunds, refunded()},
	} {
		if s.kinds.meet(more.of) && (len(more.naming) == 0 || hasAny(s.called, more.naming)) {
			s.kinds |= more.also
		}
	}
	if s.kinds.meet(changes) && s.higher {
		s.kinds |= upgrades
	}
	s.recipient = s.recipient && !s.kinds.meet(changes)         // a new address is the changed value
	if s.kinds.meet(changes) && hasAny(s.values, cancelled()) { // {"status": "cancelled"}
		s.kinds |= cancels
	}
	return s
}

// firstSentence returns the first sentence of a description of a tool, which has its act.
func firstSentence(text string) string {
	if end := sentenceEnds().FindStringIndex(text); end != nil {
		return text[:end[0]]
	}
	return text
}

// name adds the words of a text. One of more words, or a value that is a sentence, says something of its own, and names nothing.
func (s *step) name(to map[string]bool, text string, most int) {
	numbered := codes().MatchString(text) && !dated().MatchString(text) // a number in a longer text, or of a time, names nothing
	words := wordsOf(text)
	if len(words) > most {
		return
	}
	for _, w := range words {
		if unnaming()[w] || isNumber(w) && !numbered || isTime(w) {
			continue
		}
		s.said[w] = true
		for _, one := range singulars(w) {
			to[one] = true
			if act := acts()[one]; act.form&noun != 0 {
				s.nouns |= act.kinds
			}
		}
	}
}

// sendAll adds the words of the sent values. A list, and a step that is done to each element of one, name nothing: a yes
// to one of them would be taken for a yes to all.
func (s *step) sendAll(a Act) {
	if a.Each {
		return
	}
	for _, text := range sentIn(a) {
		s.send(text)
	}
	for _, text := range a.Sent {
		if strings.HasPrefix(text, "/") {
			s.name(s.objects, lastParameter(a.Path, text), mostOfAName)
		}
	}
}

// lastParameter returns the value of the last parameter of a path.
func lastParameter(template, path string) string {
	values := strings.Split(path, "/")
	for i, segment := range slices.Backward(strings.Split(template, "/")) {
		if i < len(values) && strings.Contains(segment, "{") {
			return values[i]
		}
	}
	return ""
}

// send adds the words of a value, and those of the values of an object.
func (s *step) send(text string) {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		value = text
	}
	s.sendValue("", value)
}

func (s *step) sendValue(name string, value any) {
	switch v := value.(type) {
	case string:
		if strings.Contains(v, "${") { // of an earlier step, and not known yet
			return
		}
		if plain, err := url.PathUnescape(v); err == nil {
			v = plain
		}
		if isSentence(v) {
			return
		}
		s.name(s.values, v, mostOfAName)
		s.recipient = s.recipient || isRecipient(name, v)
		if !hasAny(setOf(wordsOf(name)), freely()) {
			s.name(s.facts, v, mostOfAName)
		}
		parts := setOf(wordsOf(name))
		if hasAny(parts, s.object) || hasAny(parts, naming()) || hasAny(parts, amounts()) || name == "id" {
			s.name(s.objects, v, mostOfAName)
		}
		s.higher = s.higher || hasAny(parts, grades()) && hasAny(setOf(wordsOf(v)), highest())
		if hasAny(parts, sourcing()) {
			s.name(s.sources, v, mostOfAName)
		}
		if hasAny(parts, targeting()) || isRecipient(name, v) {
			s.name(s.targets, v, mostOfAName)
		} else {
			s.name(s.others, v, mostOfAName)
		}
	case float64:
		s.sendValue(name, strconv.FormatFloat(v, 'f', -1, 64))
	case []any:
		s.counts = append(s.counts, len(v))
		if len(v) == 1 {
			s.sendValue(name, v[0])
		}
	case map[string]any:
		s.members = max(s.members, len(v))
		for name, each := range v {
			s.sendValue(name, each)
		}
	}
}

// wordsOf returns the words of a name or a text in normal form: orderId has two.
func wordsOf(text string) []string {
	var b strings.Builder
	before := ' '
	for _, r := range text {
		if unicode.IsUpper(r) && unicode.IsLower(before) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		before = r
	}
	return fieldsOf(b.String())
}

// fieldsOf returns the words of a text in normal form. «Dar de baja» is one.
func fieldsOf(text string) []string { return strings.Fields(joint.Replace(intent.Normalize(text))) }

var joint = strings.NewReplacer("darlo de baja", "eliminarlo", "darla de baja", "eliminarla", "dar de baja", "eliminar", "da de baja", "elimina", "dale de baja", "eliminala", "dalo de baja", "eliminalo", "dala de baja", "eliminala",
	"darlo de alta", "registrarlo", "darla de alta", "registrarla", "dar de alta", "registrar", "da de alta", "registra", "dale de alta", "registrala", "dalo de alta", "registralo", "dala de alta", "registrala")

func hasAny(set, of map[string]bool) bool {
	for word := range of {
		if set[word] {
			return true
		}
	}
	return false
}

var (
	sentenceEnds = lazy.Pattern(`[.!?]\s|\n`)

	// describing matches how a description begins that speaks of its tool.
	describing = lazy.Pattern(`(?i)^(?:this (?:tool|operation|endpoint|function)|(?:use this (?:tool )?|allows you |lets you |used |tool )to|(?:esta herramienta|esta operacion|permite))\s+`)

	codes   = lazy.Pattern(`^#?[\pL\d_-]*\d[\pL\d_-]*$`)
	dated   = lazy.Pattern(`^\d{4}-\d\d|^\d\d?-\d\d?-\d`)
	amounts = lazy.Words(`amount total price quantity monto importe cantidad precio`)

	grades  = lazy.Words(`cabin class tier plan level grade category edition cabina clase nivel categoria edicion`)
	highest = lazy.Words(`business first premium enterprise ultimate platinum unlimited deluxe vip ejecutiva primera platino ilimitado`)

	paid     = lazy.Words(`payment pago`)
	refunded = lazy.Words(`refund reembolso`)

	cancelled = lazy.Words(`cancelled canceled cancelado cancelada anulado anulada`)
	sourcing  = lazy.Words(`from source origin sender origen desde remitente`)
	naming    = lazy.Words(`name title label summary subject asunto nombre titulo etiqueta`)
	particles = lazy.Words(`on off in out up down back over away`)
	targeting = lazy.Words(`to new nuevo nueva target destination recipient receiver destino para destinatario`)
)

// kindsOf returns the acts of a step: by its document, else by its method. Two sources that differ give none.
func (s *step) kindsOf(a Act) kinds {
	summary := documented(a.Summary)
	switch {
	case a.Method == "DELETE":
		return s.kindsOfDelete(a, summary)
	case tool.IsSafe(a.Method):
		return reads
	}
	said := []kinds{s.headOf(summary), 0}
	if tool := wordsOf(a.Tool); len(tool) > 0 && len(summary) > 0 && tool[0] == summary[0] { // the “issue” of transfer_issue is a thing
		said[1] = said[0]
	} else {
		said[1] = s.headOf(tool)
	}
	if len(s.own) > 0 && said[0] == 0 || len(summary) > 0 && unnaming()[summary[0]] || said[0].meet(reads) {
		return 0 // its verb is not known, or is of another meaning here: “Check out a cart”
	}
	spoken := len(summary) > 0 && unnaming()[summary[0]] || said[0]|said[1] != 0 || len(s.own) > 0 || slices.ContainsFunc(wordsOf(a.Summary+" "+a.Tool), func(w string) bool { return acts()[w].kinds != 0 })
	end := wordsOf(lastSegment(a.Path))
	if len(end) > 0 && acts()[end[0]].form&noun == 0 || a.Method == "POST" && said[0] == 0 {
		said = append(said, (&step{own: map[string]bool{}}).headOf(end))
	}
	var all kinds
	for _, k := range said {
		switch k = implied(k); {
		case k == 0:
		case all == 0:
			all = k
		case all.meet(k):
			all &= k
		case k == creates || all == creates: // «Crea una suscripción», POST /payments
			all |= k
		default:
			return 0
		}
	}
	switch {
	case all != 0:
	case a.Method == "PUT" || a.Method == "PATCH":
		all = changes
	case !spoken:
		all = creates
	}
	if all.meet(changes) { // «cambiar»
		all &^= exchanges
	}
	return all
}

// kindsOfDelete returns the acts of a DELETE: it is a removal, and a cancellation where its document says so; another
// act where its document begins with the verb of one: “Archive a contact”, “Unstar a repository”.
func (s *step) kindsOfDelete(a Act, summary []string) kinds {
	if len(summary) > 0 && unnaming()[summary[0]] {
		return 0 // “Stop sharing a file”
	}
	said := s.headOf(summary)
	verb := len(summary) > 1 && (isOrder(summary[0]) || glue()[summary[1]] && acts()[summary[0]].form&noun == 0 && !glue()[summary[0]])
	if verb && !said.meet(removes|cancels) {
		return said
	}
	if len(s.own) > 0 && !saidOf(Act{Summary: a.Summary}).meet(removes|cancels) {
		return 0 // “Unblock card”
	}
	return removes | saidOf(a)&cancels
}

// documented returns the words of a document's description of an operation, which may be in the third person: “Creates an event”.
func documented(summary string) []string {
	words := wordsOf(describing().ReplaceAllString(summary, ""))
	if len(words) > 1 && acts()[words[0]].form&verb == 0 {
		for _, one := range singulars(words[0])[1:] {
			if acts()[one].form&verb != 0 && (glue()[words[1]] || isOrder(one)) {
				words[0] = one
			}
		}
	}
	return words
}

// lastSegment returns the last segment of a path that is no parameter.
func lastSegment(path string) string {
	for _, segment := range slices.Backward(strings.Split(path, "/")) {
		if segment != "" && !strings.Contains(segment, "{") {
			return segment
		}
	}
	return ""
}

// headOf returns the act that the words of a document name first. A word that is a verb and a noun is a verb, if no other
// act stands beside it: “order cancellation” is none.
func (s *step) headOf(words []string) kinds {
	for i, w := range words {
		act, known := acts()[w]
		if !known || act.form == said {
			switch {
			case i > 0 || glue()[w]:
				continue
			case !unnaming()[w]:
				s.begins(w)
			}
			return 0 // the words behind an unknown verb are not its act: “Stop a payment”
		}
		rest := words[i+1:]
		switch {
		case act.light && act.form&verb != 0:
			if act.kinds|nounHead(rest) == 0 { // “Start a server”
				s.begins(w)
			}
			return act.kinds | nounHead(rest)
		case act.form&noun == 0:
			return act.kinds
		}
		if end := slices.IndexFunc(rest, func(w string) bool { return glue()[w] || conjoining()[w] || strings.HasSuffix(w, "ed") }); end >= 0 {
			rest = rest[:end]
		}
		order := slices.IndexFunc(rest, isOrder)
		switch {
		case order >= 0: // order_cancel
			return acts()[rest[order]].kinds
		case act.form&verb == 0:
			return nounHead(words[i:])
		case slices.ContainsFunc(rest, func(w string) bool { return nounOf(w) != 0 }):
			return 0
		}
		return act.kinds
	}
	return 0
}

// begins adds a verb of the document, as somebody orders it of one thing: «bloquea» and «bloquéala», of «Bloquear una tarjeta».
func (s *step) begins(verb string) {
	ordered := verb
	if short, ok := strings.CutSuffix(verb, "r"); ok && (strings.HasSuffix(short, "a") || strings.HasSuffix(short, "e")) {
		ordered = short
	}
	for _, form := range []string{verb, ordered, verb + "lo", verb + "la", ordered + "lo", ordered + "la"} {
		s.own[form] = true
	}
}

// nounHead returns the act of which a noun phrase is: the last word of its first part that has one. “The order cancellation”
// is a cancellation, «la solicitud de devolución» a return, and “the payment method” is none.
func nounHead(words []string) kinds {
	last := ""
	for _, w := range words {
		switch {
		case glue()[w] || strings.HasSuffix(w, "ed"):
			if last != "" {
				return nounOf(last)
			}
		case !standing()[w]:
			last = w
		}
	}
	return nounOf(last)
}

func nounOf(word string) kinds {
	if act := acts()[word]; act.form&noun != 0 {
		return act.kinds
	}
	return 0
}

// unnaming are words that name nothing, wherever they are sent: they deny, set conditions, add, ask or point elsewhere.
var unnaming = lazy.Words(`no not nor neither never none nothing nobody without cannot cant dont doesnt didnt wont wouldnt shouldnt isnt arent nunca jamas tampoco ni nada nadie ningun ninguno ninguna sin
	if si unless whether when while once until till before after except instead rather only just merely cuando mientras hasta antes despues salvo excepto solo solamente unicamente siempre
	but however though although yet pero aunque sino embargo
	same previous usual mismo misma mismos mismas anterior also too plus additionally besides another other others else more again twice further next tambien ademas mas otra otro otras otros de nuevo vez
	what which who whom whose where why how que quien cual cuanto donde como porque por
	maybe perhaps probably quizas quiza talvez wait stop espera
	yes yeah ok okay vale please thanks thank gracias favor`)
