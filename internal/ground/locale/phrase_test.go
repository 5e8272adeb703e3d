package locale_test

import (
	"testing"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
)

func TestPhrasesAreRenderedInTheLanguageOfTheReader(t *testing.T) {
	inner := fault.Reason("step.server_inactive")
	bound := fault.Reason("run.changed_bound").With("server", "Salas").WithFault("why", inner)
	for _, c := range []struct {
		phrase locale.Phrase
		es, en string
	}{
		{locale.Say("run.items", "n", 1), "1 resultado:", "1 result:"},
		{locale.Say("run.items", "n", 2), "2 resultados:", "2 results:"},
		{locale.Verbatim("{n} as it is"), "{n} as it is", "{n} as it is"},
		{locale.OfFault(bound), "Salas: El servicio está desactivado.", "Salas: The service is switched off."},
		{locale.OfFault(fault.New(fault.NotFound, "mcp.not_found")), "No existe ese servicio.", "There is no such service."},
		{locale.Lines(locale.Say("run.items", "n", 0), locale.Verbatim(" "), locale.Verbatim("- a")), "0 resultados:\n- a", "0 results:\n- a"},
		{locale.Joined{Phrases: []locale.Phrase{locale.Verbatim("a"), nil, locale.Verbatim("b")}, Between: "; "}, "a; b", "a; b"},
		{locale.Say("no.such.key"), "no.such.key", "no.such.key"},
	} {
		if es, en := c.phrase.In(locale.Spanish), c.phrase.In(locale.English); es != c.es || en != c.en {
			t.Errorf("%v: %q, %q", c.phrase, es, en)
		}
	}
	if bound.Inner["why"] != inner || len(inner.Inner) != 0 {
		t.Error("WithFault changed its receiver")
	}
}
