package beside

import (
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"piloto/internal/chats/consent"
	"piloto/internal/chats/intent"
	"piloto/internal/ground/lazy"
)

// stated is a sentence of a text, as the plan is compared with it.
type stated struct {
	text  string
	words []string // in normal form

	asks      bool // it asks or orders something of the reader
	announces bool // it says that something will be done
	acts      bool // and that is an act of the plan
	promises  bool // it says that something will follow
}

// statedIn returns the sentences of a text. does says which words are acts of the plan.
func (n names) statedIn(text string, does func(word string) bool) (list []stated) {
	for _, s := range sentencesOf(text) {
		t := stated{text: s.text, words: strings.Fields(intent.Normalize(s.text)), asks: s.question, promises: promises().MatchString(s.text)}
		for _, clause := range clausesOf(s.text) {
			announces := n.announces(clause) || offers(clause)
			t.asks = t.asks || isRequest(clause) || isOrder(clause)
			t.announces = t.announces || announces
			t.acts = t.acts || announces && slices.ContainsFunc(strings.Fields(clause), does)
		}
		list = append(list, t)
	}
	return list
}

// strays reports whether a text asks for something, or announces an act of the plan, with a particular that the plan
// does not have: a figure, a day, an id, a name, a number of things, a manner or an addition. “Shall I book it for
// 12:00?” is no question about a booking for 10:30, and «¿La hago mensual?» none about a yearly one. A particular that
// the plan has in another form counts as another one, because a second message costs less. The sentence before a
// question names its subject: “Sala Sur is free. Shall I book it?”
func (n names) strays(text string, does func(word string) bool) bool {
	before := stated{}
	for _, t := range n.statedIn(text, does) {
		of := t.asks && n.single() && !hasDigit(t.text)
		switch text := digits(t.text); {
		case of && (n.partly(before.text) || n.timesElse(before.words) || n.codesElse(before.text)), (t.asks || t.announces || t.promises) && n.codesElse(t.text):
			return true
		case t.asks || t.acts:
			fixes := n.fixesElse
			if t.acts {
				fixes = n.timesElse
			}
			if n.lacks(text) || n.single() && ofAll(t.words, does) || fixes(t.words) || n.namesElse(t.text, t.acts) || t.asks && n.addsElse(t.words, does) {
				return true
			}
		case t.promises:
			if depends(t.words) || n.lacks(harmless().ReplaceAllString(text, " ")) || slices.ContainsFunc(t.words, does) && n.fixesElse(t.words) || n.namesElse(t.text, false) {
				return true
			}
		}
		before = t
	}
	return false
}

// depends reports whether a sentence begins with a condition that is not about the person or the plan: “If Irene is not at home, it will
// be left with a neighbour”.
func depends(words []string) bool {
	return len(words) > 2 && (words[0] == "if" || words[0] == "si" || words[0] == "unless") && !ofThem()[words[1]]
}

// lacks reports whether a text has a figure that the plan does not have.
func (n names) lacks(text string) bool {
	return len(n.figures().Missing(n.compared(text))) > 0
}

// compared returns a text with its times in one form, «a las 10.30», and without the last digits of a card, where one is sent by
// another id.
func (n names) compared(text string) string {
	text = dotted().ReplaceAllString(text, "$1 $2:$3")
	if n.sends("card") || n.sends("tarjeta") {
		return endings().ReplaceAllString(text, " ")
	}
	return text
}

// does reports whether a word is an act of the plan, and not its confirmation.
func (n names) does(word string) bool {
	is, does := n.act(word)
	return is && does && !strings.HasPrefix(word, "confirm")
}

// codesElse reports whether a sentence has ids, and none that is sent.
func (n names) codesElse(sentence string) bool {
	codes := codesIn(sentence)
	return len(codes) > 0 && !slices.ContainsFunc(codes, func(c string) bool { return n.codes[c] })
}

// codesIn returns the ids of a text: words with letters and digits, such as #W99 or gift_card_11, but for measures.
func codesIn(text string) (out []string) {
	for _, token := range codeTokens().FindAllString(unescaped(text), -1) {
		token = strings.ToLower(strings.Trim(token, "#-_"))
		if strings.ContainsFunc(token, unicode.IsLetter) && strings.ContainsFunc(token, unicode.IsDigit) && len(token) > 2 && !measures().MatchString(token) {
			out = append(out, token)
		}
	}
	return out
}

// unescaped returns a text that a path may have escaped.
func unescaped(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

// namesElse reports whether a sentence names somebody or something that the plan does not have: a name of which only a part is sent,
// or one to, from or with which something is done, or for which it is announced.
func (n names) namesElse(sentence string, announced bool) bool {
	if slices.ContainsFunc(codesIn(sentence), func(c string) bool { return n.codes[c] }) { // a code of the plan identifies the thing
		return false
	}
	fields := strings.Fields(sentence)
	for i, end := range namesIn(fields) {
		sent, strange := n.parts(fields[i:end])
		before := ""
		if i > 0 {
			before = intent.Normalize(fields[i-1])
		}
		if i > 1 && determining()[before] {
			before = intent.Normalize(fields[i-2])
		}
		if i > 0 && strange && (sent || adding()[before] || announced && favouring()[before]) {
			return true
		}
	}
	return false
}

// partly reports whether a sentence has a name of which only a part is sent.
func (n names) partly(sentence string) bool {
	fields := strings.Fields(sentence)
	for i, end := range namesIn(fields) {
		if sent, strange := n.parts(fields[i:end]); sent && strange {
			return true
		}
	}
	return false
}

// parts reports whether words of a name are sent, and whether some are not.
func (n names) parts(name []string) (sent, strange bool) {
	for _, field := range name {
		for _, w := range n.things(strings.Fields(intent.Normalize(field))) {
			if usual()[w] || generic()[w] && !n.sends(w) {
				continue
			}
			sent, strange = sent || n.sends(w), strange || !n.sends(w)
		}
	}
	return sent, strange
}

// namesIn returns where the names of a sentence begin and end: runs of words with a capital letter.
func namesIn(fields []string) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		for i := 0; i < len(fields); i++ {
			end := i
			for end < len(fields) && isName(fields[end]) {
				end++
			}
			if end > i && !yield(i, end) {
				return
			}
			i = end
		}
	}
}

// offers reports whether a clause offers to do something: “I can book it for 12:00”.
func offers(clause string) bool {
	return slices.ContainsFunc(offering, func(begin string) bool { return strings.HasPrefix(clause, begin+" ") })
}

var offering = []string{"i can", "we can", "i could", "we could", "id", "puedo", "podemos", "podria"}

// isName reports whether a word begins with a capital letter.
func isName(field string) bool {
	first, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(field, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
	return unicode.IsUpper(first) && len(field) > 1
}

// single reports whether the plan does one thing to one.
func (n names) single() bool {
	return !slices.ContainsFunc(n.counts, func(count int) bool { return count > 1 })
}

// ofAll reports whether some words speak of all things of a kind: “all your memberships”, «todas tus reservas», “move all of them”.
func ofAll(words []string, does func(string) bool) bool {
	for i, w := range words {
		if !alls()[w] {
			continue
		}
		if i > 0 && does(words[i-1]) {
			return true
		}
		if w == "everything" { // “if everything looks correct”
			continue
		}
		for _, next := range words[i+1:] {
			if !ofs()[next] {
				if strings.HasSuffix(next, "s") && !consent.Stands(next) {
					return true
				}
				break
			}
		}
	}
	return false
}

// fixesElse reports whether some words fix how something is done, and the plan does not.
func (n names) fixesElse(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return fixing()[w] && !n.sends(w) })
}

// timesElse is fixesElse of an announcement, which may call a day that is sent “tomorrow”.
func (n names) timesElse(words []string) bool {
	return n.fixesElse(slices.DeleteFunc(slices.Clone(words), func(w string) bool { return n.dated && relative()[w] }))
}

// addsElse reports whether some words add a thing to the act that is not the plan's, or another act: “Shall I book it with breakfast?”,
// “cancel it and charge the fee?”
func (n names) addsElse(words []string, does func(string) bool) bool {
	at := slices.IndexFunc(words, does)
	if at < 0 {
		return false
	}
	rest := words[at+1:]
	for i, w := range rest {
		more := rest[i+1:]
		switch {
		case conjoining()[w]:
			next := slices.IndexFunc(more, func(w string) bool { return !clitics()[w] && !turning()[w] })
			if next < 0 {
				continue
			}
			if is, does := n.act(more[next]); is && !does {
				return true
			}
		case adding()[w]:
			if end := slices.IndexFunc(more, func(w string) bool { return ending()[w] || adding()[w] }); end >= 0 {
				more = more[:end]
			}
			if things := slices.DeleteFunc(n.things(more), func(w string) bool { return usual()[w] }); len(things) > 0 && !slices.ContainsFunc(things, n.sends) {
				return true
			}
		}
	}
	return false
}

// digits returns a text with its small numbers in digits: “for three people”.
func digits(text string) string {
	return spelled().ReplaceAllStringFunc(text, func(word string) string {
		return strconv.Itoa(2 + slices.Index(numerals, strings.ToLower(norm.NFC.String(word)))/2)
	})
}

var (
	codeTokens = lazy.Pattern(`[\pL\d_#-]*\d[\pL\d_#-]*`)
	measures   = lazy.Pattern(`^\d+-?\pL{1,8}$|^\d{4}-\d\d|^\d+-(?:day|hour|minute|inch|pack|piece|person|year|month)`)
	// promises matches a verb of a future effect: “will be sent”, «se enviará».
	promises = lazy.Pattern(`(?i)\b(?:will|would|can|going to|'ll)\s+(?:be|go|get|come|receive|arrive|have)\b|\pL{3,}(?:ará|erá|irá|arán|erán|irán)(?:[^\pL]|$)|\bquedaría`)
	// harmless are figures that a text may have beside those of the plan: a price, and a duration.
	harmless = lazy.Pattern(`(?i)[$€£¥]\s?\d[\d.,]*|\d[\d.,]*\s?(?:€|\$|£|usd\b|eur\b|pen\b|soles\b|dollars\b|euros\b)|\d+[.,]\d\d\b|\d+(?:\s?(?:-|–|to|a|y|and|or|o)\s?\d+)?\s+(?:(?:business|working|calendar)\s)?(?:days?|hours?|minutes?|weeks?|months?|d[ií]as?|horas?|minutos?|semanas?|meses)\b`)

	dotted = lazy.Pattern(`(?i)\b(las?|at|from|desde|hasta)\s+(\d{1,2})\.(\d\d)\b`)
	// endings are the last digits of a card.
	endings = lazy.Pattern(`(?i)\b(?:ending|ends|terminad[ao]|acabad[ao])\s+(?:in|with|en|con)\s+\*?\d{2,4}\b`)
	// usual are words of any request, and months, which are compared with their days.
	usual = lazy.Words(`original payment method methods details information option options yes si confirmation confirmacion
		january february march april may june july august september october november december enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre`)
	// generic are words of names that name the kind of a thing, and that a document may have in another language.
	generic = lazy.Words(`sala salon room mesa table habitacion suite hotel calle street avenida avenue plaza square pista court vuelo flight pedido order reserva booking cuenta account doctor doctora clinica clinic tienda store shop tarjeta card`)
	ofThem  = lazy.Words(`you youd youre you've we i everything all this that it its so not necessary needed possible approved confirmed there any the a an your
		todo te le les lo la los las es estas esta necesitas necesita tienes tiene confirmas confirma hay no prefieres deseas quieres quiere algo tu su el`)
	// relative are days as one calls them on another.
	relative = lazy.Words(`today tonight tomorrow hoy manana`)

	alls = lazy.Words(`all both every each todos todas ambos ambas cada everything`)
	ofs  = lazy.Words(`of the your my these those de los las tus mis sus estos estas esos esas`)
	// fixing are words that fix when, for how long, how often or how something is done.
	fixing = lazy.Words(`today tonight tomorrow monday tuesday wednesday thursday friday saturday sunday weekend morning afternoon evening noon midnight immediately later next every whole entire
		hourly daily weekly fortnightly monthly quarterly yearly annual annually permanent permanently temporarily forever express urgent overnight partial partially twice double
		dozen half
		hoy manana noche lunes martes miercoles jueves viernes sabado domingo mediodia medianoche tarde inmediatamente luego proxima proximo cada entera entero
		diario diaria semanal quincenal mensual bimestral trimestral semestral anual diariamente semanalmente mensualmente anualmente permanente permanentemente temporal temporalmente siempre urgente parcial parcialmente doble
		docena medio media mitad`)
	adding     = lazy.Words(`to from with without in into by via as plus including on using a de desde con sin en como incluyendo`)
	favouring  = lazy.Words(`for para`)
	conjoining = lazy.Words(`and y e then`)
	turning    = lazy.Words(`and then also y luego tambien te se le les os me`)

	// numerals are the numbers from two on, in both languages.
	numerals = []string{"two", "dos", "three", "tres", "four", "cuatro", "five", "cinco", "six", "seis", "seven", "siete", "eight", "ocho", "nine", "nueve", "ten", "diez"}
	spelled  = lazy.Pattern(`(?i)\b(` + strings.Join(numerals, "|") + `)\b`)
)
