// Package figures finds the numbers, dates, times and identifiers of a text that stand in none of its sources. A model's
// text about the results of services is compared with these results.
//
// Each class is compared in its own way, because a person writes a value otherwise than a service does: 1234.5 is also
// «1.234,50», 2026-11-21T10:00 is also «el 21 de noviembre, a las 10», and the number of elements of a list is a count.
// What is compared is the value, never its meaning: a price that stands as a capacity in the source is not found out.
package figures

import (
	"slices"
	"strings"

	"piloto/internal/ground/fold"
)

// mostMissing bounds the list of Missing.
const mostMissing = 8

// Missing returns the figures of a text that stand in no source, as they are written, each once. counts are numbers that
// may be said of the sources, such as how many elements a list has.
func Missing(text string, counts []int, sources ...string) []string {
	known := newRecord()
	for _, s := range sources {
		known.read(s)
	}
	for _, n := range counts {
		known.most = max(known.most, n)
	}
	var missing []string
	for _, f := range scan(text) {
		if !known.has(f) && !slices.Contains(missing, f.text) && len(missing) < mostMissing {
			missing = append(missing, f.text)
		}
	}
	return missing
}

// record is what stands in the sources.
type record struct {
	folded  string          // all of their text
	digits  []string        // numbers of many digits, without what groups them
	numbers map[string]bool // values
	dates   []date
	times   []clock
	most    int // the longest list
}

func newRecord() *record { return &record{numbers: map[string]bool{}} }

// read adds the figures of a source.
func (r *record) read(source string) {
	r.folded += "\n" + fold.Text(source)
	for _, f := range scan(source) {
		switch f.class {
		case number:
			for _, v := range valuesOf(f.text) {
				r.numbers[v] = true
			}
			r.digits = append(r.digits, digitsOf(f.text))
		case dated:
			r.dates = append(r.dates, f.dates...)
			r.times = append(r.times, f.times...)
		case timed:
			r.times = append(r.times, f.times...)
		case identifier:
			r.digits = append(r.digits, digitsOf(f.text))
		}
	}
}

// has reports whether a figure of a text stands in the sources.
func (r *record) has(f figure) bool {
	if strings.Contains(r.folded, fold.Text(f.text)) && f.class != number {
		return true
	}
	switch f.class {
	case dated:
		return slices.ContainsFunc(f.dates, r.hasDate) && (len(f.times) == 0 || slices.ContainsFunc(f.times, r.hasTime))
	case timed:
		return slices.ContainsFunc(f.times, r.hasTime)
	case number:
		return r.hasNumber(f)
	}
	return false
}

func (r *record) hasDate(d date) bool {
	return slices.ContainsFunc(r.dates, func(k date) bool {
		return k.day == d.day && k.month == d.month && (d.year == 0 || k.year == 0 || k.year == d.year)
	})
}

func (r *record) hasTime(t clock) bool { return slices.Contains(r.times, t) }

// hasNumber compares the value of a number. What stands beside it says what else it may be: an hour, a day, a place in
// a list, or how many there are.
func (r *record) hasNumber(f figure) bool {
	values := valuesOf(f.text)
	if f.percent {
		values = append(values, hundredthOf(values)...)
	}
	if slices.ContainsFunc(values, func(v string) bool { return r.numbers[v] }) {
		return true
	}
	if f.money && slices.ContainsFunc(hundredfold(values), func(v string) bool { return r.numbers[v] }) {
		return true // in cents
	}
	if all := digitsOf(f.text); len(all) >= fewestDigits && slices.ContainsFunc(r.digits, func(k string) bool { return k == all || strings.HasSuffix(k, all) }) {
		return true
	}
	n, whole := smallOf(f.text)
	if !whole {
		return false
	}
	switch {
	case f.ordinal:
		return n <= max(r.most, mostOrdinal)
	case hourWords()[f.before] && slices.ContainsFunc(r.times, func(t clock) bool { return t.minute == 0 && (t.hour == n || t.hour == n+12) }):
		return true
	case dayWords()[f.before] && slices.ContainsFunc(r.dates, func(d date) bool { return d.day == n }):
		return true
	case slices.ContainsFunc(r.dates, func(d date) bool { return d.year == n && n > 31 }):
		return true
	case slices.ContainsFunc(r.times, func(t clock) bool { return t.hour == n && t.minute == 0 }) && (hourWords()[f.after] || f.after == "h"):
		return true
	}
	return n <= r.most && !f.money && !f.percent && f.after != "" && !units()[f.after]
}
