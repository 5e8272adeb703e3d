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
		`[[]]`: true, `{"items":[[]]}`: true, `[[[]],{}]`: false, `{"items":[{}]}`: false, `{"items":[],"errors":[]}`: true, `{"items":[],"error":null,"warnings":{}}`: true,
		`{"data":[],"errors":[{"message":"No autorizado"}]}`: false, `{"data":{"items":[]},"errors":["x"]}`: false, `{"items":[],"warning":"x"}`: false,
		`{"a":[],"b":["x"]}`: false, `{"jsonrpc":"2.0","result":[]}`: false,
	} {
		got := describe(json.RawMessage(body), nil, nil).In(locale.Spanish)
		if says := strings.Contains(got, "0 resultados"); says != empty {
			t.Errorf("%s: %q", body, got)
		}
	}
}

// TestElementsWithoutDataAreCounted: how many there are is what is known of them.
func TestElementsWithoutDataAreCounted(t *testing.T) {
	for body, want := range map[string]string{
		`[{"lines":[]},{"lines":[]}]`: "2 resultados, sin datos", `[{},{},{}]`: "3 resultados, sin datos", `[{"id":null}]`: "1 resultado, sin datos",
		`[{"name":""}]`: "1 resultado, sin datos", `[{"name":"\u200b"}]`: "1 resultado, sin datos", `{"items":[{}]}`: "1 resultado, sin datos",
		`{"results":[null,null]}`: "2 resultados, sin datos", `[[],[]]`: "2 resultados, sin datos", `[""]`: "1 resultado, sin datos", `[null]`: "1 resultado, sin datos",
		`{"data":{"orders":[{"lines":[{}]},{}]}}`: "2 resultados, sin datos", `[{"items":[]}]`: "1 resultado, sin datos", `{"items":[{},{}],"next":null}`: "2 resultados, sin datos",
		`{"content":[{"type":"text","text":"[{},{}]"}]}`: "2 resultados, sin datos", `{"items":[{}],"errors":[]}`: "1 resultado, sin datos",
		`{"items":[{},{}],"total":12}`: "| Dato | Valor |\n|---|---|\n| total | 12 |\n| items | 2 elementos |",
		`[[],[1]]`:                     "2 resultados:\n\n- sin datos\n- 1", `["a","",null]`: "3 resultados:\n\n- a\n- sin datos\n- sin datos", `[[1,2],[{"a":1},{}]]`: "2 resultados:\n\n- 1, 2\n- 2 elementos",
		`[0]`: "1 resultado:\n\n- 0", `[false]`: "1 resultado:\n\n- no", `[{},{"a":1}]`: "2 resultados:\n\n| a |\n|---|\n|  |\n| 1 |",
		`[{"a":{"b":{"c":1}}}]`: "1 resultado", `[{"a":{"b":{"c":1}}},"x"]`: "2 resultados:\n\n- x",
	} {
		if got := describe(json.RawMessage(body), nil, nil).In(locale.Spanish); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
	if got := describe(json.RawMessage(`[{},{}]`), nil, nil).In(locale.English); got != "2 results, without data" {
		t.Error(got)
	}
}

// TestWhatWentWrongIsTold beside a result, or in its place, as text.
func TestWhatWentWrongIsTold(t *testing.T) {
	for body, want := range map[string]string{
		`{"data":[],"errors":[{"message":"No autorizado","path":["a"]},{"message":"Otra"}]}`: "⚠️ El servicio dice (errors): No autorizado\n⚠️ El servicio dice (errors): Otra",
		`{"errors":[{"code":"E1"}]}`:                                                                  "⚠️ El servicio dice (errors): E1",
		`{"errors":{"date":["falta","es vieja"]}}`:                                                    "⚠️ El servicio dice (errors): falta\n⚠️ El servicio dice (errors): es vieja",
		`{"data":null,"errors":[{"extensions":{"reason":"cuota"}}]}`:                                  "⚠️ El servicio dice (errors): cuota",
		`{"data":{"crear":{"reserva":null,"userErrors":[{"message":"Sala llena"}]}}}`:                 "⚠️ El servicio dice (userErrors): Sala llena",
		`{"items":["a"],"warning":"solo la primera página"}`:                                          "⚠️ El servicio dice (warning): solo la primera página\n\n1 resultado:\n\n- a",
		`{"result":{"fault":"<b>mal</b>"},"meta":{"page":1}}`:                                         "⚠️ El servicio dice (fault): texto con código de página, de 10 bytes\n\n| Dato | Valor |\n|---|---|\n| meta page | 1 |",
		`{"items":["a"],"errors":0,"error":false,"warnings":[],"problem":""}`:                         "1 resultado:\n\n- a",
		`{"content":[{"type":"text","text":"{\"items\":[],\"aviso\":\"cerrado\"}"}],"isError":false}`: "⚠️ El servicio dice (aviso): cerrado",
		`[[{"sala":"Norte"}]]`:      "1 resultado:\n\n| sala |\n|---|\n| Norte |",
		`{"id":7,"error_rate":0.1}`: "| Dato | Valor |\n|---|---|\n| error rate | 0.1 |\n| id | 7 |",
	} {
		if got := describe(json.RawMessage(body), nil, nil).In(locale.Spanish); got != want {
			t.Errorf("%s:\n%q, want\n%q", body, got, want)
		}
	}
}
