package figures

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"piloto/internal/ground/lazy"
)

const monthNames = `enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|setiembre|octubre|noviembre|diciembre|` +
	`january|february|march|april|may|june|july|august|september|october|november|december|` +
	`ene|feb|mar|abr|jun|jul|ago|sept|sep|oct|nov|dic|jan|apr|aug|dec`

// form is a way to write a figure.
type form struct {
	pattern func() *regexp.Regexp
	read    func(m []string, f *figure) bool
}

// forms returns the forms of figures, in the order in which they are tried at a place of a text.
var forms = sync.OnceValue(func() []form {
	return []form{
		{lazy.Pattern(`^(?:https?://[^\s<>"'` + "`" + `|)\]»”]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+)`), readAddress},
		{lazy.Pattern(`^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?(?:$|[^\w-])`), readISO},
		{lazy.Pattern(`^(\d{1,2})[/.-](\d{1,2})[/.-](\d{4}|\d{2})(?:$|[^\w/-])`), readNumericDate},
		{lazy.Pattern(`^(\d{1,2})/(\d{1,2})()(?:$|[^\w/])`), readNumericDate},
		{lazy.Pattern(`(?i)^(\d{1,2})(?:º|\.º|st|nd|rd|th)?\s+(?:de\s+|of\s+)?(` + monthNames + `)\.?(?:,?\s+(?:de\s+|del\s+|of\s+)?(\d{4}))?(?:$|[^\w])`), readDayMonth},
		{lazy.Pattern(`(?i)^(` + monthNames + `)\.?\s+(\d{1,2})(?:st|nd|rd|th)?(?:,?\s+(\d{4}))?(?:$|[^\w])`), readMonthDay},
		{lazy.Pattern(`(?i)^(\d{1,2})[:h](\d{2})(?::\d{2})?\s*(am|pm|a\.\s?m\.|p\.\s?m\.|h(?:s|rs|oras?)?)?(?:$|[^\w:])`), readTime},
		{lazy.Pattern(`(?i)^(\d{1,2})\.(\d{2})\s*(h(?:s|rs|oras?)?)(?:$|[^\w])`), readTime},
		{lazy.Pattern(`(?i)^(\d{1,2})()\s*(am|pm|a\.\s?m\.|p\.\s?m\.)(?:$|[^\w])`), readTime},
		{lazy.Pattern(`^\d{1,3}(?: \d{3})+(?:[.,]\d+)?(?:$|[^\w])`), readNumber},
		{lazy.Pattern(`^\d+(?:\.\d+)?[eE][+-]?\d+(?:$|[^\w])`), readNumber},
		{lazy.Pattern(`(?i)^(\d+)(?:` + unitNames + `)?-\d+(?:` + unitNames + `)(?:$|[^\w-])`), readFirst}, // 10-11h
		{lazy.Pattern(`(?s)^.*`), readIdentifier},
		{lazy.Pattern(`^\d+(?:[.,'’\x{00a0}\x{202f}]\d+)*`), readNumber},
	}
})

func readAddress(_ []string, f *figure) bool {
	f.class = address
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

// isMonth reports whether a word may be the name of a month.
func isMonth(word string) bool {
	word = strings.TrimRight(strings.ToLower(word), ".")
	return len(word) >= 3 && months()[word[:3]] > 0
}

// monthOf returns the number of a month by its name in Spanish or English, or by the beginning of it.
func monthOf(name string) int { return months()[strings.ToLower(name)[:3]] }

var months = sync.OnceValue(func() map[string]int {
	return map[string]int{
		"ene": 1, "jan": 1, "feb": 2, "mar": 3, "abr": 4, "apr": 4, "may": 5, "jun": 6, "jul": 7, "ago": 8, "aug": 8, "sep": 9, "set": 9, "oct": 10,
		"nov": 11, "dic": 12, "dec": 12,
	}
})

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
	if !strings.HasSuffix(half, "m") && !strings.HasSuffix(half, ".") && hour > 0 && hour < 12 { // «a las 3:30» of an afternoon
		f.times = append(f.times, clock{hour + 12, minute})
	}
	return true
}

var (
	ordinalForm = lazy.Pattern(`(?i)^\d{1,3}\.?(?:st|nd|rd|th|er|[ºªo])$`)
	measureForm = lazy.Pattern(`(?i)^(\d+(?:[.,]\d+)?)(?:` + unitNames + `)$`)

	numberedPart = lazy.Pattern(`(\d{3,})(?:[^\pL\pN]|$)`)
	hourForm     = lazy.Pattern(`^(\d{1,2})(?:\.(\d{2}))?$`)
)

const unitNames = `hs?|hrs|min|km|m|cm|kg|g|kb|mb|gb|eur|usd|s|x|k|mil`

// readFirst takes the first number of a range.
func readFirst(m []string, f *figure) bool {
	f.text = m[1]
	return true
}

// readIdentifier takes a token with letters and digits. One that is a number with a unit is that number.
func readIdentifier(m []string, f *figure) bool {
	f.text = tokenAt(m[0])
	switch hasDigit := strings.ContainsFunc(f.text, unicode.IsDigit); {
	case !hasDigit && strings.ContainsAny(f.text, "-_"):
		f.class = compound
		return true
	case !hasDigit || !strings.ContainsFunc(f.text, unicode.IsLetter):
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

// readNumber takes a number, of a list without spaces the first one: 1,2,3. Several points that group nothing are those of
// a version or of an address.
func readNumber(_ []string, f *figure) bool {
	if strings.Count(f.text, ",") > 1 && !groupedForm().MatchString(f.text) {
		f.text, _, _ = strings.Cut(f.text, ",")
	}
	if strings.Count(f.text, ".") > 1 && !groupedForm().MatchString(f.text) {
		f.class = identifier
	}
	return true
}

var groupedForm = lazy.Pattern(`^\d{1,3}(?:(?:\.\d{3})+(?:,\d+)?|(?:,\d{3})+(?:\.\d+)?)$`)

// values returns what a number may be, with its sign and with the word that multiplies it.
func (f figure) values() []string {
	values := valuesOf(f.text)
	if v, err := strconv.ParseFloat(f.text, 64); err == nil && strings.ContainsAny(f.text, "eE") {
		values = []string{canonical(strconv.FormatFloat(v, 'f', -1, 64))}
	}
	if f.negative {
		for i := range values {
			values[i] = "-" + values[i]
		}
	}
	if f.scale > 0 {
		values = append(values, scaled(values, f.scale)...)
	}
	return values
}

// hoursOf returns the times that a number may stand for: «a las 3», «a las 10.30».
func hoursOf(text string) []clock {
	m := hourForm().FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	t := clock{atoi(m[1]), atoi(m[2])}
	return []clock{t, {t.hour + 12, t.minute}}
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
