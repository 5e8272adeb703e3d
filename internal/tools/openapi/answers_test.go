package openapi

import (
	"strings"
	"testing"

	"piloto/internal/tools/tool"
)

func TestADocumentSaysWhetherJSONIsAllThatAnOperationAnswers(t *testing.T) {
	const v3, v2 = `"openapi":"3.0.3"`, `"swagger":"2.0"`
	for name, c := range map[string]struct {
		version, responses, more string
		want                     bool
	}{
		"JSON":                       {v3, `{"201":{"description":"","content":{"application/json":{}}}}`, "", true},
		"its relatives":              {v3, `{"2XX":{"description":"","content":{"application/hal+json; charset=utf-8":{}}}}`, "", true},
		"JSON or nothing":            {v3, `{"200":{"description":"","content":{"application/json":{}}},"204":{"description":""}}`, "", true},
		"a page too":                 {v3, `{"200":{"description":"","content":{"application/json":{},"text/html":{}}}}`, "", false},
		"a page with another status": {v3, `{"200":{"description":"","content":{"application/json":{}}},"202":{"description":"","content":{"text/html":{}}}}`, "", false},
		"anything":                   {v3, `{"200":{"description":"","content":{"*/*":{}}}}`, "", false},
		"nothing said":               {v3, `{"200":{"description":"ok"}}`, "", false},
		"only of errors":             {v3, `{"400":{"description":"","content":{"application/json":{}}}}`, "", false},
		"nothing, and errors":        {v3, `{"204":{"description":""},"default":{"description":"","content":{"application/json":{}}}}`, "", false},
		"by default":                 {v3, `{"default":{"description":"","content":{"application/json":{}}}}`, "", true},
		"elsewhere":                  {v3, `{"200":{"$ref":"#/components/responses/ok"}}`, `,"components":{"responses":{"ok":{"description":"","content":{"application/json":{}}}}}`, true},
		"Swagger 2":                  {v2, `{"200":{"description":"","schema":{"type":"object"}}}`, `,"produces":["application/json"]`, true},
		"Swagger 2, a page too":      {v2, `{"200":{"description":"","schema":{"type":"object"}}}`, `,"produces":["application/json","text/html"]`, false},
		"Swagger 2, nothing said":    {v2, `{"200":{"description":"","schema":{"type":"object"}}}`, ``, false},
		"Swagger 2, no content":      {v2, `{"200":{"description":""}}`, `,"produces":["application/json"]`, false},
	} {
		text := `{` + c.version + `,"info":{"title":"t","version":"1"},"paths":{"/pay":{"post":{"responses":` + c.responses + `}}}` + c.more + `}`
		found, err := parseAt(t.Context(), []byte(text), "https://a.example/openapi.json")
		if err != nil || len(found.Operations) != 1 || found.Operations[0].JSONOnly != c.want {
			t.Errorf("%s: %v %+v", name, err, found.Operations)
		}
	}
}

func TestADocumentListsTheMembersOfAnAnswer(t *testing.T) {
	const more = `,"components":{"schemas":{"Base":{"type":"object","properties":{"id":{"type":"string"}}}}}`
	ok := func(schema string) string {
		return `{"200":{"description":"","content":{"application/json":{"schema":` + schema + `}}}}`
	}
	for name, c := range map[string]struct{ responses, want string }{
		"its members":           {ok(`{"type":"object","properties":{"state":{},"at":{"type":"string"}}}`), "at state"},
		"of its parts":          {ok(`{"allOf":[{"$ref":"#/components/schemas/Base"},{"properties":{"state":{}}}]}`), "id state"},
		"one of several":        {ok(`{"oneOf":[{"$ref":"#/components/schemas/Base"},{"properties":{"state":{}}}]}`), ""},
		"others too":            {ok(`{"properties":{"state":{}},"additionalProperties":true}`), ""},
		"no others":             {ok(`{"properties":{"state":{}},"additionalProperties":false}`), "state"},
		"a list":                {ok(`{"type":"array","items":{"properties":{"state":{}}}}`), ""},
		"nothing of the schema": {ok(`{}`), ""},
		"in another document":   {ok(`{"$ref":"other.json"}`), ""},
		"two answers": {
			`{"200":{"description":"","content":{"application/json":{"schema":{"properties":{"a":{}}}}}},"202":{"description":"","content":{"application/json":{"schema":{"properties":{"b":{}}}}}}}`, "",
		},
	} {
		text := `{"openapi":"3.0.3","info":{"title":"t","version":"1"},"paths":{"/pay":{"get":{"responses":` + c.responses + `}}}` + more + `}`
		found, err := parseAt(t.Context(), []byte(text), "https://a.example/openapi.json")
		if err != nil || len(found.Operations) != 1 || strings.Join(found.Operations[0].AnswerMembers, " ") != c.want {
			t.Errorf("%s: %v %+v", name, err, found.Operations)
		}
	}
}

func TestADocumentGivesMembersOfAnAnswerTitles(t *testing.T) {
	const more = `,"components":{"schemas":{
		"Room":{"title":"Room","type":"object","properties":{"id":{"title":"Code"},"price":{"type":"integer","title":"Price per hour"},"of":{"$ref":"#/components/schemas/Room"}}}}}`
	ok := func(schema string) string {
		return `{"200":{"description":"","content":{"application/json":{"schema":` + schema + `}}},"404":{"description":"","content":{"application/json":{"schema":{"properties":{"why":{"title":"Reason"}}}}}}}`
	}
	for name, c := range map[string]struct{ responses, want string }{
		"a thing":          {ok(`{"$ref":"#/components/schemas/Room"}`), "id=Code price=Price per hour"},
		"a list":           {ok(`{"type":"object","properties":{"items":{"title":"Rooms","type":"array","items":{"$ref":"#/components/schemas/Room"}}}}`), "id=Code items=Rooms price=Price per hour"},
		"parts":            {ok(`{"allOf":[{"$ref":"#/components/schemas/Room"},{"properties":{"n":{"title":"Number"}}}]}`), "id=Code n=Number price=Price per hour"},
		"two titles":       {ok(`{"properties":{"a":{"properties":{"n":{"title":"One"},"m":{"title":"M"}}},"b":{"properties":{"n":{"title":"Two"}}},"c":{"properties":{"n":{"title":"Two"}}}}}`), "m=M"},
		"no title":         {ok(`{"properties":{"a":{"description":"The identifier"},"b":{"title":""},"c":{"title":7},"d":true}}`), ""},
		"a long one":       {ok(`{"properties":{"a":{"title":"` + strings.Repeat("word ", 9) + `"}}}`), ""},
		"more than a line": {ok(`{"properties":{"a":{"title":"One\n\u202eTwo"}}}`), "a=One Two"},
		"nothing":          {`{"204":{"description":""}}`, ""},
	} {
		text := `{"openapi":"3.0.3","info":{"title":"t","version":"1"},"paths":{"/pay":{"get":{"responses":` + c.responses + `}}}` + more + `}`
		found, err := parseAt(t.Context(), []byte(text), "https://a.example/openapi.json")
		if err != nil || len(found.Operations) != 1 {
			t.Fatalf("%s: %v", name, err)
		}
		var got []string
		for _, n := range found.Operations[0].AnswerNames {
			got = append(got, n.Name+"="+n.Label)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestATitleOfWhatIsSentIsItsLabel(t *testing.T) {
	text := `{"openapi":"3.0.3","info":{"title":"t","version":"1"},"paths":{"/pay":{"post":{"requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{
		"thing_id":{"type":"string","title":"Thing"},"n":{"type":"integer","description":"How many"},"both":{"type":"string","title":"Short","description":"Longer"},"none":{"type":"string"}}}}}},"responses":{}}}}}`
	found, err := parseAt(t.Context(), []byte(text), "https://a.example/openapi.json")
	if err != nil || len(found.Operations) != 1 {
		t.Fatal(err)
	}
	var got []string
	for _, l := range found.Operations[0].Labels(tool.Arguments{Method: "POST", Path: "/pay", Body: []byte(`{"thing_id":"a","n":1,"both":"b","none":"c"}`)}) {
		got = append(got, l.Name+"="+l.Label)
	}
	if text := strings.Join(got, " "); text != "thing_id=Thing n=How many both=Short none=" {
		t.Error(text)
	}
}
