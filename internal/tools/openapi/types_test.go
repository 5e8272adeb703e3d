package openapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"piloto/internal/tools/schema"
	"piloto/internal/tools/tool"
)

// operationWith returns an operation that takes a body in some types, each with its schema.
func operationWith(t *testing.T, contents string) tool.Operation {
	t.Helper()
	op, _ := operationOf(t, "https://api.example.com", `"requestBody":{"required":true,"content":{`+contents+`}}`, "")
	if op.Refused != nil {
		t.Fatal(contents, op.Refused)
	}
	return op
}

// sent proposes a call, and returns the type in which it is sent, or else what is told.
func sent(t *testing.T, op tool.Operation, headers, body string) string {
	t.Helper()
	op.Method, op.Path = "POST", "/o"
	a, err := op.WithHeaders(tool.Arguments{Method: "POST", Path: "/o", Headers: json.RawMessage(headers), Body: json.RawMessage(body)})
	if err != nil {
		t.Fatal(err)
	}
	if problems := op.Check(schema.Compiler{}, a); len(problems) > 0 {
		return "told: " + problems[0].Loc
	}
	r, err := tool.Build(tool.Server{BaseURL: "https://api.example.com"}, op, a)
	if err != nil {
		t.Fatal(err)
	}
	media, _, _ := strings.Cut(r.Header["Content-Type"], "; boundary")
	if len(op.Others) > 0 && !strings.Contains(string(a.Headers), media) {
		t.Errorf("the type %s is not in the call: %s", media, a.Headers)
	}
	return strings.TrimPrefix(media, "application/")
}

// TestTheTypeOfABodyIsChosen: a body that may mean one thing in one type and another thing in another is sent in the one that the
// call names; where only one type takes such a value, in that one. The type is in the headers of the call.
func TestTheTypeOfABodyIsChosen(t *testing.T) {
	content := func(media, schema string) string {
		return fmt.Sprintf(`"%s":{"schema":%s}`, strings.Replace("application/"+media, "application/text/", "text/", 1), schema)
	}
	const (
		list, object, whole = `{"type":"array","items":{"type":"object"}}`, `{"type":"object","properties":{"a":{}}}`, `{"type":"object"}`
		patch, merge        = "json-patch+json", "merge-patch+json"
		choose              = "told: /headers/Content-Type"
	)
	two := func(a, b, schema string) string { return content(a, schema) + "," + content(b, schema) }
	for name, c := range map[string]struct{ contents, headers, body, want string }{
		"a list is a JSON Patch":                  {two(merge, patch, `{}`), ``, `[{"op":"remove","path":"/a"}]`, patch},
		"an object is a merge patch":              {two(patch, merge, `{}`), ``, `{"a":null}`, merge},
		"a patch that is named":                   {two(merge, patch, `{}`), `{"content-type":"application/JSON-patch+json"}`, `[]`, patch},
		"a type that the value does not fit":      {two(merge, patch, `{}`), `{"Content-Type":"application/merge-patch+json"}`, `[]`, "told: /body"},
		"a merge patch alone is no list":          {content(merge, `{}`), ``, `[{"op":"remove","path":"/a"}]`, "told: /body"},
		"a JSON Patch alone is no object":         {content(patch, `{}`), ``, `{"a":1}`, "told: /body"},
		"a type that is not there":                {two(merge, patch, `{}`), `{"Content-Type":"application/json"}`, `{}`, choose},
		"a type that a step will answer":          {two(merge, patch, `{}`), `{"Content-Type":"${s1.body.type}"}`, `{}`, choose},
		"what a step will answer":                 {two(merge, patch, `{}`), ``, `"${s1.body}"`, choose},
		"what a step will answer, named":          {two(merge, patch, `{}`), `{"Content-Type":"application/merge-patch+json"}`, `"${s1.body}"`, merge},
		"two patches of objects":                  {two(merge, "strategic-merge-patch+json", whole), ``, `{"a":1}`, choose},
		"the second of two patches":               {two(merge, "strategic-merge-patch+json", whole), `{"Content-Type":"application/strategic-merge-patch+json"}`, `{"a":1}`, "strategic-merge-patch+json"},
		"JSON or a patch, and nothing is said":    {two("json", patch, `{}`), ``, `[]`, choose},
		"JSON or a patch, and it is an object":    {two("json", patch, `{}`), ``, `{}`, "json"},
		"two versions, and nothing is said":       {two("vnd.a.v1+json", "vnd.a.v2+json", `{}`), ``, `{}`, choose},
		"two versions by a parameter":             {content("json;v=1", `{}`) + "," + content("json;v=2", whole), ``, `{}`, choose},
		"two versions, and the schema says":       {two("vnd.a.v1+json", "vnd.a.v2+json", object), ``, `{"a":1}`, "vnd.a.v1+json"},
		"the second of two versions":              {two("vnd.a.v1+json", "vnd.a.v2+json", object), `{"Content-Type":"application/vnd.a.v2+json"}`, `{"a":1}`, "vnd.a.v2+json"},
		"two spellings of JSON":                   {two("json", "text/json", `{}`), ``, `{}`, "json"},
		"two spellings of JSON, and a charset":    {two("json", "json; charset=utf-8", `{}`), ``, `{}`, "json"},
		"JSON or a form":                          {two("x-www-form-urlencoded", "json", object), ``, `{"a":1}`, "json"},
		"JSON or a form, and nothing is said":     {two("x-www-form-urlencoded", "json", `{}`), ``, `{}`, "json"},
		"the form":                                {two("x-www-form-urlencoded", "json", object), `{"Content-Type":"application/x-www-form-urlencoded"}`, `{"a":1}`, "x-www-form-urlencoded"},
		"JSON or a text, and nothing is said":     {two("json", "text/plain", `{}`), ``, `"a"`, choose},
		"JSON or a text, and it is an object":     {two("json", "text/plain", `{}`), ``, `{"a":1}`, "json"},
		"the text":                                {two("json", "text/plain", `{}`), `{"Content-Type":"text/plain"}`, `"a"`, "text/plain"},
		"schemas say it":                          {content(patch, list) + "," + content(merge, object), ``, `[{"op":"test","path":"/a"}]`, patch},
		"each type has its schema":                {content("json", object) + "," + content("vnd.x+json", `{"type":"object","required":["b"],"properties":{"b":{"type":"integer"}}}`), `{"Content-Type":"application/vnd.x+json"}`, `{"a":1}`, "told: /body/b"},
		"a patch beside the JSON of an object":    {two(patch, "json", object), ``, `{"a":1}`, "json"},
		"an object, in a document with that type": {content(patch, object), ``, `{"a":1}`, patch},
	} {
		if got := sent(t, operationWith(t, c.contents), c.headers, c.body); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestTheSignatureHasTheTypesOfABody(t *testing.T) {
	op := operationWith(t, `"application/merge-patch+json":{"schema":{}},"application/json-patch+json":{"schema":{}}`)
	if got, want := tool.Signature(op), "headers{Content-Type:application/merge-patch+json|application/json-patch+json} body"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	choice := operationWith(t, `"application/vnd.a.v1+json":{},"application/vnd.a.v2+json":{}`)
	if got, want := tool.Signature(choice), "headers{Content-Type:application/vnd.a.v1+json|application/vnd.a.v2+json*} body"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	one := operationWith(t, `"application/json":{"schema":{}},"text/json":{"schema":{}}`)
	if got, want := tool.Signature(one), "body"; got != want || tool.Fingerprint("https://a", one) == tool.Fingerprint("https://a", choice) {
		t.Errorf("%q, want %q", got, want)
	}
	fewer := choice
	fewer.Others = nil
	if tool.Fingerprint("https://a", fewer) == tool.Fingerprint("https://a", choice) {
		t.Error("the other types are no part of the fingerprint")
	}
}
