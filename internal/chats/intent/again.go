package intent

import (
	"slices"
	"strings"
	"unicode/utf8"

	"piloto/internal/ground/lazy"
)

// Refused is a draft that a person refused, as texts.
type Refused struct {
	Asked string   // the message that it was proposed for
	Words []string // its goal, its titles, its values
}

// Words by which AsksAgain reads a message, in the form of Normalize. In a list, a space separates words, a line phrases.
var (
	// again says that something is wanted after all, or once more, without its name.
	again = phrasesOf(`
otra vez
de nuevo
nuevamente
una vez mas
ahora si
mejor si
cambie de idea
cambio de idea
he cambiado de idea
cambie de opinion
cambio de opinion
he cambiado de opinion
hazlo
hagalo
hagamoslo
haz lo mismo
proponlo
proponmelo
vuelve a
vuelva a
volver a
repitelo
repitela
lo quiero
la quiero
los quiero
las quiero
again
once more
one more time
after all
changed my mind
do it
do that
propose it
repeat it
i want it
i want them
`)
	// requesting begins a question that asks to do something.
	requesting = phrasesOf(`
puedes
puede
podeis
pueden
podrias
podria
podriais
me puedes
me podrias
nos puedes
puedo
podemos
se puede
se podria
es posible
seria posible
te importa
te importaria
quieres
querrias
y si
que tal si
hazlo
hagamoslo
repitelo
lo hacemos
lo haces
can you
could you
would you
will you
can we
could we
can i
could i
may i
shall we
should we
is it possible
how about
do it
do that
please
`)
	// asking begins a question, also without its mark.
	asking = phrasesOf(`
que es
que son
que era
que significa
que hace
que pasa
que paso
que tal
que hay
que hora
por que
para que
cual
cuales
cuanto
cuanta
cuantos
cuantas
como
cuando
donde
quien
quienes
what
whats
why
how
when
where
who
which
is
are
was
were
does
did
do you
have you
`)
	// quitting words end something, unless they name the refused draft: «anula la reserva».
	quitting = lazy.Words(`
deja deje dejad dejar olvida olvidate olvide olvidemos cancela cancele anula anule borra quita para parad descarta evita odio detesto harto harta
stop quit forget drop cancel skip avoid hate undo`)
	// telling words begin a wish for words only, unless they name the refused draft.
	telling = lazy.Words(`
explica explicame explicarme explicar explicas explique cuenta cuentame contarme contar cuentas dime decirme decir dices di diga digame muestra muestrame mostrarme mostrar
muestras ensename ensenarme describe describeme describir resume resumeme resumir recuerdame recordarme recuerdas aclara aclarame aclararme saber sabes entender entiendo entiendes ver veo
viste pregunto preguntaba pregunta hablame hablarme hablar hablas comenta comentame lee leeme traduce traduceme escribe escribeme busca busqueda
explain tell telling show describe summarize summarise remind know knew understand wonder wondering see saw say talk read translate write mean`)
	// ordering words ask for something to be done: with a word of the thing, for the thing.
	ordering = lazy.Words(`
pide pideme pidelo pidela pidelos pidelas pidemelo pon ponme ponlo ponla ponle ponnos anade anademe anadele anadelo agrega agregame agregale agregalo incluye incluyelo mete meteme metele
compra comprame compralo encarga encargame encargalo reserva reservame reservalo crea creame crealo manda mandame mandalo envia enviame envialo prueba intenta intentalo procede retoma retomamos
confirmalo falta faltaba add include put order buy book get send create try retry reorder`)
	// thanking begins a message that thanks for something.
	thanking = phrasesOf(`
gracias por
muchas gracias por
thanks for
thank you for
`)
	// common words say nothing about the subject of a request.
	common = lazy.Words(`
	que el la los las lo un una uno unos unas de del al a y o e u en con por para mas muy pero este esta esto estos estas ese esa eso esos esas me te se le les nos mi su ya si es
	ahora hoy manana luego despues pronto quiero quiera queria quisiera gustaria puedes puede puedo podrias podria podemos favor porfa porfavor gracias hola oye anda venga vale ok okay
	bueno pues entonces adelante he haz hacer hacerlo haga hagas haces hacemos plan propuesta propon proponer proponme propongas tarjeta repite repetir repetirlo vuelve vuelva volver tambien dos tres cuatro cinco seis siete ocho nueve diez
	the a an and or for of to in with your you can could please want would like will shall we this that these those it its them one now today tomorrow later thanks thank hello hi hey some
	i me my is yes sure well then so just really do doing make propose proposal repeat go ahead and too id ill lets
	two three four five six seven eight nine ten`)
	// endTags end a request as a question: "book it again, ok?".
	endTags = lazy.Words(`ok okay vale si yes please right porfa porfavor favor verdad alright`)
)

func phrasesOf(lines string) []string { return strings.Split(strings.TrimSpace(lines), "\n") }

// AsksAgain reports whether a person asks with a message for something that they refused before. A message with a negation, or on the
// list of refusals, asks for nothing. A yes asks when it is an answer: answers is that the message directly before it is one of
// the assistant that asks. Otherwise one of its sentences has to ask: it says that it is once more, without another content, or most of
// its words are those of the thing. A question about the thing is no request for it, unless it asks to do something, or
// the thing was proposed for such a question.
func AsksAgain(message string, answers bool, of Refused) bool {
	meant := corrections().ReplaceAllString(message, "")
	kind := Classify(message)
	if kind.Refuses() && meant == message || hasNegation(Normalize(meant)) {
		return false
	}
	message = meant
	if kind.Agrees() && answers {
		return true
	}
	known := wordsOfThing(append([]string{of.Asked}, of.Words...))
	wasQuestion := slices.ContainsFunc(sentencesIn(of.Asked), asksOnly)
	return slices.ContainsFunc(sentencesIn(message), func(sentence string) bool {
		return (wasQuestion || !asksOnly(sentence)) && known.asked(sentence)
	})
}

// corrections matches how a person begins who was misunderstood: “No, I meant cancel the order”.
var corrections = lazy.Pattern(`(?i)^[\s¡]*(?:(?:no|nope|wait|sorry|perdona|espera)\b[\s,.!¡…]*)+(?:but )?(?:i (?:meant|mean|said|want|wanted)(?: you)?(?: to)?|i'd like(?: you)? to|(?:quería|queria|quise|quiero) decir(?: que)?|me refer[íi]a a(?: que)?|digo que|dije que|lo que (?:quiero|quería|queria) es(?: que)?)\b[\s,:]*`)

// sentencesIn splits a message into sentences, with their marks.
func sentencesIn(message string) (list []string) {
	begin := 0
	for i, r := range message {
		switch {
		case strings.ContainsRune("¿¡", r) && i > begin:
			list, begin = append(list, message[begin:i]), i
		case strings.ContainsRune(".!?;\n", r):
			end := i + utf8.RuneLen(r)
			list, begin = append(list, message[begin:end]), end
		}
	}
	return append(list, message[begin:])
}

// asksOnly reports whether a sentence is a question that does not ask to do something.
func asksOnly(sentence string) bool {
	text := withoutCourtesy(Normalize(sentence))
	if startsWith(text, requesting) || personally(text) {
		return false
	}
	if startsWith(text, asking) {
		return true
	}
	if at := strings.LastIndex(sentence, ","); at >= 0 && !strings.Contains(sentence[:at], "¿") {
		tag := strings.Fields(Normalize(sentence[at:]))
		if len(tag) > 0 && !slices.ContainsFunc(tag, func(word string) bool { return !endTags()[word] }) {
			return false
		}
	}
	return HasQuestionMark(sentence)
}

// personally reports a question to the assistant for something for the person: «¿me pides dos tés?».
func personally(text string) bool {
	words := strings.Fields(text)
	return len(words) > 1 && (words[0] == "me" || words[0] == "nos") && strings.HasSuffix(words[1], "s")
}

// openings may stand before a question or a request.
var openings = lazy.Words(`y pero oye hola bueno vale ok okay entonces pues por favor perdona and but hey hi hello so well sorry`)

// withoutCourtesy drops the words before a question or a request.
func withoutCourtesy(text string) string {
	for {
		word, rest, more := strings.Cut(text, " ")
		if !more || !openings()[word] || startsWith(text, []string{"por que", "y si"}) {
			return text
		}
		text = rest
	}
}

func startsWith(text string, phrases []string) bool {
	return slices.ContainsFunc(phrases, func(p string) bool { return strings.HasPrefix(text+" ", p+" ") })
}

// thingWords are the words by which a thing is named, also without the ending of a plural.
type thingWords map[string]bool

func wordsOfThing(texts []string) thingWords {
	words := thingWords{}
	for _, text := range texts {
		for word := range strings.FieldsSeq(Normalize(text)) {
			words[word], words[singular(word)] = true, true
		}
	}
	return words
}

// asked reports whether a sentence asks for the thing.
func (t thingWords) asked(sentence string) bool {
	text := " " + Normalize(sentence) + " "
	if startsWith(strings.TrimSpace(text), thanking) {
		return false
	}
	said := false
	for _, words := range again {
		if strings.Contains(text, " "+words+" ") {
			said = true
			text = strings.ReplaceAll(text, " "+words+" ", " ")
		}
	}
	hits, named, long, all, orders := 0, 0, 0, 0, false
	for word := range strings.FieldsSeq(text) {
		if common()[word] {
			continue
		}
		is := t.has(word)
		if !is && (quitting()[word] || all == 0 && telling()[word]) {
			return false
		}
		if ordering()[word] {
			orders = true
		} else if all++; is && utf8.RuneCountInString(word) > 2 {
			named++
		}
		if utf8.RuneCountInString(word) < 3 && !isNumber(word) {
			continue
		}
		if long++; is {
			hits++
		}
	}
	if said && (hits > 0 || all == 0) || orders && named > 0 {
		return true
	}
	return 2*hits > long
}

// sameStem is how many letters two forms of a word share at least.
const sameStem = 4

// has reports whether a word, or another form of it, names the thing.
func (t thingWords) has(word string) bool {
	if t[word] || t[singular(word)] {
		return true
	}
	for other := range t {
		shared := 0
		for shared < min(len(word), len(other)) && word[shared] == other[shared] {
			shared++
		}
		if shared >= max(sameStem, min(len(word), len(other))-2) && !isNumber(word) {
			return true
		}
	}
	return false
}

// singular drops the ending of a plural.
func singular(word string) string { return strings.TrimSuffix(strings.TrimSuffix(word, "s"), "e") }

func isNumber(w string) bool { return w != "" && w[0] >= '0' && w[0] <= '9' }
