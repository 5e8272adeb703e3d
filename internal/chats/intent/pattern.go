package intent

import (
	"strings"
	"sync"
	"sync/atomic"

	"piloto/internal/ground/lazy"
)

// pattern is a sequence of elements over the words of a sentence:
//
//	a|b     one of these words        {class}  a word of that class
//	x?      x or nothing              x*       x, up to five times
//	..3     up to three words         $        the end of a clause
//
// A first element ^ requires that the pattern opens a clause. A match begins at an unquoted
// word, and all its words except {yes} must be unquoted. Patterns are indexed by their first
// word, so a sentence takes one look-up per word.
type pattern struct {
	opens    bool
	elements []element
}

type element struct {
	words    map[string]bool
	class    func(*token) bool
	gap      int
	most     int // 1, or 5 for *
	optional bool
	end      bool
}

// patterns are compiled at the first sentence, because most Lambda functions classify none, and
// all of them start.
type patterns func() map[string][]pattern

// compile is not inlined, for the reason that lazy gives.
//
//go:noinline
func compile(lines string) patterns {
	return sync.OnceValue(func() map[string][]pattern { return index(lines) })
}

func index(lines string) map[string][]pattern {
	index := map[string][]pattern{}
	for line := range strings.SplitSeq(lines, "\n") {
		var p pattern
		for field := range strings.FieldsSeq(line) {
			if field == "^" {
				p.opens = true
				continue
			}
			p.elements = append(p.elements, compileElement(field))
		}
		if len(p.elements) == 0 {
			continue
		}
		first := p.elements[0].words
		if first == nil {
			panic("intent: a pattern must begin with words: " + line)
		}
		for word := range first {
			index[word] = append(index[word], p)
		}
	}
	return index
}

func compileElement(field string) element {
	e := element{most: 1}
	if rest, ok := strings.CutPrefix(field, ".."); ok {
		e.gap = int(rest[0] - '0')
		return e
	}
	if field == "$" {
		e.end = true
		return e
	}
	if rest, ok := strings.CutSuffix(field, "*"); ok {
		field, e.most, e.optional = rest, 5, true
	}
	if rest, ok := strings.CutSuffix(field, "?"); ok {
		field, e.optional = rest, true
	}
	if name, ok := strings.CutPrefix(field, "{"); ok {
		e.class = classes[strings.TrimSuffix(name, "}")]
		if e.class == nil {
			panic("intent: no class " + field)
		}
		return e
	}
	e.words = map[string]bool{}
	for word := range strings.SplitSeq(field, "|") {
		e.words[word] = true
	}
	return e
}

func (e *element) takes(t *token) bool {
	if e.class != nil {
		return e.class(t)
	}
	return !t.quoted && e.words[t.word]
}

// operations counts the compared words and elements, so that tests can bound the cost of a text
// without a clock.
var operations atomic.Int64

// find returns the words from the first match on, and the words after the match.
func (ps patterns) find(all []token) (from, rest []token, ok bool) {
	first := ps()
	operations.Add(int64(len(all)))
	for i := range all {
		if all[i].quoted {
			continue
		}
		for _, p := range first[all[i].word] {
			if p.opens && !opensClause(all, i) {
				continue
			}
			if end := match(p.elements, all, i); end >= 0 {
				return all[i:], all[end:], true
			}
		}
	}
	return nil, nil, false
}

func (ps patterns) match(all []token) bool {
	_, _, ok := ps.find(all)
	return ok
}

// match returns the end of the match, or -1.
func match(elements []element, all []token, at int) int {
	operations.Add(1)
	if len(elements) == 0 {
		return at
	}
	e := &elements[0]
	switch {
	case e.end:
		if at == len(all) || all[at].opens {
			return at
		}
		return -1
	case e.gap > 0:
		for skip := 0; skip <= e.gap && at+skip <= len(all); skip++ {
			if end := match(elements[1:], all, at+skip); end >= 0 {
				return end
			}
		}
		return -1
	}
	taken := 0
	for taken < e.most && at+taken < len(all) && e.takes(&all[at+taken]) {
		taken++
	}
	least := 1
	if e.optional {
		least = 0
	}
	operations.Add(int64(taken))
	for ; taken >= least; taken-- {
		if end := match(elements[1:], all, at+taken); end >= 0 {
			return end
		}
	}
	return -1
}

// opensClause reports a word that begins a clause, apart from up to eight introductory words.
func opensClause(all []token, at int) bool {
	for least := at - 8; at > max(0, least) && !all[at].opens && lead()[all[at-1].word]; {
		at--
	}
	return at == 0 || all[at].opens
}

var lead = lazy.Words(`currently please kindly just simply then so and or now ok okay sure great perfect por favor solo simplemente y o entonces pues ahora mismo luego
	ya perfecto listo vale bien claro dale genial first next finally primero after enseguida me lo la te le se los las nos i'm well alright`)

// classes lists the word classes of patterns.
var classes = map[string]func(*token) bool{
	// V: an English verb in its base form that does not only talk. A verb outside of the lexicon
	// counts, too.
	"V": func(t *token) bool { return !t.quoted && t.form&tell == 0 && !function()[t.word] },
	// A: a verb of the lexicon, in the infinitive, with an effect.
	"A": func(t *token) bool {
		return !t.quoted && t.form&infinitive != 0 && t.form&(act|advance) != 0 && t.form&tell == 0 && !function()[t.word]
	},
	"advance": func(t *token) bool {
		return !t.quoted && t.form&infinitive != 0 && t.form&(advance|consent) != 0
	},
	// S: a Spanish first person of the subjunctive that does not only talk.
	"S": func(t *token) bool {
		if t.quoted || function()[t.word] || t.form&tell != 0 {
			return false
		}
		return t.form&subjunctive != 0 || t.form&^noun == 0 && len(t.word) > 3 && strings.HasSuffix(t.word, "e")
	},
	// it: an infinitive with its object: «reservarla».
	"it": func(t *token) bool {
		return !t.quoted && t.form&infinitive != 0 && t.form&(act|advance|consent) != 0 && hasAny(t.word, "rlo", "rla", "rlos", "rlas")
	},
	"cited": func(t *token) bool { return t.quoted && yesWords()[t.word] }, "L": func(t *token) bool { return !t.quoted && t.form&(act|advance|look) != 0 && t.form&infinitive != 0 },
	"GA": func(t *token) bool { return !t.quoted && t.form&gerund != 0 && t.form&(act|advance) != 0 },
	"AO": func(t *token) bool {
		return t.opens && !t.quoted && t.form&infinitive != 0 && t.form&act != 0 && t.form&tell == 0 && !function()[t.word]
	},
	"S1":     func(t *token) bool { return !t.quoted && t.form&subjunctive != 0 && t.form&(act|advance) != 0 },
	"TG":     func(t *token) bool { return t.form&gerund != 0 && t.form&tell != 0 },
	"T":      func(t *token) bool { return t.form&tell != 0 || function()[t.word] },
	"did":    isActParticiple,
	"Ed":     func(t *token) bool { return isActParticiple(t) || isUnknownEnglishPast(t) },
	"talk":   func(t *token) bool { return !t.quoted && t.form&infinitive != 0 && t.form&tell != 0 },
	"quoted": func(t *token) bool { return t.quoted },
	"order": func(t *token) bool {
		return t.quoted && t.form&(imperative|infinitive) != 0 && t.form&(act|consent|advance) != 0
	},
	"ed": func(t *token) bool { return !t.quoted && (hasAny(t.word, "ed") || participles()[t.word]) },
	"N":  func(t *token) bool { return !t.quoted && t.form&tell == 0 },
	"E": func(t *token) bool {
		return !t.quoted && t.form&(infinitive|gerund) != 0 && t.form&act != 0 && t.form&tell == 0 && !function()[t.word]
	},
	"I": func(t *token) bool { return !t.quoted && t.form&infinitive != 0 && t.form&tell == 0 },
	"G": func(t *token) bool {
		return !t.quoted && t.form&gerund != 0 && t.form&tell == 0 && t.word != "going"
	},
	"P": func(t *token) bool { return !t.quoted && t.form&present1 != 0 && t.form&(act|advance|look) != 0 },
	"F": func(t *token) bool { return !t.quoted && t.form&future1 != 0 && t.form&tell == 0 },
	"yes": func(t *token) bool {
		return yesWords()[t.word] || t.quoted && t.word == "si"
	},
	// agrees: a second person that agrees: «confirmes», «pulses», «firme».
	"agrees": func(t *token) bool {
		return !t.quoted && (approving()[t.word] || formOf(strings.TrimSuffix(t.word, "s"))&(consent|subjunctive) == consent|subjunctive)
	},
	"assent": func(t *token) bool { return !t.quoted && assentNouns()[t.word] },
	"name":   func(t *token) bool { return !t.quoted && t.form == 0 && !readers()[t.word] && !function()[t.word] },
	"agree":  func(t *token) bool { return agreeWords()[t.word] },
	"num":    func(t *token) bool { return !t.quoted && isNumber(t.word) },
	"c":      func(t *token) bool { return clitics()[t.word] },
	"ad":     func(t *token) bool { return adverbs()[t.word] },
	"toward": func(t *token) bool { return towardWords()[t.word] },
	"any":    func(t *token) bool { return !t.quoted },
}

var (
	agreeWords  = lazy.Words(`confirmar confirm aprobar approve confirmacion confirmation autorizar authorize authorise aceptar accept`)
	approving   = lazy.Words(`pulses pulse toques toque presiones presione oprimas oprima firmes firme digas diga des de´`)
	assentNouns = lazy.Words(`confirmacion aprobacion autorizacion permiso consentimiento conformidad validacion firma si´ ok okay visto luz palabra bendicion`)
	participles = lazy.Words(`sent made done run put shut set written cut taken told`)
	clitics     = lazy.Words(`usted ustedes vos me te se lo la los las le les nos os`)
	adverbs     = lazy.Words(`now then also first just go ahead and please actually immediately next ya ahora mismo tambien luego directamente entonces then proceed to simply automatically by`)
	towardWords = lazy.Words(`solo simplemente con un una que la palabra el boton en just with back me a the word button on either simplemente por favor please and y`)
	function    = lazy.Words(`go into over through deeper further in about back the a an i you we it this that these those to of in on with for your my is are be not no la el los las un una lo le te se me que de con en para por esta este ese esa una
		mas nada algo todo toda otra nueva sobre haya sea fuera able sure happy unable glad there here everything something`)
	yesWords = lazy.Words(`confirmo confirma confirmar confirmado si´ ok okay dale adelante ejecuta ejecutar vale yes y confirm confirmed go proceed approve approved cancela cancelar cancel run apruebo procede proceder hazlo do execute continuar continue s aprobar aceptar autorizar accept acepto listo sure start procede si`)
)
