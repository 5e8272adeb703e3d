package figures

import (
	"regexp"
	"sync"

	"piloto/internal/ground/lazy"
)

// lexicon is the forms and the words by which figures are known.
type lexicon struct {
	forms                                                   []form // in the order in which they are tried at a place of a text
	numberedLine, numeroSign, ordinalSign, wordsAfter, tail *regexp.Regexp
	joint, isRange                                          *regexp.Regexp
	ordinalForm, measureForm, hourForm, groupedForm         *regexp.Regexp
	numberedPart                                            *regexp.Regexp
	hourWords, dayWords, placeWords, currencies, units      map[string]bool
	months, scales                                          map[string]int
}

// form is a way to write a figure.
type form struct {
	pattern *regexp.Regexp
	read    func(m []string, f *figure) bool
}

var (
	lexiconOnce sync.Once
	theLexicon  lexicon
)

// lex returns the lexicon. It is made when it is first used, and by no initializer, because most functions that are linked
// with this package compare no text.
func lex() *lexicon {
	lexiconOnce.Do(func() { theLexicon = newLexicon() })
	return &theLexicon
}

const (
	monthNames = `enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|setiembre|octubre|noviembre|diciembre|` +
		`january|february|march|april|may|june|july|august|september|october|november|december|` +
		`ene|feb|mar|abr|jun|jul|ago|sept|sep|oct|nov|dic|jan|apr|aug|dec`
	unitNames = `hs?|hrs|min|km|m|cm|kg|g|kb|mb|gb|eur|usd|s|x|k|mil`
)

func newLexicon() lexicon {
	return lexicon{
		forms: newForms(),

		numberedLine: regexp.MustCompile(`^\d{1,2}[.)]\s`),
		numeroSign:   regexp.MustCompile(`(?i)^(?:n|n[uú]m)\.?[ºª°]\.?`),
		ordinalSign:  regexp.MustCompile(`^\.?[ºª]`),
		wordsAfter:   regexp.MustCompile(`^(\pL*)\s*(\pL*)`),
		tail:         regexp.MustCompile(`(?i)(?:(?:termina|acaba|end)\pL*\s+(?:en|in|with)\s*[*_•·.…]*|[*•·.…x]{2,}\s*|…\s*)$`),
		joint:        regexp.MustCompile(`(?i)^[*_ ]*(?:[-–—,]|y|e|o|a|al|and|or|to|until|till|hasta)[*_ ]*(?:(?:el|las?|the|d[ií]as?)\s+)?$`),
		isRange:      regexp.MustCompile(`^[*_ ]*[-–—][*_ ]*$`),
		ordinalForm:  regexp.MustCompile(`(?i)^\d{1,3}\.?(?:st|nd|rd|th|er|[ºªo])$`),
		measureForm:  regexp.MustCompile(`(?i)^(\d+(?:[.,]\d+)?)(?:` + unitNames + `)$`),
		hourForm:     regexp.MustCompile(`^(\d{1,2})(?:\.(\d{2}))?$`),
		groupedForm:  regexp.MustCompile(`^\d{1,3}(?:(?:\.\d{3})+(?:,\d+)?|(?:,\d{3})+(?:\.\d+)?)$`),
		numberedPart: regexp.MustCompile(`(\d{3,})(?:[^\pL\pN]|$)`),

		hourWords: lazy.Words("las la de a at from to until till hasta desde entre y and between")(),
		dayWords: lazy.Words("el dia dias the day days on del al lunes martes miercoles jueves viernes sabado domingo lun mar mie jue vie sab dom " +
			"monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun")(),
		placeWords: lazy.Words("paso pasos step steps fila row elemento item resultado result opcion option numero number linea line pagina page de of")(),
		currencies: lazy.Words("eur euro euros usd dolar dolares dollar dollars gbp pound pounds libra libras mxn peso pesos centimos cents")(),
		units: lazy.Words("h hora horas hour hours min minuto minutos minute minutes s km m cm kg g l kb mb gb c f grados degrees am pm eur euro euros mil k m thousand " +
			"millon millones million millions billion billions")(),

		scales: map[string]int{"mil": 3, "k": 3, "thousand": 3, "m": 6, "millon": 6, "millones": 6, "million": 6, "millions": 6, "billion": 9, "billions": 9},
		months: map[string]int{
			"ene": 1, "jan": 1, "feb": 2, "mar": 3, "abr": 4, "apr": 4, "may": 5, "jun": 6, "jul": 7, "ago": 8, "aug": 8, "sep": 9, "set": 9, "oct": 10,
			"nov": 11, "dic": 12, "dec": 12,
		},
	}
}

func newForms() []form {
	list := []struct {
		pattern string
		read    func(m []string, f *figure) bool
	}{
		{`^(?:https?://[^\s<>"'` + "`" + `|)\]»”]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+)`, readAddress},
		{`^([A-Z]{2}\d{2}(?: [\dA-Z]{4}){2,7}(?: [\dA-Z]{1,3})?)(?:$|[^\w])`, readSpaced}, // of an account in a bank
		{`^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?(?:$|[^\w-])`, readISO},
		{`^(\d{1,2})[/.-](\d{1,2})[/.-](\d{4}|\d{2})(?:$|[^\w/-])`, readNumericDate},
		{`^(\d{1,2})/(\d{1,2})()(?:$|[^\w/])`, readNumericDate},
		{`(?i)^(\d{1,2})(?:º|\.º|st|nd|rd|th)?\s+(?:de\s+|of\s+)?(` + monthNames + `)\.?(?:,?\s+(?:de\s+|del\s+|of\s+)?(\d{4}))?(?:$|[^\w])`, readDayMonth},
		{`(?i)^(` + monthNames + `)\.?\s+(\d{1,2})(?:st|nd|rd|th)?(?:,?\s+(\d{4}))?(?:$|[^\w])`, readMonthDay},
		{`(?i)^(\d{1,2})[:h](\d{2})(?::\d{2})?\s*(am|pm|a\.\s?m\.|p\.\s?m\.|h(?:s|rs|oras?)?)?(?:$|[^\w:])`, readTime},
		{`(?i)^(\d{1,2})\.(\d{2})\s*(h(?:s|rs|oras?)?)(?:$|[^\w])`, readTime},
		{`(?i)^(\d{1,2})()\s*(am|pm|a\.\s?m\.|p\.\s?m\.)(?:$|[^\w])`, readTime},
		{`^\d{1,3}(?: \d{3})+(?:[.,]\d+)?(?:$|[^\w ]| (?:\D|$))`, readNumber},
		{`^(\d{2,4}(?: \d{2,4}){2,9})(?:$|[^\w])`, readSpaced}, // of a telephone or of a card
		{`^\d+(?:\.\d+)?[eE][+-]?\d+(?:$|[^\w])`, readNumber},
		{`(?i)^(\d+)(?:` + unitNames + `)?-\d+(?:` + unitNames + `)(?:$|[^\w-])`, readFirst}, // 10-11h
		{`(?s)^.*`, readIdentifier},
		{`^\d+(?:[.,'’\x{00a0}\x{202f}]\d+)*`, readNumber},
	}
	var forms []form
	for _, one := range list {
		forms = append(forms, form{regexp.MustCompile(one.pattern), one.read})
	}
	return forms
}
