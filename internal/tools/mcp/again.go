package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"piloto/internal/tools/tool"
)

// oneOperation converts the descriptions of one name into an operation. A name that is listed again is the same tool where
// the valid descriptions mean the same. Else nobody knows which of them a call reaches, and there is none. A description
// that is not valid is left out with a warning beside one that is.
func oneOperation(l *listing, all []definition, compile bool) (tool.Operation, error) {
	shareTitle(all)
	var valid []tool.Operation
	var wrong []error
	for _, d := range all {
		op, err := d.operation()
		if err == nil && (compile || len(all) > 1) {
			err = checkSchemas(op)
		}
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		valid = append(valid, op)
	}
	if len(valid) == 0 {
		return tool.Operation{}, wrong[0]
	}
	for _, op := range valid[1:] {
		if meaningOf(op) != meaningOf(valid[0]) {
			return tool.Operation{}, fmt.Errorf("%d tools have this name, and they are not the same", len(valid))
		}
	}
	for _, err := range wrong {
		l.warn("%s: it is listed again, and there %v: that was left out", all[0].Name, err)
	}
	return slices.MinFunc(valid, func(a, b tool.Operation) int { // the same one for any order of the list
		return cmp.Compare(tool.Fingerprint("", a), tool.Fingerprint("", b))
	}), nil
}

// shareTitle gives the title of the descriptions of one name to those without one.
func shareTitle(all []definition) {
	titleOf := func(d definition) string { return cmp.Or(d.Title, d.Annotations.Title) }
	title := ""
	for _, d := range all {
		title = cmp.Or(title, titleOf(d))
	}
	for i, d := range all {
		if titleOf(d) == "" {
			all[i].Title = title
		}
	}
}

// meaningOf returns the fingerprint of a tool whose schemas say the same in one order.
func meaningOf(op tool.Operation) string {
	body := *op.Body
	body.Schema, op.Output = sortedSets(body.Schema), sortedSets(op.Output)
	op.Body = &body
	return tool.Fingerprint("", op)
}

// sortedSets returns a schema with the elements of its sets in one order.
func sortedSets(raw json.RawMessage) json.RawMessage {
	tree, err := decodeObject(raw)
	if err != nil {
		return raw
	}
	sortSets("", tree)
	sorted, err := json.Marshal(tree)
	if err != nil {
		return raw
	}
	return sorted
}

// sortSets sorts the sets below a keyword of a schema. Values of the data are left as they are.
func sortSets(keyword string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if k != "const" && k != "default" && k != "examples" {
				sortSets(k, e)
			}
			if lists, ok := e.(map[string]any); ok && k == "dependentRequired" {
				for _, list := range lists {
					sortSets("required", list)
				}
			}
		}
	case []any:
		if keyword == "required" || keyword == "enum" || keyword == "type" {
			slices.SortStableFunc(v, func(a, b any) int { return cmp.Compare(textOf(a), textOf(b)) })
			return
		}
		for _, e := range v {
			sortSets("", e)
		}
	}
}

func textOf(v any) string {
	text, _ := json.Marshal(v) // decoded from JSON
	return string(text)
}
