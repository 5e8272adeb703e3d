package webui

import (
	_ "embed"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/render"
	"piloto/internal/models/eligibility"
	"piloto/internal/tools/tool"
)

// The templates, as html/template escapes them: each value is passed through the functions that its context needs.
// A test generates the file from template/*.html and compares it.
//
//go:embed escaped.html
var escapedTemplates string

// views are the templates, with the functions of each language.
type views struct {
	set   *render.Set
	funcs map[appearance]render.Funcs
}

// appearance is how a page is shown: its language, and its theme, or "" for that of the system.
type appearance struct {
	tag   locale.Tag
	theme string
}

func loadViews(a assets, now func() time.Time) views {
	v := views{render.New(render.Sections(escapedTemplates)), map[appearance]render.Funcs{}}
	for _, tag := range locale.Tags() {
		for _, theme := range []string{"", "light", "dark"} {
			v.funcs[appearance{tag, theme}] = templateFuncs(a, words{tag: tag, theme: theme, now: now})
		}
	}
	return v
}

// templateFuncs returns the functions that templates call, in one language.
func templateFuncs(a assets, w words) render.Funcs {
	return render.Funcs{
		"t":       w.text,
		"lang":    func() string { return string(w.tag) },
		"theme":   func() string { return w.theme },
		"display": display,
		"plain":   plain,
		"title":   title,
		"asset":   a.url,
		"inline":  a.inline,
		"set":     func(at time.Time) bool { return !at.IsZero() },
		"iso":     func(at time.Time) string { return at.UTC().Format(time.RFC3339) },
		"moment":  func(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05 UTC") },
		"since":   w.since,
		"until":   w.until,
		"size":    w.size,
		"usd":     w.usd,
		"count":   w.count,
		"amount":  w.amount,
		"dollars": dollars,
		"minutes": func(n int) string { return formatSpan(time.Duration(n) * time.Minute) },
		"json":    marshal,
		"label":   func(provider string) string { return plain(eligibility.Label(provider)) },
		"args":    func(v ...any) []any { return v },
		"langs":   locale.Tags,
		"legible": func(s conversation.Source) *legible {
			return w.read([]byte(s.Answer), s.Names, 0, resultShown, w.now())
		},
		"clock": func(at time.Time) string { return at.UTC().Format("15:04") },
		"ago":   w.ago,

		// Methods of views, because templates cannot call methods.
		"cost": entryRow.cost, "delay": assistantForm.delay, "frozen": serverView.frozen, "readable": serverView.readable, "unread": serverView.unread, "services": servicesOf, "full": webhooksView.full, "hooksfull": webhooksView.hooksFull, "lastattempt": lastAttempt,
		"gone": sessionRow.usedOrHeld, "decides": waitRow.decides, "rest": readTable.rest, "next": readTable.next, "level": gauge.level, "preset": serverView.preset,
		"told": tool.Entry.FullDescription, "said": tool.Hints.Said, "writes": tool.Hints.Writes,
	}
}

func (v views) render(w io.Writer, tag locale.Tag, name string, data any) error {
	return v.renderThemed(w, tag, "", name, data)
}

func (v views) renderThemed(w io.Writer, tag locale.Tag, theme, name string, data any) error {
	return v.set.Execute(w, name, data, v.funcs[appearance{tag, theme}])
}

// words formats times and sizes in one language.
type words struct {
	tag   locale.Tag
	theme string
	now   func() time.Time
}

// text is locale.Text for values of any type. With a value that is HTML the sentence is HTML, too, so that no value is escaped twice.
func (w words) text(key string, pairs ...any) (any, error) {
	if _, ok := locale.Lookup(w.tag, key); !ok {
		return "", fmt.Errorf("no sentence %q", key)
	}
	said, parts, markup := make([]string, len(pairs)), make([]any, len(pairs)), false
	for i, p := range pairs {
		said[i] = fmt.Sprint(p)
		parts[i] = said[i]
		if html, ok := p.(render.HTML); ok {
			parts[i], markup = html, true
		}
	}
	if markup {
		return fill(w.tag, key, parts...), nil
	}
	return locale.Text(w.tag, key, said...), nil
}

// formatSpan formats a duration in its largest unit: "23 h".
func formatSpan(d time.Duration) string {
	switch {
	case d < time.Minute:
		return strconv.Itoa(max(0, int(d/time.Second))) + " s"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + " min"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + " h"
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + " d"
}

// formatMinutes formats a number of minutes exactly.
func formatMinutes(minutes int) string {
	if minutes%60 != 0 {
		return strconv.Itoa(minutes) + " min"
	}
	return strconv.Itoa(minutes/60) + " h"
}

func (w words) ago(at time.Time) string {
	d := w.now().Sub(at)
	if d < time.Minute {
		return locale.Text(w.tag, "page.time.now")
	}
	return formatSpan(d)
}

// since returns ago within a sentence.
func (w words) since(at time.Time) string {
	if w.now().Sub(at) < time.Minute {
		return w.ago(at)
	}
	return locale.Text(w.tag, "page.time.ago", "span", w.ago(at))
}

func (w words) until(at time.Time) string { return formatSpan(at.Sub(w.now())) }

func (w words) decimal(v float64) string {
	s := strconv.FormatFloat(v, 'f', 1, 64)
	if w.tag == locale.Spanish {
		s = strings.Replace(s, ".", ",", 1)
	}
	return s
}

// took formats the duration of a step.
func (w words) took(d time.Duration) string {
	switch {
	case d < 0:
		return ""
	case d < time.Second:
		return strconv.Itoa(int(d/time.Millisecond)) + " ms"
	case d < time.Minute:
		return w.decimal(d.Seconds()) + " s"
	}
	return formatSpan(d)
}

func (w words) size(bytes int) string {
	switch {
	case bytes < 1000:
		return strconv.Itoa(bytes) + " B"
	case bytes < 1_000_000:
		return w.decimal(float64(bytes)/1e3) + " kB"
	}
	return w.decimal(float64(bytes)/1e6) + " MB"
}
