package llm_test

import (
	"encoding/json"
	"strings"
	"testing"

	"piloto/internal/models/llm"
)

// TestASchemaIsSaidInTheWordsThatAllProvidersKnow, and what fits then, fits the schema as it was.
func TestASchemaIsSaidInTheWordsThatAllProvidersKnow(t *testing.T) {
	for in, want := range map[string]string{
		`{"type":"object","properties":{"b":{"type":"string","description":"x"},"a":{"type":"integer","minimum":1}},"required":["b"],"additionalProperties":false}`:                                                                        `{"type":"object","properties":{"b":{"type":"string","description":"x"},"a":{"type":"integer","minimum":1}},"required":["b"]}`,
		`{"properties":{"a":{"type":["string","null"],"enum":["x",null]},"b":{"type":["array","string"]},"c":{},"d":true,"e":{"type":"null"}}}`:                                                                                            `{"properties":{"a":{"type":"string","enum":["x"]},"b":{"type":"array","items":{"type":"string"}},"c":{"type":"string"},"d":{"type":"string"},"e":{"type":"string"}},"type":"object"}`,
		`{"type":"object","anyOf":[{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a","b"]},{"properties":{"a":{"type":"string"},"c":{"type":"string"}},"required":["a","c"]}]}`:                                  `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string"}},"required":["a"]}`,
		`{"type":"object","allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"string"}},"required":["b"]}]}`:                                                                                      `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["b","a"]}`,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"null"},{"type":"integer"},{"type":"string"}],"description":"n"}}}`:                                                                                                          `{"type":"object","properties":{"a":{"type":"integer","description":"n"}}}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"object","properties":{"x":{"const":"y"},"n":{"const":1,"type":"integer"},"when":{"type":"string","format":"uuid","pattern":"x","default":"z"}}}}}`: `{"type":"object","properties":{"a":{"type":"object","properties":{"x":{"type":"string","enum":["y"]},"n":{"type":"integer"},"when":{"type":"string"}}}}}`,
		`{"type":"object","properties":{"a":{"enum":[1,2],"type":"integer"},"b":{"enum":[""],"type":"string"},"required":{"type":"boolean"}},"required":["gone","a","a"]}`:                                                                 `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"},"required":{"type":"boolean"}},"required":["a"]}`,
		`{}`: `{"properties":{},"type":"object"}`, `{"oops`: `{"oops`, `[1]`: `[1]`, ``: ``,
	} {
		if got := string(llm.Common(json.RawMessage(in))); got != want {
			t.Errorf("%s\n is %s\nwant %s", in, got, want)
		}
	}
	endless := `{"type":"object","properties":{"a":{"$ref":"#"},"b":{"$ref":"#/properties/b"}}}`
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, 200) + "{}" + strings.Repeat("}}", 200)
	wider := `{"properties":{"a":{"anyOf":[` + strings.Repeat(`{"$ref":"#/properties/a"},`, 1000) + `{}]}}}`
	wide := `{"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}]}},"properties":{"a":{"$ref":"#/$defs/a"}}}`
	for _, in := range []string{endless, deep, wide, wider} {
		if got := llm.Common(json.RawMessage(in)); !json.Valid(got) || len(got) > 1<<16 || strings.Contains(string(got), "$ref") {
			t.Errorf("%d bytes: %.200s", len(got), got)
		}
	}
}
