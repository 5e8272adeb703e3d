// Package figures finds the numbers, dates, times and identifiers of a text that stand in none of its sources. A model's
// text about the results of services is compared with these results.
//
// Each class is compared in its own way, because a person writes a value otherwise than a service does: 1234.5 is also
// «1.234,50», 2026-11-21T10:00 is also «el 21 de noviembre, a las 10», and the number of elements of a list is a count.
// The value is compared, never its meaning: a price that stands as a capacity in the source is not found out.
package figures

import (
	"slices"
	"strings"

	"piloto/internal/ground/clip"
)

// Bounds of the list of Missing.
const (
	mostMissing = 8
	mostShown   = 60 // bytes of each figure
)

// Missing returns the figures of a text that stand in no source, as they are written, each once. Digits of other scripts
// are written as 0 to 9, and a long figure is cut. counts are numbers that may be said of the sources, such as how many
// elements a list has.
func Missing(text string, counts []int, sources ...string) []string {
	return Read(counts, sources...).Missing(text)
}

// Sources are the texts with which others are compared.
type Sources struct{ known *record }

// Read reads sources once, for several texts.
func Read(counts []int, sources ...string) Sources {
	known := newRecord()
	for _, s := range sources {
		known.read(s)
	}
	for _, n := range counts {
		known.counts[n], known.most = true, max(known.most, n)
	}
	return Sources{known}
}

// Missing returns the figures of a text that stand in none of the sources, as the function of that name does.
func (s Sources) Missing(text string) []string {
	known := s.known
	var missing []string
	text = plain(text)
	for _, f := range inContext(text, scan(text)) {
		if shown := f.shown(text); !known.has(f) && !slices.Contains(missing, shown) && len(missing) < mostMissing {
			missing = append(missing, shown)
		}
	}
	return missing
}

// shown returns a figure as it is written, with its sign.
func (f figure) shown(text string) string {
	return clip.Bytes(text[f.sign:f.end], mostShown)
}

// record is the content of the sources.
type record struct {
	texts   []string        // of the sources, in lower case
	said    map[string]bool // figures as they are written, in lower case
	digits  []string        // those of numbers and identifiers, without separators of groups
	numbers map[string]bool // values
	within  map[string]bool // numbers that end a part of an identifier, such as 12345 of ORD-12345
	dates   map[date]bool
	times   map[clock]bool
	counts  map[int]bool
	most    int // the highest count
}

func newRecord() *record {
	return &record{said: map[string]bool{}, numbers: map[string]bool{}, within: map[string]bool{}, dates: map[date]bool{}, times: map[clock]bool{}, counts: map[int]bool{}}
}

// read adds the figures of a source: as it is written, and, of JSON, as its values are.
func (r *record) read(source string) {
	r.add(source)
	if values := valuesIn(source, 0); values != "" {
		r.add(values)
	}
}

func (r *record) add(text string) {
	text = plain(text)
	r.texts = append(r.texts, strings.ToLower(text))
	r.addFigures(text)
}

func (r *record) addFigures(text string) {
	for _, f := range scan(text) {
		if f.class != number {
			r.said[strings.ToLower(f.text)] = true
		}
		switch f.class {
		case number:
			for _, v := range append(f.values(), valuesOf(f.text)...) {
				r.numbers[v], r.numbers[strings.TrimPrefix(v, "-")] = true, true // a debt of 24 may stand as -24
			}
			r.digits = append(r.digits, digitsOf(f.text))
		case dated, timed:
			for _, d := range f.dates {
				r.dates[d] = true
			}
			for _, t := range f.times {
				r.times[t] = true
			}
		case identifier, address:
			r.digits = append(r.digits, digitsOf(f.text))
			for _, part := range lex().numberedPart.FindAllStringSubmatch(f.text, -1) {
				r.within[canonical(part[1])] = true
			}
		case spaced:
			r.digits = append(r.digits, digitsOf(f.text))
			r.said[strings.ToLower(ungrouped(f.text))] = true
			for part := range strings.FieldsSeq(f.text) {
				r.addFigures(part)
			}
		}
	}
}

// ungrouped returns a text without blanks.
func ungrouped(text string) string { return strings.ReplaceAll(text, " ", "") }

// has reports whether a figure of a text stands in the sources.
func (r *record) has(f figure) bool {
	if f.class == number {
		return r.hasNumber(f)
	}
	is := standsWhole
	if f.class == address {
		is = standsAlone
	}
	if r.said[strings.ToLower(f.text)] || r.stands(f.text, is) {
		return true
	}
	switch f.class {
	case compound:
		return !r.stands(f.text, isBeginning)
	case identifier:
		return f.cut && r.stands(f.text, begins) || f.tail && r.hasTail(f.text) || r.hasParts(f.text)
	case spaced:
		return r.hasSpaced(f.text)
	case dated:
		return slices.ContainsFunc(f.dates, r.hasDate) && (len(f.times) == 0 || r.hasTime(f)) || r.isPartOfAll(f)
	case timed:
		return r.hasTime(f)
	}
	return false
}

// stands reports whether a text stands somewhere, in a way that is says.
func (r *record) stands(text string, is func(text string, from, to int) bool) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(r.texts, func(source string) bool { return text != "" && standsIn(source, text, is) })
}

// hasParts reports whether each part of an identifier stands somewhere, such as r-1 of ID:r-1.
func (r *record) hasParts(text string) bool {
	parts := strings.FieldsFunc(text, func(c rune) bool { return c == ':' || c == '/' || c == '#' })
	return len(parts) > 1 && !slices.ContainsFunc(parts, func(part string) bool {
		return slices.ContainsFunc(scan(part), func(f figure) bool { return !r.has(f) })
	})
}

// hasSpaced reports whether the record has a number that is written in groups, such as 12 000: without its spaces, or each
// group by itself.
func (r *record) hasSpaced(text string) bool {
	whole := ungrouped(text)
	if r.said[strings.ToLower(whole)] || r.stands(whole, standsWhole) || digitsOf(whole) == whole && r.hasTail(whole) {
		return true
	}
	return !slices.ContainsFunc(scan(strings.ReplaceAll(text, " ", "\n")), func(f figure) bool { return !r.has(f) })
}

// hasTail reports whether digits are the end of those of a number or an identifier.
func (r *record) hasTail(text string) bool {
	all := digitsOf(text)
	return len(all) >= fewestOfTail && all == text && slices.ContainsFunc(r.digits, func(k string) bool { return strings.HasSuffix(k, all) })
}

func (r *record) hasDate(d date) bool {
	if d.year != 0 && r.dates[d] {
		return true
	}
	for k := range r.dates {
		if k.day == d.day && k.month == d.month && (d.year == 0 || k.year == 0) {
			return true
		}
	}
	return false
}

func (r *record) hasTime(f figure) bool {
	return slices.ContainsFunc(f.times, func(t clock) bool { return r.times[t] })
}

// isPartOfAll reports whether a figure says how many of a count, such as 2/3.
func (r *record) isPartOfAll(f figure) bool {
	some, all, ok := strings.Cut(f.text, "/")
	return ok && r.counts[atoi(all)] && atoi(some) <= atoi(all)
}

// hasNumber compares the value of a number. The words beside it show other readings: an hour, a day, a place in a list, or a count.
func (r *record) hasNumber(f figure) bool {
	values := f.values()
	if f.percent {
		values = append(values, scaled(values, -2)...)
	}
	if f.money {
		values = append(values, scaled(values, 2)...) // in cents
	}
	if slices.ContainsFunc(values, func(v string) bool { return r.numbers[v] }) {
		return true
	}
	if f.negative {
		return false
	}
	if all := digitsOf(f.text); (f.tail || len(all) >= fewestDigits) && r.hasTail(all) {
		return true
	}
	if !f.money && !f.percent && r.within[canonical(f.text)] {
		return true
	}
	if f.isHour && slices.ContainsFunc(hoursOf(f.text), func(t clock) bool { return r.times[t] }) {
		return true
	}
	n, whole := smallOf(f.text)
	if !whole {
		return false
	}
	return f.ordinal && n <= max(r.most, mostOrdinal) || f.isDay && r.hasDay(n) || r.hasYear(n) || !f.money && !f.percent && r.isCount(f, n)
}

func (r *record) hasDay(n int) bool {
	for d := range r.dates {
		if d.day == n {
			return true
		}
	}
	return false
}

func (r *record) hasYear(n int) bool {
	for d := range r.dates {
		if d.year == n && n > 31 {
			return true
		}
	}
	return false
}

// isCount reports whether a number may say how many there are: it is a count, or the count of a part, or a place in it.
func (r *record) isCount(f figure, n int) bool {
	if lex().units[f.after] {
		return false
	}
	return r.counts[n] || n <= r.most && (f.after != "" || lex().placeWords[f.before])
}
