package tool_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"piloto/internal/tools/tool"
)

func TestASchemaGivesMembersTitles(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"price":{"title":"Price"},"of":{"type":"object","properties":{"n":{"title":"Number"}}}}}`:            "[{n Number} {price Price}]",
		`{"$defs":{"Room":{"title":"Room","properties":{"id":{"title":"Code"}}}},"properties":{"result":{"items":{"$ref":"#/$defs/Room"}}}}`: "[{id Code}]",
		`{"anyOf":[{"properties":{"a":{"title":"A"}}},{"properties":{"a":{"title":"B"},"c":true}}]}`:                                         "[]",
		`true`: "[]", ``: "[]", `{"properties":[]}`: "[]", `{"properties":{"a":{"title":7}}}`: "[]",
	} {
		titles := tool.Titles{}
		titles.NoteIn(json.RawMessage(schema))
		if got := fmt.Sprint(titles.Named()); got != want {
			t.Errorf("%s: %s, want %s", schema, got, want)
		}
	}
}
