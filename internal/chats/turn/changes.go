package turn

import (
	"encoding/json"
	"slices"
	"strconv"
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
func (c change) text() string {
	var lines []string
	all := c.changes()
	for _, one := range all[:min(len(all), maxChangesInText)] {
		lines = append(lines, c.describe(one))
	}
	switch {
	case len(all) > maxChangesInText:
		lines = append(lines, "…")
	case len(all) == 0:
		lines = append(lines, locale.Text(c.tag, "turn.change.around"))
	}
	return locale.Text(c.tag, "turn.revised", "revision", strconv.Itoa(c.next.Revision), "changes", strings.Join(lines, "; ")) +
		"\n" + run.Describe(c.tag, c.next, false)
}

// describe returns the text of one change, such as «date: 2026-03-06 → 2026-03-10».
func (c change) describe(one plan.Change) string {
	if one.Field == "step" {
		return locale.Text(c.tag, "turn.change.step_"+string(one.Kind), "title", c.title(one.StepID))
	}
	part, rest, deeper := strings.Cut(one.Field, "/")
	what := locale.Text(c.tag, "turn.part."+part)
	if rest = plan.Line(strings.NewReplacer("~1", "/", "~0", "~").Replace(rest)); deeper {
		what += " " + rest
	}
	if deeper && (part == "body" || part == "query") {
		what = rest
	}
	if !one.StepID.IsZero() && len(c.next.Steps) > 1 {
		at := 1 + slices.IndexFunc(c.next.Steps, func(s plan.Step) bool { return s.ID == one.StepID })
		what = locale.Text(c.tag, "turn.change.of", "at", strconv.Itoa(at), "what", what)
	}
	return locale.Text(c.tag, "turn.change."+string(one.Kind), "what", what, "before", valueText(one.Before), "after", valueText(one.After))
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
