package webui

import (
	"encoding/json"
	"strings"
	"testing"

	"piloto/infra/local/fixture/cost"
)

// TestDisplayIsLinear: each "${" was once matched with each "}" in the next thousand bytes.
func TestDisplayIsLinear(t *testing.T) {
	if !every {
		t.Skip("large texts: in the night")
	}
	const size = 32 << 10
	step := func(id string) string { return id }
	hostile := cost.Repeated(size, "${", "${}", "}", "$${", "${s1.body.a}", `${s1.body["`, strings.Repeat(`${s1.body["`, 46)+strings.Repeat("}", 518),
		strings.Repeat("${s1.body.", 50)+strings.Repeat("}", 512), "\u202e", "а", "аa", "e\u0301", strings.Repeat("\u0301", 40), " ", "\n", `"`, `\`, "\xff", "👩\u200d", "𝐩", "<", "&")
	hostile["a word"] = strings.Repeat("a", size)
	hostile["a word of two alphabets"] = strings.Repeat("a", size/2) + strings.Repeat("а", size/4)
	hostile["spaces"] = strings.Repeat(strings.Repeat(" ", 13)+"x", size/14)
	ordinary := strings.Repeat("La sala «Norte» de ${s1.body.name}, mañana a las 10:00.\n", size/58)
	cost.Alike(t, "display", func(s string) { _ = display(s) }, ordinary, hostile)
	cost.Alike(t, "prose", func(s string) { _ = prose(s) }, ordinary, hostile)
	cost.Alike(t, "references", func(s string) { p := visibleWriter{step: step}; p.text(s); _ = p.html() }, ordinary, hostile)
	cost.Alike(t, "text", func(s string) { _ = textCode(s) }, ordinary, hostile)
	cost.Alike(t, "JSON", func(s string) {
		raw, _ := json.Marshal([]string{s})
		_ = jsonCode(raw, step)
	}, ordinary, hostile)
	list := func(n int, unit string) string { return "[" + strings.Repeat(unit+",", n/(len(unit)+1)) + "1]" }
	cost.Alike(t, "JSON", func(s string) { _ = jsonCode(json.RawMessage(s), step) }, list(size, `{"name":"Sala Norte","capacity":6}`), map[string]string{
		"numbers": list(size, "1"), "lists": list(size, "[]"), "texts": list(size, `""`), "digits": strings.Repeat("7", size),
		"levels": strings.Repeat("[", size/2) + strings.Repeat("]", size/2), "objects": strings.Repeat(`{"a":`, size/6) + "1" + strings.Repeat("}", size/6),
		"deep": strings.Repeat("[", 30) + list(size, "1") + strings.Repeat("]", 30), "no JSON": strings.Repeat("[", size), "half": `["` + strings.Repeat(`\`, size),
		"one name": `{` + strings.TrimSuffix(strings.Repeat(`"a":1,`, size/6), ",") + `}`,
	})
}
