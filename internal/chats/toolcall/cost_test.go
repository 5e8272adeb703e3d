package toolcall

import (
	"encoding/json"
	"strings"
	"testing"

	"piloto/infra/local/fixture/cost"
)

// TestReadArgumentsTakesLinearTime: in any wrapping.
func TestReadArgumentsTakesLinearTime(t *testing.T) {
	if testing.Short() {
		t.Skip("large arguments")
	}
	const size = MaxArguments - 100
	object := func(inner string) string { return `{"a":[` + inner + `1]}` }
	hostile := cost.Repeated(size, "{", "}", "[", ",", `"`, `\`, `\"`, `{"a":`, `{"`, " ", "```", `\ud83d`, `\ud83d\ude00`, "x{", ", ")
	for unit, text := range cost.Repeated(size, ",", ", ", ",\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n", `"\\",`, `"\ud83d\ude00",`, "[],", "1,]") {
		hostile["a list of "+unit] = object(text)
	}
	hostile["commas and white space"] = object(strings.Repeat(",", size/2) + strings.Repeat(" ", size/2-10))
	hostile["levels"] = strings.Repeat(`{"a":`, size/6) + "1" + strings.Repeat("}", size/6)
	wrapped := object(strings.Repeat("1,", size/8))
	for range 3 {
		raw, _ := json.Marshal(wrapped)
		wrapped = string(raw)
	}
	hostile["a text of a text of a text"] = wrapped
	cost.Alike(t, "readArguments", func(s string) { _, _ = Arguments(s) }, object(strings.Repeat(`{"name":"Sala Norte"},`, size/22)), hostile)
}
