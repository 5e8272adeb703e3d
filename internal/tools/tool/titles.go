package tool

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/jcs"
	"piloto/internal/ground/ref"
)

// Titles are the titles that a document gives the members of an answer, by their names. A name that has two has none.
type Titles map[string]string

// mostTitles bounds the titles of an answer.
const mostTitles = 24

// Note notes the title of a member; one that is empty or long is no title.
func (t Titles) Note(name, title string) {
	title = clip.Line(title)
	if title == "" || len(name) > 2*longestLabel || utf8.RuneCountInString(title) > longestLabel {
		return
	}
	if before, is := t[name]; is && before != title {
		title = ""
	}
	t[name] = title
}

// NoteIn notes the titles of all members that a JSON Schema describes, at any depth.
func (t Titles) NoteIn(schema json.RawMessage) {
	schema = bytes.TrimSpace(schema)
	if len(schema) > 0 && schema[0] == '[' {
		var parts []json.RawMessage
		_ = json.Unmarshal(schema, &parts) // it is part of a schema that was decoded before
		for _, part := range parts {
			t.NoteIn(part)
		}
		return
	}
	keywords, _ := jcs.Members(schema)
	for _, k := range keywords {
		if k.Name == "properties" {
			members, _ := jcs.Members(k.Value)
			for _, m := range members {
				var s struct{ Title string }
				_ = json.Unmarshal(m.Value, &s) // a schema may be true
				t.Note(m.Name, s.Title)
			}
		}
		t.NoteIn(k.Value)
	}
}

// Named returns the members that have a title, by their names.
func (t Titles) Named() (list []ref.Named) {
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if t[name] != "" && len(list) < mostTitles {
			list = append(list, ref.Named{Name: name, Label: t[name]})
		}
	}
	return list
}
