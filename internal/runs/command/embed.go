package command

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"piloto/internal/ground/lazy"
	"piloto/internal/ground/ref"
	"piloto/internal/tools/tool"
)

// placeholder replaces a reference when a command is judged as the plan shows it.
const placeholder = "xref0"

// singleWord matches a value that is one word in any shell, and not an option. plainName matches a
// value that is neither a path nor an address. localName matches a value that is no machine of
// another network.
var (
	singleWord = lazy.Pattern(`^[A-Za-z0-9_.@/][A-Za-z0-9_.@/:+,-]{0,255}$`)
	plainName  = lazy.Pattern(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	localName  = lazy.Pattern(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,127}$`)
)

// ChangedByResult reports whether a person must see a command after the results of earlier steps
// are filled in. sent is the call with their values; planned is its body as the plan shows it, with
// references. The plan shows the reference and not the value: the service chooses the URL in
// «curl ${s1.body.url}». So the function returns false only for a command that is safe as sent, no
// more dangerous than shown, and whose values are one word each and not a program.
func ChangedByResult(sent tool.Arguments, planned json.RawMessage, values []json.RawMessage) bool {
	return escalates(sent, planned, values, singleWord()) || slices.ContainsFunc(Texts(sent), func(text string) bool {
		return len(values) > 0 && Classify(text).Class > Safe
	})
}

// UndoChangedByResult does the same for an undo, which no person can approve any more, because it
// was confirmed with its step. An undo may be as dangerous as it was shown, but each value must be
// a name: «rm ${s1.body.file}» removes a file of its folder and no other. A name with a dot may be
// another machine, so a command that contacts machines must have none.
func UndoChangedByResult(sent tool.Arguments, planned json.RawMessage, values []json.RawMessage) bool {
	if !ChangedByResult(sent, planned, values) {
		return false
	}
	form := plainName()
	if slices.ContainsFunc(Texts(sent), asksMachines) {
		form = localName()
	}
	return escalates(sent, planned, values, form)
}

func asksMachines(text string) bool {
	return slices.ContainsFunc(Classify(text).Findings, func(f Finding) bool { return f.Why == "network" || f.Why == "cloud" || f.Why == "changes" })
}

// escalates reports whether the values change the command by more than one word, which matches
// form, at each reference that the plan shows.
func escalates(sent tool.Arguments, planned json.RawMessage, values []json.RawMessage, form *regexp.Regexp) bool {
	if !carries(sent) || len(values) == 0 {
		return false
	}
	before, after := Texts(withBody(sent, planned)), Texts(sent)
	if len(before) != len(after) || len(after) == 0 || slices.ContainsFunc(values, func(v json.RawMessage) bool { return !form.MatchString(textOf(v)) }) {
		return true
	}
	for i := range before {
		pieces, err := ref.Literals(before[i])
		if err != nil {
			return true
		}
		shown, now := analyse(strings.Join(pieces, placeholder)), analyse(after[i])
		if now.result.Class > shown.result.Class {
			return true
		}
		for name := range shown.programs {
			if strings.Contains(name, placeholder) {
				return true
			}
		}
	}
	return false
}

func withBody(a tool.Arguments, body json.RawMessage) tool.Arguments {
	a.Body = body
	return a
}

// textOf returns a value as it stands in a command.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) != nil || string(raw) == "null" {
		return string(raw)
	}
	return text
}
