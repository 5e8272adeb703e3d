package turn

import (
	"encoding/json"
	"testing"

	"piloto/internal/chats/agent"
	"piloto/internal/models/llm"
	"piloto/internal/workspace/filespec"
)

// TestNoSchemaHasWordsThatAProviderRefuses: with one of them Google refuses every message. The command line's own tools are
// made as those of files are; what another client brings is sent as llm.Common has it.
func TestNoSchemaHasWordsThatAProviderRefuses(t *testing.T) {
	var tools []llm.Tool
	for _, s := range toolTable {
		tools = append(tools, s.Tool)
	}
	tools = append(withToolNames(tools), applySpec.Tool)
	for _, s := range filespec.All() {
		tools = append(tools, llm.Tool{Name: s.Name, Parameters: s.Schema()})
	}
	for _, f := range []*llm.Format{agent.Format(nil), agent.Format([]agent.Agent{{Name: "venta"}}), verdictFormat()} {
		tools = append(tools, llm.Tool{Name: f.Name, Parameters: f.Schema})
		holdAllRequired(t, f)
	}
	for _, s := range tools {
		var schema, sent map[string]any
		if json.Unmarshal(s.Parameters, &schema) != nil || json.Unmarshal(llm.Common(s.Parameters), &sent) != nil || schema["type"] != "object" {
			t.Fatalf("%s: %s", s.Name, s.Parameters)
		}
		holdPlain(t, s.Name, schema)
		for name := range schema["properties"].(map[string]any) {
			if sent["properties"].(map[string]any)[name] == nil {
				t.Errorf("%s is sent without %s", s.Name, name)
			}
		}
	}
}

// holdAllRequired: an answer in a format is asked for strictly, and then each member must be required.
func holdAllRequired(t *testing.T, f *llm.Format) {
	t.Helper()
	var schema struct {
		Properties map[string]any
		Required   []string
		Additional *bool `json:"additionalProperties"`
	}
	if err := json.Unmarshal(f.Schema, &schema); err != nil || len(schema.Required) != len(schema.Properties) || schema.Additional == nil || *schema.Additional {
		t.Errorf("%s: %s", f.Name, f.Schema)
	}
}

func holdPlain(t *testing.T, at string, schema map[string]any) {
	t.Helper()
	if _, one := schema["type"].(string); !one {
		t.Errorf("%s has the type %v", at, schema["type"])
	}
	for _, word := range []string{"anyOf", "oneOf", "allOf", "not", "if", "const", "$ref", "$defs", "format", "pattern", "nullable"} {
		if schema[word] != nil {
			t.Errorf("%s has %s", at, word)
		}
	}
	for _, value := range listOf(schema["enum"]) {
		if text, ok := value.(string); !ok || text == "" {
			t.Errorf("%s has the value %v", at, value)
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, p := range properties {
		holdPlain(t, at+"."+name, p.(map[string]any))
	}
	if items, ok := schema["items"].(map[string]any); ok {
		holdPlain(t, at+"[]", items)
	}
}

func listOf(v any) []any {
	list, _ := v.([]any)
	return list
}
