package intent

import (
	"strings"

	"piloto/internal/ground/lazy"
)

// pasts returns the folded past forms of a Spanish verb: reservé, reservó, reservaron and the
// participle in the masculine singular.
func pasts(lemma, stem, vowel string) map[string]form {
	for ending, irregular := range strongPasts {
		if head, ok := strings.CutSuffix(lemma, ending); ok && (head == "" || len(ending) > 4) {
			forms := map[string]form{}
			for i, f := range []form{past1, past3, past3, participle} {
				forms[head+irregular[i]] |= f
			}
			return forms
		}
	}
	if vowel == "a" {
		return map[string]form{soften(stem) + "e" + accent: past1, stem + "o" + accent: past3, stem + "aron": past3, stem + "ado": participle}
	}
	third := stem
	if vowel == "i" { // pedir, pidió; transferir, transfirió
		third = weaken(stem)
	}
	return map[string]form{stem + "i" + accent: past1, third + "io" + accent: past3, third + "ieron": past3, stem + "ido": participle}
}

// strongPasts lists irregular pasts: of a verb, and, for verbs of five letters or more, of the
// verbs that end in it.
var strongPasts = map[string][4]string{
	"hacer":  {"hice", "hizo", "hicieron", "hecho"},
	"poner":  {"puse", "puso", "pusieron", "puesto"},
	"tener":  {"tuve", "tuvo", "tuvieron", "tenido"},
	"ducir":  {"duje", "dujo", "dujeron", "ducido"},
	"traer":  {"traje", "trajo", "trajeron", "traido"},
	"primir": {"primi" + accent, "primio" + accent, "primieron", "preso"},
	"abrir":  {"abri" + accent, "abrio" + accent, "abrieron", "abierto"},
	"solver": {"solvi" + accent, "solvio" + accent, "solvieron", "suelto"},
	"volver": {"volvi" + accent, "volvio" + accent, "volvieron", "vuelto"},
	"cribir": {"cribi" + accent, "cribio" + accent, "cribieron", "crito"},
	"decir":  {"dije", "dijo", "dijeron", "dicho"},
	"ver":    {"vi", "vio", "vieron", "visto"},
	"truir":  {"trui" + accent, "truyo" + accent, "truyeron", "truido"},
	"querer": {"quise", "quiso", "quisieron", "querido"},
	"poder":  {"pude", "pudo", "pudieron", "podido"},
	"saber":  {"supe", "supo", "supieron", "sabido"},
	"estar":  {"estuve", "estuvo", "estuvieron", "estado"},
	"dar":    {"di", "dio", "dieron", "dado"},
}

// weaken turns the last e of a stem into i.
func weaken(stem string) string {
	i := strings.LastIndexAny(stem, "aeiou")
	if i < 0 || stem[i] != 'e' {
		return stem
	}
	return stem[:i] + "i" + stem[i+1:]
}

// strongVerbs are the pasts and participles of English verbs that do not end in
// -ed, with the verb's family.
var strongVerbs = map[form]string{
	act: `split spread cast dealt held dug flown driven drove wound caught sent made done put paid bought set cut shut built hung sold gave given brought rang rung sought threw thrown stuck drew drawn fed slid swept lit laid lent hid hidden wrote-back withdrew withdrawn reset rebuilt
		uninstalled overwrote overwritten reran rerun swapped dropped transferred shipped stopped submitted spun tagged plugged unplugged logged froze frozen`,
	advance: `ran begun began went started`,
	tell: `met led ate grew grown rose risen slept spent grasped got gotten found passed said told wrote written thought understood kept left meant read saw seen knew known gone been had felt heard showed shown
		chose chosen spoke spoken taught forgot forgotten took taken mistook misread misunderstood let need became come came been lost won broken broke fell assumed noticed noted used`,
}

// hasPast reports an English word that is or may be a past.
func hasPast(t *token) bool {
	return t.form&pastEN != 0 || t.form&^gerund == 0 && len(t.word) > 4 && strings.HasSuffix(t.word, "ed") && !hasAny(t.word, "eed")
}

// didPast reports a Spanish first person of the past: reservé, pedí, hice. A verb outside of the
// lexicon counts, too.
func didPast(t *token) bool {
	if t.quoted || t.form&tell != 0 {
		return false
	}
	return t.form&past1 != 0 || t.form == 0 && len(t.word) > 5 && hasAny(t.word, "e"+accent, "i"+accent) && !notPast()[t.word]
}

// didBefore reports a Spanish participle in any gender and number.
func didBefore(t *token) bool {
	f, known := participleForm(t.word)
	if t.quoted || known && f&tell != 0 {
		return false
	}
	return known || hasAny(t.word, "ado", "ada", "ados", "adas", "ido", "ida", "idos", "idas") && len(t.word) > 4
}

// participleForm looks up a Spanish participle by its masculine singular.
func participleForm(w string) (form, bool) {
	w = strings.TrimSuffix(w, "s")
	if strings.HasSuffix(w, "a") {
		w = w[:len(w)-1] + "o"
	}
	f := lexicon()[w]
	return f, f&participle != 0
}

// isResultParticiple reports a participle, of either language, that may describe the result of
// an act: of any verb except those that only talk, think or describe.
func isResultParticiple(t *token) bool {
	if t.quoted || qualities()[t.word] {
		return false
	}
	if tangible()[t.word] {
		return true
	}
	if t.form&tell != 0 {
		return false
	}
	if f, known := participleForm(t.word); known {
		return f&tell == 0
	}
	if t.form != 0 {
		return t.form&pastEN != 0
	}
	return len(t.word) > 4 && !likeParticiples()[t.word] && (hasAny(t.word, "ed") && !hasAny(t.word, "eed") || didBefore(t))
}

// isActParticiple is isResultParticiple for a verb of the lexicon, or for a masculine form that
// can hardly be a noun: in a fragment an unknown verb may be a noun («limonada», "the rover
// landed").
func isActParticiple(t *token) bool {
	return isKnownParticiple(t) || isResultParticiple(t) && t.form == 0 && !hasAny(t.word, "ed", "a", "as")
}

// isUnknownEnglishPast reports the English past of a verb that is not in the lexicon.
func isUnknownEnglishPast(t *token) bool {
	return t.form == 0 && isResultParticiple(t) && strings.HasSuffix(t.word, "ed")
}

// isKnownParticiple is isResultParticiple for a verb of the lexicon.
func isKnownParticiple(t *token) bool {
	f, _ := participleForm(t.word)
	return isResultParticiple(t) && (tangible()[t.word] || (f|t.form)&(act|consent|advance) != 0)
}

var (
	// qualities lists participles that describe a thing, not an act.
	qualities = lazy.Words(`previsto prevista planeado planeada incluido incluida incluidos incluidas situado situada ubicado ubicada relacionado relacionada basado basada pensado pensada dedicado dedicada ocupado ocupada cansado interesado
		limitado limitada equivocado equivocada casado acostumbrado hablado crecido subido bajado parecido debido demasiado pasado pasada pasados pasadas llovido indicado indicada preparado preparada conocido adecuado adecuada complicado complicada
		located based called named related included composed tired interested supposed required needed allowed expected designed intended worried excited pleased delighted limited used
		encantado encantada encantados agradecido agradecida nublado soleado despejado nublada hablado caducado caducada closed-source grown dropped supported married complicated detailed varied dedicated mixed advanced`)
	// tangible lists participles of verbs of speech that describe an act on a thing.
	tangible = lazy.Words(`ampliado ampliada ampliados ampliadas recibido recibida recibidos recibidas taken shared corrected`)
	// likeParticiples lists words that end like participles and are none.
	likeParticiples = lazy.Words(`estado estados mercado mercados lado lados grado grados resultado resultados sentido sentidos partido partidos apellido apellidos sonido contenido contenidos significado tratado abogado abogada abogados
		juzgado juzgados soldado ganado pescado senado delegado empleado empleados empleada mitad salida salidas entrada entradas comida comidas medida medidas vida vidas bebida bebidas partida llegada jornada jornadas temporada llamada llamadas parada mirada
		cantidad moneda monedas rapido rapida rapidos solido liquido acido valido valida unido unidos unidas sabado sabados pasada sentada delicado segundo limonada ensalada cuidado teclado caida pedido pedidos usted huesped pared cesped hundred indeed embed enfado licenciado licenciada`)
	notPast = lazy.Words(`cache´ cliche´ carne´ aqui´ alli´ cafe´ comite´ jose´ bebe´ chale´ pure´ rubi´ quiza´ porque´ tambie´ este´ colibri´ consegui´ ojala´`)
)
