package tool_test

import (
	"encoding/json"
	"testing"

	"piloto/internal/tools/schema"
	"piloto/internal/tools/tool"
)

// TestWhatIsSentAsTextIsReadAsItsSchemaSays: a query, a form and a text have no types.
func TestWhatIsSentAsTextIsReadAsItsSchemaSays(t *testing.T) {
	const members = `{"type":"object","properties":{"s":{"type":"string"},"n":{"type":"integer"},"l":{"type":"array","items":{"type":"string"}},"m":{"type":"array","items":{"type":"integer"}},
		"o":{"type":"object","properties":{"s":{"type":"string"},"n":{"type":"integer"}}},"e":{"enum":["1","2"]},"x":{"anyOf":[{"type":"string"},{"type":"null"}]},"k":{"type":"string","minLength":3}}}`
	of := func(media string, encoding map[string]tool.Encoding) tool.Operation {
		op := tool.Op("POST", "/x")
		op.Body = &tool.Body{MediaType: media, Schema: json.RawMessage(members), Encoding: encoding}
		return op
	}
	deep := map[string]tool.Encoding{"o": {Style: "deepObject"}}
	text := tool.Op("POST", "/x")
	text.Body = &tool.Body{MediaType: "text/plain", Schema: json.RawMessage(`{"type":"string"}`)}
	for _, media := range []string{tool.FormMedia, "multipart/form-data", "application/json"} {
		for body, fits := range map[string]bool{
			`{"s":5}`: true, `{"s":true,"n":"3"}`: true, `{"s":5,"n":"x"}`: false, `{"n":" 1 "}`: false, `{"n":"1\n"}`: false, `{"s":null}`: false, `{"s":{"a":1}}`: false,
			`{"l":[1,"a",true],"m":["1",2]}`: true, `{"m":["1","a"]}`: false, `{"e":1}`: true, `{"e":3}`: false, `{"x":5}`: true, `{"k":12}`: false, `{"k":123}`: true, `{"o":{"s":5}}`: false,
		} {
			if media == "application/json" {
				fits = false // JSON has types
			}
			if got := of(media, nil).CheckResolved(schema.Compiler{}, tool.Arguments{Path: "/x", Body: json.RawMessage(body)}); (len(got) == 0) != fits {
				t.Errorf("%s %s: %v", media, body, got)
			}
		}
	}
	if got := of(tool.FormMedia, deep).CheckResolved(schema.Compiler{}, tool.Arguments{Path: "/x", Body: json.RawMessage(`{"o":{"s":5,"n":"5"}}`)}); len(got) > 0 {
		t.Error(got)
	}
	for body, fits := range map[string]bool{`5`: true, `"a"`: true, `true`: true, `[1]`: false, `{"a":1}`: false} {
		if got := text.CheckResolved(schema.Compiler{}, tool.Arguments{Path: "/x", Body: json.RawMessage(body)}); (len(got) == 0) != fits {
			t.Errorf("text %s: %v", body, got)
		}
	}
	for _, c := range []struct {
		schema, style, value string
		fits                 bool
	}{
		{`{"type":"string"}`, "form", `5`, true},
		{`{"type":"string"}`, "form", `[5]`, false},
		{`{"type":"integer"}`, "form", `"5"`, true},
		{`{"type":"integer"}`, "form", `" 5 "`, false},
		{`{"type":"integer"}`, "form", `"5\t"`, false},
		{`{"type":"array","items":{"type":"string"}}`, "form", `[5,"a"]`, true},
		{`{"type":"array","items":{"type":"string"}}`, "form", `5`, true},
		{`{"type":"array","items":{"type":"integer"}}`, "form", `["5"," 6"]`, false},
		{`{"type":"object","properties":{"a":{"type":"string"}}}`, "deepObject", `{"a":5}`, true},
		{`{"type":"object","properties":{"a":{"type":"string"}}}`, "json", `{"a":5}`, false},
		{`{"type":"string"}`, "json", `5`, false},
		{`{"type":"integer"}`, "json", `"5"`, false},
		{`{"type":"string"}`, "form", `true`, true},
	} {
		op := tool.Op("GET", "/x", tool.Parameter{Name: "a", In: "query", Style: c.style, Schema: json.RawMessage(c.schema)})
		if got := op.CheckResolved(schema.Compiler{}, tool.Arguments{Path: "/x", Query: json.RawMessage(`{"a":` + c.value + `}`)}); (len(got) == 0) != c.fits {
			t.Errorf("%s %s %s: %v", c.schema, c.style, c.value, got)
		}
	}
	path := tool.Op("GET", "/x/{n}", tool.Parameter{Name: "n", In: "path", Schema: json.RawMessage(`{"type":"integer"}`)})
	for at, fits := range map[string]bool{"/x/1": true, "/x/%201%20": false, "/x/1%0A": false, "/x/+1": false} {
		if got := path.CheckResolved(schema.Compiler{}, tool.Arguments{Path: at}); (len(got) == 0) != fits {
			t.Errorf("%s: %v", at, got)
		}
	}
}
