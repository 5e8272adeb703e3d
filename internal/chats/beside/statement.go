package beside

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"piloto/internal/chats/consent"
	"piloto/internal/chats/figures"
	"piloto/internal/chats/intent"
	"piloto/internal/ground/lazy"
)

// names are the words that name a plan, in normal form, and their stems.
type names struct {
	sent, all map[string]bool
	proceeds  func(words string) bool           // whether they are to go on with it
	act       func(word string) (is, does bool) // whether a word is an act, and one of the plan
	sendsNo   bool                              // a value of it is a no
	figures   func() figures.Sources            // those that are sent
	counts    []int                             // of how many things the plan is
	codes     map[string]bool                   // the ids that it sends
	phrases   []string                          // values of several words that it sends, in normal form
	dated     bool                              // it sends a day
}

func newNames(of consent.Card) names {
	n := names{sent: map[string]bool{}, all: map[string]bool{}, codes: map[string]bool{}, proceeds: consent.Proceeding(of), act: of.Act()}
	n.counts = of.Counts()
	for _, text := range of.Words() {
		for _, code := range codesIn(text) {
			n.codes[code] = true
		}
	}
	var values []string
	for _, a := range of.Acts {
		for _, text := range a.Sent {
			values = append(values, unescaped(text))
			for _, value := range phrasesSent().FindAllStringSubmatch(text, -1) {
				n.phrases = append(n.phrases, intent.Normalize(value[1]))
			}
		}
		n.sendsNo = n.sendsNo || slices.ContainsFunc(a.Sent, refusing().MatchString)
	}
	for _, day := range isoDays().FindAllString(strings.Join(values, " "), -1) {
		if at, err := time.Parse(time.DateOnly, day); err == nil {
			n.dated = true
			addNames(n.sent, at.Weekday().String()+" "+weekdays[at.Weekday()])
		}
	}
	n.figures = sync.OnceValue(func() figures.Sources { return figures.Read(n.counts, values...) })
	for _, text := range of.Words() {
		addNames(n.sent, unescaped(text))
		addNames(n.all, unescaped(text))
	}
	for _, text := range of.Titled {
		addNames(n.all, text)
	}
	return n
}

var (
	isoDays  = lazy.Pattern(`\b\d{4}-\d\d-\d\d`)
	weekdays = [...]string{"domingo", "lunes", "martes", "miércoles", "jueves", "viernes", "sábado"}
)

func addNames(set map[string]bool, text string) {
	for word := range strings.FieldsSeq(intent.Normalize(text)) {
		if (utf8.RuneCountInString(word) >= shortest || hasDigit(word)) && !meaningless()[word] {
			set[word], set[stemOf(word)] = true, true
		}
	}
}

// shortest is the length of the shortest word that names something.
const shortest = 3

// stemOf returns the beginning of a word without its ending: «reservo» and «reservar» begin with «reser». The star keeps
// it from being a word.
func stemOf(word string) string {
	const stem = 5
	if runes := []rune(word); len(runes) >= stem {
		return string(runes[:stem]) + "*"
	}
	return word
}

// sends reports whether a word is among the values that the plan sends.
func (n names) sends(word string) bool { return isNamed(n.sent, word) }

// in reports whether a statement names the plan, or says nothing of its own.
func (n names) in(clauses []string) bool {
	own := slices.DeleteFunc(slices.Clone(clauses), func(clause string) bool { return listed(neutral(), clause) || untilConfirmed(clause) })
	return len(own) == 0 || slices.ContainsFunc(own, func(clause string) bool {
		return slices.ContainsFunc(strings.Fields(clause), func(word string) bool { return isNamed(n.all, word) || n.didIt(word) })
	})
}

// named reports whether a clause names a thing that is sent, and no act.
func (n names) named(clause string) bool {
	words := strings.Fields(clause)
	return slices.ContainsFunc(words, n.sends) && !slices.ContainsFunc(words, func(w string) bool { is, _ := n.act(w); return is })
}

func isNamed(set map[string]bool, word string) bool {
	return (utf8.RuneCountInString(word) >= shortest || hasDigit(word)) && !meaningless()[word] && (set[word] || set[stemOf(word)])
}

var meaningless = lazy.Words(`que los las una uno unos unas del por para con mas muy pero este esta esto ese esa eso estos estas ahora aqui ahi como quien cuando donde hay ser sera son era todo todos toda todas otro otra
	the and for with you your this that these those there here what when where who how are was were been being will would have has had all any some other from into then than them they its
	http https api null true false get post put patch delete plan`)

// speaksOfThem reports whether a clause says something of the person: a request to confirm it may mean just that.
func speaksOfThem(clause string) bool { return has(strings.Fields(clause), them()) }

// announcesElse reports whether a clause announces an act, or a text, that is not in the plan: «Te cuento un chiste».
func (n names) announcesElse(clause string, named bool) bool {
	clause = strings.TrimPrefix(trimLead(clause), "mejor ")
	own, toYou := owns().FindStringSubmatch(clause), toYous().FindStringSubmatch(clause)
	said := ""
	switch {
	case toYou != nil:
		said = toYou[1]
	case own != nil && !named:
		said = own[1]
	default:
		return false
	}
	_, does := n.act(said)
	return !does && !proposals()[said]
}

// announcesAct reports whether a clause says that an act will be done that is not the plan's: “I will proceed with modifying the lamp”.
func (n names) announcesAct(clause string) bool {
	if !slices.ContainsFunc(promising(), func(begin string) bool { return strings.HasPrefix(clause, begin+" ") }) {
		if first, _, _ := strings.Cut(clause, " "); !ordersSelf().MatchString(first) {
			return false
		}
	}
	for word := range strings.FieldsSeq(clause) {
		if is, does := n.act(word); is {
			return !does
		}
	}
	return false
}

var (
	toYous     = lazy.Pattern(`^(?:te|le|os|les|se lo|te lo) (\pL+(?:o|re))(?: |$)`)
	owns       = lazy.Pattern(`^(\pL+(?:o|re)) (?:a|al|el|la|los|las|un|una|unos|unas|tu|tus) `)
	ordersSelf = lazy.Pattern(`^\pL{3,}o$`) // «cancelo»
	proposals  = lazy.Words(`propongo dejo preparo preparare recuerdo resumo confirmo sobre entre como cuando todo esto eso solo pero siempre nombre cargo`)
	refusing   = lazy.Pattern(`(?i)"(no|none)"|\bfalse\b`)
)

var them = lazy.Words(`eres usted tienes tiene estas vives vive aceptas acepta prefieres prefiere quieres tu tus su sus contigo you your yours youre youll youve`)

// untilConfirmed reports whether a clause says that something happens with the confirmation, or not before it.
func untilConfirmed(clause string) bool {
	words := strings.Fields(clause)
	for i, w := range words {
		if (untils()[w] || whens()[w]) && (has(near(words, i), confirmings()) || saysYes(near(words, i))) {
			return true
		}
	}
	return false
}

// saysYes reports whether words are of who says yes: “you say yes”, «digas que sí».
func saysYes(words []string) bool {
	for i, w := range words {
		if sayingSo()[w] && slices.ContainsFunc(words[i+1:], func(w string) bool { return len(w) > 1 && yesWords()[w] }) {
			return true
		}
	}
	return false
}

var sayingSo = lazy.Words(`say reply answer respond digas diga respondas responda contestes conteste`)

var whens = lazy.Words(`cuando when once tras after si if al`)

// neutral are statements that say nothing of their own, in normal form.
var neutral = sync.OnceValue(func() map[string]bool {
	list := map[string]bool{}
	add := func(befores, afters []string) {
		for _, before := range befores {
			for _, after := range afters {
				list[strings.TrimSpace(before+" "+after)] = true
			}
		}
	}
	add([]string{"aqui tienes", "aqui esta", "aqui va", "este es", "te dejo", "he preparado", "te he preparado", "preparo", "te preparo", "propongo", "te propongo", "esta es", "lo que hare es"}, []string{
		"", "el plan", "un plan", "mi plan", "la propuesta", "mi propuesta", "esto", "lo siguiente", "lo que hare", "lo que voy a hacer",
	})
	add([]string{"here is", "heres", "this is", "i have prepared", "ive prepared", "i prepared", "i propose", "below is", "i have", "ive got"}, []string{
		"", "the plan", "a plan", "my plan", "the proposal", "my proposal", "this", "the following", "what i will do", "what ill do", "what im going to do",
	})
	add([]string{""}, []string{
		"si", "claro", "claro que si", "por supuesto", "de acuerdo", "entendido", "muy bien", "hola", "buenos dias", "buenas", "voy", "voy a ello", "me pongo", "me pongo con ello", "enseguida", "lo preparo", "lo tienes abajo", "lo tienes aqui",
		"yes", "sure", "of course", "certainly", "absolutely", "got it", "understood", "hello", "hi", "no problem", "no worries", "dont worry", "no te preocupes", "no se preocupe", "no hay problema", "sin problema", "sin problemas",
		"i can do that", "yes i can do that", "happy to help", "on it", "right away", "ill do it", "ill do that", "lo hago", "puedo hacerlo", "si puedo hacerlo", "encantado", "encantada",
	})
	return list
})

// cautions ask to check the card, or say of any plan what holds of it: «esto no se puede deshacer».
var cautions = sync.OnceValue(func() map[string]bool {
	list := map[string]bool{}
	for _, text := range slices.Concat(
		consent.Products([]string{"", "please", "kindly", "por favor"}, []string{"check", "review", "check over", "look at", "have a look at", "revisa", "revise", "comprueba", "mira"},
			[]string{"it", "the card", "the details", "the plan", "these details", "the card below", "the details below", "la tarjeta", "los datos", "el plan", "los detalles"}),
		consent.Products([]string{"let me know if", "tell me if", "avisame si", "dime si"}, []string{"anything is wrong", "something is wrong", "anything looks wrong", "something looks wrong", "algo no es correcto", "algo esta mal"}),
		consent.Products([]string{"this", "it", "esto"}, []string{"cannot be undone", "cant be undone", "can be done only once", "can only be done once", "no se puede deshacer", "solo se puede hacer una vez"}),
		[]string{"i can do that for you", "puedo hacerlo por ti", "se puede hacer una sola vez"},
	) {
		list[text] = true
	}
	return list
})

var conditions = regexp.MustCompile(`(?i)(^|[^\pL])(si|if|whether|unless|provided|salvo|en caso|siempre que)($|[^\pL])`)

// isConditional reports whether a sentence has a condition. A «sí» has an accent.
func isConditional(sentence string) bool { return conditions.MatchString(norm.NFC.String(sentence)) }

// supposes reports whether a clause only supposes that the plan is right.
func supposes(clause string) bool { return suppositions()[trimLead(clause)] }

var suppositions = sync.OnceValue(func() map[string]bool {
	list := map[string]bool{}
	for _, text := range []string{
		"si todo es correcto", "si es correcto", "si todo esta bien", "si esta bien", "si esta todo bien", "si te parece bien", "si le parece bien", "si te parece", "si le parece", "si estas de acuerdo", "si esta de acuerdo", "si te va bien", "si todo encaja",
		"if everything is correct", "if everything looks good", "if everything looks right", "if that is right", "if thats right", "if that is ok", "if thats ok", "if this is correct", "if this is right", "if this looks good", "if this looks right", "if it looks good",
		"if you agree", "if youre happy with this", "if you are happy with this", "if that works", "if that works for you", "if all is well", "if everything is ok",
	} {
		list[text] = true
	}
	return list
})
