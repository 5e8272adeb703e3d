package openapi

import (
	"strings"
	"testing"
)

// TestOutputOutlinesResponseOfPost checks the outline: plain members and their types, through references and allOf,
// and only declared ones.
func TestOutputOutlinesResponseOfPost(t *testing.T) {
	answer := func(status, media, schema string) string {
		return `{"` + status + `":{"description":"","content":{"` + media + `":{"schema":` + schema + `}}}}`
	}
	for name, c := range map[string]struct{ responses, want string }{
		"a text and a number": {
			answer("201", "application/json", `{"properties":{"id":{"type":"string"},"n":{"type":"integer"},"at":{"type":"object"},"x":{}}}`),
			`{"type":"object","properties":{"id":{"type":"string"},"n":{"type":"integer"}}}`,
		},
		"a reference and allOf": {
			answer("2XX", "application/json; charset=utf-8", `{"allOf":[{"$ref":"#/components/schemas/A"},{"properties":{"b":{"type":["null","string"]}}}]}`),
			`{"type":"object","properties":{"b":{"type":"string"},"id":{"type":"integer"}}}`,
		},
		"a circle":      {answer("200", "application/json", `{"$ref":"#/components/schemas/Round"}`), ``},
		"a wide circle": {answer("200", "application/json", `{"$ref":"#/components/schemas/Wide"}`), ``},
		"an error":      {answer("400", "application/json", `{"properties":{"id":{"type":"string"}}}`), ``},
		"text":          {answer("200", "text/plain", `{"properties":{"id":{"type":"string"}}}`), ``},
		"no answers":    {`{}`, ``},
		"nonsense":      {`{"200":7,"201":{"content":[1]}}`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			wide := strings.Repeat(`{"$ref":"#/components/schemas/Wide"},`, 60)
			found, err := parseAt(t.Context(), []byte(`{"openapi":"3.1.0","info":{"title":"T","version":"1"},"paths":{"/rooms":{"post":{"responses":`+c.responses+`}}},
				"components":{"schemas":{"A":{"properties":{"id":{"$ref":"#/components/schemas/Id"}}},"Id":{"type":"integer"},
				"Round":{"allOf":[{"$ref":"#/components/schemas/Round"}]},"Wide":{"allOf":[`+strings.TrimSuffix(wide, ",")+`]}}}}`), "https://a.example/openapi.json")
			if err != nil {
				t.Fatal(err)
			}
			if got := string(found.Operations[0].Output); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if len(found.Warnings) > 0 {
				t.Errorf("it is said: %v", found.Warnings)
			}
		})
	}
	found, err := parseAt(t.Context(), []byte(`{"swagger":"2.0","info":{"title":"T","version":"1"},"paths":{"/rooms":{"get":{},"post":{"responses":{
		"200":{"schema":{"properties":{"room_id":{"type":"string"}}}}}}}}}`), "https://a.example/swagger.json")
	if err != nil || string(found.Operations[1].Output) != `{"type":"object","properties":{"room_id":{"type":"string"}}}` || found.Operations[0].Output != nil {
		t.Errorf("%+v %v", found.Operations, err)
	}
}

// TestExamplesAreNotRead: examples of answers and requests are left out of the tree, and nothing that is only named
// like them.
func TestExamplesAreNotRead(t *testing.T) {
	const document = `{"openapi":"3.0.0","components":{"schemas":{"example":{"type":"string"}},"examples" : {"a":[1,{"b":"}\"]"}],"c":2}, "x":1},"paths":{"/x":{"post":{
		"requestBody":{"content":{"application/json":{"example":"}\\\"","examples":{"x":{"value":-1.5e3}},"schema":{"properties":{"content":{"properties":{"example":{"type":"integer"},
		"examples":{"$ref":"#/components/schemas/example"}},"example":true}},"example":null}}}}}}}}`
	root, err := read(&builder{ctx: t.Context(), left: maxNodes}, document)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	root.write(&b)
	want := `{"openapi":"3.0.0","components":{"schemas":{"example":{"type":"string"}},"x":1},"paths":{"/x":{"post":{"requestBody":{"content":{"application/json":{"schema":` +
		`{"properties":{"content":{"properties":{"example":{"type":"integer"},"examples":{"$ref":"#/components/schemas/example"}},"example":true}},"example":null}}}}}}}}`
	if b.String() != want {
		t.Errorf("%s\nwant %s", b.String(), want)
	}
}
