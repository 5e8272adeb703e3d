package claim

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"piloto/internal/ground/lazy"
)

// Act is an act that a text says is done, or under way.
type Act struct {
	Kinds    []Kind   // families of its verb; none: any act
	Own      bool     // the model claims it as its own: no read makes that true
	We       bool     // as that of its business: “we have refunded 34.10 €” may tell what was read
	Verb     string   // as it is written, folded
	Narrated bool     // the sentence reports it as past: “was cancelled” is a claim only where the person orders that
	State    bool     // the sentence states it as the state of a thing: «está reservada», “is already booked”
	Names    []string // of its sentence: identifiers, folded
	On       []string // those of its clause that are its objects
	Both     string   // “both orders”: the noun of its two objects

	Bare      bool   // it names no object: «lo he retirado»
	Withdraws bool   // it takes back a plan: «he retirado la cancelación»
	Taken     []Kind // families of the noun of the thing that it takes back; none: a plan
	Before    bool   // it says that it was done before the message that the text answers

	About   []Kind   // families of the nouns of its sentence: «he pedido la devolución»
	Of      []Kind   // families of its object, where the verb fits any act: “the refund has been processed”
	Numbers []string // of its sentence: numbers and identifiers, by which it may name a thing

	Needs     []string // the commands that it needs: see needs
	OnMachine bool     // only a command shows it: that tests pass
}

// actsOf returns the acts that a sentence claims. A question claims none.
func actsOf(s sentence) []Act {
	if s.quoted {
		return nil
	}
	s.text = askedFor().ReplaceAllString(s.text, "")
	words, fresh := said(s)
	if len(words) == 0 {
		return nil
	}
	var list []Act
	names, numbers, about := identifiers(s.text), slices.Collect(numbersIn(words)), nounsIn(words)
	already := slices.Contains(words, "already") || slices.Contains(words, "ya")
	at, narrated := 0, false
	add := func(verb string, kinds []Kind, own, state bool) {
		if slices.Contains(kinds, Send) && money().MatchString(s.text) { // “I've sent 50 € to Luis”
			kinds = append(slices.Clone(kinds), Pay)
		}
		before := saysBefore(s.text, words, at, own, narrated, fresh)
		taken, withdraws := takenBack(words, at)
		list = append(list, Act{Kinds: kinds, About: about, Of: doneTo(words, at, kinds), Own: own, We: own && nearest(clauseBefore(words, at)).we, Verb: verb, Narrated: narrated, State: state || (already || before || byAnother(words, at)) && !own, Before: before, Bare: namesNothing(words, at), Withdraws: withdraws, Taken: taken, Names: names, On: onIn(words, at, names), Both: bothIn(words, at), Numbers: numbers, Needs: needs(words, at)})
	}
	reported := has(words, reports()) || seeing().MatchString(s.text)
	past := has(words, pastTimes())
	for i, w := range words {
		at, narrated = i, false
		before := clauseBefore(words, i)
		if has(before, denials()) || deniedAfter(words[i+1:]) || toCome(before, w) || isOfPlan(words, i) || marks(words, i) || i > 0 && words[i-1] == "vez" || w == "set" && i+1 < len(words) && words[i+1] == "up" {
			continue
		}
		v, n := verbs(), nearest(before)
		kinds, known := v.doneOf(w)
		own := n.own || !known && v.past[w] != nil
		switch {
		case supposed(words, i, own, own || has(before[max(0, len(before)-1):], perfect())):
		case known && n.own:
			if !perceived()[w] && !(w == "confirmed" && i+1 < len(words) && words[i+1] == "that") && !ownText(s.text, words, i, kinds) {
				add(w, kinds, true, false)
			}
		case known && (n.state || n.passive && !has(before, perfect())) && ofAnyThing(words, i):
		case known && !n.passive && likeStates()[w]: // «la tienda está abierta»
		case known && i > 0 && (words[i-1] == "and" || words[i-1] == "y") && len(list) > 0 && list[len(list)-1].Own && !perceived()[w] && !nounLike()[w]:
			add(w, kinds, true, false)
		case !known && v.past[w] != nil && !ownText(s.text, words, i, v.past[w]) && !has(before[max(0, len(before)-1):], subordinators()):
			add(w, v.past[w], true, false)
		case !known && v.became[w] != nil && len(before) > 0 && slices.Contains(before[max(0, len(before)-3):], "se") && !reported && !past && !dated(words[i+1:]):
			narrated = dayLater(words[i+1:])
			add(w, v.became[w], false, false)
		case !known && v.going[w] != nil && (n.goes || (i == 0 || i < 5 && words[i-1] == ",") && goesNow(words)):
			add(w, v.going[w], true, false)
		case known && (n.passive || n.state && closes(words, i) || n.quick && (slices.Contains(kinds, Run) || before[len(before)-1] != "ha" && before[len(before)-1] != "han") || succeeds(words[i+1:])) && !reported && !past:
			add(w, kinds, false, n.state)
		case known && !reported && !past && !perceived()[w] && (i > 0 || !doneWords()[w]) && (i == 0 && begins(words) && (!s.row || len(words) > 1) || !s.row && fragment(words, i)):
			add(w, kinds, false, i > 0 || !begins(words))
		case i > 1 && words[i-1] == "de" && (words[i-2] == "acabo" || words[i-2] == "acabamos") && v.base[w] != nil:
			add(w, v.base[w], true, false)
		case known && slices.Contains(before, "ya") && !reported && (slices.Contains(before, "tienes") || slices.Contains(before, "tiene")):
			add(w, kinds, false, true)
		case n.past && known && !reported:
			narrated = !fresh && !(doneWords()[words[0]] && words[1] == ":") // “Done: the order was cancelled”
			add(w, kinds, false, false)
		case i > 2 && words[i-1] == "to" && words[i-2] == "able" && words[i-3] == "was" && v.base[w] != nil:
			add(w, v.base[w], true, false)
		case w == "of" && i > 1 && words[i-1] == "care" && (words[i-2] == "taken" || i > 2 && words[i-2] == "took" && (words[i-3] == "i" || words[i-3] == "we")):
			add(words[i-2]+" care of", nil, words[i-2] == "took", false)
		case w == "marcha" && i > 0 && words[i-1] == "en", w == "curso" && i > 0 && words[i-1] == "en":
			add("en "+w, nil, false, true)
		case (w == "alta" || w == "baja") && i > 1 && words[i-1] == "de" && (words[i-2] == "di" || words[i-2] == "dimos" || words[i-2] == "dado" && gave(nearest(words[:i-2]))):
			add(words[i-2], map[bool][]Kind{true: {Create}, false: {Remove, Change}}[w == "alta"], true, false)
		}
	}
	if p, ok := phraseIn(s.text, words); ok {
		at, narrated = 0, p.narrated
		add(p.said, p.kinds, p.own, p.state)
	}
	if len(list) == 0 && !s.row && doneAlone(words) {
		add(words[0], nil, false, false)
		list[0].Bare = true
	}
	return list
}

// nounsIn returns the families of the nouns of a sentence.
func nounsIn(words []string) (about []Kind) {
	for _, w := range words {
		about = append(about, verbs().noun[strings.TrimSuffix(w, "s")]...)
	}
	return about
}

// said returns the statement of a sentence, and whether it begins as a report of a new act: «Listo, ya la reservé».
func said(s sentence) (words []string, fresh bool) {
	words = wordsOf(noDenials.Replace(s.text))
	if s.question {
		words = beforeQuestion(words)
	}
	for len(words) > 2 && openers()[words[0]] && words[1] == "," {
		fresh = fresh || doneWords()[words[0]]
		words = words[2:]
	}
	return words, fresh
}

// noDenials removes phrases that have the word of a denial, and deny nothing.
var noDenials = strings.NewReplacer("not only", "", "no solo", "", "no sólo", "", "no problem", "", "not to worry", "", "no worries", "", "without delay", "", "sin problemas", "", "sin problema", "", "sin coste", "", "sin demora", "")

// openers stand before a statement.
var openers = lazy.Words(`si sí yes yeah perfecto listo vale genial bien claro great perfect ok okay sure alright done right`)

// beforeQuestion returns the statement of a sentence before its question: “I've cancelled it, is there anything else?”.
func beforeQuestion(words []string) []string {
	for i, w := range words {
		if w == "," && i+1 < len(words) && asking()[words[i+1]] {
			return words[:i]
		}
	}
	return nil
}

var asking = lazy.Words(`is are anything any would do does did shall should can could may what which how who when right ok okay`)

// auxiliary is the form that the words before a verb give it.
type auxiliary struct{ own, we, passive, past, state, goes, quick bool }

// nearest reads the words before a verb, backwards over adverbs and other participles.
func nearest(before []string) (a auxiliary) {
	at := len(before)
	for at > 0 && (adverbs()[before[at-1]] || participle(before[at-1]) && at > 1 && before[at-1] != "been" && conjunction(before, at)) {
		a.quick = a.quick || before[at-1] == "successfully" || before[at-1] == "correctamente"
		at--
	}
	if at == 0 {
		return a
	}
	w, two := before[at-1], ""
	if at > 1 {
		two = before[at-2]
		for n := at - 2; n > 0 && adverbs()[two]; n-- {
			two = before[n-1]
		}
	}
	switch w {
	case "i've", "we've", "he", "hemos":
		a.own, a.we = true, w == "we've" || w == "hemos"
	case "have", "had":
		a.own, a.we = two == "i" || two == "we", two == "we"
	case "i", "we":
		a.own, a.we = true, w == "we"
	case "been", "sido":
		a.passive = two == "has" || two == "have" || two == "ha" || two == "han" || strings.HasSuffix(two, "'s") || strings.HasSuffix(two, "'ve")
	case "quedado":
		a.passive = two == "ha" || two == "han"
	case "ha", "han":
		a.quick = true // «el cambio ha comenzado»
		a.passive = two == "se" || strings.HasPrefix(two, "l") && at > 2 && before[at-3] == "se"
	case "queda", "quedan", "quedó", "quedaron":
		a.passive = true
	case "fue", "fueron", "was", "were":
		a.past, a.passive = true, slices.Contains(before, "ya")
	case "dejé", "dejamos", "dejado":
		a.own = true
	case "está", "estan":
		a.state = true
	case "as", "como":
		a.state = at > 1 && marks(before, at-2)
	case "is", "are":
		a.state, a.passive = two != "" && !articles()[two], slices.Contains(before[at:], "now")
	case "you're":
		a.passive, a.state = true, true
	case "being":
		a.passive = true
	case "i'm", "we're", "estoy", "estamos":
		a.goes = true
	case "am":
		a.goes = two == "i"
	}
	if w == "are" && two == "we" {
		a.goes = true
	}
	return a
}

// marks reports whether a word says as what something is on record, which may be an act: “is marked as delivered”.
func marks(words []string, at int) bool {
	return marking()[words[at]] && at+1 < len(words) && (words[at+1] == "as" || words[at+1] == "como")
}

var marking = lazy.Words(`marked listed recorded flagged registered shown noted tagged labeled labelled classified marcado marcada marcados marcadas registrado registrada registrados registradas listado listada`)

// conjunction reports whether a participle before another shares its auxiliary: «has been upgraded and cancelled».
func conjunction(before []string, at int) bool {
	return slices.Contains(before[at:], "and") || slices.Contains(before[at:], "y")
}

var adverbs = lazy.Words(`now just already also successfully then both all gone went ahead and correctly finally since ya ahora tambien correctamente recien por fin y bien todo toda todos todas everything`)

var articles = lazy.Words(`the a an this that these those el la los las un una este esta`)

// participle reports whether a word has the form of a participle of either language.
func participle(w string) bool {
	return len(w) > 3 && (strings.HasSuffix(w, "ed") || strings.HasSuffix(w, "ado") || strings.HasSuffix(w, "ido")) || strings.HasSuffix(w, "uesto") && len(w) > 4 || verbs().done[w] != nil
}

// perceived are acts that a model does without any service, or by reading.
var perceived = lazy.Words(`lined decided need feed seed speed checked found looked reviewed read retrieved located seen noticed understood searched verified compared prepared drafted listed summarised summarized calculated considered received tried attempted
	noted identified determined asked explained mentioned been had included provided answered wanted needed gathered examined analysed analyzed learned planned assumed proposed suggested double-checked assumed obtained fetched reached authenticated helped assisted logged
	revisado comprobado visto leido encontrado buscado consultado mirado entendido recibido verificado comparado preparado redactado calculado resumido pensado dicho explicado mencionado intentado podido querido tenido sido estado ido
	analizado dejado localizado propuesto obtenido recuperado supuesto contado olvidado equivocado hablado planteado`)

var denials = lazy.Words(`not never no nor neither cannot can't couldn't haven't hasn't isn't aren't wasn't weren't didn't don't doesn't won't without nothing none nobody unable yet nunca sin aun todavia ningun ninguna ninguno nada nadie tampoco jamas`)

// isOfPlan reports whether an act is on a draft, and so none at a service: “I've prepared the plan”. To send, to pay or
// to withdraw one is an act, and so is one on “your plan”.
func isOfPlan(words []string, at int) bool {
	if kinds := verbs().done[words[at]]; withdrawals()[words[at]] || slices.Contains(kinds, Run) || slices.Contains(kinds, Send) || slices.Contains(kinds, Pay) {
		return false
	}
	cut := func(w string) bool {
		return w == "," || w == ":" || w == "and" || w == "y" || w == "e" || w == "but" || w == "pero"
	}
	from, to := at, at
	for from > 0 && !cut(words[from-1]) {
		from--
	}
	for to < len(words) && !cut(words[to]) {
		to++
	}
	for i := from; i < to; i++ {
		if planWords()[words[i]] && (i == 0 || !owned()[words[i-1]]) && (i+1 == len(words) || !periods()[words[i+1]]) {
			return true
		}
	}
	return false
}

var (
	owned   = lazy.Words(`your tu tus su sus`)
	periods = lazy.Words(`mensual anual premium pro basico`)
)

var planWords = lazy.Words(`plan plans planes borrador borradores propuesta draft drafts proposal`)

// reports are words of a report of somebody else's act.
var reports = lazy.Words(`according says said shows log logs history appears seems status segun dice dicen consta figura figuran muestra aparece parece historial bitacora example ejemplo`)

var pastTimes = lazy.Words(`veces times yesterday ago last earlier previously originally ayer anoche anteayer hace pasado pasada anteriormente antes`)

var subordinators = lazy.Words(`que si cuando if that when`)

// succeeds reports whether a verb is followed by a word that says that it went well: «fue eliminado correctamente».
func succeeds(after []string) bool {
	return len(after) > 0 && (after[0] == "successfully" || after[0] == "correctamente") || len(after) > 1 && after[0] == "con" && after[1] == "exito"
}

var likeStates = lazy.Words(`abierto abierta abiertos abiertas`)

// clauseBefore returns the words before one, from the beginning of its clause.
func clauseBefore(words []string, at int) []string {
	from := 0
	for i := range at {
		if words[i] == "," || words[i] == ";" || words[i] == ":" || words[i] == "but" || words[i] == "pero" || words[i] == "so" || words[i] == "asi" {
			from = i + 1
		}
	}
	return words[from:at]
}

// closes reports whether a state is all that its sentence says: «Your table is booked for Friday.».
func closes(words []string, at int) bool {
	return words[at] != "scheduled" && words[at] != "set" && (at+1 == len(words) || slices.Contains([]string{"for", "para", "on", "el", ",", ":", "a", "en", "de", "to", "by", "through", "until", "hasta", "as", "under", "and", "y"}, words[at+1]) && !nounLike()[words[at]] || at+2 < len(words) && words[at+1] == "in" && words[at+2] == "for")
}

// ofText reports whether an act is one on a text, which a model does by itself: «he corregido el párrafo».
func ofText(after []string) bool { return has(after[:min(4, len(after))], texts()) }

var texts = lazy.Words(`texto textos text texts parrafo parrafos paragraph paragraphs frase frases sentence sentences resumen summary version redaccion wording tono tone faltas errata erratas typo typos titulo title ortografia spelling traduccion translation codigo code`)

// gave reports whether an auxiliary makes an act of «dado de alta».
func gave(a auxiliary) bool { return a.own || a.passive }

// begins reports whether a sentence begins with an English past of an act: «Added you to the list».
func begins(words []string) bool {
	return !nounLike()[words[0]] && (len(words) == 1 || determiners()[words[1]])
}

var determiners = lazy.Words(`the a an your you him her it them both all this that these and for to , : $`)

// nounLike are participles that are nouns, or that say how a thing is.
var nounLike = lazy.Words(`complete pedido pedidos puesto puestos cargo put run file closed cerrado cerrada cerrados cerradas signed incluido incluida incluidos incluidas included label record registered contratado mandado texto text`)

// fragment reports whether a sentence is a report without a verb before its participle: «Order cancelled.», «Dominio renovado por un año».
func fragment(words []string, at int) bool {
	isPast := func(w string) bool { return verbs().became[w] != nil || verbs().past[w] != nil }
	if nounLike()[words[at]] || at > 9 || slices.ContainsFunc(words[at+1:], isPast) || has(words[:at], finites()) || ofAnyThing(words, at) || words[0] == "para" || words[0] == "for" || adjective(words[at+1:]) || at+1 < len(words) && stopsFragment()[words[at+1]] {
		return false
	}
	if at+2 < len(words) && words[at+1] == "en" && unicode.IsDigit([]rune(words[at+2])[0]) { // «la tarjeta terminada en 4412»
		return false
	}
	if at+1 < len(words) && strings.HasSuffix(words[at], "d") && !afterFragment()[words[at+1]] { // «your modified order»
		return false
	}
	return at > 0 || len(words) == 1 || !determiners()[words[1]]
}

var (
	stopsFragment = lazy.Words(`by por and y como que`)
	afterFragment = lazy.Words(`for to from on at in with through until : ,`)
)

var finites = lazy.Words(`is are was were be been has have had will would can could may might must should do does did want need i we you to es son era fue fueron esta está estan ha han he hemos sera seran puede pueden cubre cubren incluye incluyen admite necesita necesitan hay tiene tienen tienes quieres necesito
	which what who cual que como listo lista ready please let , : an before`)

// goesNow reports whether a sentence that begins with a gerund says that something goes on: «Cancelling the order now».
func goesNow(words []string) bool { return has(words, nows()) }

var nows = lazy.Words(`now ahora momento moment mismo speak enseguida seguida inmediatamente`)

// doneAlone reports whether a sentence is only «Done» or «Listo», or begins with it.
func doneAlone(words []string) bool {
	end := slices.IndexFunc(words, func(w string) bool { return w == "," || w == ":" || w == ";" || w == "—" })
	if end < 0 {
		end = len(words)
	}
	return doneWords()[strings.Join(words[:end], " ")]
}

var doneWords = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for _, text := range []string{"done", "consider it done", "all done", "all set", "all sorted", "that's sorted", "that's all sorted", "it's sorted", "it's all sorted", "it's done", "it is done", "that's done", "that's been done", "hecho", "ya está", "ya está hecho", "listo", "dicho y hecho", "completado", "completed", "todo listo", "ya quedó", "listo ya quedó"} {
		set[text] = true
	}
	return set
})

// wordsOf splits a folded sentence into its words and the signs between clauses.
func wordsOf(text string) []string {
	var list []string
	var b strings.Builder
	flush := func() {
		if w := strings.Trim(b.String(), "'-"); w != "" {
			list = append(list, w)
		}
		b.Reset()
	}
	for _, r := range text {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '\'' || r == '-':
			b.WriteRune(r)
		case strings.ContainsRune(",;:—–(", r):
			flush()
			if len(list) > 0 {
				list = append(list, map[bool]string{true: ":", false: ","}[r == ':'])
			}
		default:
			flush()
		}
	}
	flush()
	for len(list) > 0 && (list[len(list)-1] == "," || list[len(list)-1] == ":") {
		list = list[:len(list)-1]
	}
	return list
}

var money = lazy.Pattern(`[€$£]|\b(eur|euros|usd|dollars|dolares|payment|pago|money|dinero)\b`)

func has(words []string, set map[string]bool) bool {
	return slices.ContainsFunc(words, func(w string) bool { return set[w] })
}
