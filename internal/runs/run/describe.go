package run

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"

	"piloto/internal/ground/jcs"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
)

// Describe writes a plan as text, for clients that show no card: every step with
// its method and its whole target. Nothing in it can pose as another line, or
// hide: goal and titles are one line each, and arguments are escaped.
func Describe(tag locale.Tag, p plan.Plan, replaces bool) string {
	var b strings.Builder
	if replaces {
		b.WriteString(locale.Text(tag, "turn.superseded") + "\n")
	}
	b.WriteString(locale.Text(tag, "turn.proposed", "goal", p.Goal))
	for i, s := range p.Steps {
		binding, _ := p.Binding(s.ID)
		fmt.Fprintf(&b, "\n%d. %s\n   %s", i+1, s.Title, target(s, binding))
		if len(s.Query) > 0 {
			b.WriteString(" " + inJSON(s.Query))
		}
		if len(s.Body) > 0 {
			b.WriteString("\n   " + inJSON(s.Body))
		}
		for _, line := range beside(tag, p, s) {
			b.WriteString("\n   " + line)
		}
	}
	return b.String()
}

// beside is what holds of a step beside its call: when, how often, what takes it back,
// and what it will wait for.
func beside(tag locale.Tag, p plan.Plan, s plan.Step) []string {
	var lines []string
	if s.When != nil {
		lines = append(lines, locale.Text(tag, "run.plan_when", "when", seen(s.When.Text(), jsonEscape)))
	}
	if s.ForEach != "" {
		lines = append(lines, locale.Text(tag, "run.plan_each", "list", seen(s.ForEach, jsonEscape)))
	}
	if undo, ok := p.Step(plan.UndoOf(s.ID)); ok {
		binding, _ := p.Binding(undo.ID)
		lines = append(lines, locale.Text(tag, "run.plan_undo", "called", target(undo, binding)+sent(undo)))
	}
	if check, ok := p.CheckOf(s.ID); ok {
		binding, _ := p.Binding(check.ID)
		lines = append(lines, locale.Text(tag, "run.plan_check", "called", target(check, binding)+sent(check)))
	}
	if s.Ask != nil {
		key := "run.plan_ask"
		if s.Ask.Maybe {
			key = "run.plan_ask_maybe"
		}
		lines = append(lines, locale.Text(tag, key, "reason", plan.Line(s.Ask.Reason)))
	}
	if p.Reuse != nil && slices.Contains(p.Reuse.Steps, s.ID) {
		lines = append(lines, locale.Text(tag, "run.plan_done"))
	}
	return lines
}

// sent is what a call beside a step's own sends, on the same line.
func sent(s plan.Step) string {
	text := ""
	for _, part := range []json.RawMessage{s.Query, s.Body} {
		if len(part) > 0 {
			text += " " + inJSON(part)
		}
	}
	return text
}

// target writes what a step calls, and where.
func target(s plan.Step, b plan.Binding) string {
	if s.Tool != "" {
		return seen(s.Tool, jsonEscape) + " @ " + b.BaseURL
	}
	return s.Method + " " + b.BaseURL + seen(s.Path, url.PathEscape)
}

// inJSON writes a JSON text as a person reads it: in characters, but for those that do
// not show.
func inJSON(raw json.RawMessage) string { return seen(string(jcs.Plain(raw)), jsonEscape) }

// seen escapes what does not show, or changes the order of what does.
func seen(text string, escape func(string) string) string {
	var b strings.Builder
	for _, r := range text {
		if ref.Invisible(r) {
			b.WriteString(escape(string(r)))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func jsonEscape(text string) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(text)) {
		fmt.Fprintf(&b, "\\u%04x", unit)
	}
	return b.String()
}
