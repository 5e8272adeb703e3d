package turn

import (
	"encoding/json"
	"slices"
	"strings"

	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// Bounds of the text and the event of a change.
const (
	maxChangesInText  = 8
	changeText        = 80  // characters of a value
	maxChangesInEvent = 100 // in an event
	changeBytes       = 1 << 10
)

// changes returns the differences between the two plans.
func (c change) changes() []plan.Change {
	return plan.Edits(c.before.Plan, c.next)
}

// boundedChanges returns changes for an event, with their number and their values bounded.
func boundedChanges(changes []plan.Change) []plan.Change {
	short := func(raw json.RawMessage) json.RawMessage {
		if len(raw) <= changeBytes {
			return raw
		}
		cut, _ := json.Marshal(strings.ToValidUTF8(string(raw[:changeBytes]), "") + "…")
		return cut
	}
	changes = slices.Clone(changes[:min(len(changes), maxChangesInEvent)])
	for i := range changes {
		changes[i].Before, changes[i].After = short(changes[i].Before), short(changes[i].After)
	}
	return changes
}

// text describes the changes in one line, followed by the whole new plan.
func (c change) text() locale.Phrase {
	var lines []locale.Phrase
	all := c.changes()
	for _, one := range all[:min(len(all), maxChangesInText)] {
		lines = append(lines, c.describe(one))
	}
	switch {
	case len(all) > maxChangesInText:
		lines = append(lines, locale.Verbatim("…"))
	case len(all) == 0:
		lines = append(lines, locale.Say("turn.change.around"))
	}
	return locale.Lines(
		locale.Say("turn.revised", "revision", c.next.Revision, "changes", locale.Joined{Phrases: lines, Between: "; "}),
		run.Describe(c.next, false),
	)
}

// describe returns the text of one change, such as «date: 2026-03-06 → 2026-03-10».
func (c change) describe(one plan.Change) locale.Phrase {
	if one.Field == "step" {
		return locale.Say("turn.change.step_"+string(one.Kind), "title", c.title(one.StepID))
	}
	part, rest, deeper := strings.Cut(one.Field, "/")
	rest = plan.Line(strings.NewReplacer("~1", "/", "~0", "~").Replace(rest))
	var what locale.Phrase = locale.Say("turn.part." + part)
	switch {
	case deeper && (part == "body" || part == "query" || part == "headers"):
		what = locale.Verbatim(rest)
	case deeper:
		what = locale.Joined{Phrases: []locale.Phrase{what, locale.Verbatim(rest)}, Between: " "}
	}
	if !one.StepID.IsZero() && len(c.next.Steps) > 1 {
		at := 1 + slices.IndexFunc(c.next.Steps, func(s plan.Step) bool { return s.ID == one.StepID })
		what = locale.Say("turn.change.of", "at", at, "what", what)
	}
	return locale.Say("turn.change."+string(one.Kind), "what", what, "before", valueText(one.Before), "after", valueText(one.After))
}

// title returns the title of a step of either plan.
func (c change) title(id plan.EffectID) string {
	if s, ok := c.next.Step(id); ok {
		return s.Title
	}
	s, _ := c.before.Plan.Step(id)
	return s.Title
}

// valueText returns a value on one line: a string without quotes, any other value as JSON.
func valueText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	text = plan.Line(text)
	if runes := []rune(text); len(runes) > changeText {
		return string(runes[:changeText-1]) + "…"
	}
	return text
}
