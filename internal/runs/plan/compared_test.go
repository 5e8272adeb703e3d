package plan_test

import (
	"encoding/json"
	"testing"

	"piloto/internal/runs/plan"
)

// TestWhatNoPersonSeesMakesNoOtherRequest, and what is sent to do something else makes one.
func TestWhatNoPersonSeesMakesNoOtherRequest(t *testing.T) {
	sum := func(method, path, headers, body string) string {
		t.Helper()
		p := plan.Plan{Steps: []plan.Step{{ID: plan.EffectOf("s1"), MCPID: "m", Method: method, Path: path, Headers: json.RawMessage(headers), Body: json.RawMessage(body), Risk: plan.Write}}}
		p.Bindings = []plan.Binding{{StepID: plan.EffectOf("s1"), BaseURL: "https://api.example"}}
		s, err := p.Requests()
		if err != nil {
			t.Fatal(err)
		}
		return s[0][0]
	}
	type request struct{ method, path, headers, body string }
	for name, c := range map[string]struct {
		a, b request
		same bool
	}{
		"a member that is null":     {request{"POST", "/o", "", `{"sku":"té"}`}, request{"POST", "/o", "", `{"sku":"té","x":null}`}, true},
		"a null inside of a list":   {request{"POST", "/o", "", `{"l":[1,{"a":1}]}`}, request{"POST", "/o", "", `{"l":[1,{"a":1,"b":null}]}`}, true},
		"a null element":            {request{"POST", "/o", "", `{"l":[1]}`}, request{"POST", "/o", "", `{"l":[1,null]}`}, false},
		"what a PATCH removes":      {request{"PATCH", "/o", "", `{"sku":"té"}`}, request{"PATCH", "/o", "", `{"sku":"té","x":null}`}, false},
		"decomposed letters":        {request{"POST", "/o", "", `{"sku":"té"}`}, request{"POST", "/o", "", `{"sku":"te\u0301"}`}, true},
		"without a width":           {request{"POST", "/o", "", `{"sku":"té"}`}, request{"POST", "/o", "", `{"sku":"t\u200bé\ufeff"}`}, true},
		"blanks around":             {request{"POST", "/o", "", `{"sku":"té"}`}, request{"POST", "/o", "", `{"sku":" té\u00a0"}`}, true},
		"blanks inside":             {request{"POST", "/o", "", `{"sku":"te verde"}`}, request{"POST", "/o", "", `{"sku":"teverde"}`}, false},
		"another case":              {request{"POST", "/o", "", `{"sku":"abC"}`}, request{"POST", "/o", "", `{"sku":"abc"}`}, false},
		"another number":            {request{"POST", "/o", "", `{"n":12345678901234567890}`}, request{"POST", "/o", "", `{"n":12345678901234500000}`}, false},
		"a number as a text":        {request{"POST", "/o", "", `{"n":1}`}, request{"POST", "/o", "", `{"n":"1"}`}, false},
		"an accent":                 {request{"POST", "/o", "", `{"sku":"té"}`}, request{"POST", "/o", "", `{"sku":"te"}`}, false},
		"the name of a header":      {request{"POST", "/o", `{"If-Match":"a"}`, ``}, request{"POST", "/o", `{"if-match":"a"}`, ``}, true},
		"the value of a header":     {request{"POST", "/o", `{"If-Match":"a"}`, ``}, request{"POST", "/o", `{"If-Match":"A"}`, ``}, false},
		"no header":                 {request{"POST", "/o", `{}`, ``}, request{"POST", "/o", ``, ``}, true},
		"an empty body":             {request{"POST", "/o", ``, `{}`}, request{"POST", "/o", ``, ``}, false},
		"escapes of an address":     {request{"DELETE", "/o/t%C3%A9", ``, ``}, request{"DELETE", "/o/te%CC%81%E2%80%8B", ``, ``}, true},
		"an escaped separator":      {request{"DELETE", "/o/a%2Fb", ``, ``}, request{"DELETE", "/o/a/b", ``, ``}, false},
		"a reference in an address": {request{"DELETE", "/o/${s0.body.id}", ``, ``}, request{"DELETE", "/o/${s0.body.no}", ``, ``}, false},
	} {
		a, b := sum(c.a.method, c.a.path, c.a.headers, c.a.body), sum(c.b.method, c.b.path, c.b.headers, c.b.body)
		if (a == b) != c.same {
			t.Errorf("%s: the same: %v", name, a == b)
		}
	}
}
