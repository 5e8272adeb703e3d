package webui

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// schemaOf is the part of a JSON schema that names members.
type schemaOf struct {
	Ref        string              `json:"$ref"`
	Properties map[string]schemaOf `json:"properties"`
	Values     any                 `json:"additionalProperties"`
	Items      *schemaOf           `json:"items"`
}

// document is the part of the API's document that says which bodies replace something.
type document struct {
	Paths map[string]struct {
		Put *struct {
			Body struct {
				Content map[string]struct{ Schema schemaOf }
			} `json:"requestBody"`
		}
	}
	Components struct{ Schemas map[string]schemaOf }
}

// members returns the names in a schema, and in what it holds.
func (d document) members(s schemaOf) []string {
	if s.Ref != "" {
		return d.members(d.Components.Schemas[s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]])
	}
	var names []string
	for name, inner := range s.Properties {
		names = append(append(names, name), d.members(inner)...)
	}
	if s.Items != nil {
		names = append(names, d.members(*s.Items)...)
	}
	if values, is := s.Values.(map[string]any); is {
		ref, _ := values["$ref"].(string)
		if ref != "" {
			names = append(names, d.members(schemaOf{Ref: ref})...)
		}
	}
	return names
}

// TestTheFormsOfThePageSendAllThatTheyReplace: a PUT replaces what is there, so that a member that no form sends would be lost.
// Each PUT of the API is that of a form, or has none.
func TestTheFormsOfThePageSendAllThatTheyReplace(t *testing.T) {
	raw, err := os.ReadFile("../httpapi/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var d document
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	forms := map[string]struct {
		file, from, to string // the part of the script that sends the body
		whole          string // why members need no mention
		but            []string
	}{
		"/ai/assistant":                {file: "assistants.js", from: "// choices reads", to: "save-entitlement"},
		"/api/projects/{id}/assistant": {file: "assistants.js", from: "// choices reads", to: "save-entitlement"},
		"/ai/entitlement":              {file: "assistants.js", from: `"save-entitlement"`, to: "},\n"},
		"/ai/providers/{name}":         {file: "assistants.js", from: "// configOf is", to: `"check-provider"`, but: []string{"check", "check_model"}},
		"/ai/providers/{name}/key":     {file: "assistants.js", from: `"set-provider-key"`, to: "},\n"},
		"/ai/terms":                    {file: "credits.js", from: `"save-limits"`, to: "actions"},
		"/api/mcps/{id}/active":        {file: "manage.js", from: `"active")`, to: ";"},
		"/api/mcps/{id}/errors":        {file: "manage.js", from: `"set-errors"`, to: "},\n"},
		"/api/mcps/{id}/key":           {file: "manage.js", from: "// keyOf is", to: "submits"},
		"/api/mcps/{id}/reads":         {file: "manage.js", from: `"set-reads"`, to: `"set-errors"`},
		"/api/messages/{id}/feedback":  {file: "lines.js", from: "// rate keeps", to: "actions"},
		"/api/rules":                   {file: "rules.js", from: "const all", to: "actions", whole: "JSON.parse(row.dataset.rule)"},
	}
	without := []string{"/api/agents/{name}", "/api/chats/{id}/files/{path}", "/api/projects/{id}/files/{path}", "/api/router", "/api/router/{id_empresa}"}
	for path, item := range d.Paths {
		if item.Put == nil || slices.Contains(without, path) {
			continue
		}
		form, ok := forms[path]
		if !ok {
			t.Errorf("PUT %s has no form in this list", path)
			continue
		}
		script, err := os.ReadFile("asset/" + form.file)
		if err != nil {
			t.Fatal(err)
		}
		_, part, found := strings.Cut(string(script), form.from)
		part, _, ended := strings.Cut(part, form.to)
		if !found || !ended {
			t.Errorf("%s: no part of %s from %q to %q", path, form.file, form.from, form.to)
		}
		if form.whole != "" && strings.Contains(part, form.whole) {
			continue
		}
		for _, name := range d.members(item.Put.Body.Content["application/json"].Schema) {
			if !regexp.MustCompile(`\b`+name+`\b`).MatchString(part) && !slices.Contains(form.but, name) {
				t.Errorf("%s: the form sends no %s", path, name)
			}
		}
	}
	files, err := filepath.Glob("asset/*.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		script, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		listed := false
		for _, form := range forms {
			listed = listed || form.file == filepath.Base(file)
		}
		if strings.Contains(string(script), `api("PUT"`) && !listed {
			t.Errorf("%s replaces something, and is not in this list", file)
		}
	}
}
