package run

import (
	"encoding/json"
	"strings"
	"testing"

	"piloto/internal/ground/locale"
)

// TestNothingIsCalledEmptyThatHasSomethingElse: «0 resultados» is the answer only where nothing else is in it.
func TestNothingIsCalledEmptyThatHasSomethingElse(t *testing.T) {
	for body, empty := range map[string]bool{
		`[]`: true, `{"items":[]}`: true, `{"data":{"items":[]}}`: true, `{"items":[],"next":null,"meta":{},"other":""}`: true, `"[]"`: true,
		`{"content":[{"type":"text","text":"{\"items\":[]}"}],"structuredContent":{"items":[]}}`: true,
		`{"items":[],"total":12}`: false, `{"warnings":[],"created":true}`: false, `{"errors":[],"result":{"booking":{"at":"10:00"}}}`: false,
		`{"items":[],"message":"Reservada"}`: false, `{"data":{"items":[],"message":"Reservada"}}`: false, `{"warnings":[],"done":false}`: false,
		`{"lines":[],"order":{"price":5}}`: false, `{"skipped":[],"nested":{"deep":{"deeper":{"value":1}}}}`: false,
		`{"content":[{"type":"text","text":"Reservada la sala"}],"structuredContent":{"items":[]}}`: false,
		`{"content":[{"type":"text","text":"Reservada"}],"isError":false,"structuredContent":{}}`:   false,
		`{"a":[],"b":["x"]}`: false, `{"jsonrpc":"2.0","result":[]}`: false,
	} {
		got := describe(json.RawMessage(body), nil, nil).In(locale.Spanish)
		if says := strings.Contains(got, "0 resultados"); says != empty {
			t.Errorf("%s: %q", body, got)
		}
	}
}
