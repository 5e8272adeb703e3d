package openapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"piloto/internal/tools/tool"
)

// TestAParameterIsWrittenAsItsDocumentSaysOrNotSent: an operation that requires a parameter in another style is refused, and an
// optional one is left out with a warning.
func TestAParameterIsWrittenAsItsDocumentSaysOrNotSent(t *testing.T) {
	const texts, object, one, two = `"type":"array","items":{"type":"string"}`, `"type":"object"`, `"type":"string"`, `,"swagger":"2.0"`
	of3 := func(in, members, schema string) string {
		return fmt.Sprintf(`"in":%q,"name":"l",%s"schema":{%s}`, in, members, schema)
	}
	of2 := func(in, format, schema string) string {
		return fmt.Sprintf(`"in":%q,"name":"l","collectionFormat":%s,%s`, in, format, schema)
	}
	content := func(in, types string) string { return fmt.Sprintf(`"in":%q,"name":"l","content":{%s}`, in, types) }
	for _, c := range []struct{ parameter, document, want string }{
		{of3("query", ``, texts), "", "form true"},
		{of3("query", `"style":null,"explode":null,`, texts), "", "form true"},
		{of3("query", `"style":"label",`, texts), "", "style label"},
		{of3("query", `"style":"matrix",`, object), "", "style matrix"},
		{of3("query", `"style":"simple",`, texts), "", "style simple"},
		{of3("query", `"style":"zigzag",`, one), "", "style zigzag"},
		{of3("query", `"style":"tabDelimited",`, texts), "", "style tabDelimited"},
		{of3("query", `"style":5,`, texts), "", "style 5"},
		{of3("query", `"style":["form"],`, texts), "", "style"},
		{of3("query", `"style":"simple",`, ``), "", "style simple"},
		{of3("query", `"style":"simple",`, one), "", "form true"},
		{of3("query", `"style":"deepObject",`, object), "", "deepObject false"},
		{of3("query", `"explode":"false",`, texts), "", "form false !"},
		{of3("query", `"explode":"true","style":"pipeDelimited",`, texts), "", "pipeDelimited true !"},
		{of3("query", `"explode":"no",`, texts), "", "form false !"},
		{of3("query", `"explode":"maybe",`, texts), "", "explode maybe"},
		{of3("query", `"explode":2,`, object), "", "explode 2"},
		{of3("query", `"explode":"maybe",`, one), "", "form true"},
		{of3("header", `"style":"form",`, texts), "", "style form"},
		{of3("header", `"style":"form",`, one), "", "form false"},
		{of3("header", `"style":"simple","explode":true,`, texts), "", "form true"},
		{of3("header", `"style":"pipeDelimited",`, texts), "", "style pipeDelimited"},
		{content("query", `"application/json":{"schema":{"type":"object"}}`), "", "json false"},
		{content("query", `"application/vnd.x+json":{"schema":{"type":"object"}}`), "", "json false"},
		{content("query", `"application/xml":{"schema":{"type":"object"}}`), "", "content application/xml"},
		{content("query", `"application/xml":{"schema":{"type":"string"}}`), "", "form false"},
		{content("query", `"application/x-www-form-urlencoded":{"schema":{"type":"object"}}`), "", "content application/x-www-form-urlencoded"},
		{content("query", `"text/plain; charset=iso-8859-1":{"schema":{"type":"string"}}`), "", "content text/plain; charset=iso-8859-1"},
		{content("query", `"image/png":{}`), "", "content image/png"},
		{content("query", `"application/xml":{"schema":{"type":"object"}},"application/json":{}`), "", "json false"},
		{content("header", `"application/xml":{"schema":{"type":"array","items":{"type":"string"}}}`), "", "content application/xml"},
		{of2("query", `"multi"`, texts), two, "form true"},
		{of2("query", `"pipes"`, texts), two, "pipeDelimited false"},
		{of2("query", `"tabs"`, texts), two, "collectionFormat tabs"},
		{of2("query", `5`, texts), two, "collectionFormat 5"},
		{of2("query", `null`, texts), two, "form false"},
		{of2("query", `"tabs"`, one), two, "form false"},
		{of2("header", `"multi"`, texts), two, "collectionFormat multi"},
		{of2("query", `"csv"`, `"type":"array","items":{`+texts+`,"collectionFormat":"pipes"}`), two, "lists in a list"},
	} {
		for _, required := range []bool{true, false} {
			op, found := operationOf(t, "https://a.example", fmt.Sprintf(`"parameters":[{"required":%v,%s}]`, required, c.parameter), c.document)
			got := ""
			at := slices.IndexFunc(op.Parameters, func(p tool.Parameter) bool { return p.Name == "l" })
			warned := strings.Join(found.Warnings, "\n")
			switch {
			case op.Refused != nil && op.Refused.Reason == tool.RefusedStyle:
				got = strings.TrimPrefix(op.Refused.What, "l: ")
			case op.Refused != nil:
				t.Errorf("%s: %+v", c.parameter, op.Refused)
			case at < 0:
				_, got, _ = strings.Cut(warned, "(")
				got = strings.TrimSpace(strings.TrimSuffix(got, ")"))
			default:
				p := op.Parameters[at]
				if got = fmt.Sprint(p.Style, " ", p.Explode); p.Style == "" {
					got = "form" + got
				}
				if warned != "" {
					got += " !"
				}
			}
			if isRefused := op.Refused != nil; got != c.want || isRefused && !required || at >= 0 == isRefused && required {
				t.Errorf("%s, required %v: %q, want %q: %v %q", c.parameter, required, got, c.want, op.Refused, warned)
			}
		}
	}
}

// TestAPathIsWrittenInOneStyle: a path is written by who calls, who knows one style.
func TestAPathIsWrittenInOneStyle(t *testing.T) {
	for parameter, want := range map[string]string{
		`"schema":{"type":"array"}`:                                         "",
		`"style":"simple","schema":{"type":"array"}`:                        "",
		`"style":"label","schema":{"type":"string"}`:                        "l: style label",
		`"style":"zigzag","schema":{"type":"string"}`:                       "l: style zigzag",
		`"style":"form","schema":{"type":"string"}`:                         "",
		`"style":"form","schema":{"type":"array"}`:                          "l: style form",
		`"content":{"application/json":{"schema":{"type":"integer"}}}`:      "",
		`"content":{"application/json":{"schema":{"type":"string"}}}`:       "l: content application/json",
		`"content":{"application/json":{"schema":{"type":"object"}}}`:       "l: content application/json",
		`"content":{"text/plain":{"schema":{"type":"string"}}}`:             "",
		`"type":"array","items":{"type":"string"}`:                          "",
		`"type":"array","items":{"type":"string"},"collectionFormat":"ssv"`: "l: collectionFormat ssv",
	} {
		version := `"openapi":"3.0.3"`
		if strings.HasPrefix(parameter, `"type"`) {
			version = `"swagger":"2.0"`
		}
		found, err := parse(t.Context(), fmt.Sprintf(`{%s,"paths":{"/o/{l}":{"get":{"parameters":[{"in":"path","name":"l","required":true,%s}]}}}}`, version, parameter),
			"https://a.example/x.json", "https://a.example")
		got := ""
		if err == nil && found.Operations[0].Refused != nil {
			got = found.Operations[0].Refused.What
		}
		if err != nil || got != want {
			t.Errorf("%s: %q, want %q (%v)", parameter, got, want, err)
		}
	}
}

// member is one of a form: its schema, how the document encodes it, and what becomes of it where the form requires it.
type member struct{ schema, encoding, want string }

// TestAMemberOfAFormIsSentAsItsDocumentSaysOrNot: a form that requires a member that cannot be written is refused, and an
// optional member is left out with a warning, and no call may give it.
func TestAMemberOfAFormIsSentAsItsDocumentSaysOrNot(t *testing.T) {
	const one, texts, object, closed = `{"type":"string"}`, `{"type":"array","items":{"type":"string"}}`, `{"type":"object"}`, `{"type":"object","properties":{"a":{"type":"string"}}}`
	header := func(name, schema string) string {
		return fmt.Sprintf(`{"headers":{%q:{"required":true,"schema":{%s}}}}`, name, schema)
	}
	both := []member{
		{object, ``, ""},
		{object, `null`, ""},
		{object, `{"contentType":"application/json"}`, ""},
		{object, `{"contentType":"application/xml"}`, "part m: application/xml"},
		{closed, `{"contentType":"application/yaml"}`, "part m: application/yaml"},
		{closed, `{"contentType":"text/plain"}`, "part m: text/plain"},
		{closed, `{"contentType":"text/*"}`, "part m: text/*"},
		{closed, `{"contentType":"application/x-www-form-urlencoded"}`, "part m: application/x-www-form-urlencoded"},
		{closed, `{"contentType":"application/xml, application/json"}`, ""},
		{one, `{"contentType":"application/xml"}`, ""},
		{`{"oneOf":[{"type":"string"},{"type":"object"}]}`, `{"contentType":"application/xml"}`, ""},
		{texts, `{"contentType":"text/csv"}`, ""},
		{`{"type":"array","items":{"type":"object"}}`, `{"contentType":"text/csv"}`, "part m: text/csv"},
		{one, `{"contentType":"multipart/form-data"}`, "part m: multipart/form-data"},
		{one, `{"contentType":"text/plain; charset=iso-8859-1"}`, "part m: text/plain; charset=iso-8859-1"},
		{one, `{"contentType":"image/png"}`, "file m"},
		{one, `{"contentType":7}`, "part m: 7"},
		{one, `{"contentType":["text/plain"]}`, "part m: contentType"},
		{one, `"text/plain"`, "part m: encoding"},
		{texts, `{"style":"label"}`, "part m: style label"},
		{texts, `{"style":"simple"}`, "part m: style simple"},
		{texts, `{"style":"zigzag","contentType":"text/plain"}`, "part m: style zigzag"},
		{one, `{"style":"zigzag"}`, "part m: style zigzag"},
		{texts, `{"style":5}`, "part m: style 5"},
		{texts, `{"explode":"perhaps"}`, "part m: explode perhaps"},
		{texts, `{"allowReserved":true}`, ""},
		{texts, `{"$ref":"#/components/x"}`, ""},
		{texts, `{"$ref":"#/components/y"}`, "part m: style label"},
		{texts, `{"$ref":"#/components/none"}`, "part m: encoding"},
		{texts, `{"$ref":"other.yaml#/x"}`, "part m: encoding"},
	}
	parts := []member{
		{one, header("X-Part", `"type":"string"`), "part m: header X-Part"},
		{one, header("X-Part", `"enum":["a","b"]`), "part m: header X-Part"},
		{one, header("X-Part", `"default":"a\nb"`), "part m: header X-Part"},
		{one, header("X Part", `"default":"a"`), "part m: header X Part"},
		{one, header("Content-Disposition", `"type":"string"`), ""},
		{one, header("Content-Disposition", `"const":"attachment"`), "part m: header Content-Disposition"},
		{one, header("Content-Length", `"const":7`), "part m: header Content-Length"},
		{one, header("Content-Type", `"const":"text/x"`), ""},
		{one, header("Content-Transfer-Encoding", `"enum":["base64"]`), "part m: header Content-Transfer-Encoding"},
		{`{"type":"string","contentEncoding":"base64"}`, header("Content-Transfer-Encoding", `"enum":["base64"]`), ""},
		{one, header("Content-Transfer-Encoding", `"enum":["8bit"]`), ""},
		{one, header("Content-ID", `"enum":["m1"]`), ""},
		{one, header("X-Part", `"$ref":"#/components/schemas/Only"`), ""},
		{one, `{"headers":{"X-Part":{"schema":{"type":"string"}}}}`, ""},
		{one, `{"headers":{"X-Part":{"$ref":"#/components/headers/Only"}}}`, ""},
		{one, `{"headers":{"X-Part":{"$ref":"#/components/headers/Usual"}}}`, "part m: header X-Part"},
		{one, `{"headers":{"X-Part":{"$ref":"#/components/headers/None"}}}`, "part m: header X-Part"},
		{one, `{"headers":["X-Part"]}`, "part m: headers"},
	}
	for _, m := range append(slices.Clone(both), parts...) {
		checkMember(t, "multipart/form-data", m)
	}
	for _, m := range both {
		checkMember(t, "application/x-www-form-urlencoded", m)
	}
	for _, m := range parts { // another form has no headers
		checkMember(t, "application/x-www-form-urlencoded", member{m.schema, m.encoding, ""})
	}
}

func checkMember(t *testing.T, media string, m member) {
	t.Helper()
	const components = `,"components":{"x":{"explode":false},"y":{"style":"label"},"schemas":{"Only":{"enum":["a"]}},"headers":{"Only":{"required":true,"schema":{"const":"a"}},"Usual":{"required":true,"schema":{"default":"a"}}}}`
	encoding := ""
	if m.encoding != "" {
		encoding = `,"encoding":{"m":` + m.encoding + `}`
	}
	for _, required := range []string{`,"required":["m"]`, ``, `,"required":["a"]`} {
		op, found := operationOf(t, "https://a.example", fmt.Sprintf(
			`"requestBody":{"required":true,"content":{%q:{"schema":{"type":"object","properties":{"a":{"type":"string"},"m":%s}%s}%s}}}`, media, m.schema, required, encoding), components)
		got, optional := "", strings.Contains(required, `"a"`)
		switch {
		case op.Refused != nil:
			got = op.Refused.Reason + " " + op.Refused.What
		case strings.Contains(string(op.Body.Schema), `"m":false`):
			got = m.want
			if !optional || len(found.Warnings) != 1 || !strings.Contains(found.Warnings[0], " m is not sent") {
				t.Errorf("%s, %s%s: left out with %q", media, m.encoding, required, found.Warnings)
			}
		case len(found.Warnings) > 0:
			t.Errorf("%s, %s%s: %q", media, m.encoding, required, found.Warnings)
		}
		if got != m.want || optional && op.Refused != nil {
			t.Errorf("%s, %s%s: %q %v, want %q", media, m.encoding, required, got, op.Refused, m.want)
		}
	}
}

// TestWhatAnEncodingSaysOfOtherMembers: an encoding of what is no member of the form refuses nothing; where the schema has no
// members, the encoding names them.
func TestWhatAnEncodingSaysOfOtherMembers(t *testing.T) {
	for content, want := range map[string]string{
		`"schema":{"type":"object","properties":{"a":{"type":"string"}}},"encoding":{"z":{"style":"label"}}`:                  "",
		`"schema":{"type":"object","properties":{"a":{"type":"string"}},"required":["z"]},"encoding":{"z":{"style":"label"}}`: "z: style label",
		`"encoding":{"z":{"style":"label"}}`:                            "z: style label",
		`"schema":{"type":"object"},"encoding":{"z":{"style":"label"}}`: "z: style label",
		`"schema":{"type":"object"},"encoding":["z"]`:                   "encoding",
		`"schema":{"type":"object"},"encoding":{"$ref":"#/none"}`:       "encoding",
		`"schema":{"type":"object","required":[],"properties":{"a":{"type":"object"}}},"encoding":{"a":{"contentType":"application/xml"},"z":{"explode":true}}`: "a: application/xml",
	} {
		op, found := operationOf(t, "https://a.example", `"requestBody":{"required":true,"content":{"multipart/form-data":{`+content+`}}}`, "")
		got := ""
		if op.Refused != nil {
			got = op.Refused.What
		}
		if got != want {
			t.Errorf("%s: %q, want %q (%q)", content, got, want, found.Warnings)
		}
	}
	op, _ := operationOf(t, "https://a.example", `"requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object"},"encoding":{"z":{"style":"label"}}}}}`, "")
	if op.Refused != nil || op.Body == nil {
		t.Errorf("only a form is encoded: %+v", op)
	}
}

// TestFormatsOfAFormOf2: a field that cannot be written is left out, unless the document requires it.
func TestFormatsOfAFormOf2(t *testing.T) {
	for field, want := range map[string]string{
		`"collectionFormat":"zigzag"`:                 "left",
		`"collectionFormat":"zigzag","required":true`: "l: collectionFormat zigzag",
		`"collectionFormat":"tsv","required":true`:    "tabDelimited",
		`"required":true`:                             "form",
	} {
		op, _ := operationOf(t, "https://a.example", `"parameters":[{"in":"formData","name":"a","type":"string"},{"in":"formData","name":"l","type":"array","items":{"type":"string"},`+field+`}]`, `,"swagger":"2.0"`)
		got := "left"
		if op.Refused != nil {
			got = op.Refused.What
		} else if !strings.Contains(string(op.Body.Schema), `"l":false`) {
			got = op.Body.Encoding["l"].Style
		}
		if got != want {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
	}
}
