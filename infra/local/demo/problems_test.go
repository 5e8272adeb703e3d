package demo

import (
	"slices"
	"strings"
	"testing"

	"piloto/internal/ground/locale"
)

// TestEveryFaultOfAValueIsSaidInSpanish: of each sentence that a model is told in English, the person reads the Spanish one.
func TestEveryFaultOfAValueIsSaidInSpanish(t *testing.T) {
	parts := func(tag locale.Tag) map[string]string {
		args := map[string]string{}
		for i, name := range []string{"n", "most", "limit", "has", "name", "names", "values", "types", "kinds", "template", "operation", "path", "media", "places", "reference", "at", "step", "a", "b", "value", "pattern", "format", "other", "header", "number", "list"} {
			args[name] = strings.Repeat("7", i+2)
		}
		for _, name := range sentences {
			args[name] = locale.Text(tag, "problem.kind.integer")
		}
		return args
	}
	spanish := map[string][]string{}
	for _, key := range slices.Concat(locale.Keys("problem."), locale.Keys("ref.")) {
		text := locale.Fill(locale.English, key, parts(locale.English))
		spanish[text] = append(spanish[text], locale.Fill(locale.Spanish, key, parts(locale.Spanish)))
	}
	for text, want := range spanish {
		if got, _ := (speech{}).ofModel(text); !slices.Contains(want, got) {
			t.Errorf("%q: %q, want one of %q", text, got, want)
		}
	}
	for _, text := range []string{"", "it is offline", "one or two", "no; really"} {
		if got, isKnown := (speech{}).ofModel(text); isKnown {
			t.Errorf("%q is said as %q", text, got)
		}
	}
}

// TestRefusalIsInOneLanguage: the sentence names the value as the service does for people, says what it may be, and has nothing
// of what only a model is told.
func TestRefusalIsInOneLanguage(t *testing.T) {
	const mend = `{"error":"nothing was proposed: mend this and call again","problems":[`
	for _, c := range []struct{ result, es, en string }{
		{mend + `{"where":"body.people","what":"must be ≤ 500"}]}`, ": en los datos, «personas» debe ser ≤ 500.", ": in the data, “people” must be ≤ 500."},
		{mend + `{"where":"steps.1.path.room_id","what":"must match the pattern ^[a-z]$"}]}`, ": en la ruta, «sala» debe tener la forma ^[a-z]$.", ": in the path, “room” must match the pattern ^[a-z]$."},
		{
			mend + `{"where":"body.people","what":"must be ≤ 500"},{"where":"body.date","what":"must be a date as 2026-01-31"}]}`,
			": en los datos, «personas» debe ser ≤ 500; en los datos, «fecha» debe ser un día como 2026-01-31.", "“date” must be a date as 2026-01-31.",
		},
		{mend + `{"where":"body.n","what":"must be an integer or null, not a string"}]}`, "«n» debe ser un número entero o null, no un texto.", "must be an integer or null"},
		{mend + `{"where":"body","what":"is required"}]}`, "el conjunto de los datos es obligatorio.", "the whole of the data is required."},
		{`{"error":"a rule","problems":[{"what":"denied: Las reservas se hacen a mano."}]}`, ": una regla lo impide (Las reservas se hacen a mano).", ": a rule prevents it (Las reservas se hacen a mano)."},
		{`{"error":"x","problems":[{"what":"refused, because the person said no: they were shown exactly these requests. Do not propose"}]}`, "ya le dijiste que no", "you said no to it"},
		{`{"error":"the service is offline"}`, "preparar esa petición. Prueba a pedirlo con otros valores.", ": the service is offline."},
		{"not json", "preparar esa petición. Prueba", ": not json."},
		{mend + `{"where":"steps","what":"only a model reads this"}]}`, "preparar esa petición. Prueba", "only a model reads this."},
	} {
		es, en := speech{}.refusal(c.result), speech{true}.refusal(c.result)
		if !strings.Contains(es, c.es) || !strings.Contains(en, c.en) {
			t.Errorf("%s:\n%s\n%s", c.result, es, en)
		}
		for _, word := range []string{"must", "denied", "mend", "refused", "nothing", "not "} {
			if strings.Contains(es, word) {
				t.Errorf("%s: %q has %q", c.result, es, word)
			}
		}
	}
}
