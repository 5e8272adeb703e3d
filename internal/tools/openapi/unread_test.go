package openapi

import (
	"fmt"
	"strings"
	"testing"

	"piloto/internal/ground/locale"
	"piloto/internal/tools/tool"
)

// manyParameters returns a list of n optional parameters, and a required one.
func manyParameters(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"name":"p%d","in":"query"},`, i)
	}
	return `"parameters":[` + b.String() + `{"name":"If-Match","in":"header","required":true,"schema":{"type":"string"}}]`
}

// TestWhatCannotBeReadIsRefused: an operation of which the document says something that cannot be read is refused, with the place
// in the document, unless it works without that. Nobody knows what it would have required.
func TestWhatCannotBeReadIsRefused(t *testing.T) {
	const (
		at    = "https://api.example.com"
		two   = `,"swagger":"2.0"`
		twice = `"required":true,"content":{"application/json":{"schema":{"$ref":"order.json"}},"application/x-www-form-urlencoded":{"schema":{"type":"object"}}}`
	)
	parameter := func(one string) string { return `"parameters":[{"name":"q","in":"query"},` + one + `]` }
	body := func(schema string) string {
		return `"requestBody":{"required":true,"content":{"application/json":{"schema":` + schema + `}}}`
	}
	schemes := func(one string) string {
		return `,"components":{"securitySchemes":{"k":` + one + `,"t":{"type":"oauth2"}}}`
	}
	loop := `,"components":{"parameters":{"A":{"$ref":"#/components/parameters/B"},"B":{"$ref":"#/components/parameters/A"}},"schemas":{"S":{"type":"string"},"Bad":{"$ref":"x.json#/S"},"Self":{"$ref":"#/components/schemas/Self"}}}`
	for name, c := range map[string]struct{ operation, document, want string }{
		"a parameter elsewhere":               {parameter(`{"$ref":"common.yaml#/IfMatch"}`), "", "parameters[1]: common.yaml#/IfMatch"},
		"a parameter on the web":              {parameter(`{"$ref":"https://x.example/p.json"}`), "", "parameters[1]: https://x.example/p.json"},
		"a parameter that is not there":       {parameter(`{"$ref":"#/components/parameters/No"}`), "", "parameters[1]: #/components/parameters/No"},
		"a parameter in a circle":             {parameter(`{"$ref":"#/components/parameters/A"}`), loop, "parameters[1]: #/components/parameters/B"},
		"a parameter that is a schema":        {parameter(`{"$ref":"#/components/schemas/S"}`), loop, "parameters[1]"},
		"a reference that is none":            {parameter(`{"$ref":7}`), "", "parameters[1]: 7"},
		"a reference to nothing":              {parameter(`{"$ref":""}`), "", "parameters[1]: $ref"},
		"a text in the list":                  {parameter(`"If-Match"`), "", "parameters[1]"},
		"a list in the list":                  {parameter(`[{"name":"If-Match","in":"header","required":true}]`), "", "parameters[1]"},
		"nothing in the list":                 {parameter(`null`), "", ""},
		"no name":                             {parameter(`{"in":"header","required":true}`), "", "parameters[1]"},
		"no name, and nobody says needed":     {parameter(`{"in":"header"}`), "", "parameters[1]"},
		"no name, and not needed":             {parameter(`{"in":"header","required":false}`), "", ""},
		"a name that is none":                 {parameter(`{"name":["If-Match"],"in":"header","required":true}`), "", "parameters[1]"},
		"no place":                            {parameter(`{"name":"If-Match","required":true}`), "", "parameters[1]: If-Match"},
		"no place, and not needed":            {parameter(`{"name":"If-Match","required":false}`), "", ""},
		"a place that is none":                {parameter(`{"name":"If-Match","in":"headers","required":true}`), "", "If-Match (headers)"},
		"a place that is none, as text":       {parameter(`{"name":"If-Match","in":"headers","required":"true"}`), "", "If-Match (headers)"},
		"a place that is none, not needed":    {parameter(`{"name":"If-Match","in":"headers"}`), "", ""},
		"the whole query":                     {parameter(`{"name":"v","in":"querystring","required":true,"content":{"application/json":{}}}`), "", "v (querystring)"},
		"the whole query, not needed":         {parameter(`{"name":"v","in":"querystring"}`), "", ""},
		"a body of 2.0 in 3.0":                {parameter(`{"name":"b","in":"body","required":true}`), "", "b (body)"},
		"a content that is a list":            {parameter(`{"name":"v","in":"query","content":[{}]}`), "", ""},
		"a required content that is a list":   {parameter(`{"name":"v","in":"query","required":true,"content":[{}]}`), "", "v: content"},
		"a required content elsewhere":        {parameter(`{"name":"v","in":"query","required":true,"content":{"$ref":"c.yaml"}}`), "", "v: content: c.yaml"},
		"a required content's type elsewhere": {parameter(`{"name":"v","in":"query","required":true,"content":{"application/json":{"$ref":"c.yaml"}}}`), "", "v: application/json: c.yaml"},
		"a required content of nothing":       {parameter(`{"name":"v","in":"query","required":true,"content":{}}`), "", ""},
		"parameters by name":                  {`"parameters":{"If-Match":{"in":"header"}}`, "", "parameters"},
		"parameters as a text":                {`"parameters":"If-Match"`, "", "parameters"},
		"parameters elsewhere":                {`"parameters":{"$ref":"common.yaml"}`, "", "parameters: common.yaml"},
		"parameters in one place":             {`"parameters":{"$ref":"#/components/lists/a"}`, `,"components":{"lists":{"a":[{"name":"sid","in":"cookie","required":true}]}}`, "cookie sid"},
		"no parameters":                       {`"parameters":null`, "", ""},
		"no parameters by name":               {`"parameters":{}`, "", ""},
		"as many as are read":                 {manyParameters(maxParameters - 1), "", ""},
		"more than are read":                  {manyParameters(maxParameters), "", "parameters[500]"},
		"a required schema elsewhere":         {parameter(`{"name":"v","in":"query","required":true,"schema":{"$ref":"x.json#/S"}}`), "", "v: x.json#/S"},
		"a required schema, further on":       {parameter(`{"name":"v","in":"query","required":true,"schema":{"$ref":"#/components/schemas/Bad"}}`), loop, "v: x.json#/S"},
		"a schema elsewhere":                  {parameter(`{"name":"v","in":"query","schema":{"$ref":"x.json#/S"}}`), "", ""},
		"an operation elsewhere":              {`"$ref":"ops.yaml#/put"`, "", "$ref: ops.yaml#/put"},
		"an operation in the document":        {`"$ref":"#/x-op"`, `,"x-op":{"parameters":[{"name":"sid","in":"cookie","required":true}]}`, "cookie sid"},
		"an operation in two places":          {`"$ref":"#/x-op","parameters":[]`, `,"x-op":{}`, "$ref"},
		"servers that are a text":             {`"servers":"https://up.example.com"`, "", "servers"},
		"servers by name":                     {`"servers":{"url":"https://up.example.com"}`, "", "servers"},
		"servers of no address":               {`"servers":[{"$ref":"s.json"}]`, "", "servers"},
		"no servers":                          {`"servers":[]`, "", ""},
		"a body elsewhere":                    {`"requestBody":{"$ref":"bodies.yaml#/Order"}`, "", "requestBody: bodies.yaml#/Order"},
		"a body that is not there":            {`"requestBody":{"$ref":"#/components/requestBodies/No"}`, "", "requestBody: #/components/requestBodies/No"},
		"a body that is a list":               {`"requestBody":[]`, "", "requestBody"},
		"a body that is a text":               {`"requestBody":"Order"`, "", "requestBody"},
		"a body that is a text elsewhere":     {`"requestBody":{"$ref":"#/info/title"}`, `,"info":{"title":"x"}`, "requestBody"},
		"a body of a reference that is none":  {`"requestBody":{"$ref":7}`, "", "requestBody: 7"},
		"no body":                             {`"requestBody":null`, "", ""},
		"a body of nothing":                   {`"requestBody":{}`, "", ""},
		"a content that is a text":            {`"requestBody":{"content":"application/json"}`, "", "requestBody.content"},
		"a content of a list":                 {`"requestBody":{"content":["application/json"]}`, "", "requestBody.content"},
		"a content elsewhere":                 {`"requestBody":{"content":{"$ref":"c.yaml"}}`, "", "requestBody.content: c.yaml"},
		"a type elsewhere":                    {`"requestBody":{"content":{"application/json":{"$ref":"c.yaml"}}}`, "", "application/json: c.yaml"},
		"a type that is a text":               {`"requestBody":{"content":{"application/json":"Order"}}`, "", "application/json"},
		"a type of nothing":                   {`"requestBody":{"content":{"application/json":null}}`, "", ""},
		"a type elsewhere, and another":       {`"requestBody":{"content":{"application/json":{"$ref":"c.yaml"},"text/plain":{}}}`, "", ""},
		"a type elsewhere, not needed":        {`"requestBody":{"required":false,"content":{"application/json":{"$ref":"c.yaml"}}}`, "", ""},
		"a required body's schema":            {body(`{"$ref":"order.json"}`), "", "application/json: order.json"},
		"a required body's schema, or not":    {`"requestBody":{` + twice + `}`, "", ""},
		"a required part":                     {body(`{"allOf":[{"type":"object"},{"$ref":"order.json"}]}`), "", "application/json: order.json"},
		"one of two":                          {body(`{"oneOf":[{"type":"object"},{"$ref":"order.json"}]}`), "", ""},
		"each of two":                         {body(`{"anyOf":[{"$ref":"a.json"},{"$ref":"b.json"}]}`), "", "application/json: a.json"},
		"a required member":                   {body(`{"required":["a"],"properties":{"a":{"$ref":"a.json"}}}`), "", "application/json: a.json"},
		"a member":                            {body(`{"properties":{"a":{"$ref":"a.json"}}}`), "", ""},
		"a required member of the service":    {body(`{"required":["a"],"properties":{"a":{"readOnly":true,"allOf":[{"$ref":"a.json"}]}}}`), "", ""},
		"elements that must be there":         {body(`{"type":"array","minItems":1,"items":{"$ref":"a.json"}}`), "", "application/json: a.json"},
		"elements":                            {body(`{"type":"array","items":{"$ref":"a.json"}}`), "", ""},
		"a schema of itself":                  {body(`{"$ref":"#/components/schemas/Self"}`), loop, ""},
		"a schema that nobody needs":          {`"requestBody":{"content":{"application/json":{"schema":{"$ref":"order.json"}}}}`, "", ""},
		"security as a text":                  {`"security":"k"`, schemes(`{"type":"oauth2"}`), "security"},
		"security by name":                    {`"security":{"k":[]}`, schemes(`{"type":"oauth2"}`), ""},
		"security of texts":                   {`"security":["k"]`, schemes(`{"type":"oauth2"}`), "security"},
		"security of texts, or a key":         {`"security":["k",{"t":[]}]`, schemes(`{"type":"oauth2"}`), ""},
		"a scheme elsewhere":                  {`"security":[{"k":[]}]`, schemes(`{"$ref":"sec.yaml#/k"}`), "securitySchemes.k: sec.yaml#/k"},
		"a scheme that is not there":          {`"security":[{"k":[]}]`, schemes(`{"$ref":"#/components/securitySchemes/No"}`), "securitySchemes.k: #/components/securitySchemes/No"},
		"a scheme elsewhere, and a key":       {`"security":[{"k":[],"t":[]}]`, schemes(`{"$ref":"sec.yaml#/k"}`), "securitySchemes.k: sec.yaml#/k"},
		"a scheme elsewhere, or a key":        {`"security":[{"k":[]},{"t":[]}]`, schemes(`{"$ref":"sec.yaml#/k"}`), ""},
		"a scheme elsewhere, or none":         {`"security":[{"k":[]},{}]`, schemes(`{"$ref":"sec.yaml#/k"}`), ""},
		"a scheme that nobody wants":          {`"security":[{"t":[]}]`, schemes(`{"$ref":"sec.yaml#/k"}`), ""},
		"the document's scheme elsewhere":     {"", `,"security":[{"k":[]}]` + schemes(`{"$ref":"sec.yaml#/k"}`), "securitySchemes.k: sec.yaml#/k"},
		"the document's, as a text":           {"", `,"security":"k"`, "security"},
		"a response elsewhere":                {`"responses":{"200":{"$ref":"r.yaml"}},"x":1`, "", ""},
		"2.0, a parameter elsewhere":          {parameter(`{"$ref":"common.yaml#/IfMatch"}`), two, "parameters[1]: common.yaml#/IfMatch"},
		"2.0, a body elsewhere":               {parameter(`{"name":"b","in":"body","required":true,"schema":{"$ref":"order.json"}}`), two, "application/json: order.json"},
		"2.0, a place that is none":           {parameter(`{"name":"b","in":"form","required":true,"type":"string"}`), two, "b (form)"},
		"2.0, two bodies":                     {`"parameters":[{"name":"a","in":"body","required":true,"schema":{}},{"name":"b","in":"body","schema":{}}]`, two, "a (body)"},
		"2.0, a body and a form":              {`"parameters":[{"name":"a","in":"body","schema":{}},{"name":"b","in":"formData","required":true,"type":"string"}]`, two, "b (formData)"},
		"2.0, a body and an optional form":    {`"parameters":[{"name":"a","in":"body","schema":{}},{"name":"b","in":"formData","type":"string"}]`, two, ""},
		"2.0, a scheme elsewhere":             {`"security":[{"k":[]}]`, two + `,"securityDefinitions":{"k":{"$ref":"sec.yaml"}}`, "securityDefinitions.k: sec.yaml"},
	} {
		op, _ := operationOf(t, at, c.operation, c.document)
		got := ""
		if op.Refused != nil {
			if got = op.Refused.What; op.Refused.Reason != tool.RefusedUnread {
				got = op.Refused.Reason + " " + got
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	for _, tag := range []locale.Tag{locale.Spanish, locale.English} {
		r := tool.Refusal{Reason: tool.RefusedUnread, What: "parameters[1]: a.yaml"}
		if text := r.Phrase().In(tag); !strings.Contains(text, r.What) || strings.Contains(text, "fault.") {
			t.Error(text)
		}
	}
}

// TestWhatAPathSaysOfAllCannotBeRead: what cannot be read of a path refuses each of its operations, and none of another path.
func TestWhatAPathSaysOfAllCannotBeRead(t *testing.T) {
	for path, want := range map[string]string{
		`"parameters":[{"$ref":"./p.json#/IfMatch"}]`:                                "parameters[0]: ./p.json#/IfMatch",
		`"parameters":[{"$ref":"#/components/parameters/No"},{"name":"a","in":"x"}]`: "parameters[0]: #/components/parameters/No",
		`"parameters":{"a":{}}`: "parameters",
		`"parameters":[{"name":"v","in":"querystring","required":true}]`:               "v (querystring)",
		`"servers":"https://up.example.com"`:                                           "servers",
		`"$ref":"#/x-item","parameters":[{"$ref":"p.json"}]`:                           "parameters[0]: p.json",
		`"$ref":"#/x-item","parameters":[{"name":"s","in":"nowhere","required":true}]`: "s (nowhere)",
		`"$ref":"#/x-far"`:                         "parameters[0]: far.json",
		`"parameters":[{"name":"a","in":"query"}]`: "",
	} {
		text := fmt.Sprintf(`{"openapi":"3.1.0","x-item":{"get":{},"put":{}},"x-far":{"$ref":"#/x-item","parameters":[{"$ref":"far.json"}]},"paths":{"/o":{%s,"get":{},"put":{}},"/other":{"get":{}}}}`, path)
		found, err := parse(t.Context(), text, "https://api.example.com/openapi.json", "https://api.example.com")
		if err != nil || len(found.Operations) != 3 {
			t.Fatal(path, err, len(found.Operations))
		}
		for i, op := range found.Operations {
			got := ""
			if op.Refused != nil {
				got = op.Refused.What
			}
			if i == 2 && got != "" || i < 2 && got != want {
				t.Errorf("%s: %s %q, want %q", path, op, got, want)
			}
		}
	}
}

// TestSchemesThatAreNotReadRefuseTheirOperations: only so many schemes are read, and an operation that needs another is refused.
func TestSchemesThatAreNotReadRefuseTheirOperations(t *testing.T) {
	var b strings.Builder
	for i := range maxSchemes + 1 {
		fmt.Fprintf(&b, `,"k%d":{"type":"apiKey","in":"header","name":"X-K%d"}`, i, i)
	}
	document := `,"components":{"securitySchemes":{` + b.String()[1:] + `}}`
	op, _ := operationOf(t, "https://api.example.com", fmt.Sprintf(`"security":[{"k%d":[]}]`, maxSchemes), document)
	if op.Refused == nil || op.Refused.What != "securitySchemes.k100" {
		t.Errorf("%+v", op.Refused)
	}
	op, found := operationOf(t, "https://api.example.com", `"security":[{"k99":[]}]`, document)
	if op.Refused != nil || len(found.KeyPlaces) != maxSchemes {
		t.Errorf("%+v, %d places", op.Refused, len(found.KeyPlaces))
	}
}
