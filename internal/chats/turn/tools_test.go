package turn

import (
	"encoding/json"
	"slices"
	"testing"
)

// TestEveryToolIsWholeAndOfOneClass: a turn can offer it, and call it.
func TestEveryToolIsWholeAndOfOneClass(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range toolTable {
		var schema struct {
			Type       string         `json:"type"`
			Properties map[string]any `json:"properties"`
			Required   []string       `json:"required"`
			Additional *bool          `json:"additionalProperties"`
		}
		if err := json.Unmarshal(s.Parameters, &schema); err != nil || schema.Type != "object" || len(schema.Properties) == 0 || schema.Additional == nil || *schema.Additional {
			t.Errorf("%s: %v, %+v", s.Name, err, schema)
		}
		for _, name := range schema.Required {
			if schema.Properties[name] == nil {
				t.Errorf("%s requires %s, which it does not have", s.Name, name)
			}
		}
		keys := map[string][]string{toolLook: lookKeys, toolResult: resultKeys, toolPlan: planKeys, toolRevise: planKeys}[s.Name]
		for _, name := range keys {
			if schema.Properties[name] == nil || len(keys) != len(schema.Properties) {
				t.Errorf("%s accepts %v", s.Name, keys)
			}
		}
		if s.do == nil || s.Description == "" || seen[s.Name] || !slices.Contains([]toolClass{classLook, classWrite, classAsk}, s.class) {
			t.Errorf("%q of the class %q", s.Name, s.class)
		}
		if seen[s.Name] = true; specOf(s.Name).Name != s.Name {
			t.Errorf("%s is not found", s.Name)
		}
	}
	if specOf("mcp_reques") != nil || specOf("") != nil {
		t.Error("a tool is found that is not there")
	}
}
