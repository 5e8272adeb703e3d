package command

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"piloto/internal/ref"
)

// inert stands for a reference while a command is judged as the plan shows it.
const inert = "xref0"

// oneWord is a value that is one word to any shell, and no option.
var oneWord = regexp.MustCompile(`^[A-Za-z0-9_.@/][A-Za-z0-9_.@/:+,-]{0,255}$`)

// Woven reports whether a person must see a command as the answers of earlier steps
// make it. planned is the body as the plan shows it, with references; sent is that body
// with values in their place. The plan shows where a value will stand, so a value that
// is one word there, is no program, and makes the command no more dangerous was seen.
// Any other was not.
func Woven(method, path string, planned, sent json.RawMessage, values []json.RawMessage) bool {
	if _, is := Of(method, path, json.RawMessage(`""`)); !is || len(values) == 0 {
		return false
	}
	before, after := Texts(method, path, planned), Texts(method, path, sent)
	if len(before) != len(after) || len(after) == 0 || slices.ContainsFunc(values, wild) {
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

// wild reports whether a value may be more than one word of a command.
func wild(raw json.RawMessage) bool {
	var text string
	if json.Unmarshal(raw, &text) != nil || string(raw) == "null" {
		text = string(raw)
	}
	return !oneWord.MatchString(text)
}
