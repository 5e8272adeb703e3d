package consent

import (
	"strings"
	"sync"
)

// kinds is a set of kinds of acts, one bit each.
type kinds uint64

const (
	removes kinds = 1 << iota
	cancels
	changes
	revises
	edits
	reschedules
	renames
	upgrades // changes to a better class or plan
	downgrades
	creates
	adds
	reserves
	buys
	sends
	forwards
	publishes
	shares
	pays
	charges
	refunds
	returns
	exchanges
	replaces
	transfers
	closes
	archives
	approves
	rejects
	assigns
	reads
	opens
	grants
	issues
)

func (k kinds) meet(other kinds) bool { return k&other != 0 }

// form says how a word is used: as a verb («cancela»), as a noun («cancelación») or as both (“return”).
type form uint8

const (
	verb form = 1 << iota
	noun
	said // «cancelo», «cancelaré»: it orders nothing
)

// word is an act that a word names.
type word struct {
	kinds kinds
	form  form
	light bool // it says little of its own: “make the change” is a change
	of    number
}

// number says of how many things a word is: «cancélalo» of one, «cancélalos» and “the cancellations” of more.
type number uint8

const (
	unsaid number = iota
	one
	more
)

// family lists the words of a kind. An English verb is written in its base form. A Spanish one is its infinitive, with the
// stem of «yo» after a colon where that is another: devolver:devuelv.
type family struct {
	kinds  kinds
	en, es string // verbs
	nouns  string
	light  bool
	enBoth string // English verbs that are nouns, too
}

var families = []family{
	{kinds: cancels, en: "cancel void annul", es: "cancelar anular", nouns: "cancellation cancelation cancelacion anulacion"},
	{
		kinds: removes, en: "delete remove revoke erase unsubscribe", es: "borrar eliminar suprimir quitar revocar",
		nouns: "deletion removal revocation eliminacion supresion revocacion baja borrado",
	},
	{kinds: changes, en: "modify", enBoth: "change update", es: "modificar actualizar", nouns: "modification modificacion actualizacion"},
	{kinds: revises, en: "adjust alter revise amend", es: "ajustar revisar", nouns: "adjustment amendment revision ajuste"},
	{kinds: edits, en: "edit correct", es: "editar corregir:corrig", nouns: "correction edicion correccion"},
	{kinds: reschedules, en: "reschedule", es: "reprogramar reagendar", nouns: "reprogramacion"},
	{kinds: renames, en: "rename", es: "renombrar"},
	{kinds: upgrades, enBoth: "upgrade", es: "mejorar", nouns: "mejora"},
	{kinds: downgrades, enBoth: "downgrade"},
	{kinds: changes | exchanges, es: "cambiar", nouns: "cambio"}, // an exchange where the document says so
	{kinds: creates, light: true, en: "create register", es: "crear registrar generar", nouns: "creation registration creacion alta registro"},
	{kinds: opens, light: true, en: "open", es: "abrir", nouns: "opening apertura"},
	{kinds: adds, en: "add include append", es: "anadir agregar sumar incluir:incluy", nouns: "addition"},
	{kinds: reserves, en: "reserve", enBoth: "book schedule booking", es: "agendar reservar", nouns: "booking reservation appointment reserva cita"},
	{kinds: buys, en: "buy", enBoth: "order purchase", es: "encargar comprar", nouns: "pedido compra encargo"},
	{kinds: buys, light: true, es: "pedir:pid solicitar"},
	{kinds: sends, en: "send deliver notify", enBoth: "email mail", es: "enviar mandar remitir notificar entregar", nouns: "delivery dispatch notification envio entrega notificacion"},
	{kinds: forwards, en: "forward", es: "reenviar"},
	{kinds: grants, en: "grant give", es: "conceder"},
	{kinds: issues, light: true, en: "issue", es: "emitir expedir", nouns: "issuance emision"},
	{kinds: publishes, en: "publish post", es: "publicar", nouns: "publication publicacion"},
	{kinds: shares, en: "share", es: "compartir"},
	{kinds: pays, en: "pay", es: "pagar abonar", nouns: "payment pago abono"},
	{kinds: charges, enBoth: "charge", es: "cobrar", nouns: "cobro"},
	{kinds: refunds, en: "reimburse", enBoth: "refund", es: "reembolsar reintegrar", nouns: "reimbursement reembolso reintegro"},
	{kinds: returns, enBoth: "return"},
	{kinds: returns | refunds, es: "devolver:devuelv", nouns: "devolucion"},
	{kinds: exchanges, enBoth: "exchange swap", es: "intercambiar canjear", nouns: "intercambio canje"},
	{kinds: replaces, en: "replace", es: "sustituir:sustituy reemplazar", nouns: "replacement sustitucion reemplazo"},
	{kinds: transfers, enBoth: "transfer", es: "transferir:transfier traspasar derivar", nouns: "transferencia traspaso"},
	{kinds: closes, en: "close", es: "cerrar:cierr", nouns: "closure cierre"},
	{kinds: archives, en: "archive", es: "archivar"},
	{kinds: approves, en: "approve", es: "aprobar:aprueb", nouns: "approval aprobacion"},
	{kinds: approves, light: true, en: "confirm", es: "confirmar"},
	{kinds: rejects, en: "reject decline deny", es: "rechazar denegar:denieg", nouns: "rejection rechazo"},
	{kinds: assigns, en: "assign allocate", es: "asignar", nouns: "assignment allocation asignacion"},
	{kinds: reads, en: "read look check search find list show view", es: "leer mirar consultar buscar listar mostrar:muestr", nouns: "lookup consulta busqueda lectura"},
	{light: true, en: "make do place process submit perform complete finalize finalise initiate start execute arrange handle", es: "realizar procesar tramitar efectuar iniciar completar finalizar gestionar hacer"},
}

// acts returns the words of acts, in normal form.
var acts = sync.OnceValue(func() map[string]word {
	out := map[string]word{}
	for _, f := range families {
		add := func(form form, of number, texts ...string) {
			for _, text := range texts {
				old := out[text]
				out[text] = word{old.kinds | f.kinds, old.form | form, old.light || f.light, max(old.of, of)}
			}
		}
		for base := range strings.FieldsSeq(f.en) {
			add(verb, unsaid, base)
			add(verb, unsaid, gerunds(base)...)
		}
		for base := range strings.FieldsSeq(f.enBoth) {
			add(verb|noun, unsaid, base)
			add(verb, unsaid, gerunds(base)...)
			add(noun, more, plurals(base)...)
		}
		for base := range strings.FieldsSeq(f.es) {
			spanish(base, func(text string, of number) { add(verb, of, text) }, func(text string) { add(said, unsaid, text) })
		}
		for base := range strings.FieldsSeq(f.nouns) {
			add(noun, unsaid, base)
			add(noun, more, plurals(base)...)
		}
	}
	for _, text := range []string{"haz", "hazme", "haga", "hagame", "hagamos"} { // «hacer» has forms of its own
		out[text] = word{form: verb, light: true}
	}
	for _, text := range []string{"hago", "hare", "haremos"} {
		out[text] = word{form: said, light: true}
	}
	return out
})

// thingsToo are nouns of acts that are things, too, each with its name in the other language: they name a plan only
// where its document or its values have them. “The appointment” is no flight, although both are booked.
var thingsToo = sync.OnceValue(func() map[string][]string {
	of := map[string][]string{}
	for _, list := range []string{
		"order pedido encargo", "appointment cita", "purchase compra", "delivery dispatch entrega envio", "notification notificacion", "email mail correo",
		"registration registro", "opening apertura", "post publicacion", "alta", "baja",
	} {
		for _, word := range strings.Fields(list) {
			of[word] = strings.Fields(list)
		}
	}
	return of
})
