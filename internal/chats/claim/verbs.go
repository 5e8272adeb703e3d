package claim

import (
	"slices"
	"strings"
	"sync"

	"piloto/internal/ground/lazy"
)

// Kind is a family of acts: verbs of two languages that mean the same to the services that are asked for them. The zero Kind is any act.
type Kind int

// The families of acts.
const (
	Any Kind = iota
	Create
	Remove
	Change
	Send
	Pay
	GiveBack
	Exchange
	Run
	Hold
	Open
	Wait // only a state: nothing was done yet
	kinds
)

// lemmas are the verbs of each family. The list is closed, because a service is asked for one of a few acts.
var lemmas = [kinds][2]string{
	Create: {
		`book reserve schedule create add register order purchase buy place submit request open generate issue enroll enrol subscribe sign save post publish upload record log insert apply install attach file arrange`,
		`reservar crear agendar programar agregar registrar comprar encargar solicitar tramitar generar emitir inscribir matricular guardar publicar subir anotar insertar instalar adjuntar apartar incorporar apuntar cargar facturar contratar anadir pedir abrir`,
	},
	Remove: {
		`cancel delete remove drop void revoke unsubscribe archive discard erase clear terminate withdraw`,
		`cancelar anular borrar eliminar quitar retirar suprimir revocar archivar descartar vaciar rescindir`,
	},
	Change: {
		`change modify update upgrade downgrade edit adjust move reschedule rename replace switch set reset amend revise extend renew postpone correct fix assign reassign merge split rebook relocate reduce increase raise lower label tag mark write waive flag link swap rotate convert archive disable enable`,
		`cambiar modificar actualizar editar ajustar mover reprogramar renombrar sustituir reemplazar aplazar adelantar retrasar prorrogar renovar corregir asignar reasignar fusionar rebajar trasladar pasar etiquetar marcar aumentar reducir configurar poner rotar posponer escribir ampliar`,
	},
	Send:     {`send email mail message notify forward text dispatch share invite transfer escalate connect hand`, `enviar mandar notificar avisar reenviar remitir compartir invitar transferir escalar derivar escribir informar`},
	Pay:      {`pay charge bill settle credit debit deposit redeem`, `pagar cobrar abonar cargar ingresar liquidar canjear`},
	GiveBack: {`refund return reimburse give reverse`, `devolver reembolsar reintegrar`},
	Exchange: {`exchange trade`, `intercambiar canjear`},
	Run: {
		`run execute process complete finish finalize finalise perform launch make start initiate deploy restart reboot trigger restore migrate import export sync roll implement handle carry resolve close stop publish commit push`,
		`ejecutar procesar completar finalizar realizar efectuar lanzar iniciar desplegar reiniciar restaurar migrar importar exportar sincronizar aplicar arrancar apagar detener parar cerrar resolver hacer activar desactivar gestionar commitear pushear comenzar empezar terminar arreglar solucionar`,
	},
	Hold: {`hold pause block lock freeze disable suspend`, `bloquear pausar suspender congelar deshabilitar`},
	Open: {`unlock unblock enable reactivate activate grant approve accept confirm authorize release`, `desbloquear habilitar reactivar conceder aprobar aceptar confirmar autorizar liberar otorgar`},
}

// irregular has the pasts of English verbs that do not end in «ed», and those that double a letter.
var irregular = map[string]string{
	"buy": "bought", "set": "set", "reset": "reset", "send": "sent", "pay": "paid", "give": "given", "run": "run", "hold": "held", "split": "split", "put": "put", "drop": "dropped", "ship": "shipped",
	"submit": "submitted", "commit": "committed", "cancel": "cancelled canceled", "label": "labelled labeled", "stop": "stopped", "swap": "swapped", "tag": "tagged", "log": "logged", "debit": "debited", "transfer": "transferred", "enrol": "enrolled", "withdraw": "withdrawn", "freeze": "frozen", "make": "made", "write": "written wrote",
}

// oddParticiples are the participles of Spanish verbs that do not end in -ado or -ido.
var oddParticiples = map[string]string{"devolver": "devuelt", "resolver": "resuelt", "escribir": "escrit", "inscribir": "inscrit", "hacer": "hech", "abrir": "abiert", "poner": "puest", "posponer": "pospuest", "sustituir": "sustituid"}

// forms are the forms of the verbs, each with its families.
type forms struct {
	done     map[string][]Kind // participles and English pasts
	past     map[string][]Kind // Spanish pasts of the first person: «reservé»
	became   map[string][]Kind // Spanish pasts of the third person: «se reservó», «se reservaron»
	going    map[string][]Kind // gerunds
	base     map[string][]Kind // English base forms, Spanish infinitives
	speaking map[string][]Kind // Spanish presents of the first person, subjunctives
	will     map[string][]Kind // Spanish futures
	order    map[string][]Kind // Spanish imperatives: «reserva», «cancelalo»
	noun     map[string][]Kind // «cancellation», «reserva»
}

var verbs = sync.OnceValue(func() forms {
	var f forms
	for _, m := range []*map[string][]Kind{&f.done, &f.past, &f.became, &f.going, &f.base, &f.speaking, &f.will, &f.order, &f.noun} {
		*m = map[string][]Kind{}
	}
	put := func(m map[string][]Kind, k Kind, words ...string) {
		for _, w := range words {
			if !slices.Contains(m[w], k) {
				m[w] = append(m[w], k)
			}
		}
	}
	for k, languages := range lemmas {
		for verb := range strings.FieldsSeq(languages[0]) {
			put(f.base, Kind(k), verb)
			put(f.done, Kind(k), pastsOf(verb)...)
			put(f.going, Kind(k), gerundOf(verb))
		}
		for verb := range strings.FieldsSeq(languages[1]) {
			c := conjugate(verb)
			put(f.base, Kind(k), c.base...)
			put(f.done, Kind(k), c.done...)
			put(f.past, Kind(k), c.past...)
			put(f.became, Kind(k), c.became...)
			put(f.going, Kind(k), c.going...)
			put(f.speaking, Kind(k), c.speaking...)
			put(f.will, Kind(k), c.will...)
			put(f.order, Kind(k), c.order...)
		}
	}
	put(f.done, Run, "complete") // “is complete”
	for k, list := range nouns {
		put(f.noun, k, strings.Fields(list)...)
	}
	for word := range nounsLikePasts() { // «anote», «pase»
		delete(f.past, word)
	}
	return f
})

// nouns are the nouns for the acts of a family.
var nouns = map[Kind]string{
	Create:   `booking reservation reservations purchase registration enrollment reserva reservas alta compra solicitud inscripcion cita`,
	Remove:   `cancellation cancelation deletion removal baja cancelacion anulacion eliminacion borrado`,
	Change:   `modification modifications update upgrade downgrade cambio cambios modificacion actualizacion ajuste`,
	Send:     `transfer shipment envio aviso notificacion transferencia`,
	Pay:      `payment charge pago cobro abono`,
	GiveBack: `refund return devolucion reembolso`,
	Exchange: `exchange intercambio`,
	Run:      `ejecucion execution`,
}

var nounsLikePasts = lazy.Words(`pase cargue`)

func pastsOf(verb string) []string {
	if odd := irregular[verb]; odd != "" {
		return strings.Fields(odd)
	}
	switch last := verb[len(verb)-1]; {
	case last == 'e':
		return []string{verb + "d"}
	case last == 'y' && !strings.ContainsRune("aeiou", rune(verb[len(verb)-2])):
		return []string{verb[:len(verb)-1] + "ied"}
	}
	return []string{verb + "ed"}
}

func gerundOf(verb string) string {
	if past := pastsOf(verb)[0]; strings.HasSuffix(past, "ed") && len(past) == len(verb)+3 {
		return past[:len(past)-2] + "ing" // «dropping», «submitting»
	}
	switch verb {
	case "run", "set", "reset", "put", "split":
		return verb + verb[len(verb)-1:] + "ing"
	}
	return strings.TrimSuffix(verb, "e") + "ing"
}

type conjugated struct{ base, done, past, became, going, speaking, will, order []string }

// conjugate returns the forms of a Spanish verb that the rules need, folded.
func conjugate(verb string) (c conjugated) {
	stem, end := verb[:len(verb)-2], verb[len(verb)-2:]
	vowel := "i"
	if end == "ar" {
		vowel = "a"
	}
	participle := stem + vowel + "d"
	if odd := oddParticiples[verb]; odd != "" {
		participle = odd
	}
	for _, last := range []string{"o", "a", "os", "as"} {
		c.done = append(c.done, participle+last)
	}
	gerund := stem + "iendo"
	if end == "ar" {
		soft := soften(stem)
		gerund = stem + "ando"
		c.past, c.became = []string{soft + "é"}, []string{stem + "ó", stem + "aron"}
		c.speaking = []string{stem + "o", soft + "e", soft + "emos"}
	} else {
		c.past, c.became = []string{stem + "í"}, []string{stem + "ió", stem + "ieron"}
		c.speaking = []string{stem + "o", stem + "a"}
	}
	switch verb {
	case "hacer":
		c.past, c.became, c.speaking = []string{"hice"}, []string{"hizo", "hicieron"}, []string{"hago", "haga"}
	case "poner", "posponer":
		before := strings.TrimSuffix(verb, "poner")
		c.past, c.became, c.speaking = []string{before + "puse"}, []string{before + "puso", before + "pusieron"}, []string{before + "pongo", before + "ponga"}
	case "pedir":
		c.past, c.became, c.speaking, gerund = []string{"pedí"}, []string{"pidió", "pidieron"}, []string{"pido", "pida"}, "pidiendo"
	case "devolver", "resolver":
		changed := strings.TrimSuffix(participle, "t")
		c.speaking = []string{changed + "vo", changed + "va"}
	case "mover":
		c.speaking = []string{"muevo", "mueva"}
	case "cerrar":
		c.speaking = []string{"cierro", "cierre"}
	case "renovar":
		c.speaking = []string{"renuevo", "renueve"}
	case "transferir", "sugerir":
		c.speaking, gerund = []string{"transfiero", "transfiera"}, "transfiriendo"
	}
	imperative, you := stem+"e", stem+"es"
	if end == "ar" {
		imperative, you = stem+"a", stem+"as"
	}
	c.order = []string{you}
	for _, clitic := range []string{"", "me", "melo", "mela", "lo", "la", "los", "las", "le", "les", "te", "selo", "sela", "telo", "tela"} {
		c.base = append(c.base, verb+clitic)
		c.going = append(c.going, gerund+clitic)
		c.order = append(c.order, imperative+clitic)
	}
	for _, last := range []string{"é", "emos"} {
		c.will = append(c.will, future(verb)+last)
	}
	return c
}

func future(verb string) string {
	switch verb {
	case "hacer":
		return "har"
	case "poner", "posponer":
		return strings.TrimSuffix(verb, "er") + "dr"
	}
	return verb
}

// soften writes a stem as it sounds before «e»: «busqu-», «pagu-», «actualic-».
func soften(stem string) string {
	switch stem[len(stem)-1] {
	case 'c':
		return stem[:len(stem)-1] + "qu"
	case 'g':
		return stem + "u"
	case 'z':
		return stem[:len(stem)-1] + "c"
	}
	return stem
}

// doneOf returns the families of a participle, also of one that says that it was done again: «rebooked».
func (f forms) doneOf(word string) ([]Kind, bool) {
	if kinds, ok := f.done[word]; ok {
		return kinds, true
	}
	again, ok := strings.CutPrefix(word, "re")
	if !ok {
		return nil, false
	}
	kinds, ok := f.done[again]
	return kinds, ok
}

// kindsOf returns the families of a word in any form.
func (f forms) kindsOf(word string) []Kind {
	for _, m := range []map[string][]Kind{f.done, f.base, f.going, f.became, f.past, f.speaking, f.order, f.noun} {
		if kinds := m[word]; kinds != nil {
			return kinds
		}
	}
	return nil
}

// orderOf returns the families of a word that orders.
func (f forms) orderOf(word string) []Kind {
	return slices.Concat(f.base[word], f.order[word], f.speaking[word])
}

// presentOf returns the families of a word for the act of a call: «cancels», «cancelar», «cancela».
func (f forms) presentOf(word string) []Kind {
	if kinds := f.orderOf(word); kinds != nil {
		return kinds
	}
	return f.base[strings.TrimSuffix(strings.TrimSuffix(word, "s"), "e")]
}
