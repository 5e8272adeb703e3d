package openapi

import (
	"fmt"
	"strings"
	"testing"

	"piloto/internal/tools/tool"
)

// A reference to the document itself is a local one, however it names the document. Another document is never fetched.
func TestAReferenceToTheDocumentItselfIsFollowed(t *testing.T) {
	const components = `,"components":{"parameters":{"M":{"name":"If-Match","in":"header","required":true}},` +
		`"schemas":{"S":{"$id":"https://schemas.example/s","type":"object","properties":{"a":{"$anchor":"A","type":"string"}}},` +
		`"One":{"$id":"/twice"},"Two":{"$id":"/twice","$anchor":"T"},"Three":{"$anchor":"T"}}}`
	for ref, want := range map[string]string{
		"#": "", "openapi.json": "", "./openapi.json": "", "/openapi.json": "", "https://api.example.com/openapi.json": "",
		"HTTPS://API.example.com:443/openapi.json": "", "//api.example.com/openapi.json": "", "../openapi.json": "", "urn:example:api": "", "https://docs.example.com/api": "",
		"other.json": "x", "http://api.example.com/openapi.json": "x", "https://api.example.com:8443/openapi.json": "x", "https://evil.example/openapi.json": "x",
		"/v1/openapi.json": "x", "openapi.json?v=2": "x", "openapi.yaml": "x", "urn:example:other": "x", "%zz": "x",
	} {
		for _, own := range []string{`,"$id":"urn:example:api"`, `,"$self":"https://docs.example.com/api"`, ""} {
			if strings.HasPrefix(ref, "urn") && !strings.Contains(own, "urn") || strings.HasPrefix(ref, "https://docs") && !strings.Contains(own, "docs") {
				continue
			}
			address := strings.TrimSuffix(ref, "#")
			operation := fmt.Sprintf(`"parameters":[{"$ref":"%[1]s#/components/parameters/M"}],"requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"%[1]s#/components/schemas/S"}}}}`, address)
			text := fmt.Sprintf(`{"openapi":"3.1.0"%s%s,"paths":{"/o":{"post":{%s}}}}`, own, components, operation)
			found, err := parse(t.Context(), text, "https://api.example.com/openapi.json", "https://api.example.com")
			if err != nil {
				t.Fatal(err)
			}
			op := found.Operations[0]
			if isRefused := op.Refused != nil; isRefused != (want != "") {
				t.Errorf("%s %s: %+v", ref, own, op.Refused)
			}
			if want == "" && (len(op.Parameters) != 1 || !strings.Contains(string(op.Body.Schema), `"a"`)) {
				t.Errorf("%s %s: %+v", ref, own, op)
			}
		}
	}
	for ref, want := range map[string]string{
		"https://schemas.example/s": `"a"`, "https://schemas.example/s#/properties/a": "string", "#A": "string", "openapi.json#A": "string", "https://schemas.example/s#A": "string",
		"other.json#A": "", "#B": "", "#T": "", "/twice": "", "https://schemas.example/other": "",
	} {
		operation := fmt.Sprintf(`"requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":%q}}}}`, ref)
		for _, version := range []string{"3.1.0", "3.0.3"} {
			text := fmt.Sprintf(`{"openapi":%q%s,"paths":{"/o":{"post":{%s}}}}`, version, components, operation)
			found, err := parse(t.Context(), text, "https://api.example.com/openapi.json", "https://api.example.com")
			if err != nil {
				t.Fatal(err)
			}
			op := found.Operations[0]
			if is := want != "" && version == "3.1.0"; (op.Refused == nil) != is || is && !strings.Contains(string(op.Body.Schema), want) {
				t.Errorf("%s, %s: %+v", version, ref, op)
			}
		}
	}
}

// The own name of a document is also that of the place where a person said that it is.
func TestTheNameOfADocumentThatAPersonNamed(t *testing.T) {
	const text = `{"openapi":"3.0.3","paths":{"/o":{"put":{"parameters":[{"$ref":"spec.json#/components/parameters/M"}]}}},"components":{"parameters":{"M":{"name":"If-Match","in":"header","required":true}}}}`
	for ref, isOwn := range map[string]bool{"spec.json": true, "/a/spec.json": true, "spec.json?v=1": true, "spec.json?v=2": false, "/spec.json": false, "SERVICE": false, "SERVICE/spec.json": false} {
		docs, api := serve(t, nil), serve(t, nil)
		docs.pages = map[string]string{"/a/spec.json": strings.Replace(text, "spec.json", strings.Replace(ref, "SERVICE", api.URL, 1), 1)}
		found, err := discoverer().Discover(t.Context(), tool.Target{Base: api.URL, Given: docs.URL + "/a/spec.json?v=1"})
		if err != nil || (found.Operations[0].Refused == nil) != isOwn || len(docs.asked)+len(api.asked) != 1 {
			t.Errorf("%s: %v %+v, asked %v and %v", ref, err, found.Operations[0].Refused, docs.asked, api.asked)
		}
	}
}

// A discriminator names a schema in the same ways.
func TestAMappingNamesTheDocumentItself(t *testing.T) {
	const text = `{"openapi":"3.0.3","components":{"schemas":{"Cat":{"type":"object","properties":{"c":{"type":"string"}}}}},"paths":{"/o":{"post":{"requestBody":{"required":true,"content":{"application/json":{"schema":{` +
		`"oneOf":[{"$ref":"#/components/schemas/Cat"}],"discriminator":{"propertyName":"kind","mapping":{"feline":"openapi.json#/components/schemas/Cat"}}}}}}}}}}`
	found, err := parse(t.Context(), text, "https://api.example.com/openapi.json", "https://api.example.com")
	if err != nil || !strings.Contains(string(found.Operations[0].Body.Schema), `"feline"`) {
		t.Errorf("%v %s", err, found.Operations[0].Body.Schema)
	}
}

// A schema of which YAML says nothing is any value. A parameter or a body of which it says nothing is one that cannot be read.
func TestAnEmptySchemaIsAnyValue(t *testing.T) {
	const document = `openapi: 3.0.3
components:
  schemas:
    Any:
    Of: {type: object, required: [a], properties: {a: {$ref: '#/components/schemas/Any'}, b: }}
  parameters:
    Empty:
  requestBodies:
    Empty:
paths:
  /o:
    post:
`
	for operation, want := range map[string]string{
		"{requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Any'}}}}}": "",
		"{requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Of'}}}}}":  "",
		"{requestBody: {required: true, content: {application/json: {schema: }}}}":                                   "",
		"{parameters: [{name: q, in: query, required: true, schema: {$ref: '#/components/schemas/Any'}}]}":           "",
		"{requestBody: {required: true, content: {application/json: {schema: {$ref: '#/openapi'}}}}}":                "application/json: #/openapi",
		"{parameters: [{$ref: '#/components/parameters/Empty'}]}":                                                    "parameters[0]",
		"{requestBody: {$ref: '#/components/requestBodies/Empty'}}":                                                  "requestBody",
	} {
		found, err := parse(t.Context(), document+"      "+operation, "https://api.example.com/openapi.yaml", "https://api.example.com")
		if err != nil {
			t.Fatal(err)
		}
		if got := refusalOf(found.Operations[0]); got != want || want == "" && len(found.Warnings) > 0 {
			t.Errorf("%s: refused %q, want %q; said %q", operation, got, want, found.Warnings)
		}
	}
}
