package webui

import (
	"strings"
	"time"

	"piloto/internal/ground/locale"
)

// dateForms are the forms of dates and times that are written in words. A time without a zone is as its service takes it.
var dateForms = []struct {
	layout       string
	clock, zoned bool
}{
	{time.DateOnly, false, false},
	{time.RFC3339, true, true},
	{"2006-01-02T15:04", true, false},
	{"2006-01-02T15:04:05", true, false},
	{"2006-01-02T15:04Z07:00", true, true},
}

// date writes a date in words: «lunes 23 de noviembre, 10:00 UTC». The year is there when it is not that of now. It reports
// whether the text is a date.
func (w words) date(text string, now time.Time) (string, bool) {
	if len(text) < len(time.DateOnly) || len(text) > 35 || text[4] != '-' {
		return "", false
	}
	for _, form := range dateForms {
		at, err := time.Parse(form.layout, text)
		if err != nil {
			continue
		}
		said := w.day(at, at.Year() != now.Year())
		if !form.clock {
			return said, true
		}
		clock := at.Format("15:04")
		if at.Second() != 0 || at.Nanosecond() != 0 {
			clock = at.Format("15:04:05.999999999")
		}
		if form.zoned {
			clock += " " + zone(at)
		}
		return said + ", " + clock, true
	}
	return "", false
}

// readDate writes a date of an answer as date does, to the second.
func (w words) readDate(text string, now time.Time) (string, bool) {
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil && at.Nanosecond() != 0 {
		text = at.Format(time.RFC3339)
	}
	return w.date(text, now)
}

func (w words) day(at time.Time, year bool) string {
	pairs := []string{
		"weekday", nth(locale.Text(w.tag, "page.date.weekdays"), int(at.Weekday())), "day", itoa(at.Day()),
		"month", nth(locale.Text(w.tag, "page.date.months"), int(at.Month())-1), "year", itoa(at.Year()),
	}
	if year {
		return locale.Text(w.tag, "page.date.year", pairs...)
	}
	return locale.Text(w.tag, "page.date.day", pairs...)
}

// zone writes the zone of a time: UTC, or UTC+01:00.
func zone(at time.Time) string {
	if _, offset := at.Zone(); offset == 0 {
		return "UTC"
	}
	return "UTC" + at.Format("-07:00")
}

// nth returns one word of a list in the catalogue.
func nth(list string, i int) string { return strings.Fields(list)[i] }
