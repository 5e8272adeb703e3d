package tool_test

import (
	"encoding/json"
	"testing"

	"piloto/internal/tools/schema"
	"piloto/internal/tools/tool"
)

func TestNullOfAnOptionalArgumentIsAbsence(t *testing.T) {
	const address = `{"type":"object","properties":{"street":{"type":"string"},"flat":{"type":"string"}},"required":["street"]}`
	op := tool.Operation{Entry: tool.Entry{Name: "order"}, Body: &tool.Body{Required: true, MediaType: "application/json", Schema: json.RawMessage(`{
		"type":"object","required":["sku"],"additionalProperties":false,
		"$defs":{"note":{"type":"string"}},
		"properties":{
			"sku":{"type":"string"}, "qty":{"type":"integer","default":1}, "note":{"$ref":"#/$defs/note"},
			"size":{"enum":["s","m"]}, "kind":{"const":"x"}, "colour":{"anyOf":[{"type":"string"},{"type":"integer"}]},
			"gift":{"type":["string","null"]}, "tags":{"type":"array","items":{"type":"string"}}, "any":{},
			"to":` + address + `, "all":{"type":"array","items":` + address + `}
		}}`)}}
	for _, c := range []struct{ given, want string }{
		{`{"sku":"A","qty":null}`, `{"sku":"A"}`},
		{`{ "qty" : null , "sku": "A","note":null,"size":null,"kind":null,"colour":null,"tags":null}`, `{"sku":"A"}`},
		{`{"tags":["null"],"sku":"null"}`, `{"tags":["null"],"sku":"null"}`},
		{`{"sku":"A","gift":null,"any":null}`, `{"sku":"A","gift":null,"any":null}`}, // they may be null
		{`{"sku":null,"qty":null}`, `{"sku":null}`},                                  // it is required, so it is a fault
		{`{"sku":"A","to":{"street":"x","flat":null}}`, `{"sku":"A","to":{"street":"x"}}`},
		{`{"sku":"A","to":{"street":null}}`, `{"sku":"A","to":{"street":null}}`},
		{`{"sku":"A","all":[{"street":"x","flat":null},{"flat":"1","street":"y"}]}`, `{"sku":"A","all":[{"street":"x"},{"flat":"1","street":"y"}]}`},
		{`{"sku":"A","tags":["x",null]}`, `{"sku":"A","tags":["x",null]}`}, // an element is no argument
		{`{"sku":"A","unknown":null}`, `{"sku":"A","unknown":null}`},
		{`{"qty":null,"sku":"${s1.body.sku}"}`, `{"sku":"${s1.body.sku}"}`},
		{`null`, `{}`},
		{`{"qty":1.50,"sku":"A","note":null}`, `{"qty":1.50,"sku":"A"}`},
	} {
		got := op.WithoutAbsent(schema.Compiler{}, json.RawMessage(c.given), true)
		if string(got) != c.want {
			t.Errorf("%s: %s, want %s", c.given, got, c.want)
		}
		if again := op.WithoutAbsent(schema.Compiler{}, got, true); string(again) != string(got) {
			t.Errorf("%s: again %s", c.given, again)
		}
	}
	op.Name = "" // of an OpenAPI document: a null of a PATCH may mean that a value is to be removed
	if got := op.WithoutAbsent(schema.Compiler{}, json.RawMessage(`{"sku":"A","qty":null}`), true); string(got) != `{"sku":"A","qty":null}` {
		t.Errorf("%s", got)
	}
}
