package openapi

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/origin"
	"piloto/internal/tools/schema"
	"piloto/internal/tools/tool"
)

// odd lists values that documents have at places of other types.
var odd = []string{
	`null`, `true`, `false`, `0`, `-1`, `1.5`, `1e400`, `""`, `"x"`, `"#"`, `[]`, `{}`, `[null]`, `[[]]`, `{"":{}}`, `{"a":null}`,
	`{"$ref":"#"}`, `{"$ref":""}`, `{"$ref":"#/paths"}`, `{"$ref":"#/components/schemas/A"}`, `{"$ref":"#/definitions/Thing"}`, `{"$ref":"http://x.example/y"}`,
	`{"type":"object","properties":{"a":{"$ref":"#"}}}`, `{"allOf":[{"$ref":"#/components/schemas/Node"}]}`, `{"enum":[1e999,{"a":[]}]}`,
	`{"name":"a","in":"query","schema":true}`, `{"name":"a","in":"body","schema":{}}`, `"string"`, `["string","null"]`, `"2.0"`, `"3.1.9"`,
}

// containers returns the containers of a tree, in order.
func containers(v any, into []any) []any {
	switch v := v.(type) {
	case map[string]any:
		into = append(into, v)
		for _, k := range names(v) {
			into = containers(v[k], into)
		}
	case []any:
		if len(v) > 0 {
			into = append(into, v)
		}
		for _, e := range v {
			into = containers(e, into)
		}
	}
	return into
}

func names(m map[string]any) []string {
	var list []string
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// mutate puts an odd value, or another part of the document, at a random place.
func mutate(t *rapid.T, root map[string]any) {
	all := containers(root, nil)
	at := rapid.SampledFrom(all).Draw(t, "container")
	var value any
	if rapid.Bool().Draw(t, "from the document") {
		raw, err := json.Marshal(rapid.SampledFrom(all).Draw(t, "part"))
		if err != nil || len(raw) > 20_000 || json.Unmarshal(raw, &value) != nil {
			return
		}
	} else if err := json.Unmarshal([]byte(rapid.SampledFrom(odd).Draw(t, "odd")), &value); err != nil {
		return // 1e400 is used in the texts below
	}
	switch at := at.(type) {
	case map[string]any:
		keys := append(names(at), "$ref", "type", "properties", "parameters", "get", "items", "allOf", "nullable", "enum", "required")
		at[rapid.SampledFrom(keys).Draw(t, "member")] = value
	case []any:
		at[rapid.IntRange(0, len(at)-1).Draw(t, "element")] = value
	}
}

// TestParseSurvivesBrokenParts: a document with any odd value is refused with a reason, or read; and the result
// satisfies keepsPromises.
func TestParseSurvivesBrokenParts(t *testing.T) {
	var seeds []string
	for _, file := range documents(t) {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tree, err := read(&builder{ctx: t.Context(), left: maxNodes}, string(raw))
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, render(tree))
	}
	rapid.Check(t, func(rt *rapid.T) {
		var root map[string]any
		if err := json.Unmarshal([]byte(rapid.SampledFrom(seeds).Draw(rt, "document")), &root); err != nil {
			rt.Fatal(err)
		}
		for range rapid.IntRange(2, 12).Draw(rt, "mutations") {
			mutate(rt, root)
			document, err := json.Marshal(root)
			if err != nil {
				rt.Fatal(err)
			}
			found, err := parse(t.Context(), string(document), "https://a.example/openapi.json", "https://a.example")
			switch {
			case err == nil:
				checkFound(rt, found)
			case fault.KindOf(err) == fault.Internal:
				rt.Fatalf("an error nobody classified: %v", err)
			}
		}
	})
}

func checkFound(t rapid.TB, found tool.Found) {
	t.Helper()
	if !origin.Same(found.BaseURL, "https://a.example") {
		t.Fatalf("base %q", found.BaseURL)
	}
	for _, op := range found.Operations {
		for _, s := range schemasOf(op) {
			checkCompiles(t, op, s)
		}
		if len(tool.Fingerprint(found.BaseURL, op)) != 64 {
			t.Fatalf("%s %s has no fingerprint", op.Method, op.Path)
		}
		tool.Signature(op)
		op.Check(schema.Compiler{}, tool.Arguments{Path: op.Path, Body: json.RawMessage(`{"a":[1,{"name":"x"}],"parent":{"name":"y"}}`), Query: json.RawMessage(`{"page":1}`)})
	}
}
