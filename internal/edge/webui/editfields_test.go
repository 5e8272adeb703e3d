package webui

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"piloto/internal/tools/tool"
)

func TestFieldsAreThoseOfTheSchema(t *testing.T) {
	schema := `{"type":"object","required":["a","e"],"$defs":{"Kind":{"enum":["x","y",3],"description":"Clase"},"Pet":{"type":"object"}},"properties":{
		"z":{"type":"integer"},"a":{"type":["string","null"],"title":"Nombre"},"day":{"type":"string","format":"date"},"on":{"type":"boolean"},
		"kind":{"$ref":"#/$defs/Kind","title":"Cuál"},"pet":{"$ref":"#/$defs/Pet"},"list":{"type":"array"},"any":true,"e":{}}}`
	var got []string
	for _, f := range fieldsOf(json.RawMessage(schema)) {
		got = append(got, fmt.Sprint(f.name, " ", f.kind, " ", f.label, " ", f.help, " ", f.needed, " ", len(f.options)))
	}
	want := "z number   false 0|a text Nombre  true 0|day date   false 0|on truth   false 0|kind choice Cuál Clase false 3|pet json   false 0|list json   false 0|any    false 0|e    true 0"
	if strings.Join(got, "|") != want {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "|"), want)
	}
	for _, odd := range []string{"", "true", "[]", `{"properties":7}`, `{"$ref":"#/$defs/none"}`, `{"properties":{"a":7}}`} {
		for _, f := range fieldsOf(json.RawMessage(odd)) {
			if f.kind != "" {
				t.Errorf("%s: %+v", odd, f)
			}
		}
	}
	if list := parameterFields(tool.Operation{Parameters: []tool.Parameter{{Name: "q", In: "query", Required: true, Schema: json.RawMessage(`{"type":"string"}`)}, {Name: "id", In: "path"}}}, "query"); len(list) != 1 || !list[0].needed {
		t.Errorf("%+v", list)
	}
}

// TestAValueThatDoesNotFitIsEditedAsItIs: the schema may have changed, and a reference is a text.
func TestAValueThatDoesNotFitIsEditedAsItIs(t *testing.T) {
	fields := fieldsOf(json.RawMessage(`{"properties":{"kind":{"enum":["x"]},"day":{"type":"string","format":"date"},"n":{"type":"number"},"o":{"type":"object"},"free":{"type":"string"},"more":{"type":"string"}},"required":["n","need"]}`))
	p := partOf("body", json.RawMessage(`{"kind":"other","day":"${s1.body.day}","n":"${s1.body.n}","o":"${s1.body}","own":[1]}`), fields)
	var got []string
	for _, m := range p.Members {
		got = append(got, m.Name+" "+m.Kind)
	}
	if strings.Join(got, ",") != "kind text,day text,n text,o text,own json" || len(p.More) != 2 || !p.More[0].Absent {
		t.Errorf("%v, %+v", got, p.More)
	}
	p = partOf("body", json.RawMessage(`{"kind":"x","day":"2026-03-06"}`), fields)
	if p.Members[0].Kind != "choice" || p.Members[1].Kind != "date" || p.Members[2].Name != "n" || !p.Members[2].Absent {
		t.Errorf("%+v", p.Members)
	}
	if p := partOf("query", nil, nil); p.Flat || p.Text != "" {
		t.Errorf("%+v", p)
	}
}
