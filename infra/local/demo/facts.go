package demo

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// facts holds the values that a message gives.
type facts struct {
	pairs      map[string]string // by folded name, and by concept
	date       string            // YYYY-MM-DD
	start, end string            // HH:MM
	people     int
	ids        []string
	quoted     []string
	email      string
	amounts    []amount
	words      []string // folded words, for values that follow their noun
	rest       string   // the message without pairs and quotations
}

// amount is a number with the concepts of the words before and after it.
type amount struct{ value, before, after string }

const (
	hourText   = `(\d{1,2})(?:[:.](\d{2})|h(\d{2})?)?(?: ?(am|pm|a\.m\.|p\.m\.)\b\.?)?`
	hourSuffix = `(?: y (media|cuarto))?(?: (?:de|por|en) la (manana|tarde|noche)| in the (morning|afternoon|evening))?`
	numberText = `(\d{1,4}|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce|veinte|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty)`
)

var (
	pairText     = regexp.MustCompile(`([\pL_][\pL\d_.\-]*)\s*(=|:)\s*("[^"]*"|«[^»]*»|“[^”]*”|'[^']*'|[^\s,;«"“]+)`)
	quotedText   = regexp.MustCompile(`"([^"]+)"|«([^»]+)»|“([^”]+)”|'([^']+)'`)
	namedText    = regexp.MustCompile(`(?i)\b(?:llamad[oa]|titulad[oa]|called|named|titled) ([\pL\d][\pL\d\-]*)`)
	emailText    = regexp.MustCompile(`[\w.+\-]+@[\w\-]+\.[\w.\-]*\w`)
	idText       = regexp.MustCompile(`#([\w\-]+)|\b([A-Za-z]{1,6}[-_]\d[\w\-]*)\b|\b([0-9a-fA-F]{8}-[0-9a-fA-F\-]{27})\b|\b([0-9A-HJKMNP-TV-Z]{26})\b|\b(?:id|ID|Id) +([\w\-]+)`)
	isoText      = regexp.MustCompile(`\b(\d{4}-\d{2}-\d{2})\b`)
	slashText    = regexp.MustCompile(`\b(\d{1,2})/(\d{1,2})(?:/(\d{4}))?\b`)
	dayMonthText = regexp.MustCompile(`\b(\d{1,2})(?:st|nd|rd|th)? (?:de |of )?` + monthText + `(?:,? (?:de |del )?(\d{4}))?\b`)
	monthDayText = regexp.MustCompile(`\b` + monthText + ` (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?\b`)
	rangeText    = regexp.MustCompile(`\b(?:de|desde|from|entre|between) (?:las? )?` + hourText + ` ?(?:a|hasta|to|until|till|y|and|-|–) ?(?:las? )?` + hourText + hourSuffix + `( (?:personas|people))?`)
	dashText     = regexp.MustCompile(`\b` + hourText + ` ?[-–] ?` + hourText + hourSuffix + `()`)
	atText       = regexp.MustCompile(`\b(?:a las?|las|at|hora) ` + hourText + hourSuffix)
	clockText    = regexp.MustCompile(`\b(\d{1,2}):(\d{2})()(?: ?(am|pm)\b)?` + hourSuffix)
	meridiemText = regexp.MustCompile(`\b(\d{1,2})()() ?(am|pm)\b`)
	noonText     = regexp.MustCompile(`\b(?:al? )?(?:mediodia|noon|midday)\b`)
	lastsText    = regexp.MustCompile(`\b(?:durante|por|para|for|de) ` + numberText + ` ?(horas?|hours?|h|minutos?|minutes?|mins?)\b|\b(?:durante|for|por) (una|one|an|media|half an) (hora|hour)\b`)
	daypartText  = regexp.MustCompile(`\b(?:por|de|en|a) la (?:manana|tarde|noche)\b`)
	inDaysText   = regexp.MustCompile(`\b(?:dentro de|en|in) ` + numberText + ` (?:dias|days)\b`)
	relativeText = regexp.MustCompile(`\b(?:pasado manana|day after tomorrow|manana|tomorrow|hoy|today|tonight)\b`)
	weekdayText  = regexp.MustCompile(`\b(?:(?:el|este|proximo|next|this|on|para) )*(lunes|martes|miercoles|jueves|viernes|sabado|domingo|monday|tuesday|wednesday|thursday|friday|saturday|sunday)s?\b`)
	peopleText   = regexp.MustCompile(`\b(?:para|for|somos|de|con|with|of|at least|al menos|minimo)(?: unas?| about)? ` + numberText + `\b(?: (?:personas?|people|persons?|plazas|asientos|seats|asistentes|guests|attendees|invitados))?|\b` + numberText + ` (?:personas?|people|persons?|plazas|asientos|seats|asistentes|guests|attendees|invitados)\b`)
	unitText     = regexp.MustCompile(`\b(\d+(?:[.,]\d+)?) ([a-z]+)\b`)
	amountText   = regexp.MustCompile(`(?:([a-z]+) )?\b(\d+(?:[.,]\d+)?)\b(?: ([a-z]+))?`)
)

const monthText = `(enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|setiembre|octubre|noviembre|diciembre|january|february|march|april|may|june|july|august|september|october|november|december)`

var months = map[string]time.Month{}

var weekdays = map[string]time.Weekday{}

var numerals = map[string]int{}

func init() {
	for i, words := range []string{"enero january", "febrero february", "marzo march", "abril april", "mayo may", "junio june", "julio july", "agosto august", "septiembre setiembre september", "octubre october", "noviembre november", "diciembre december"} {
		for word := range strings.FieldsSeq(words) {
			months[word] = time.Month(i + 1)
		}
	}
	for i, words := range []string{"domingo sunday", "lunes monday", "martes tuesday", "miercoles wednesday", "jueves thursday", "viernes friday", "sabado saturday"} {
		for word := range strings.FieldsSeq(words) {
			weekdays[word] = time.Weekday(i)
		}
	}
	for i, words := range []string{"dos two", "tres three", "cuatro four", "cinco five", "seis six", "siete seven", "ocho eight", "nueve nine", "diez ten", "once eleven", "doce twelve"} {
		for word := range strings.FieldsSeq(words) {
			numerals[word] = i + 2
		}
	}
	numerals["veinte"], numerals["twenty"] = 20, 20
}

// scanner takes values out of a message; a value that was taken is not read again.
type scanner struct {
	text  string // the remaining text, folded after the first passes
	today time.Time
}

// take cuts the first match out and returns its groups; nil for no match.
func (s *scanner) take(re *regexp.Regexp) []string {
	at := re.FindStringSubmatchIndex(s.text)
	if at == nil {
		return nil
	}
	groups := re.FindStringSubmatch(s.text)
	s.text = s.text[:at[0]] + " , " + s.text[at[1]:]
	return groups
}

// readFacts reads message; names holds the folded parameter names that may
// be given as `name: value`.
func readFacts(message string, names map[string]bool, today time.Time) facts {
	f := facts{pairs: map[string]string{}}
	s := &scanner{message, today}
	f.readPairs(s, names)
	for m := s.take(quotedText); m != nil; m = s.take(quotedText) {
		f.quoted = append(f.quoted, m[1]+m[2]+m[3]+m[4])
	}
	f.rest = s.text
	for m := s.take(namedText); m != nil; m = s.take(namedText) {
		f.quoted = append(f.quoted, m[1])
	}
	if m := s.take(emailText); m != nil {
		f.email = m[0]
	}
	if m := s.take(isoText); m != nil && isDate(m[1]) {
		f.date = m[1]
	}
	for m := s.take(idText); m != nil; m = s.take(idText) {
		f.ids = append(f.ids, strings.Join(m[1:], ""))
	}
	s.text = fold(s.text)
	f.words = tokens(s.text)
	lasts := s.duration()
	f.readTimes(s)
	f.readDate(s)
	f.readUnits(s, names)
	if f.start != "" && f.end == "" && lasts > 0 {
		f.end = addMinutes(f.start, lasts)
	}
	if m := s.take(peopleText); m != nil {
		f.people = number(m[1] + m[2])
	}
	for _, m := range amountText.FindAllStringSubmatch(s.text, -1) {
		f.amounts = append(f.amounts, amount{strings.ReplaceAll(m[2], ",", "."), concept(m[1]), concept(m[3])})
	}
	return f
}

func (f *facts) readPairs(s *scanner, names map[string]bool) {
	for _, m := range pairText.FindAllStringSubmatch(s.text, -1) {
		name, value := fold(m[1]), strings.Trim(strings.TrimRight(m[3], ".!?"), `"«»“”'`)
		short := concept(name)
		if m[2] == "=" || names[name] || names[short] || strings.Contains(name, "_") {
			f.pairs[name] = value
			if _, taken := f.pairs[short]; !taken && short != "" {
				f.pairs[short] = value
			}
			s.text = strings.Replace(s.text, m[0], " , ", 1)
		}
	}
}

// readUnits takes numbers whose unit is a parameter's name («5 segundos»)
// before they can pass for people.
func (f *facts) readUnits(s *scanner, names map[string]bool) {
	for _, m := range unitText.FindAllStringSubmatch(s.text, -1) {
		if c := concept(m[2]); names[c] && c != "capacity" && c != "people" {
			f.amounts = append(f.amounts, amount{strings.ReplaceAll(m[1], ",", "."), "", c})
			s.text = strings.Replace(s.text, m[0], " , ", 1)
		}
	}
}

func number(text string) int {
	if n, ok := numerals[text]; ok {
		return n
	}
	n, _ := strconv.Atoi(text)
	return n
}

// duration takes «durante 2 horas», in minutes; 0 for none.
func (s *scanner) duration() int {
	m := s.take(lastsText)
	switch {
	case m == nil:
		return 0
	case m[3] == "media" || m[3] == "half an":
		return 30
	case m[3] != "":
		return 60
	case strings.HasPrefix(m[2], "h"):
		return 60 * number(m[1])
	default:
		return number(m[1])
	}
}

func (f *facts) readTimes(s *scanner) {
	for _, re := range []*regexp.Regexp{rangeText, dashText} {
		at := re.FindStringSubmatch(s.text)
		if at == nil || at[len(at)-1] != "" || number(at[1]) > 24 || number(at[5]) > 24 {
			continue
		}
		s.take(re)
		end := hourOf(at[5], at[6]+at[7], at[8], at[9], at[10]+at[11])
		meridiem := at[4]
		if meridiem == "" && at[8] != "" && number(at[1]) < number(at[5]) {
			meridiem = at[8]
		}
		if start := hourOf(at[1], at[2]+at[3], meridiem, "", at[10]+at[11]); start < end {
			f.start, f.end = start, end
			return
		}
	}
	if m := s.take(noonText); m != nil {
		f.start = "12:00"
	}
	for _, re := range []*regexp.Regexp{atText, clockText, meridiemText} {
		for m := s.take(re); m != nil; m = s.take(re) {
			m = append(m, "", "", "")
			switch text := hourOf(m[1], m[2]+m[3], m[4], m[5], m[6]+m[7]); {
			case text == "":
			case f.start == "":
				f.start = text
			case f.end == "" && text > f.start:
				f.end = text
			}
		}
	}
}

// hourOf returns HH:MM, or "" for no time of day. Without a part of the day,
// hours from one to seven are in the afternoon: rooms are booked by day.
func hourOf(hour, minute, meridiem, fraction, part string) string {
	h, m := number(hour), number(minute)
	switch fraction {
	case "media":
		m = 30
	case "cuarto":
		m = 15
	}
	afternoon := strings.HasPrefix(meridiem, "p") || part == "tarde" || part == "noche" || part == "afternoon" || part == "evening"
	morning := strings.HasPrefix(meridiem, "a") || part == "manana" || part == "morning"
	switch {
	case afternoon && h < 12:
		h += 12
	case morning && h == 12:
		h = 0
	case !morning && !afternoon && h >= 1 && h <= 7 && len(hour) == 1:
		h += 12
	}
	if h > 23 || m > 59 {
		return ""
	}
	return fmt.Sprintf("%02d:%02d", h, m)
}

// addMinutes adds minutes to a time of day, within the day.
func addMinutes(text string, minutes int) string {
	total := min(number(text[:2])*60+number(text[3:])+minutes, 23*60+59)
	return fmt.Sprintf("%02d:%02d", total/60, total%60)
}

func (f *facts) readDate(s *scanner) {
	if f.date == "" {
		f.date = s.date()
	}
	s.take(daypartText)
}

// date takes the first date; "" for none. A weekday is its next occurrence
// after today; a day and month that passed is next year's.
func (s *scanner) date() string {
	if m := s.take(slashText); m != nil {
		return s.dayOf(m[1], time.Month(number(m[2])), m[3])
	}
	if m := s.take(dayMonthText); m != nil {
		return s.dayOf(m[1], months[m[2]], m[3])
	}
	if m := s.take(monthDayText); m != nil {
		return s.dayOf(m[2], months[m[1]], m[3])
	}
	if m := s.take(inDaysText); m != nil {
		return s.today.AddDate(0, 0, number(m[1])).Format(time.DateOnly)
	}
	if whole := daypartText.ReplaceAllString(s.text, " "); relativeText.MatchString(whole) {
		s.text = whole
		days := map[string]int{"hoy": 0, "today": 0, "tonight": 0, "manana": 1, "tomorrow": 1}
		ahead, ok := days[s.take(relativeText)[0]]
		if !ok {
			ahead = 2
		}
		return s.today.AddDate(0, 0, ahead).Format(time.DateOnly)
	}
	if m := s.take(weekdayText); m != nil {
		ahead := (int(weekdays[m[1]]-s.today.Weekday()) + 7) % 7
		if ahead == 0 {
			ahead = 7
		}
		return s.today.AddDate(0, 0, ahead).Format(time.DateOnly)
	}
	return ""
}

func (s *scanner) dayOf(day string, month time.Month, year string) string {
	y := s.today.Year()
	if year != "" {
		y = number(year)
	}
	text := fmt.Sprintf("%04d-%02d-%02d", y, month, number(day))
	if !isDate(text) {
		return ""
	}
	if year == "" && text < s.today.Format(time.DateOnly) {
		text = fmt.Sprintf("%04d%s", y+1, text[4:])
	}
	return text
}

// wordAfter returns the word that names one thing of a kind: «sala norte» → norte.
func (f facts) wordAfter(owner string) string {
	for i, word := range f.words {
		if concept(word) != owner || i+1 >= len(f.words) {
			continue
		}
		next := f.words[i+1]
		common := named[concept(next)]
		_, day := weekdays[next]
		if verbs[next] == noVerb && !stopwords[next] && !common && !day && !relativeText.MatchString(next) &&
			!slices.Contains([]string{"pequena", "grande", "mas", "small", "large", "big", "vacia", "cualquiera", "nueva", "details", "pasado", "proximo", "next", "durante", "desde", "entre", "between", "number", "numero", "about", "con"}, next) {
			return next
		}
	}
	return ""
}
