package openapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"piloto/internal/tools/tool"
)

// refusalOf is the reason of a refusal, without its code where it is that something cannot be read; "" for none.
func refusalOf(op tool.Operation) string {
	switch {
	case op.Refused == nil:
		return ""
	case op.Refused.Reason == tool.RefusedUnread:
		return op.Refused.What
	}
	return op.Refused.Reason + " " + op.Refused.What
}

// Whether something is required is read as every reader of YAML reads it, and what can be read as neither refuses the operation.
func TestARequirementInOtherWordsIsRead(t *testing.T) {
	const at, two = "https://api.example.com", `,"swagger":"2.0"`
	yes := []string{"!!bool yes", `!!bool "On"`, "true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "1", `"true"`, `"True"`, `"yes"`, `"1"`}
	no := []string{"!!bool no", "false", "False", "no", "No", "NO", "off", "OFF", "0", `"false"`, `"No"`, "null", "~", ""}
	odd := []string{"!!bool maybe", "maybe", "y", "n", "2", "1.0", "-1", `""`, "[a]", "[true]", "{a: b}", "[]", "{}"}
	for name, c := range map[string]struct {
		operation, document string
		isRequired          func(tool.Operation) bool
		where               string
		always              bool // whatever the document says
	}{
		"a header": {
			`"parameters":[{"name":"If-Match","in":"header","schema":{"type":"string"},"required": %s}]`, "",
			func(op tool.Operation) bool { return op.Parameters[0].Required }, "If-Match: required", false,
		},
		"a query": {
			`"parameters":[{"name":"q","in":"query","schema":{"type":"string"},"required": %s}]`, "",
			func(op tool.Operation) bool { return op.Parameters[0].Required }, "q: required", false,
		},
		"a cookie": {
			`"parameters":[{"name":"sid","in":"cookie","required": %s}]`, "",
			func(op tool.Operation) bool { return op.Refused != nil }, "sid: required", false,
		},
		"a place that is none": {
			`"parameters":[{"name":"a","in":"headers","required": %s}]`, "",
			func(op tool.Operation) bool { return op.Refused != nil }, "a (headers)", false,
		},
		"a body": {
			`"requestBody":{"content":{"application/json":{"schema":{"type":"object"}}},"required": %s}`, "",
			func(op tool.Operation) bool { return op.Body.Required }, "requestBody: required", false,
		},
		"2.0, a header": {
			`"parameters":[{"name":"If-Match","in":"header","type":"string","required": %s}]`, two,
			func(op tool.Operation) bool { return op.Parameters[0].Required }, "If-Match: required", false,
		},
		"2.0, a body": {
			`"parameters":[{"name":"b","in":"body","schema":{"type":"object"},"required": %s}]`, two,
			func(op tool.Operation) bool { return op.Body.Required }, "b: required", false,
		},
		"2.0, a field": {
			`"parameters":[{"name":"f","in":"formData","type":"string","required": %s}]`, two,
			func(op tool.Operation) bool { return strings.Contains(string(op.Body.Schema), `"required":["f"]`) }, "f: required", false,
		},
		"a member": {
			`"requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object","properties":{"sku":{"type":"string","required": %s}}}}}}`, "",
			func(op tool.Operation) bool { return strings.Contains(string(op.Body.Schema), `"required":["sku"]`) }, "", false,
		},
	} {
		for _, word := range slices.Concat(yes, no, odd) {
			op, _ := operationOf(t, at, fmt.Sprintf(c.operation, word), c.document)
			got := refusalOf(op)
			switch isOdd := slices.Contains(odd, word); {
			case isOdd && c.where != "" && !strings.HasPrefix(got, c.where):
				t.Errorf("%s, required: %s: refused %q, want %q", name, word, got, c.where)
			case !isOdd && c.isRequired(op) != slices.Contains(yes, word):
				t.Errorf("%s, required: %s: required %v", name, word, c.isRequired(op))
			case !isOdd && strings.Contains(got, ": required"):
				t.Errorf("%s, required: %s: refused %q", name, word, got)
			}
		}
	}
}

// A schema whose list of required members cannot be read is one that cannot be read, and a required value of it refuses the operation.
func TestTheRequiredMembersOfASchemaAreReadOrRefused(t *testing.T) {
	const at = "https://api.example.com"
	const members = `"properties":{"sku":{"type":"string"},"1":{"type":"string"},"true":{"type":"string"}}`
	for required, want := range map[string]string{
		`"required":["sku"]`: "", `"required":[]`: "", `"required":null`: "", `"required":[null]`: "", `"required":[1]`: "", `"required":[true]`: "",
		`"required":true`: "", `"required":false`: "", `"required":"sku"`: "required sku", `"required":7`: "required 7", `"required":{"sku":true}`: "required",
		`"required":[["sku"]]`: "required[0]", `"required":["sku",{"name":"x"}]`: "required[1]",
		`"required":["` + strings.Repeat(`x","`, maxRequired) + `sku"]`: fmt.Sprintf("required[%d]", maxRequired),
		`"allOf":[{"required":"sku"}]`:                                  "required sku", `"anyOf":[{"required":"sku"},{"required":"x"}]`: "required sku", `"anyOf":[{"required":"sku"},{}]`: "",
	} {
		for _, needed := range []bool{true, false} {
			schema := `{"type":"object",` + members + `,` + required + `}`
			op, found := operationOf(t, at, fmt.Sprintf(`"requestBody":{"required":%v,"content":{"application/json":{"schema":%s}}}`, needed, schema), "")
			expected := ""
			if needed && want != "" {
				expected = "application/json: " + want
			}
			if got := refusalOf(op); got != expected {
				t.Errorf("%s, needed %v: refused %q, want %q", required, needed, got, expected)
			}
			if told := slices.ContainsFunc(found.Warnings, func(s string) bool { return strings.Contains(s, want) }); want != "" && !needed && !told {
				t.Errorf("%s: said %q", required, found.Warnings)
			}
		}
	}
	for required, want := range map[string]string{`"required":[1]`: `"required":["1"]`, `"required":[true,"sku"]`: `"required":["true","sku"]`} {
		op, _ := operationOf(t, at, `"requestBody":{"content":{"application/json":{"schema":{"type":"object",`+members+`,`+required+`}}}}`, "")
		if !strings.Contains(string(op.Body.Schema), want) {
			t.Errorf("%s: %s", required, op.Body.Schema)
		}
	}
	op, _ := operationOf(t, at, `"requestBody":{"content":{"application/x-www-form-urlencoded":{"schema":{"properties":{"a":{"type":"string","required":true},"f":{"type":"string","format":"binary"}}}}}}`, "")
	if op.Refused != nil || !strings.Contains(string(op.Body.Schema), `"required":["a"]`) {
		t.Errorf("a form: %+v %s", op.Refused, op.Body.Schema)
	}
}

// The other words of a document that are true or false are read in the same way.
func TestWhatIsTrueOrFalseIsReadInOtherWords(t *testing.T) {
	const at = "https://api.example.com"
	list := func(explode string) string {
		return `"parameters":[{"name":"q","in":"query","schema":{"type":"array","items":{"type":"string"}},"explode": ` + explode + `}]`
	}
	for word, want := range map[string]bool{"yes": true, "no": false, "Off": false, "1": true, "0": false, `"True"`: true} {
		if op, _ := operationOf(t, at, list(word), ""); op.Refused != nil || len(op.Parameters) != 1 || op.Parameters[0].Explode != want {
			t.Errorf("explode: %s: %+v", word, op.Parameters)
		}
	}
	if op, found := operationOf(t, at, list("maybe"), ""); len(op.Parameters) != 0 || len(found.Warnings) == 0 {
		t.Errorf("explode: maybe: %+v", op.Parameters)
	}
	body := func(media, schema, more string) string {
		return `"requestBody":{"required":true,"content":{"` + media + `":{"schema":` + schema + more + `}}}`
	}
	for schema, want := range map[string]string{
		`{"type":"string","nullable": yes}`:                            `["string","null"]`,
		`{"type":"string","x-nullable": on}`:                           `["string","null"]`,
		`{"type":"string","nullable": no}`:                             `"type":"string"`,
		`{"type":"object","additionalProperties": no}`:                 `"additionalProperties":false`,
		`{"type":"object","additionalProperties": "false"}`:            `"additionalProperties":false`,
		`{"type":"array","uniqueItems": Yes}`:                          `"uniqueItems":true`,
		`{"type":"integer","minimum":0,"exclusiveMinimum": yes}`:       `"exclusiveMinimum":0`,
		`{"type":"integer","minimum":0,"exclusiveMinimum":1}`:          `"minimum":0,"exclusiveMinimum":1`,
		`{"required":["a"],"properties":{"a":{"readOnly": yes}}}`:      `{"properties":{"a":{}}}`,
		`{"type":"string","nullable": maybe}`:                          `{"type":"string"}`,
		`{"required":["a"],"properties":{"a":{"readOnly": perhaps}}}`:  `"required":["a"]`,
		`{"type":"array","items":{"type":"string"},"uniqueItems":[1]}`: `{"type":"array","items":{"type":"string"}}`,
	} {
		op, found := operationOf(t, at, body("application/json", schema, ""), "")
		if op.Refused != nil || !strings.Contains(string(op.Body.Schema), want) {
			t.Errorf("%s: %+v %s", schema, op.Refused, op.Body.Schema)
		}
		if isOdd := strings.Contains(schema, "maybe") || strings.Contains(schema, "[1]"); isOdd && len(found.Warnings) == 0 {
			t.Errorf("%s: not a word", schema)
		}
	}
	form := func(encoding string) string {
		return body("application/x-www-form-urlencoded", `{"required":["a"],"properties":{"a":{"type":"array","items":{"type":"string"}}}}`, `,"encoding":{"a":`+encoding+`}`)
	}
	for encoding, want := range map[string]string{
		`{"allowReserved": yes}`: "", `{"allowReserved": maybe}`: "part a: allowReserved maybe", `{"explode": no}`: "", `{"explode": maybe}`: "part a: explode maybe",
	} {
		if op, _ := operationOf(t, at, form(encoding), ""); refusalOf(op) != want {
			t.Errorf("%s: %q, want %q", encoding, refusalOf(op), want)
		}
	}
	parts := body("multipart/form-data", `{"properties":{"a":{"type":"string"}}}`, `,"encoding":{"a":{"headers":{"X-A":{"schema":{"type":"string"},"required": %s}}}}`)
	for word, want := range map[string]string{"yes": "part a: header X-A", "no": "", "maybe": "part a: header X-A"} {
		if op, _ := operationOf(t, at, fmt.Sprintf(parts, word), ""); refusalOf(op) != want {
			t.Errorf("a header of a part, required: %s: %q, want %q", word, refusalOf(op), want)
		}
	}
}

// A schema may say of itself that its value is required, where the parameter or the body of it says nothing.
func TestASchemaMaySayThatItsValueIsRequired(t *testing.T) {
	const at, schemas = "https://api.example.com", `,"components":{"schemas":{"Sku":{"type":"string","required":true}}}`
	for schema, isRequired := range map[string]bool{
		`{"type":"string","required": true}`: true, `{"type":"string","required": yes}`: true, `{"$ref":"#/components/schemas/Sku"}`: true,
		`{"type":"string","required": false}`: false, `{"type":"string","required":[]}`: false, `{"type":"string"}`: false,
	} {
		for said, always := range map[string]string{``: "", `,"required":false`: "no", `,"required":true`: "yes", `,"required":null`: ""} {
			want := always == "yes" || always == "" && isRequired
			op, _ := operationOf(t, at, `"parameters":[{"name":"If-Match","in":"header","schema":`+schema+said+`}]`, schemas)
			if op.Refused != nil || op.Parameters[0].Required != want {
				t.Errorf("a header of %s%s: %+v", schema, said, op)
			}
			op, _ = operationOf(t, at, `"requestBody":{"content":{"application/json":{"schema":`+schema+`}}`+said+`}`, schemas)
			if op.Refused != nil || op.Body.Required != want {
				t.Errorf("a body of %s%s: %+v", schema, said, op.Body)
			}
		}
	}
}
