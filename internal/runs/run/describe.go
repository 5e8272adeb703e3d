package run

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/jcs"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/origin"
	"piloto/internal/ground/visible"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/view"
	"piloto/internal/tools/tool"
	"piloto/internal/workspace/overlay"
)

// Describe returns a plan as text, for clients that show no card: every step with its method and its full target. No value
// can imitate another line or hide text: goal and titles are one line each, and invisible characters of arguments are
// escaped. dropped is the plan that it superseded, which the first line names; nil: none waited.
func Describe(p plan.Plan, dropped *plan.Dropped) locale.Phrase { return description{p, dropped} }

type description struct {
	plan    plan.Plan
	dropped *plan.Dropped
}

// In returns the description in a language.
func (d description) In(tag locale.Tag) string {
	p := d.plan
	var b strings.Builder
	if d.dropped != nil {
		b.WriteString(Replaced(*d.dropped).In(tag) + "\n")
	}
	b.WriteString(locale.Text(tag, "turn.proposed", "goal", p.Goal))
	for i, s := range p.Steps {
		binding, _ := p.Binding(s.ID)
		if lines := changeLines(tag, s); lines != nil {
			fmt.Fprintf(&b, "\n%d. %s", i+1, s.Title)
			for _, line := range append(lines, extraLines(tag, p, s)...) {
				b.WriteString("\n   " + line)
			}
			continue
		}
		fmt.Fprintf(&b, "\n%d. %s\n   %s", i+1, s.Title, target(s, binding))
		if len(s.Query) > 0 {
			b.WriteString(" " + readableJSON(s.Query))
		}
		for _, line := range headerLines(s.Headers, binding.Media) {
			b.WriteString("\n   " + line)
		}
		if len(s.Body) > 0 {
			b.WriteString("\n   " + readableJSON(s.Body))
		}
		if binding.Auth != "" {
			b.WriteString("\n   " + keysOf(tag, binding))
		}
		for _, line := range extraLines(tag, p, s) {
			b.WriteString("\n   " + line)
		}
	}
	return b.String()
}

// Replaced is a line that names a superseded draft, and the steps of it that are gone. Its names are quoted, and none can end
// its quotation, because the model wrote them.
type Replaced plan.Dropped

// In returns the line in a language.
func (d Replaced) In(tag locale.Tag) string {
	if len(d.Steps) == 0 {
		return locale.Text(tag, "turn.superseded_whole", "goal", Quotable(d.Goal))
	}
	var names []string
	for _, s := range d.Steps {
		names = append(names, locale.Text(tag, "turn.dropped_step", "title", Quotable(s.Title), "called", Quotable(s.Called)))
	}
	if d.More > 0 {
		names = append(names, locale.Text(tag, "turn.dropped_more", "n", strconv.Itoa(d.More)))
	}
	return locale.Text(tag, "turn.superseded", "goal", Quotable(d.Goal), "steps", strings.Join(names, ", "))
}

// Quotable returns a name that a model wrote so that a sentence of ours can quote it: on one line, without quotation marks
// and invisible characters, and cut to 120 characters.
func Quotable(name string) string { return clip.Runes(quoted(name), 120) }

// quoted is Quotable without a bound.
func quoted(text string) string { return escapeInvisible(quotes.Replace(clip.Line(text)), jsonEscape) }

var quotes = strings.NewReplacer("«", "‹", "»", "›", "“", "'", "”", "'", "„", "'", `"`, "'")

// changeLines returns the lines about a step that changes files: the change of each, and the diff, whose lines begin with a
// mark; nil of another step.
func changeLines(tag locale.Tag, s plan.Step) (lines []string) {
	for _, c := range changesIn(s) {
		lines = append(lines, escapeInvisible(c.Phrase().In(tag), jsonEscape))
	}
	for line := range overlay.Lines(plan.ChangesOf(s).Diff) {
		lines = append(lines, "│ "+escapeInvisible(strings.ReplaceAll(line.Text, "\t", "    "), jsonEscape))
	}
	return lines
}

// changesIn returns the file changes of a step; nil of another step.
func changesIn(s plan.Step) []overlay.Change { return plan.ChangesOf(s).Changes }

// extraLines returns the lines about a step besides its call: its condition, its list, its undo,
// its check and the approval that it will wait for.
func extraLines(tag locale.Tag, p plan.Plan, s plan.Step) []string {
	var lines []string
	if s.Unanswered != nil {
		lines = append(lines, "⚠️ "+s.Unanswered.Phrase().In(tag))
	}
	lines = append(lines, crossingLines(tag, p, s.ID)...)
	if s.When != nil {
		lines = append(lines, locale.Text(tag, "run.plan_when", "when", escapeInvisible(s.When.Text(), jsonEscape)))
	}
	if s.ForEach != "" {
		lines = append(lines, locale.Text(tag, "run.plan_each", "list", escapeInvisible(s.ForEach, jsonEscape)))
	}
	if undo, ok := p.Step(plan.UndoOf(s.ID)); ok && undo.MCPID == tool.FilesID {
		lines = append(lines, locale.Text(tag, "files.undo"))
	} else if ok {
		binding, _ := p.Binding(undo.ID)
		lines = append(lines, locale.Text(tag, "run.plan_undo", "called", target(undo, binding)+argumentsOf(undo, binding)), keysOf(tag, binding))
		lines = append(lines, crossingLines(tag, p, undo.ID)...)
	}
	if check, ok := p.CheckOf(s.ID); ok {
		binding, _ := p.Binding(check.ID)
		lines = append(lines, locale.Text(tag, "run.plan_check", "called", target(check, binding)+argumentsOf(check, binding)), keysOf(tag, binding))
		lines = append(lines, crossingLines(tag, p, check.ID)...)
		lines = append(lines, locale.Text(tag, "run.plan_check_expect", "when", escapeInvisible(s.Verify.Expect.Text(), jsonEscape)))
	}
	if s.Ask != nil {
		key := "run.plan_ask"
		if s.Ask.Maybe {
			key = "run.plan_ask_maybe"
		}
		lines = append(lines, locale.Text(tag, key, "reason", clip.Line(s.Ask.Reason)))
		if s.Ask.Another {
			lines = append(lines, locale.Text(tag, "run.plan_ask_another"))
		}
	}
	if p.Reuse != nil && slices.Contains(p.Reuse.Steps, s.ID) {
		lines = append(lines, locale.Text(tag, "run.plan_done"))
	}
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" })
}

// crossingLines warns of the data of one service that a call sends to another.
func crossingLines(tag locale.Tag, p plan.Plan, id plan.EffectID) (lines []string) {
	for _, c := range view.Crossings(p, id) {
		lines = append(lines, "⚠️ "+locale.Text(tag, "run.plan_crossing")+" "+originOf(c.From)+" → "+originOf(c.To))
	}
	return lines
}

// originOf returns the origin of a base address; the address itself when it has none.
func originOf(base string) string {
	return escapeInvisible(cmp.Or(origin.Of(base), base), jsonEscape)
}

// keysOf says where the service's keys are in a call; "" for a call without any.
func keysOf(tag locale.Tag, b plan.Binding) string {
	if b.Auth == "" {
		return ""
	}
	return locale.Text(tag, "run.plan_keys", "places", escapeInvisible(b.Auth, jsonEscape))
}

// argumentsOf returns the query, the headers and the body of an undo or a check, on one line, with the type of a body that is not
// plain JSON.
func argumentsOf(s plan.Step, b plan.Binding) string {
	text := strings.Join(append([]string{""}, headerLines(nil, b.Media)...), " ")
	for _, part := range []json.RawMessage{s.Query, s.Headers, s.Body} {
		if len(part) > 0 {
			text += " " + readableJSON(part)
		}
	}
	return text
}

// headerLines returns the headers of a call, a line each: «If-Match: "7"», with the type of a body that is not plain JSON.
func headerLines(headers json.RawMessage, media string) (lines []string) {
	list, _ := jcs.Members(headers) // a call without headers has no members
	if named := slices.ContainsFunc(list, func(h jcs.Member) bool { return h.Name == "Content-Type" }); media != "" && !named {
		lines = append(lines, escapeInvisible("Content-Type: "+media, jsonEscape))
	}
	for _, h := range list {
		value := string(h.Value)
		var text string
		if json.Unmarshal(h.Value, &text) == nil {
			value = text
		}
		lines = append(lines, escapeInvisible(h.Name+": "+value, jsonEscape))
	}
	return lines
}

// target returns the method of a step and the full target of its call.
func target(s plan.Step, b plan.Binding) string {
	if s.Tool != "" {
		return escapeInvisible(s.Tool, jsonEscape) + " @ " + b.BaseURL
	}
	return s.Method + " " + escapeInvisible(b.URL(s), url.PathEscape)
}

// readableJSON returns a JSON text with readable characters instead of escapes, except for invisible characters.
func readableJSON(raw json.RawMessage) string {
	return escapeInvisible(string(jcs.Plain(raw)), jsonEscape)
}

// escapeInvisible escapes the characters that are invisible or change the order of others.
func escapeInvisible(text string, escape func(string) string) string {
	var b strings.Builder
	for _, r := range text {
		if visible.Invisible(r) {
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
