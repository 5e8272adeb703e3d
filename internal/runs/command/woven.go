package command

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"piloto/internal/ground/ref"
)

// inert stands for a reference while a command is judged as the plan shows it.
const inert = "xref0"

// oneWord is a value that is one word to any shell, and no option. aName leads nowhere
// either: it is no path and no address. noHost is no machine of another network.
var (
	oneWord = regexp.MustCompile(`^[A-Za-z0-9_.@/][A-Za-z0-9_.@/:+,-]{0,255}$`)
	aName   = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	noHost  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,127}$`)
)

// Woven reports whether a person must see a command as the answers of earlier steps
// make it. planned is the body as the plan shows it, with references; sent is that body
// with values in their place. The plan shows where a value will stand and not what it
// is, and «curl ${s1.body.url}» is whatever the service answers. So it is false only for
// a command that is safe as it will be sent, no more dangerous than it was shown, and
// whose values are one word each and no program.
func Woven(method, path string, planned, sent json.RawMessage, values []json.RawMessage) bool {
	return strays(method, path, planned, sent, values, oneWord) || slices.ContainsFunc(Texts(method, path, sent), func(text string) bool {
		return len(values) > 0 && Classify(text).Class > Safe
	})
}

// Strays is Woven where nobody can be asked: for an undo, which was confirmed as what
// takes its step back. It may be more than safe, as it was shown, and then every value
// is a name: «rm ${s1.body.file}» removes a file of its folder, and no other. A name
// with a dot may be another machine's, so a command that asks one has none.
func Strays(method, path string, planned, sent json.RawMessage, values []json.RawMessage) bool {
	if !Woven(method, path, planned, sent, values) {
		return false
	}
	form := aName
	if slices.ContainsFunc(Texts(method, path, sent), asksMachines) {
		form = noHost
	}
	return strays(method, path, planned, sent, values, form)
}

func asksMachines(text string) bool {
	return slices.ContainsFunc(Classify(text).Findings, func(f Finding) bool { return f.Why == "network" || f.Why == "cloud" || f.Why == "changes" })
}

// strays reports whether values make more of a command than one word of a form at each
// place that the plan shows.
func strays(method, path string, planned, sent json.RawMessage, values []json.RawMessage, form *regexp.Regexp) bool {
	if _, is := Of(method, path, json.RawMessage(`""`)); !is || len(values) == 0 {
		return false
	}
	before, after := Texts(method, path, planned), Texts(method, path, sent)
	if len(before) != len(after) || len(after) == 0 || slices.ContainsFunc(values, func(v json.RawMessage) bool { return !form.MatchString(textOf(v)) }) {
		return true
	}
	for i := range before {
		pieces, err := ref.Literals(before[i])
		if err != nil {
			return true
		}
		shown, now := judged(strings.Join(pieces, inert)), judged(after[i])
		if now.result.Class > shown.result.Class {
			return true
		}
		for name := range shown.programs {
			if strings.Contains(name, inert) {
				return true
			}
		}
	}
	return false
}

// textOf is a value as it stands in a command.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) != nil || string(raw) == "null" {
		return string(raw)
	}
	return text
}
