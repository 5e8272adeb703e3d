package intent

import (
	"strings"
	"sync"

	"piloto/internal/ground/lazy"
)

// form holds the possible verb forms of a word, and the family of the verb. An ambiguous word
// has several bits; a rule tests those that it needs.
type form uint32

const (
	infinitive  form = 1 << iota // reservar, reservarla; English: book
	present1                     // reservo
	subjunctive                  // reserve
	future1                      // reservaré, reservaremos
	gerund                       // reservando; booking
	imperative                   // reserva, reservá
	act                          // has an effect in the world
	advance                      // continues with the plan: proceder, continue
	look                         // reads and changes nothing
	tell                         // only talks: needs no consent
	noun                         // also a noun: «el pago», «un registro»
	conditional                  // reservaría
	consent                      // confirmar, approve: acts of the user
	past1                        // reservé
	past3                        // reservó, reservaron
	participle                   // reservado
	pastEN                       // booked, sent; also the participle
)

// families lists the verbs by lemma. A verb with a stem change has the first person and the
// subjunctive after a slash: cerrar/cierro/cierre.
var families = map[form]string{
	act: `reservar crear enviar eliminar borrar cancelar anular actualizar modificar cambiar programar agendar registrar comprar pagar
		publicar lanzar realizar efectuar iniciar anadir agregar mover/muevo/mueva subir aplicar tramitar mandar archivar reiniciar apagar
		arrancar activar desactivar instalar desplegar/despliego/despliegue migrar restaurar/restauro/restaure respaldar copiar pausar duplicar fusionar asignar reasignar
		pasar cerrar/cierro/cierre abrir generar exportar importar notificar avisar transferir/transfiero/transfiera cobrar reembolsar facturar emitir
		pedir/pido/pida encargar hacer/hago/haga poner/pongo/ponga quitar retirar revocar rotar bloquear desbloquear dar/doy/de´ marcar etiquetar
		renombrar sobrescribir guardar descargar cargar conectar desconectar invitar inscribir suscribir renovar/renuevo/renueve postergar aplazar
		vaciar limpiar purgar sincronizar configurar ajustar conceder otorgar llamar insertar escalar resetear apuntar
		confirmarle crearle rebobinar bajar subir despachar encolar disparar correr detener/detengo/detenga parar matar anotar completar
		adjuntar reenviar responderle finalizar eliminar solicitar usar utilizar montar armar vincular habilitar deshabilitar regenerar reprogramar dejar
		vender resolver/resuelvo/resuelva incluir/incluyo/incluya definir distribuir/distribuyo/distribuya convertir/convierto/convierta corregir/corrijo/corrija conseguir/consigo/consiga
		recoger/recojo/recoja meter sustituir/sustituyo/sustituya reducir/reduzco/reduzca introducir/introduzco/introduzca construir/construyo/construya destruir/destruyo/destruya imprimir remitir transmitir
		devolver/devuelvo/devuelva extender/extiendo/extienda revertir/revierto/revierta encender/enciendo/encienda prender contratar matricular alquilar entregar
		depositar ingresar canjear traspasar compartir gestionar abonar trasladar elevar rechazar denegar firmar reponer prorrogar reparar silenciar recargar formatear cifrar
		almacenar incorporar descartar reintegrar redirigir/redirijo/redirija desvincular desinstalar expedir/expido/expida radicar consignar alojar reagendar
		coordinar incrementar disminuir rebajar grabar comprimir colgar/cuelgo/cuelgue tachar reubicar recalcular enlazar aumentar fijar domiciliar aprovisionar retrasar adelantar
		congelar descongelar desviar volver/vuelvo/vuelva retomar firmar matricular sacar tirar cortar apartar colocar ordenar implementar corregir compilar atender/atiendo/atienda procesar
		separar girar liberar acelerar alterar superar`,
	advance: `proceder ejecutar continuar seguir/sigo/siga avanzar comenzar/comienzo/comience empezar/empiezo/empiece ocupar encargar trabajar`,
	look: `buscar consultar comprobar/compruebo/compruebe verificar revisar obtener/obtengo/obtenga recuperar chequear averiguar leer filtrar
		localizar mirar analizar validar preguntar extraer/extraigo/extraiga`,
	tell: `explicar mostrar/muestro/muestre contar/cuento/cuente decir/digo/diga ensenar detallar describir resumir aclarar ampliar ayudar orientar
		recomendar/recomiendo/recomiende sugerir/sugiero/sugiera listar comparar profundizar traducir/traduzco/traduzca hablar responder
		recordar/recuerdo/recuerde aconsejar guiar ver redactar escribir comentar indicar repasar pensar/pienso/piense elaborar calcular desarrollar citar
		entender/entiendo/entienda suponer/supongo/suponga asumir querer/quiero/quiera poder/puedo/pueda necesitar tener/tengo/tenga ser estar saber esperar
		preferir desear deber referir/refiero/refiera lamentar agradecer considerar creer aprender mencionar sentir proponer/propongo/proponga preparar haber
		conocer recibir equivocar confundir olvidar comprender interpretar observar imaginar notar informar basar agrupar simplificar acortar estructurar adaptar inventar fingir tratar llegar reflexionar ampliar pedirte llamarme alegrar intentar encontrar/encuentro/encuentre dividir mezclar`,
	consent: `confirmar aprobar/apruebo/apruebe autorizar validar aceptar`,
}

// nouns lists first persons that are more often a noun. They count as verbs only after a pronoun
// or at the start of a clause.
const nouns = `quito adjunto mando roto saco tiro filtro anoto paso abono aumento contrato deposito disparo domicilio incremento ingreso recargo despacho silencio traspaso traslado retraso recupero utilizo activo completo limpio vacio bloqueo apunto solicito ordeno registro pago cambio archivo uso inicio proceso cargo reinicio envio reservo genero publico respaldo cobro encargo despliegue reembolso marco vinculo anuncio leo corto desvio fijo giro
	pase trabajo aviso descargo apunte saldo retiro reserve cree ajuste monto paro bajo corro cobre`

// english lists verbs by base form; * marks a word that is more often a noun or adjective.
var english = map[form]string{
	act: `split spread book reserve create send delete remove cancel update modify change schedule register buy purchase pay publish launch place submit post add
		move apply deploy trigger archive restart reboot stop close open merge push migrate restore assign reassign disable enable revoke issue rotate
		dispatch transfer refund charge order invite notify email export import generate upload download install uninstall overwrite drop drop pause
		duplicate rename resize scale lock unlock grant set configure connect sync clean purge copy back save process call invoke use fix turn shut put
		make do email message kick fill file pull build roll subscribe unsubscribe reschedule reset ring phone activate deactivate block unblock insert write-back
		attach log clear mark tag link store provision terminate spin release complete finalize handle onboard arrange hand reach apply raise lower void swap enroll enrol sign hire rent ship deliver deposit redeem print ban mute reroute forward switch edit extend renew replace
		repair patch upgrade downgrade revert redeploy rebuild trigger snooze dismiss pin label flag escalate resolve reject decline bill credit debit top halt
		reinstate reimburse compensate settle fulfil fulfill waive adjust increase decrease reduce relocate promote demote suspend reactivate restock replenish
		refill recharge deduct allocate distribute compress unzip offboard requeue rerun recreate wipe erase encrypt rebook text fix log reassign`,
	advance: `proceed execute run go continue start begin perform carry initiate move commence resume`,
	look:    `check look search fetch query find get retrieve verify review pull gather analyze scan validate read lookup examine inspect`,
	tell: `explain show tell describe detail elaborate walk give provide list summarize summarise clarify help assist suggest recommend share compare expand break
		translate answer outline discuss work mix fail cost happen last depend succeed agree expire arrive land illustrate write draft repeat rephrase teach cover talk guide offer be have need know see try assume wait let
		remember keep think guess stay want like ask say mention note point include prepare stick take leave correct apologize apologise rewrite simplify quote admit stress return focus refer mean never not also hope brainstorm learn
		always probably only solve count calculate compute reason clarify paraphrase notice assume understand realize realise hear confuse interpret identify wonder group highlight sketch phrase structure shorten report miss feel enjoy struggle worry expect sense rephrase reword rewrite compute`,
	consent: `confirm approve authorize authorise accept`,
}

// lexicon is built at the first look-up of a word.
var lexicon = sync.OnceValue(buildLexicon)

func buildLexicon() map[string]form {
	words := map[string]form{}
	for family, lemmas := range families {
		for entry := range strings.FieldsSeq(lemmas) {
			for word, f := range conjugate(entry) {
				if f == conditional && family != act {
					continue
				}
				words[word] |= f | family
			}
		}
	}
	for family, bases := range english {
		for base := range strings.FieldsSeq(bases) {
			words[base] |= infinitive | family
			for _, word := range gerundsOf(base) {
				words[word] |= gerund | family
			}
			for _, word := range pastsOf(base) {
				words[word] |= pastEN | family
			}
		}
	}
	for family, irregular := range strongVerbs {
		for word := range strings.FieldsSeq(irregular) {
			words[word] |= pastEN | family
		}
	}
	for word := range strings.FieldsSeq(`pending anything something nothing everything morning evening during string meeting building having cuando fernando interesting king`) {
		words[word] = 0
	}
	words["cree"+accent] = past1 | act // of crear; creer has «creí»
	for word := range strings.FieldsSeq(nouns) {
		words[word] |= noun
	}
	return words
}

// conjugate returns the folded forms of a Spanish verb for the rules. An accent on the last
// letter is kept as the mark accent, so that the past «reservó» and «reservé» differ from the
// present «reservo» and «reserve».
func conjugate(entry string) map[string]form {
	parts := strings.Split(entry, "/")
	lemma := parts[0]
	end := len(lemma) - 2
	stem, vowel := lemma[:end], lemma[end:end+1]
	first, sub := stem+"o", stem+"a"
	if vowel == "a" {
		sub = soften(stem) + "e"
	}
	if strings.HasSuffix(stem, "c") && vowel == "e" { // conocer
		first, sub = stem[:len(stem)-1]+"zco", stem[:len(stem)-1]+"zca"
	}
	if len(parts) == 3 {
		first, sub = parts[1], parts[2]
	}
	ger := stem + "iendo"
	if hasAny(stem, "a", "e", "u") {
		ger = stem + "yendo"
	}
	if vowel == "a" {
		ger = stem + "ando"
	}
	order := stem + "e"
	if vowel == "a" {
		order = stem + "a"
	}
	root := lemma
	switch lemma {
	case "hacer", "deshacer":
		root = "har"
	case "poner", "tener", "obtener", "suponer", "proponer", "detener":
		root = stem + "dr"
	case "decir":
		root = "dir"
	}
	forms := map[string]form{
		lemma: infinitive, first: present1, sub: subjunctive, stem + past(vowel): subjunctive, root + "e" + accent: future1, root + "emos": future1,
		ger: gerund, order: imperative, root + "ia": conditional, root + "iamos": conditional, plural(sub): subjunctive, stem + vowel + accent: imperative,
	}
	for word, f := range pasts(lemma, stem, vowel) {
		forms[word] |= f
	}
	return forms
}

// past returns the ending of the past subjunctive: modificara, moviera.
func past(vowel string) string {
	if vowel == "a" {
		return "ara"
	}
	return "iera"
}

// plural returns the first person plural of a subjunctive: proceda, procedamos.
func plural(sub string) string { return sub + "mos" }

// soften spells a stem before e: buscar, busque; pagar, pague; avanzar, avance.
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

// gerundsOf and pastsOf return the -ing and -ed forms of an English verb, with and without a
// doubled consonant: only one of each pair exists.
func gerundsOf(base string) []string {
	if strings.HasSuffix(base, "e") && base != "be" && base != "see" {
		return []string{base[:len(base)-1] + "ing"}
	}
	return []string{base + "ing", base + base[len(base)-1:] + "ing"}
}

func pastsOf(base string) []string {
	switch {
	case strings.HasSuffix(base, "e"):
		return []string{base + "d"}
	case strings.HasSuffix(base, "y") && len(base) > 3 && !hasAny(base, "ay", "ey", "oy"):
		return []string{base[:len(base)-1] + "ied"}
	}
	return []string{base + "ed", base + base[len(base)-1:] + "ed"}
}

// formOf returns the form of a word: from the lexicon, also without its pronouns («enviárselo»),
// and otherwise from its ending.
func formOf(w string) form {
	if f, ok := lexicon()[w]; ok {
		return f
	}
	bare := strings.TrimSuffix(w, accent)
	stem := bare
	for range 2 {
		for _, clitic := range []string{"los", "las", "les", "nos", "lo", "la", "le", "te", "se", "me"} {
			if rest, ok := strings.CutSuffix(stem, clitic); ok && len(rest) > 2 {
				stem = rest
				if f, ok := lexicon()[stem]; ok && f&(infinitive|gerund|imperative|subjunctive) != 0 {
					return f &^ (present1 | future1 | noun)
				}
				break
			}
		}
	}
	if again, ok := strings.CutPrefix(w, "re"); ok && len(again) > 4 { // reopened, reclasifiqué
		if f := lexicon()[again]; f&act != 0 && f&tell == 0 {
			return f &^ noun
		}
	}
	switch {
	case futures()[w]:
		return future1 | tell
	case len(w) > 5 && (strings.HasSuffix(w, "are"+accent) || strings.HasSuffix(w, "ere"+accent) || strings.HasSuffix(w, "ire"+accent)):
		return future1
	case hasAny(stem, "ando", "iendo", "yendo") && len(stem) > 5:
		return gerund
	case hasAny(stem, "ar", "ir") && len(stem) > 3:
		return infinitive
	case strings.HasSuffix(w, "ing") && len(w) > 5:
		return gerund
	}
	return 0
}

// futures lists first persons of the future of verbs that only talk and whose future does not
// begin with the infinitive.
var futures = lazy.Words(`podre´ habre´ sabre´ querre´ tendre´ vendre´ cabre´ valdre´`)

func hasAny(word string, suffixes ...string) bool {
	for _, suffix := range suffixes {
		if strings.HasSuffix(word, suffix) {
			return true
		}
	}
	return false
}
