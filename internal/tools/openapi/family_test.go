package openapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"piloto/internal/tools/schema"
	"piloto/internal/tools/tool"
)

const combined = `
    Key: {type: object, properties: {key: {type: string}}, required: [key], additionalProperties: false}
    Mail: {type: object, properties: {email: {type: string}}, additionalProperties: false}
    Both: {allOf: [{$ref: '#/components/schemas/Key'}, {$ref: '#/components/schemas/Mail'}]}
    Cat: {type: object, required: [pet], properties: {pet: {type: string}, name: {type: string}, claws: {type: integer}}}
    Dog: {type: object, required: [pet, name], properties: {pet: {type: string}, name: {type: string}}}
    Tree: {type: object, properties: {key: {type: string}, below: {type: array, items: {$ref: '#/components/schemas/Tree'}}}, additionalProperties: false}
    Round: {allOf: [{$ref: '#/components/schemas/Round'}, {$ref: '#/components/schemas/Key'}]}
    Animal: {type: object, required: [kind], properties: {kind: {type: string}}, discriminator: {propertyName: kind, mapping: {hen: '#/components/schemas/Bird'}}, additionalProperties: false}
    Fish: {allOf: [{$ref: '#/components/schemas/Animal'}, {type: object, required: [fins], properties: {fins: {type: integer}}, additionalProperties: false}]}
    Bird: {allOf: [{$ref: '#/components/schemas/Animal'}, {type: object, required: [wings], properties: {wings: {type: integer}}}]}
`

// TestCombinedSchemasMeanOneObject: what the parts of a combined schema mean together fits, and nothing else does.
func TestCombinedSchemasMeanOneObject(t *testing.T) {
	cases := []struct {
		name, schema string
		fits, unfit  []string
	}{
		{
			"closed parts", `{allOf: [{$ref: '#/components/schemas/Key'}, {$ref: '#/components/schemas/Mail'}]}`,
			[]string{`{"key":"k"}`, `{"key":"k","email":"a"}`},
			[]string{`{}`, `{"key":"k","other":1}`, `{"email":"a"}`, `{"key":1}`, `{"key":"k","email":2}`},
		},
		{
			"one closed part", `{allOf: [{$ref: '#/components/schemas/Key'}, {properties: {n: {type: integer}}, required: [n]}]}`,
			[]string{`{"key":"k","n":1}`},
			[]string{`{"key":"k","n":1,"x":1}`, `{"key":"k"}`, `{"key":"k","n":"1"}`},
		},
		{
			"closed around parts", `{allOf: [{$ref: '#/components/schemas/Key'}], properties: {n: {type: integer}}, additionalProperties: false}`,
			[]string{`{"key":"k","n":1}`},
			[]string{`{"key":"k","x":1}`, `{"n":1}`},
		},
		{
			"nested", `{allOf: [{$ref: '#/components/schemas/Both'}, {properties: {n: {type: integer}}, additionalProperties: false}]}`,
			[]string{`{"key":"k","email":"a","n":1}`},
			[]string{`{"key":"k","x":1}`},
		},
		{
			"below a property and an element", `{properties: {a: {$ref: '#/components/schemas/Both'}, b: {type: array, items: {$ref: '#/components/schemas/Key'}}}}`,
			[]string{`{"a":{"key":"k","email":"a"},"b":[{"key":"k"}]}`},
			[]string{`{"a":{"key":"k","x":1}}`, `{"b":[{"key":"k","email":"a"}]}`},
		},
		{
			"a map beside a part", `{allOf: [{properties: {n: {type: integer}}}, {properties: {key: {type: string}}, additionalProperties: {type: string}}]}`,
			[]string{`{"n":1,"key":"k","x":"y"}`},
			[]string{`{"n":1,"x":2}`},
		},
		{
			"closed alternatives beside a part",
			`{allOf: [{$ref: '#/components/schemas/Key'}, {oneOf: [{properties: {a: {}}, required: [a], additionalProperties: false}, {properties: {b: {}}, required: [b], additionalProperties: false}]}]}`,
			[]string{`{"key":"k","a":1}`, `{"key":"k","b":1}`},
			[]string{`{"key":"k"}`, `{"key":"k","a":1,"b":1}`, `{"key":"k","a":1,"x":1}`},
		},
		{
			"closed around alternatives", `{properties: {n: {}}, anyOf: [{properties: {a: {type: integer}}, required: [a]}, {properties: {b: {}}, required: [b]}], additionalProperties: false}`,
			[]string{`{"n":1,"a":1}`, `{"n":1,"b":1}`, `{"a":1,"b":1}`},
			[]string{`{"n":1}`, `{"a":1,"x":1}`},
		},
		{
			"a tree", `{$ref: '#/components/schemas/Tree'}`,
			[]string{`{"key":"k","below":[{"key":"l","below":[]}]}`},
			[]string{`{"below":[{"x":1}]}`},
		},
		{"a circle for the same value", `{allOf: [{$ref: '#/components/schemas/Round'}, {$ref: '#/components/schemas/Mail'}]}`, []string{`{"key":"k","email":"a"}`}, nil},
		{
			"nullable with parts", `{type: object, nullable: true, allOf: [{$ref: '#/components/schemas/Both'}]}`,
			[]string{`null`, `{"key":"k","email":"a"}`},
			[]string{`{"x":1}`, `7`},
		},
		{
			"a discriminator", `{oneOf: [{$ref: '#/components/schemas/Cat'}, {$ref: '#/components/schemas/Dog'}], discriminator: {propertyName: pet}}`,
			[]string{`{"pet":"Cat","name":"x"}`, `{"pet":"Cat","claws":1}`, `{"pet":"Dog","name":"x"}`, `{"pet":"Dog","name":"x","claws":"odd"}`},
			[]string{`{"pet":"Dog"}`, `{"pet":"Cat","claws":"odd"}`, `{"name":"x"}`, `{"pet":"Cow","name":"x"}`, `7`},
		},
		{
			"a mapping", `{nullable: true, oneOf: [{$ref: '#/components/schemas/Cat'}, {$ref: '#/components/schemas/Dog'}], discriminator: {propertyName: pet, mapping: {c: Cat, k: Cat, d: '#/components/schemas/Dog'}}}`,
			[]string{`null`, `{"pet":"c"}`, `{"pet":"k"}`, `{"pet":"d","name":"x"}`},
			[]string{`{"pet":"d"}`, `{"pet":"Dog","name":"x"}`},
		},
		{
			"anyOf with a discriminator", `{anyOf: [{$ref: '#/components/schemas/Cat'}, {$ref: '#/components/schemas/Dog'}], discriminator: {propertyName: pet}}`,
			[]string{`{"pet":"Cat"}`},
			[]string{`{"pet":"Dog"}`},
		},
		{
			"a discriminator beside closed parts",
			`{allOf: [{$ref: '#/components/schemas/Mail'}, {oneOf: [{$ref: '#/components/schemas/Key'}, {$ref: '#/components/schemas/Dog'}], discriminator: {propertyName: pet}}]}`,
			[]string{`{"pet":"Key","key":"k","email":"a"}`, `{"pet":"Dog","name":"n","email":"a"}`},
			[]string{`{"pet":"Key","key":"k","x":"a"}`},
		},
		{
			"children of a closed parent", `{$ref: '#/components/schemas/Animal'}`,
			[]string{`{"kind":"Fish","fins":1}`, `{"kind":"hen","wings":2}`, `{"kind":"Stone"}`},
			[]string{`{"kind":"Fish"}`, `{"kind":"hen"}`, `{"kind":"Stone","x":1}`, `{}`},
		},
		{"one child", `{$ref: '#/components/schemas/Fish'}`, []string{`{"kind":"Fish","fins":1}`}, []string{`{"kind":"Fish"}`, `{"kind":"Fish","fins":1,"x":1}`}},
	}
	for _, c := range cases {
		op := bodyOperation(t, c.schema)
		for _, body := range c.fits {
			if wrong := op.Check(schema.Compiler{}, tool.Arguments{Path: "/x", Body: json.RawMessage(body)}); len(wrong) > 0 {
				t.Errorf("%s: %s is refused: %v\n%s", c.name, body, wrong, op.Body.Schema)
			}
		}
		for _, body := range c.unfit {
			if wrong := op.Check(schema.Compiler{}, tool.Arguments{Path: "/x", Body: json.RawMessage(body)}); len(wrong) == 0 {
				t.Errorf("%s: %s is accepted\n%s", c.name, body, op.Body.Schema)
			}
		}
	}
}

// TestTheChosenAlternativeIsTheOneThatIsTold: a model reads the problems of the alternative that it means.
func TestTheChosenAlternativeIsTheOneThatIsTold(t *testing.T) {
	op := bodyOperation(t, `{oneOf: [{$ref: '#/components/schemas/Cat'}, {$ref: '#/components/schemas/Dog'}], discriminator: {propertyName: pet}}`)
	for body, want := range map[string]string{
		`{"pet":"Dog"}`:             "[/body/name: is required]",
		`{"pet":"Cat","claws":"x"}`: "[/body/claws: must be an integer, not a string]",
		`{"pet":"Cow"}`:             `[/body/pet: must be one of "Cat", "Dog"]`,
		`{}`:                        "[/body/pet: is required]",
		`{"pet":"${s1.body.pet}"}`:  "[]",
	} {
		if got := fmt.Sprint(op.Check(schema.Compiler{}, tool.Arguments{Path: "/x", Body: json.RawMessage(body)})); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

// bodyOperation reads a document whose one operation takes a body of a schema.
func bodyOperation(t *testing.T, body string) tool.Operation {
	t.Helper()
	document := "openapi: 3.0.3\ninfo: {title: T, version: '1'}\npaths:\n  /x:\n    post:\n      requestBody:\n        required: true\n        content:\n          application/json:\n            schema: " +
		body + "\ncomponents:\n  schemas:" + combined
	found, err := parseAt(t.Context(), []byte(document), "https://a.example/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range found.Warnings {
		if !strings.Contains(w, "refers to itself") {
			t.Error(w)
		}
	}
	return found.Operations[0]
}
