package turn

import (
	"encoding/json"
	"slices"
	"strings"

	"piloto/internal/ground/clip"
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
		cut, _ := json.Marshal(clip.Bytes(string(raw), changeBytes))
		return cut
	}
	changes = slices.Clone(changes[:min(len(changes), maxChangesInEvent)])
	for i := range changes {
		changes[i].Before, changes[i].After = short(changes[i].Before), short(changes[i].After)
	}
	return changes
}

// text describes the changes in one line, followed by the whole new plan. The steps that are gone come first, and each is
// named.
func (c change) text() locale.Phrase {
	all := c.changes()
	lines := c.gone()
	all = slices.DeleteFunc(all, func(one plan.Change) bool { return one.Field == "step" && one.Kind == plan.Removed || c.namedAnew(one) })
	for _, one := range all[:min(len(all), maxChangesInText)] {
		lines = append(lines, c.describe(one))
	}
	switch {
	case len(all) > maxChangesInText:
		lines = append(lines, locale.Say("turn.change.more", "n", len(all)-maxChangesInText))
	case len(lines) == 0:
		lines = append(lines, locale.Say("turn.change.around"))
	}
	return locale.Lines(
		locale.Say("turn.revised", "revision", c.next.Revision, "changes", locale.Joined{Phrases: lines, Between: "; "}),
		run.Describe(c.next, nil),
	)
}

// gone names the steps that the new plan does not have: those that were left out, and those whose id has another call now.
func (c change) gone() (lines []locale.Phrase) {
	for _, was := range c.before.Plan.Steps {
		now, stays := c.next.Step(was.ID)
		switch {
		case !stays:
			lines = append(lines, locale.Say("turn.change.step_removed", "title", run.Quotable(was.Title)))
		case isAnother(was, now):
			lines = append(lines, locale.Say("turn.change.step_replaced",
				"before", run.Quotable(was.Title), "was", c.called(c.before.Plan, was, now), "after", run.Quotable(now.Title), "now", c.called(c.next, now, was)))
		}
	}
	return lines
}

// isAnother reports whether two steps with one id call something else.
func isAnother(was, now plan.Step) bool {
	return was.MCPID != now.MCPID || was.Called() != now.Called()
}

// called returns the call of a step, with its server where that of another step is another one.
func (c change) called(p plan.Plan, s, other plan.Step) string {
	name := run.Quotable(s.Called())
	if b, ok := p.Binding(s.ID); ok && s.MCPID != other.MCPID {
		name += " @ " + run.Quotable(b.ServerName)
	}
	return name
}

// namedAnew reports whether gone names a change already.
func (c change) namedAnew(one plan.Change) bool {
	was, before := c.before.Plan.Step(one.StepID)
	now, stays := c.next.Step(one.StepID)
	return before && stays && isAnother(was, now) && slices.Contains([]string{"title", "server", "tool", "method", "path"}, one.Field)
}

// describe returns the text of one change, such as «date: 2026-03-06 → 2026-03-10».
func (c change) describe(one plan.Change) locale.Phrase {
	if one.Field == "step" {
		return locale.Say("turn.change.step_"+string(one.Kind), "title", c.title(one.StepID))
	}
	part, rest, deeper := strings.Cut(one.Field, "/")
	rest = clip.Line(strings.NewReplacer("~1", "/", "~0", "~").Replace(rest))
	var what locale.Phrase = locale.Say("turn.part." + part)
	switch {
	case deeper && (part == "body" || part == "query" || part == "headers"):
		what = locale.Verbatim(rest)
	case deeper:
		what = locale.Joined{Phrases: []locale.Phrase{what, locale.Verbatim(rest)}, Between: " "}
	}
	if !one.StepID.IsZero() && len(c.next.Steps) > 1 {
		what = locale.Say("turn.change.of", "at", c.next.Place(one.StepID), "what", what)
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
	return clip.Runes(clip.Line(text), changeText)
}
