package job

import (
	"slices"
	"strconv"
	"strings"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/visible"
)

// Phrase returns a deed as a person reads it: «Edita a.go +3 −1», «Ejecuta npm test → 1 · 2 ocultos».
func (d Deed) Phrase() locale.Phrase {
	if d.Masked == 0 {
		return d.phrase()
	}
	return locale.Say("job.deed.masked", "what", d.phrase(), "n", d.Masked)
}

func (d Deed) phrase() locale.Phrase {
	what := d.act()
	switch {
	case d.Refused != "":
		return locale.Say("job.deed.refused", "what", what, "why", locale.Say("job.refused."+string(d.Refused)))
	case d.Failed:
		return locale.Say("job.deed.failed", "what", what)
	case d.Kind == DeedChange && d.Added+d.Removed > 0:
		return locale.Say("job.deed.lines", "what", what, "added", d.Added, "removed", d.Removed)
	case d.Kind == DeedCommand && d.TimedOut:
		return locale.Say("job.deed.late", "what", what)
	case d.Kind == DeedCommand && d.checks().Unproved():
		return locale.Say("job.deed.unproved", "what", what, "code", d.ExitCode)
	case d.Kind == DeedCommand:
		return locale.Say("job.deed.ended", "what", what, "code", d.ExitCode)
	}
	return what
}

// act returns the act and its object.
func (d Deed) act() locale.Phrase {
	key := "job.deed." + string(d.Kind)
	switch {
	case d.Kind == DeedChange && d.Deleted:
		key = "job.deed.delete"
	case d.Kind == DeedChange && d.Made:
		key = "job.deed.make"
	}
	return locale.Say(key, "name", short(d.Name))
}

// mostShort is how many characters of a name a sentence has.
const mostShort = 160

// breaks are the line breaks of a name that stands in a line.
var breaks = strings.NewReplacer("\r\n", " ↵ ", "\n", " ↵ ")

// short returns a name for a sentence: every character is visible, a line break as ↵, and a long one is cut.
func short(name string) string {
	return visible.Line(clip.Runes(breaks.Replace(strings.TrimSpace(name)), mostShort))
}

// listed returns a text as the record lists it, of at most maxListed bytes.
func listed(text string) string { return clip.Bytes(text, maxListed) }

// Phrases returns the record as a person reads it, a line for each entry.
func (r Record) Phrases() (list []locale.Phrase) {
	for _, c := range r.Changes {
		key := "job.record.change"
		switch {
		case c.Deleted:
			key = "job.record.delete"
		case c.Made:
			key = "job.record.make"
		}
		list = append(list, locale.Say(key, "name", short(c.Name), "added", c.Added, "removed", c.Removed))
	}
	for _, c := range r.Commands {
		key := "job.record.command"
		switch {
		case c.TimedOut:
			key = "job.record.late"
		case c.Unproved:
			key = "job.record.unproved"
		}
		list = append(list, locale.Say(key, "name", short(c.Command), "code", c.ExitCode))
	}
	for i, f := range r.Refused {
		if slices.ContainsFunc(r.Refused[:i], f.reads) {
			continue
		}
		if f.Code == RefusedFailed {
			list = append(list, locale.Say("job.deed.failed", "what", f.phrase()))
			continue
		}
		list = append(list, locale.Say("job.record.refused", "what", f.phrase(), "why", f.Why()))
	}
	for _, u := range r.Unknown {
		list = append(list, locale.Say("job.record.unknown", "what", u))
	}
	if r.More > 0 {
		list = append(list, locale.Say("job.record.more", "n", strconv.Itoa(r.More)))
	}
	return list
}

// phrase returns the refused act.
func (f Refusal) phrase() locale.Phrase {
	return Deed{Kind: f.Kind, Name: f.What, Made: f.Made, Deleted: f.Deleted}.act()
}

// reads reports whether another one reads the same: two tools were refused the same.
func (f Refusal) reads(o Refusal) bool { o.Tool = f.Tool; return f == o }

// Why returns the reason of a refusal, as a part of a sentence.
func (f Refusal) Why() locale.Phrase { return locale.Say("job.refused." + string(f.Code)) }
