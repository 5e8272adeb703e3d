package redact

import "strings"

// output is the text with its secrets replaced, as far as it is decided.
type output struct {
	v     *view
	rules rules
	judge *judge
	text  strings.Builder
	kept  int // the length of the text that is decided
}

// take replaces the characters between two positions by a gap. It returns to, or from when they are kept because they
// are not evident.
func (o *output) take(from, to int) int {
	if o.rules.lines && to-from <= maxJudged {
		from, to = o.v.inner(from, min(to, len(o.v.signs)))
	}
	if o.rules.evident && !o.judge.isEvident(from, min(to, len(o.v.signs))) {
		return from
	}
	return o.takeAll(from, to)
}

// takeAll is take for a value that is evident by its form.
func (o *output) takeAll(from, to int) int {
	to = min(to, len(o.v.signs))
	empty := true
	for i := from; i < to && empty; i++ {
		empty = o.v.sign(i) == gap || isSpace(o.v.sign(i))
	}
	if empty {
		return max(from, to)
	}
	o.text.WriteString(o.v.text[o.kept:o.v.at[from]])
	o.text.WriteString(gapText)
	if o.rules.lines {
		o.text.WriteString(strings.Repeat("\n"+gapText, strings.Count(o.v.text[o.v.at[from]:o.v.at[to]], "\n")))
	}
	o.kept = int(o.v.at[to])
	return to
}

func (o *output) result() string {
	if o.kept == 0 {
		return o.v.text
	}
	o.text.WriteString(o.v.text[o.kept:])
	return o.text.String()
}
