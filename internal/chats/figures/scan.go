package figures

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"piloto/internal/ground/fold"
)

// class is the kind of a figure.
type class int

const (
	number class = iota
	dated
	timed
	identifier
	spaced   // written in groups, such as a telephone number
	address  // of a page or of a mailbox
	compound // words with signs between them, without a digit: maybe an identifier
)

// figure is one figure of a text.
type figure struct {
	text     string // without its sign
	sign     int    // where it begins, with its sign
	end      int
	class    class
	dates    []date // the readings of a date
	times    []clock
	ordinal  bool
	percent  bool
	money    bool
	negative bool
	cut      bool // it stands for a longer one: AB12…
	tail     bool // it is the end of a longer one: «terminada en 1332»
	isHour   bool // the words beside it say that it may be one
	isDay    bool
	scale    int    // zeros that a word after it adds: 6 of «millones»
	before   string // the words beside it, folded; "" when there is another sign between
	after    string
}

// date is a day; year 0: it is not said.
type date struct{ year, month, day int }

// clock is a time of a day.
type clock struct{ hour, minute int }

const (
	longestForm  = 200 // bytes of a figure
	tailContext  = 40  // bytes before a figure
	fewestDigits = 6   // of a number that may be grouped in any way, such as that of a telephone
	fewestOfTail = 3   // of the end of a longer number
	mostOrdinal  = 12  // the highest place that may be named without a list of that length
)

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

// figureAt returns the figure that begins at a place, and how many bytes it has; 0 when none begins there. A number of a
// line, and a sign that a number follows, are no figures: they have no text.
func figureAt(text string, at int) (figure, int) {
	rest := text[at:]
	if r, _ := utf8.DecodeRuneInString(rest); !isPart(r) || isWithin(text, at, "_") {
		return figure{}, 0
	}
	if n := numbering(text, at); n > 0 {
		return figure{}, n
	}
	if n := len(lex().numeroSign.FindString(near(rest))); n > 0 {
		return figure{}, n
	}
	if f, n := plainlyAt(rest); n > 0 {
		if f.text != "" {
			f.sign, f.end = at, at+n
			f.beside(text, at)
		}
		return f, n
	}
	for _, form := range lex().forms {
		m := form.pattern.FindStringSubmatch(near(rest))
		if m == nil {
			continue
		}
		f := figure{text: strings.TrimRightFunc(m[0], func(r rune) bool { return !isPart(r) && r != 'º' && r != 'ª' })}
		if !form.read(m, &f) {
			continue
		}
		if f.class == number && isWithin(text, at, ",") { // of a list without spaces: 1,2,3
			f.text, _, _ = strings.Cut(f.text, ",")
		}
		f.sign, f.end = at, at+len(f.text)
		f.beside(text, at)
		return f, len(f.text)
	}
	return figure{}, 0
}

// near returns as much of a text as a figure may have: a pattern is slower the longer its text is.
func near(text string) string { return text[:min(len(text), longestForm)] }

// plainlyAt returns the beginning of a text if it is known without a pattern, because most of a text is: a word, which
// is no figure, or a number that no sign follows.
func plainlyAt(text string) (figure, int) {
	if n := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' }); n > 0 {
		if strings.IndexByte(",\"]}\n", text[n]) >= 0 && (text[n] != ',' || !goesOn(text, n+1, "")) {
			return figure{text: text[:n]}, n
		}
		return figure{}, 0
	}
	token := tokenAt(text)
	switch {
	case strings.ContainsFunc(token, unicode.IsDigit), strings.HasPrefix(text[len(token):], "@"), strings.HasPrefix(text[len(token):], "://"), isMonth(token):
		return figure{}, 0
	case strings.ContainsAny(token, "-_"):
		return figure{text: token, class: compound}, len(token)
	}
	return figure{}, len(token)
}

// tokenAt returns the letters and digits at the beginning of a text, with single signs between them.
func tokenAt(text string) string {
	end := 0
	for i, r := range text {
		switch {
		case isPart(r):
			end = i + utf8.RuneLen(r)
		case i != end || !strings.ContainsRune("-_.:/#", r):
			return text[:end]
		}
	}
	return text[:end]
}

// wordAt returns how many bytes are to be passed over: a word without a digit, or one sign.
func wordAt(text string, at int) int {
	n := strings.IndexFunc(text[at:], func(r rune) bool { return !isPart(r) || unicode.IsDigit(r) })
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

// numbering returns the length of a number that numbers a line.
func numbering(text string, at int) int {
	if before := strings.TrimRight(text[:at], " \t>"); before != "" && !strings.HasSuffix(before, "\n") {
		return 0
	}
	return len(lex().numberedLine.FindString(near(text[at:])))
}

const currencySigns = "€$£¥"

// beside reads the text beside a figure.
func (f *figure) beside(text string, at int) {
	before, after := strings.TrimRight(text[:at], "*_`. "), strings.TrimLeft(text[f.end:], "*_` \u00a0\u202f")
	f.percent = strings.HasPrefix(after, "%")
	f.money = after != "" && strings.Contains(currencySigns, firstRune(after)) || strings.TrimRight(before, currencySigns) != before
	f.ordinal = f.ordinal || lex().ordinalSign.MatchString(near(after))
	f.cut = strings.HasPrefix(after, "…") || strings.HasPrefix(after, "...")
	f.before = fold.Text(before[lastWord(before):])
	words := lex().wordsAfter.FindStringSubmatch(near(after))
	f.after = fold.Text(words[1])
	f.money = f.money || lex().currencies[f.after]
	f.scale = lex().scales[f.after]
	if f.after == "mil" && strings.HasPrefix(fold.Text(words[2]), "millon") {
		f.scale += 6
	}
	f.tail = lex().tail.MatchString(text[max(0, at-tailContext):at])
	f.isHour = lex().hourWords[f.before] || f.after == "h"
	f.isDay = lex().dayWords[f.before]
	if f.class == number {
		f.readSign(text, at)
	}
}

func firstRune(text string) string {
	_, size := utf8.DecodeRuneInString(text)
	return text[:size]
}

// readSign reads the minus before a number. A dash that joins it to a word, or to another figure, is none.
func (f *figure) readSign(text string, at int) {
	before := strings.TrimRight(text[:at], currencySigns)
	left := strings.TrimSuffix(strings.TrimSuffix(before, "-"), "−")
	if left == before || isWithin(text, len(left), "-") {
		return
	}
	if r, _ := utf8.DecodeLastRuneInString(strings.TrimRight(left, currencySigns+"% \u00a0")); unicode.IsDigit(r) || r == '-' {
		return
	}
	f.negative, f.sign = true, len(left)
}

// inContext returns the figures of a text, where one in a range or a list takes the kind of the others: «los días 20, 21
// y 22 de noviembre», «10 – 11 h».
func inContext(text string, list []figure) []figure {
	for i := 1; i < len(list); i++ {
		a, b := &list[i-1], &list[i]
		if gap := text[a.end:max(a.end, b.sign)]; lex().joint.MatchString(gap) {
			b.isHour, b.isDay = b.isHour || a.isHour || a.class == timed, b.isDay || a.isDay
			if lex().isRange.MatchString(gap) {
				a.isHour, b.isHour = true, true
			}
		}
	}
	for i := len(list) - 1; i > 0; i-- {
		a, b := &list[i-1], &list[i]
		if lex().joint.MatchString(text[a.end:max(a.end, b.sign)]) {
			a.isHour, a.isDay = a.isHour || b.isHour || b.class == timed, a.isDay || b.isDay || b.class == dated
		}
	}
	return list
}

// lastWord returns where the word at the end of a text begins.
func lastWord(text string) int {
	if i := strings.LastIndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }); i >= 0 {
		_, size := utf8.DecodeRuneInString(text[i:])
		return i + size
	}
	return 0
}
