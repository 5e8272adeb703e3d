package demo

import (
	"slices"
	"strings"
	"unicode"
)

// fold lower-cases text and drops the accents of Spanish, rune by rune.
func fold(text string) string {
	return strings.Map(func(r rune) rune {
		switch r = unicode.ToLower(r); r {
		case 'á', 'à', 'â':
			return 'a'
		case 'é', 'è', 'ê':
			return 'e'
		case 'í', 'ì', 'î':
			return 'i'
		case 'ó', 'ò', 'ô':
			return 'o'
		case 'ú', 'ù', 'û', 'ü':
			return 'u'
		case 'ñ':
			return 'n'
		}
		return r
	}, text)
}

// verb is the action that a message asks for.
type verb int

const (
	noVerb verb = iota
	reads
	creates
	updates
	deletes
	runs
)

var verbs = map[string]verb{}

func init() {
	for kind, words := range map[verb]string{
		reads:   "busca buscar buscame encuentra encontrar lista listar listame muestra mostrar muestrame ver dame consulta consultar consultame trae cuales hay tienes list show find search get give display fetch read view see look which",
		creates: "reserva reservar reservame resevar crea crear creame anade anadir agrega agregar registra registrar nueva nuevo haz programa agenda agendar compra comprar create add book reserve make new register schedule buy place order post",
		updates: "cambia cambiar actualiza actualizar modifica modificar mueve mover edita editar pon update change modify move edit reschedule rename set",
		deletes: "cancela cancelar cancelame borra borrar elimina eliminar quita quitar anula anular cancel delete remove drop",
		runs:    "prueba probar ejecuta ejecutar lanza lanzar llama llamar haz corre usa invoca run test try call execute launch start invoke use",
	} {
		for word := range strings.FieldsSeq(words) {
			if _, taken := verbs[word]; !taken || kind != runs {
				verbs[word] = kind
			}
		}
	}
}

// translations maps the words of both languages, in the singular, to one concept. Other words stand
// for themselves.
var translations = map[string]string{
	"sala": "room", "habitacion": "room", "habitacione": "room", "cuarto": "room", "aula": "room",
	"reserva": "reservation", "reservar": "reservation", "reservame": "reservation", "reserve": "reservation",
	"reservacion": "reservation", "reservacione": "reservation", "booking": "reservation", "book": "reservation",
	"pedido": "order", "orden": "order", "ordene": "order", "usuario": "user", "cliente": "customer",
	"producto": "product", "articulo": "product", "mascota": "pet", "cita": "appointment", "tarea": "task",
	"factura": "invoice", "pago": "payment", "archivo": "file", "fichero": "file", "mensaje": "message",
	"correo": "email", "evento": "event", "tienda": "store", "inventario": "inventory", "precio": "price",
	"lenta": "slow", "lento": "slow", "tardia": "slow", "inestable": "flaky", "fragil": "flaky",
	"registro": "ledger", "peticion": "ledger", "peticione": "ledger", "clima": "weather", "tiempo": "weather",
	"empleado": "employee", "equipo": "team", "proyecto": "project", "nota": "note", "libre": "free",
	"disponible": "free", "available": "free", "fecha": "date", "dia": "date", "hora": "start", "inicio": "start",
	"fin": "end", "persona": "people", "person": "people", "plaza": "capacity", "asiento": "capacity",
	"seat": "capacity", "titulo": "title", "motivo": "title", "asunto": "title", "nombre": "name", "segundo": "second",
	"fallo": "failure", "cantidad": "quantity", "estado": "status", "coche": "car", "vuelo": "flight",
	"gato": "cat", "perro": "dog", "libro": "book", "ciudad": "city", "ciudade": "city", "pais": "country",
}

// named holds the concepts of translations: words with a meaning of their own, never the name of
// one thing.
var named = func() map[string]bool {
	out := map[string]bool{}
	for _, c := range translations {
		out[c] = true
	}
	return out
}()

var stopwords = set(`a al algo algun alguna an and are at busco como con cual cuales de del deseo do el ella en es esa ese esta
	este esto for from gustaria hay hoy i in is it la las le lo los manana me mi mis mio my necesito no o of on or para please por
	porfa favor que quiero quisiera puedes podrias se si son su sus te the there this to todas todos tomorrow today tu un una uno unas
	unos want what with would like can could you y ya need all any that id llamada llamado called named am pm las`)

func set(words string) map[string]bool {
	out := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		out[word] = true
	}
	return out
}

// tokens cuts text into folded words; hyphens, underscores and capitals inside a word (petStore)
// separate words.
func tokens(text string) []string {
	var b strings.Builder
	lower := false
	for _, r := range text {
		if unicode.IsUpper(r) && lower {
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			r = ' '
		}
		b.WriteRune(r)
	}
	return strings.Fields(fold(b.String()))
}

// concept returns the concept of one folded word; "" for a stop word.
func concept(word string) string {
	if stopwords[word] {
		return ""
	}
	if len(word) > 3 {
		word = strings.TrimSuffix(word, "s")
	}
	if known, ok := translations[word]; ok {
		return known
	}
	return word
}

// concepts returns the distinct concepts of text, in order.
func concepts(text string) []string {
	var out []string
	for _, word := range tokens(text) {
		if c := concept(word); c != "" && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// intentOf returns the main verb of the message, and its concepts without the word of that verb.
// «Reserva» is the verb at the head of a sentence and a noun after an article, and it names
// reservations in both cases.
func intentOf(text string) (verb, []string) {
	kind, out := noVerb, []string{}
	words := tokens(text)
	for i, word := range words {
		found := verbs[word]
		article := i > 0 && slices.Contains([]string{"la", "las", "el", "una", "un", "mi", "tu", "su", "esta", "esa", "los", "the", "my", "a", "this", "that", "of", "de"}, words[i-1])
		if found != noVerb && !article && (kind == noVerb || kind == runs && found != runs) {
			kind = found
			if translations[word] == "" {
				continue
			}
		}
		if c := concept(word); len(c) > 1 && (c[0] < '0' || c[0] > '9') && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	if kind == creates && (slices.Contains(out, "prueba") || slices.Contains(out, "test")) {
		kind = runs // «haz la prueba» makes nothing
	}
	return kind, out
}

var english = set(`the a an is are please what which when where how list show find search get book reserve create delete cancel remove
	room rooms reservation reservations for at on in of tomorrow today hello hi hey thanks thank you can could would i want need my me all run
	test try call monday tuesday wednesday thursday friday saturday sunday people help yes and to free make change update move with
	good morning afternoon evening bye goodbye`)

var spanish = set(`el la los las un una es son por favor que cual cuando donde como lista muestra busca reserva reservas crea borra cancela elimina
	sala salas para el en de del manana hoy hola gracias puedes podrias quiero necesito mi mis me todas todos ejecuta prueba lunes martes
	miercoles jueves viernes sabado domingo personas ayuda si y libre libres haz cambia mueve dame ver a las buenas buenos con`)

// inEnglish reports whether the message is in English; fallback is the result when it shows no
// language.
func inEnglish(text string, fallback bool) bool {
	balance := 0
	for _, word := range tokens(text) {
		if english[word] {
			balance++
		}
		if spanish[word] {
			balance--
		}
	}
	if balance == 0 {
		return fallback
	}
	return balance > 0
}
