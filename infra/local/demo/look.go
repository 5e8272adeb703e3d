package demo

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// look is the argument of the tool look.
type look struct {
	Server string         `json:"mcp_id"`
	Path   string         `json:"path"`
	Query  map[string]any `json:"query,omitempty"`
}

// mostRows is the greatest number of rows that an answer lists.
const mostRows = 20

// rows writes the answer of a look as a list, and reports whether the result is one.
func (d dialogue) rows(result string) (string, bool) {
	var read struct {
		Called, Service, Answer string
		Status                  int
	}
	if json.Unmarshal([]byte(result), &read) != nil || read.Called == "" {
		return "", false
	}
	if read.Status/100 != 2 {
		return d.say("look.failed", read.Service, read.Status), true
	}
	var whole any
	if json.Unmarshal([]byte(read.Answer), &whole) != nil {
		return d.say("look.one", read.Service, read.Answer), true
	}
	list, ok := listIn(whole)
	switch {
	case !ok:
		return d.say("look.one", read.Service, line(whole)), true
	case len(list) == 0:
		return d.say("look.none", read.Service), true
	}
	text := d.say("look.rows", read.Service, len(list))
	for _, row := range list[:min(len(list), mostRows)] {
		text += "\n- " + line(row)
	}
	if more := len(list) - mostRows; more > 0 {
		text += d.say("more", more)
	}
	return text, true
}

// listIn returns the list that a value is, or its first member that is a list.
func listIn(value any) ([]any, bool) {
	if list, ok := value.([]any); ok {
		return list, true
	}
	object, _ := value.(map[string]any)
	for _, name := range sortedNames(object) {
		if list, ok := object[name].([]any); ok {
			return list, true
		}
	}
	return nil, false
}

// line writes a value on one line: of an object its name and its simple members.
func line(value any) string {
	object, ok := value.(map[string]any)
	if !ok {
		return strings.Join(strings.Fields(fmt.Sprint(value)), " ")
	}
	var parts []string
	for _, name := range sortedNames(object) {
		switch member := object[name].(type) {
		case string, float64, bool:
			if name != "name" {
				parts = append(parts, fmt.Sprintf("%s: %v", name, member))
			}
		}
	}
	text := strings.Join(parts, ", ")
	if name, ok := object["name"].(string); ok {
		text = strings.TrimSuffix(name+" ("+text+")", " ()")
	}
	return strings.Join(strings.Fields(text), " ")
}

func sortedNames(object map[string]any) []string {
	var names []string
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
