package run

import (
	"encoding/json"
	"slices"
	"strings"

	"piloto/internal/ground/jcs"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
	"piloto/internal/workspace/overlay"
)

// Limits of the result in the final message.
const (
	summaryItems   = 5
	summaryFields  = 6 // of one thing
	summaryColumns = 4 // of a list of things
	summaryText    = 60
	summaryChanges = 20 // of files
)

// summary returns the result of the last step that was done, for a person who reads the chat: a small table in
// Markdown. The run holds the whole result. It is untrusted data, so each value is written as text on one line.
func summary(r plan.Run) locale.Phrase {
	id, ok := Reported(r)
	if !ok {
		return locale.Verbatim("")
	}
	step, _ := r.Plan.Step(id)
	if changes := changesIn(step); len(changes) > 0 {
		return describeChanges(changes)
	}
	b, _ := r.Plan.Binding(id)
	return describe(r.State(id).Result.Answer(step.Method), wordsOf(r.Plan.Goal+" "+step.Title), b.AnswerNames)
}

// describeChanges returns changes of files, a line each.
func describeChanges(list []overlay.Change) locale.Phrase {
	some := list[:min(len(list), summaryChanges)]
	lines := make([]locale.Phrase, len(some))
	for i, c := range some {
		lines[i] = locale.Joined{Phrases: []locale.Phrase{locale.Verbatim("-"), changed(c)}, Between: " "}
	}
	if more := len(list) - len(some); more > 0 {
		lines = append(lines, locale.Say("run.more_items", "n", more))
	}
	return locale.Lines(lines...)
}

// reportRoom returns the files that were removed to make room, a paragraph for each step and undo.
func reportRoom(r plan.Run) (parts []locale.Phrase) {
	for _, st := range r.Steps {
		step, _ := r.Plan.Step(st.StepID)
		if room := plan.RoomOf(step.MCPID, st.Result, fileName); room != nil {
			parts = append(parts, room)
		}
	}
	return parts
}

// fileName is the name of a file, as untrusted text.
func fileName(name string) locale.Phrase {
	raw, err := json.Marshal(name)
	if err != nil {
		return locale.Verbatim("")
	}
	return cellOf(raw)
}

// changed is the change of a file, as untrusted text.
type changed overlay.Change

// In returns the text in a language.
func (c changed) In(tag locale.Tag) string {
	raw, err := json.Marshal(overlay.Change(c).Phrase().In(tag))
	if err != nil {
		return ""
	}
	return cellOf(raw).In(tag)
}

// Reported returns the step whose result is in the final message: the last one that was done, of those whose results are whole.
// DoneMove needs all of its body.
func Reported(r plan.Run) (plan.EffectID, bool) {
	for _, step := range slices.Backward(r.Plan.Steps) {
		st := r.State(step.ID)
		if st.Status == plan.StepDone && st.Result != nil && !st.Result.Truncated && (st.Result.Apart == 0 || st.Result.Near) {
			return step.ID, true
		}
	}
	return plan.EffectID{}, false
}

// describe returns a result as a table of the fields that the words ask for, below its errors. names are the document's names
// of the fields.
func describe(body json.RawMessage, asked []string, names []ref.Named) locale.Phrase {
	rest, found := withoutTrouble(unwrapped(body), troubleDepth)
	lines := describeTrouble(found, names)
	if len(lines) == 0 {
		return describeResult(rest, asked, names)
	}
	parts := []locale.Phrase{locale.Lines(lines...)}
	if says(rest) {
		parts = append(parts, describeResult(rest, asked, names))
	}
	return locale.Joined{Phrases: parts, Between: "\n\n"}
}

func describeResult(body json.RawMessage, asked []string, names []ref.Named) locale.Phrase {
	body = unwrapped(body)
	if list, ok := listIn(body); ok {
		return describeList(list, asked, names)
	}
	if _, ok := jcs.Members(body); !ok {
		return cellOf(body)
	}
	fields := chosen([][]field{fieldsOf(body)}, asked, summaryFields)
	if len(fields) == 0 {
		return locale.Verbatim("")
	}
	rows := [][]locale.Phrase{{locale.Say("run.field"), locale.Say("run.value")}}
	for _, f := range fields {
		rows = append(rows, []locale.Phrase{called(names, f), f.cell})
	}
	return grid(rows)
}

// describeList returns the first elements of a list: a table of things, or a list of values.
func describeList(list []json.RawMessage, asked []string, names []ref.Named) locale.Phrase {
	if len(list) > 0 && !slices.ContainsFunc(list, says) {
		return locale.Say("run.items_empty", "n", len(list))
	}
	parts := []locale.Phrase{locale.Say("run.items", "n", len(list))}
	some := list[:min(len(list), summaryItems)]
	all := make([][]field, len(some))
	for i, item := range some {
		all[i] = fieldsOf(item)
	}
	if columns := chosen(all, asked, summaryColumns); len(columns) > 0 {
		rows := [][]locale.Phrase{{}}
		for _, c := range columns {
			rows[0] = append(rows[0], called(names, c))
		}
		for _, fields := range all {
			var row []locale.Phrase
			for _, c := range columns {
				row = append(row, cellNamed(fields, c.name))
			}
			rows = append(rows, row)
		}
		parts = append(parts, grid(rows))
	} else {
		var lines []locale.Phrase
		for _, item := range some {
			if _, thing := jcs.Members(item); !thing {
				lines = append(lines, locale.Joined{Phrases: []locale.Phrase{locale.Verbatim("-"), elementOf(item)}, Between: " "})
			}
		}
		if len(lines) == 0 && len(list) > 0 { // their content is too deep for a line
			return locale.Say("run.items_deep", "n", len(list))
		}
		parts = append(parts, locale.Lines(lines...))
	}
	if more := len(list) - len(some); more > 0 {
		parts = append(parts, locale.Say("run.more_items", "n", more))
	}
	return locale.Joined{Phrases: parts, Between: "\n\n"}
}

// elementOf returns an element of a list that is no thing.
func elementOf(item json.RawMessage) locale.Phrase {
	if fields := appendField(nil, "", item); len(fields) > 0 {
		return fields[0].cell
	}
	return locale.Say("run.without_data")
}

// called returns the name of a field: that of the document, else its own.
func called(names []ref.Named, f field) locale.Phrase {
	text, has := ref.Called(names, f.member, func(part string) string { return part })
	if !has {
		text = f.name
	} else {
		text = escaped(oneLine(text))
	}
	return locale.Verbatim(text)
}

// cellNamed returns the value of a field, or an empty cell.
func cellNamed(fields []field, name string) locale.Phrase {
	if i := slices.IndexFunc(fields, func(f field) bool { return f.name == name }); i >= 0 {
		return fields[i].cell
	}
	return nil
}

// grid is a table in Markdown. Its first row is its head.
type grid [][]locale.Phrase

// In returns the table in a language.
func (g grid) In(tag locale.Tag) string {
	var b strings.Builder
	for i, row := range g {
		for _, cell := range row {
			b.WriteString("| ")
			if cell != nil {
				b.WriteString(cell.In(tag))
			}
			b.WriteString(" ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
