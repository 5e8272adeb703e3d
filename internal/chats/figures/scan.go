package figures

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"piloto/internal/ground/fold"
	"piloto/internal/ground/lazy"
)

// class is the kind of a figure.
type class int

const (
	number class = iota
	dated
	timed
	identifier
)

// figure is one figure of a text.
type figure struct {
	text    string
	class   class
	dates   []date // the readings of a date
	times   []clock
	ordinal bool
	percent bool
	money   bool
	before  string // the words beside it, folded; "" when there is another sign between
	after   string
}

// date is a day; year 0: it is not said.
type date struct{ year, month, day int }

// clock is a time of a day.
type clock struct{ hour, minute int }

const (
	fewestDigits = 6  // of a number that may be grouped in any way, such as that of a telephone
	mostOrdinal  = 12 // the highest place that may be named without a list of that length
)

const monthNames = `enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|setiembre|octubre|noviembre|diciembre|` +
	`january|february|march|april|may|june|july|august|september|october|november|december|` +
	`ene|feb|mar|abr|jun|jul|ago|sept|sep|oct|nov|dic|jan|apr|aug|dec`

// The forms of figures, in the order in which they are tried at a place of a text.
var forms = []struct {
	pattern func() *regexp.Regexp
	read    func(m []string, f *figure) bool
}{
	{lazy.Pattern(`^(?:https?://[^\s<>"'` + "`" + `|)\]]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+)`), readAddress},
	{lazy.Pattern(`^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?(?:$|[^\w-])`), readISO},
	{lazy.Pattern(`^(\d{1,2})[/.-](\d{1,2})[/.-](\d{4}|\d{2})(?:$|[^\w/-])`), readNumericDate},
	{lazy.Pattern(`^(\d{1,2})/(\d{1,2})()(?:$|[^\w/])`), readNumericDate},
	{lazy.Pattern(`(?i)^(\d{1,2})(?:º|\.º|st|nd|rd|th)?\s+(?:de\s+|of\s+)?(` + monthNames + `)\.?(?:,?\s+(?:de\s+|del\s+|of\s+)?(\d{4}))?(?:$|[^\w])`), readDayMonth},
	{lazy.Pattern(`(?i)^(` + monthNames + `)\.?\s+(\d{1,2})(?:st|nd|rd|th)?(?:,?\s+(\d{4}))?(?:$|[^\w])`), readMonthDay},
	{lazy.Pattern(`(?i)^(\d{1,2})[:h](\d{2})(?::\d{2})?\s*(am|pm|a\.\s?m\.|p\.\s?m\.)?(?:$|[^\w:])`), readTime},
	{lazy.Pattern(`(?i)^(\d{1,2})()\s*(am|pm|a\.\s?m\.|p\.\s?m\.)(?:$|[^\w])`), readTime},
	{lazy.Pattern(`^\d{1,3}(?: \d{3})+(?:[.,]\d+)?(?:$|[^\w])`), readNumber},
	{lazy.Pattern(`^\pL*(?:[-_.:/#]?[\pL\pN]+)+`), readIdentifier},
	{lazy.Pattern(`^\d+(?:[.,'’\x{00a0}\x{202f}]\d+)*`), readNumber},
}

// scan returns the figures of a text, in their order.
func scan(text string) []figure {
	var list []figure
	for at := 0; at < len(text); {
		if f, n := figureAt(text, at); n > 0 {
			if f.text != "" {
				list = append(list, f)
			}
			at += n
			continue
		}
		at += wordAt(text, at)
	}
	return list
}

// figureAt returns the figure that begins at a place, and how many bytes it has; 0 when none begins there. A number that
// numbers a line is no figure: it has no text.
func figureAt(text string, at int) (figure, int) {
	rest := text[at:]
	if !mayBegin(text, at) {
		return figure{}, 0
	}
	if n := numbering(text, at); n > 0 {
		return figure{}, n
	}
	for _, form := range forms {
		m := form.pattern().FindStringSubmatch(rest)
		if m == nil {
			continue
		}
		f := figure{text: strings.TrimRightFunc(m[0], func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != 'º' && r != 'ª' })}
		switch {
		case form.read(m, &f):
		case f.class == identifier: // a word, or several with signs between them
			return figure{}, len(f.text)
		default:
			continue
		}
		f.beside(text, at)
		return f, len(f.text)
	}
	return figure{}, 0
}

// mayBegin reports whether a figure may begin at a place: it is a letter or a digit, and none stands before it.
func mayBegin(text string, at int) bool {
	isPart := func(c byte) bool {
		return c >= 0x80 || c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
	}
	return isPart(text[at]) && (at == 0 || !isPart(text[at-1]) || text[at-1] >= 0x80 && text[at] >= '0' && text[at] <= '9')
}

// wordAt returns how many bytes are to be passed over: a word without a digit, or one sign.
func wordAt(text string, at int) int {
	n := strings.IndexFunc(text[at:], func(r rune) bool { return !unicode.IsLetter(r) })
	switch {
	case n < 0:
		return len(text) - at
	case n > 0:
		return n
	}
	for i := range text[at:] {
		if i > 0 {
			return i
		}
	}
	return len(text) - at
}

var numberedLine = lazy.Pattern(`^\d{1,2}[.)]\s`)

// numbering returns the length of a number that numbers a line.
func numbering(text string, at int) int {
	line := strings.TrimLeft(text[strings.LastIndexByte(text[:at], '\n')+1:at], " \t>")
	if line != "" {
		return 0
	}
	return len(numberedLine().FindString(text[at:]))
}

// beside reads what stands beside a figure.
func (f *figure) beside(text string, at int) {
	before, after := strings.TrimRight(text[:at], "*_` "), strings.TrimLeft(text[at+len(f.text):], "*_` \u00a0\u202f")
	f.percent = strings.HasPrefix(after, "%")
	for _, sign := range []string{"€", "$", "£", "¥"} {
		f.money = f.money || strings.HasPrefix(after, sign) || strings.HasSuffix(before, sign)
	}
	f.ordinal = f.ordinal || strings.HasPrefix(after, "º") || strings.HasPrefix(after, "ª") || strings.HasPrefix(after, ".º") || strings.HasPrefix(after, ".ª")
	f.before = fold.Text(before[lastWord(before):])
	if end := strings.IndexFunc(after, func(r rune) bool { return !unicode.IsLetter(r) }); end >= 0 {
		after = after[:end]
	}
	f.after = fold.Text(after)
	f.money = f.money || currencies()[f.after]
}

// lastWord returns where the word at the end of a text begins.
func lastWord(text string) int {
	if i := strings.LastIndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }); i >= 0 {
		_, size := utf8.DecodeRuneInString(text[i:])
		return i + size
	}
	return 0
}

var (
	hourWords  = lazy.Words("las la de a at from to until till hasta desde entre y and between")
	dayWords   = lazy.Words("el dia the day on del al")
	currencies = lazy.Words("eur euro euros usd dolar dolares dollar dollars gbp pound pounds libra libras mxn peso pesos centimos cents")
	units      = lazy.Words("h hora horas hour hours min minuto minutos minute minutes s km m cm kg g l kb mb gb c f grados degrees am pm eur euro euros")
)

func readAddress(_ []string, f *figure) bool {
	f.class = identifier
	return true
}

func readISO(m []string, f *figure) bool {
	f.class = dated
	f.dates = []date{{atoi(m[1]), atoi(m[2]), atoi(m[3])}}
	if m[4] != "" {
		f.times = []clock{{atoi(m[4]), atoi(m[5])}}
	}
	return true
}

func readNumericDate(m []string, f *figure) bool {
	a, b, year := atoi(m[1]), atoi(m[2]), atoi(m[3])
	if year < 100 && m[3] != "" {
		year += 2000
	}
	f.class = dated
	for _, d := range []date{{year, b, a}, {year, a, b}} {
		if d.month >= 1 && d.month <= 12 && d.day >= 1 && d.day <= 31 {
			f.dates = append(f.dates, d)
		}
	}
	return len(f.dates) > 0
}

func readDayMonth(m []string, f *figure) bool { return f.named(m[1], m[2], m[3]) }
func readMonthDay(m []string, f *figure) bool { return f.named(m[2], m[1], m[3]) }

// named reads a date whose month is a word.
func (f *figure) named(day, month, year string) bool {
	f.class = dated
	f.dates = []date{{atoi(year), monthOf(month), atoi(day)}}
	return f.dates[0].day >= 1 && f.dates[0].day <= 31
}

// monthOf returns the number of a month by its name in Spanish or English, or by the beginning of it.
func monthOf(name string) int {
	short := map[string]int{
		"ene": 1, "jan": 1, "feb": 2, "mar": 3, "abr": 4, "apr": 4, "may": 5, "jun": 6, "jul": 7, "ago": 8, "aug": 8, "sep": 9, "set": 9, "oct": 10,
		"nov": 11, "dic": 12, "dec": 12,
	}
	return short[strings.ToLower(name)[:3]]
}

func readTime(m []string, f *figure) bool {
	hour, minute, half := atoi(m[1]), atoi(m[2]), strings.ToLower(m[3])
	if hour > 24 || minute > 59 {
		return false
	}
	if hour == 24 {
		hour = 0
	}
	f.class = timed
	switch {
	case strings.HasPrefix(half, "p") && hour < 12:
		hour += 12
	case strings.HasPrefix(half, "a") && hour == 12:
		hour = 0
	}
	f.times = []clock{{hour, minute}}
	if half == "" && hour > 0 && hour < 12 { // «a las 3:30» of an afternoon
		f.times = append(f.times, clock{hour + 12, minute})
	}
	return true
}

var (
	ordinalForm = lazy.Pattern(`(?i)^\d{1,3}\.?(?:st|nd|rd|th|er|[ºªo])$`)
	measureForm = lazy.Pattern(`(?i)^(\d+)(?:h|hs|hrs|min|km|m|cm|kg|g|kb|mb|gb|eur|usd|s|x)$`)
)

// readIdentifier takes a token with letters and digits. One that is a number with a unit is that number.
func readIdentifier(m []string, f *figure) bool {
	hasLetter := strings.ContainsFunc(f.text, unicode.IsLetter)
	hasDigit := strings.ContainsFunc(f.text, unicode.IsDigit)
	if !hasDigit {
		f.class = identifier
	}
	if !hasLetter || !hasDigit {
		return false
	}
	if ordinalForm().MatchString(f.text) {
		f.ordinal, f.text = true, strings.TrimRightFunc(f.text, func(r rune) bool { return !unicode.IsDigit(r) })
		return true
	}
	if measure := measureForm().FindStringSubmatch(f.text); measure != nil {
		f.text = measure[1]
		return true
	}
	f.class = identifier
	return true
}

func readNumber([]string, *figure) bool { return true }

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
