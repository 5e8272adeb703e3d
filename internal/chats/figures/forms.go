package figures

import (
	"strconv"
	"strings"
	"unicode"
)

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
	return len(word) >= 3 && lex().months[word[:3]] > 0
}

// monthOf returns the number of a month by its name in Spanish or English, or by the beginning of it.
func monthOf(name string) int { return lex().months[strings.ToLower(name)[:3]] }

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

// readSpaced takes digits that are written in groups.
func readSpaced(_ []string, f *figure) bool {
	f.class = spaced
	return true
}

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
	if lex().ordinalForm.MatchString(f.text) {
		f.ordinal, f.text = true, strings.TrimRightFunc(f.text, func(r rune) bool { return !unicode.IsDigit(r) })
		return true
	}
	if measure := lex().measureForm.FindStringSubmatch(f.text); measure != nil {
		f.text = measure[1]
		return true
	}
	f.class = identifier
	return true
}

// readNumber takes a number, of a list without spaces the first one: 1,2,3. Several points that group nothing are those of
// a version or of an address.
func readNumber(_ []string, f *figure) bool {
	if strings.Count(f.text, ",") > 1 && !lex().groupedForm.MatchString(f.text) {
		f.text, _, _ = strings.Cut(f.text, ",")
	}
	if strings.Count(f.text, ".") > 1 && !lex().groupedForm.MatchString(f.text) {
		f.class = identifier
	}
	return true
}

// values returns the possible values of a number, with its sign and with the word that multiplies it. A letter, such as
// that of metres, may be another word.
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
	switch {
	case f.scale == 0:
		return values
	case len(f.after) == 1:
		return append(values, scaled(values, f.scale)...)
	}
	return scaled(values, f.scale)
}

// hoursOf returns the times that a number may stand for: «a las 3», «a las 10.30».
func hoursOf(text string) []clock {
	m := lex().hourForm.FindStringSubmatch(text)
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
