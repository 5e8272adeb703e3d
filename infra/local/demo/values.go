package demo

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// values holds the values that a message gives.
type values struct {
	named      map[string]string // of name=value, by folded name and by concept
	date       string            // YYYY-MM-DD
	start, end string            // HH:MM
	people     int
	ids        []string
	rooms      []string // of the demonstration service
	quoted     []string
	numbers    []number
	words      []string // folded words and punctuation, without the values above
	rest       string   // the message without named and quoted values
}

// number is a number with the concepts of the words before and after it.
type number struct{ value, before, after string }

// A time of day has five groups: hour, minute, a or p of am and pm, fraction, part of the day.
const (
	meridiemText = `(?: ?([ap])\.?m\b\.?)?`
	hourText     = `(\d{1,2})(?:[:.h](\d{2})|h)?` + meridiemText
	partsText    = `(?: y (media|cuarto))?(?: (?:(?:de|por|en) la|in the) (manana|tarde|noche|morning|afternoon|evening))?`
	timeText     = hourText + partsText
	unitText     = `(?:personas?|people|persons?|plazas|asientos|seats|asistentes|guests|attendees|invitados)`
)

var (
	namedText    = regexp.MustCompile(`([\pL_][\pL\d_.\-]*)\s*(=|:)\s*("[^"]*"|«[^»]*»|“[^”]*”|'[^']*'|[^\s,;«"“]+)`)
	quotedText   = regexp.MustCompile(`"([^"]+)"|«([^»]+)»|“([^”]+)”|'([^']+)'`)
	calledText   = regexp.MustCompile(`(?i)\b(?:llamad[oa]|titulad[oa]|called|named|titled) ([\pL\d][\pL\d\-]*)`)
	isoText      = regexp.MustCompile(`\b(\d{4}-\d{2}-\d{2})\b`)
	idText       = regexp.MustCompile(`#([\w\-]+)|\b([A-Za-z]{1,6}[-_]\d[\w\-]*)\b|\b([0-9a-fA-F]{8}-[0-9a-fA-F\-]{27})\b|\b([0-9A-HJKMNP-TV-Z]{26})\b|\b(?:id|ID|Id) +([\w\-]+)`)
	durationText = regexp.MustCompile(`\b(?:durante|por|para|for|de) (?:(\d{1,3}) ?(h|m)(?:oras?|ours?|inutos?|inutes?|ins?)?|una hora|an hour|one hour)\b`)
	rangeText    = regexp.MustCompile(`\b(?:de|desde|from|entre|between|a las?|at) (?:las? )?` + hourText + `(?: ?[-–] ?| (?:a|hasta|to|until|till|y|and) (?:las? )?)` + timeText + `( ` + unitText + `)?`)
	dashText     = regexp.MustCompile(`\b` + hourText + ` ?[-–] ?` + timeText + `()`)
	atTexts      = []*regexp.Regexp{
		regexp.MustCompile(`\b(?:a las?|las|at|hora) ` + timeText),
		regexp.MustCompile(`\b(\d{1,2}):(\d{2})` + meridiemText + partsText),
		regexp.MustCompile(`\b(\d{1,2})() ?([ap])m()()\b`),
	}
	partText     = regexp.MustCompile(`\b(?:por|de|en|a) la (?:manana|tarde|noche)\b`)
	slashText    = regexp.MustCompile(`\b(\d{1,2})/(\d{1,2})(?:/(\d{4}))?\b`)
	dayMonthText = regexp.MustCompile(`\b(\d{1,2})(?:st|nd|rd|th)? (?:de |of )?` + monthText + `(?:,? (?:de |del )?(\d{4}))?\b`)
	monthDayText = regexp.MustCompile(`\b` + monthText + ` (?:the )?(\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?\b`)
	relativeText = regexp.MustCompile(`\b(pasado manana|day after tomorrow|manana|tomorrow|hoy|today|tonight)\b`)
	weekdayText  = regexp.MustCompile(`\b(?:(?:para|on) )?(?:el )?(?:(?:este|proximo|this|next) )?(` + strings.Join(slices.Sorted(maps.Keys(vocabulary.Weekdays)), "|") + `)s?\b`)
	unitsText    = regexp.MustCompile(`\b(\d{1,4}|una|one) ` + unitText + `\b`)
	peopleText   = regexp.MustCompile(`\b(?:para|for|somos|de|con|with|of)(?: unas?| about)? (\d{1,4})\b`)
	roomText     = regexp.MustCompile(`\b(norte|north|sur|south|oeste|west|auditorio|auditorium|cabina|booth)\b|\b(?:salas?|rooms?|y|and|,) (este|east)\b|\b(east) room\b`)
	numberText   = regexp.MustCompile(`(?:([a-z]+) )?\b(\d+(?:[.,]\d+)?)\b(?: ([a-z]+))?`)
	tokenText    = regexp.MustCompile(`[\pL\d]+|[^\s\pL\d]`)
	monthText    = `(` + strings.Join(slices.Sorted(maps.Keys(vocabulary.Months)), "|") + `)`
)

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

// readValues reads a message; names holds the parameter names that may be given as `name: value`.
func readValues(message string, names map[string]bool, today time.Time) values {
	v := values{named: map[string]string{}}
	s := &scanner{message, today}
	v.readNamed(s, names)
	for m := s.take(quotedText); m != nil; m = s.take(quotedText) {
		v.quoted = append(v.quoted, strings.Join(m[1:], ""))
	}
	v.rest = s.text
	for m := s.take(calledText); m != nil; m = s.take(calledText) {
		v.quoted = append(v.quoted, m[1])
	}
	if m := s.take(isoText); m != nil && isDate(m[1]) {
		v.date = m[1]
	}
	for m := s.take(idText); m != nil; m = s.take(idText) {
		v.ids = append(v.ids, strings.Join(m[1:], ""))
	}
	s.text = wordText.ReplaceAllStringFunc(fold(s.text), func(word string) string {
		return cmp.Or(vocabulary.Figures[word], word)
	})
	lasts := s.take(durationText)
	v.readTimes(s)
	v.date = cmp.Or(v.date, s.date())
	if named := v.named["start"]; clock.MatchString(named) {
		v.start = named
	}
	if v.start != "" && v.end == "" && lasts != nil {
		unit := map[string]int{"m": 1}[lasts[2]]
		v.end = addMinutes(v.start, cmp.Or(atoi(lasts[1]), 1)*cmp.Or(unit, 60))
	}
	for _, re := range []*regexp.Regexp{unitsText, peopleText} {
		if m := re.FindStringSubmatch(s.text); m != nil && v.people == 0 {
			v.people = atoi(cmp.Or(map[string]string{"una": "1", "one": "1"}[m[1]], m[1]))
		}
	}
	for _, m := range roomText.FindAllStringSubmatch(s.text, -1) {
		name := strings.Join(m[1:], "")
		v.rooms = append(v.rooms, cmp.Or(vocabulary.Rooms[name], name))
	}
	for _, m := range numberText.FindAllStringSubmatch(s.text, -1) {
		v.numbers = append(v.numbers, number{strings.ReplaceAll(m[2], ",", "."), concept(m[1]), concept(m[3])})
	}
	v.words = tokenText.FindAllString(s.text, -1)
	return v
}

// readNamed takes the values of the forms name=value and, for known names, name: value.
func (v *values) readNamed(s *scanner, names map[string]bool) {
	for _, m := range namedText.FindAllStringSubmatch(s.text, -1) {
		name, key := fold(m[1]), nameKey(m[1])
		if m[2] != "=" && !names[name] && !names[key] {
			continue
		}
		value := strings.Trim(strings.TrimRight(m[3], ".!?"), `"«»“”'`)
		v.named[name], v.named[key] = value, cmp.Or(v.named[key], value)
		s.text = strings.Replace(s.text, m[0], " , ", 1)
	}
}

// nameKey returns the concepts of a parameter's name: room for room_id and for sala.
func nameKey(name string) string { return cmp.Or(strings.Join(concepts(name), " "), fold(name)) }

func atoi(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

func (v *values) readTimes(s *scanner) {
	for _, re := range []*regexp.Regexp{rangeText, dashText} {
		m := re.FindStringSubmatch(s.text)
		if m == nil || m[9] != "" { // «de 4 a 6 personas»
			continue
		}
		meridiem := m[3]
		if meridiem == "" && atoi(m[1]) < atoi(m[4]) {
			meridiem = m[6]
		}
		end := hourOf(m[4], m[5], m[6], m[7], m[8])
		if start := hourOf(m[1], m[2], meridiem, "", m[8]); start != "" && start < end {
			v.start, v.end = start, end
			s.take(re)
			return
		}
	}
	for _, re := range atTexts {
		for m := s.take(re); m != nil; m = s.take(re) {
			v.start = cmp.Or(v.start, hourOf(m[1], m[2], m[3], m[4], m[5]))
		}
	}
}

// hourOf returns HH:MM, or "" for no time of day. Without a part of the day, hours from one to seven
// are in the afternoon, because rooms are booked by day.
func hourOf(hour, minute, meridiem, fraction, part string) string {
	h, m := atoi(hour), cmp.Or(atoi(minute), map[string]int{"media": 30, "cuarto": 15}[fraction])
	afternoon := meridiem == "p" || slices.Contains([]string{"tarde", "noche", "afternoon", "evening"}, part)
	morning := meridiem == "a" || part == "manana" || part == "morning"
	switch {
	case afternoon && h < 12, !morning && !afternoon && h >= 1 && h <= 7 && len(hour) == 1:
		h += 12
	case morning && h == 12:
		h = 0
	}
	if h > 23 || m > 59 {
		return ""
	}
	return fmt.Sprintf("%02d:%02d", h, m)
}

// addMinutes adds minutes to a time of day, within the day.
func addMinutes(text string, minutes int) string {
	total := min(max(minutesOf(text)+minutes, 0), 23*60+59)
	return fmt.Sprintf("%02d:%02d", total/60, total%60)
}

func minutesOf(text string) int { return atoi(text[:2])*60 + atoi(text[3:]) }

// date takes the first date; "" for none. A weekday is its next occurrence after today.
func (s *scanner) date() string {
	s.text = partText.ReplaceAllString(s.text, " , ")
	if m := s.take(slashText); m != nil {
		return s.dayOf(m[1], atoi(m[2]), m[3])
	}
	if m := s.take(dayMonthText); m != nil {
		return s.dayOf(m[1], vocabulary.Months[m[2]], m[3])
	}
	if m := s.take(monthDayText); m != nil {
		return s.dayOf(m[2], vocabulary.Months[m[1]], m[3])
	}
	if m := s.take(relativeText); m != nil {
		ahead := map[string]int{"manana": 1, "tomorrow": 1, "pasado manana": 2, "day after tomorrow": 2}
		return s.today.AddDate(0, 0, ahead[m[1]]).Format(time.DateOnly)
	}
	if m := s.take(weekdayText); m != nil {
		return s.today.AddDate(0, 0, (vocabulary.Weekdays[m[1]]-int(s.today.Weekday())+6)%7+1).Format(time.DateOnly)
	}
	return ""
}

// dayOf returns a date, "" for none. Without a year, a day that passed is next year's.
func (s *scanner) dayOf(day string, month int, year string) string {
	y := cmp.Or(atoi(year), s.today.Year())
	text := fmt.Sprintf("%04d-%02d-%02d", y, month, atoi(day))
	if year == "" && text < s.today.Format(time.DateOnly) {
		text = fmt.Sprintf("%04d%s", y+1, text[4:])
	}
	if !isDate(text) {
		return ""
	}
	return text
}
