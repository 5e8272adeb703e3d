package openapi

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"piloto/internal/ground/ids"
)

// The Idempotency-Key of a call is written as its document wants it, and an operation that wants another form is refused.
func TestTheKeyOfOnceHasTheFormOfTheDocument(t *testing.T) {
	const (
		own      = `^a:s1$`
		uuid     = `^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`
		uuid4    = `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`
		uuid7    = `^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`
		ulid     = `^[0-7][0-9A-HJKMNP-TV-Z]{25}$`
		digits   = `^[1-9][0-9]{18}$`
		none     = `^$`
		version3 = `,"components":{"schemas":{"Ulid":{"type":"string","format":"ulid"},"Guid":{"type":"string","format":"guid"},"Four":{"type":"string","format":"uuid4"}}}`
		version2 = `,"swagger":"2.0"`
	)
	for schema, want := range map[string]string{
		`{"type":"string"}`: own, `{}`: own, `{"type":"string","maxLength":255}`: own, `{"type":"string","minLength":1,"example":"x"}`: own,
		`{"type":"string","format":"uuid"}`: uuid, `{"type":"string","format":"guid"}`: uuid, `{"type":"string","format":"uuidv4"}`: uuid4,
		`{"type":"string","pattern":"^[a-f0-9-]{36}$"}`: uuid, `{"type":"string","minLength":36,"maxLength":36}`: uuid,
		`{"type":"string","maxLength":36}`: uuid, `{"type":"string","pattern":"^[A-Za-z0-9_-]+$"}`: uuid, `{"anyOf":[{"type":"string","format":"uuid"},{"type":"null"}]}`: uuid,
		`{"type":"string","pattern":"^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"}`: uuid4,
		`{"type":"string","pattern":"^[0-9a-f]{32}$"}`:                                                        `^[0-9a-f]{32}$`, `{"type":"string","maxLength":32}`: `^[0-9a-f]{32}$`, `{"type":"string","pattern":"^[a-zA-Z0-9]{20,50}$"}`: `^[0-9a-f]{32}$`,
		`{"type":"string","minLength":64}`: `^[0-9a-f]{64}$`, `{"type":"string","pattern":"^[0-7][0-9A-HJKMNP-TV-Z]{25}$"}`: `^[0-7][0-9A-HJKMNP-TV-Z]{25}$`,
		`{"type":"string","format":"ulid"}`: `^[0-7][0-9A-HJKMNP-TV-Z]{25}$`, `{"type":"string","maxLength":20}`: `^[0-9a-f]{16}$`,
		`{"type":"string","maxLength":10}`: none, `{"type":"string","pattern":"^ORD-[0-9]+$"}`: none, `{"type":"string","enum":["x"]}`: none, `{"type":"integer","format":"int32"}`: none,
		`{"type":"string","pattern":"^[89ab]"}`: none, `{"type":"string","minLength":100}`: none,
		`{"type":"string","format":"uuidv7"}`: uuid7, `{"type":"string","format":"UUID-7"}`: uuid7, `{"type":"string","pattern":"^.{8}-.{4}-7.{3}-[89ab].{3}-.{12}$"}`: uuid7,
		`{"type":"string","format":"uuid1"}`: none, `{"type":"string","format":"uuid-rfc4122"}`: uuid, `{"allOf":[{"type":"string","format":"guid"}],"description":"x"}`: uuid,
		`{"type":"string","allOf":[{"maxLength":40},{"allOf":[{"format":"ulid"}]}]}`: ulid, `{"anyOf":[{"type":"string","format":"uuid4"},{"type":"null"}]}`: uuid4,
		`{"oneOf":[{"type":"string","format":"ulid"},{"type":"string","maxLength":5}]}`: ulid, `{"type":"string","format":"byte"}`: `^[0-9a-f]{32}$`, `{"type":"string","format":"ksuid"}`: none,
		`{"$ref":"#/components/schemas/Ulid"}`: ulid, `{"allOf":[{"$ref":"#/components/schemas/Guid"}]}`: uuid, `{"$ref":"#/components/schemas/Four"}`: uuid4, `{"$ref":"openapi.json#/components/schemas/Ulid"}`: ulid,
		`{"type":"integer"}`: digits, `{"type":"integer","format":"int64"}`: digits, `{"type":"number"}`: digits, `{"type":"string","pattern":"^[0-9]+$"}`: digits, `{"type":"integer","maximum":4294967295}`: none,
		`{"type":"string","pattern":"^[0-9A-F]{32}$"}`: `^[0-9A-F]{32}$`, `{"type":"string","pattern":"^[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}$"}`: `^[0-9A-F-]{36}$`,
		`{"type":"string","pattern":"^[0-9A-F]{64}$"}`: `^[0-9A-F]{64}$`, `{"type":"string","pattern":"^\"[^\"]+\"$"}`: `^"a:s1"$`, `{"type":"string","pattern":"^\"[0-9a-f-]{36}\"$"}`: `^"[0-9a-f-]{36}"$`,
		`{"type":"string","pattern":"^[a-z0-9]{10}$"}`: none, `{"type":"string","pattern":"^[0-9]{10}$"}`: none,
	} {
		for _, required := range []bool{true, false} {
			for _, name := range []string{"Idempotency-Key", "idempotency-key"} {
				op, found := operationOf(t, "https://api.example.com", header2(name, schema, required), version3)
				if key := op.KeyForm.Write("a:s1"); !regexp.MustCompile(want).MatchString(key) {
					t.Errorf("%s: %q is the key", schema, key)
				}
				if want == none && (op.Refused != nil) != required || want != none && op.Refused != nil || want == none && !required && len(found.Warnings) == 0 {
					t.Errorf("%s, required %t: refused %+v, said %q", schema, required, op.Refused, found.Warnings)
				}
				if len(op.Parameters) > 0 {
					t.Errorf("%s: it is an argument: %+v", schema, op.Parameters)
				}
			}
		}
	}
	if op, _ := operationOf(t, "https://api.example.com", of2("Idempotency-Key", `"type":"string","format":"uuid"`), version2); !regexp.MustCompile(uuid).MatchString(op.KeyForm.Write("a:s1")) {
		t.Errorf("2.0: %+v", op)
	}
}

// A key whose schema is not checked as a whole is not written at all: it may ask for another form than the one that fits the rest.
func TestAKeyOfWhichNobodyKnowsTheFormIsNotSent(t *testing.T) {
	const schemas = `,"components":{"schemas":{"Far":{"allOf":[{"$ref":"common.yaml#/Key"}]},"Look":{"type":"string","pattern":"^(?!0)[0-9a-f]{32}$"}}}`
	for schema, want := range map[string]string{
		`{"$ref":"common.yaml#/Key"}`: "common.yaml#/Key", `{"$ref":"#/components/schemas/No"}`: "#/components/schemas/No", `{"$ref":7}`: "7",
		`{"$ref":"#/components/schemas/Far"}`: "common.yaml#/Key", `{"anyOf":[{"type":"string","format":"uuid"},{"$ref":"common.yaml#/Key"}]}`: "common.yaml#/Key",
		`{"type":"string","pattern":"^(?!0)[0-9a-f]{32}$"}`: "pattern ^(?!0)[0-9a-f]{32}$", `{"$ref":"#/components/schemas/Look"}`: "pattern ^(?!0)[0-9a-f]{32}$",
		`{"allOf":[{"type":"string"},{"pattern":"(?=x)"}]}`: "pattern (?=x)", `{"type":"string","pattern":["^a"]}`: "pattern", `{"type":"string","pattern":"("}`: "pattern (",
		`{"type":"uuid"}`: "type uuid", `{"type":["string","uuid"]}`: "type", `{"type":"string","format":["uuid"]}`: "format", `{"type":"string","maxLength":"20"}`: "maxLength 20",
		`{"type":"string","minLength":-1}`: "minLength -1", `{"type":"string","enum":"a"}`: "enum a", `"uuid"`: "schema", `{"allOf":["uuid"]}`: "schema",
		`{"type":"string","format":"uuid-as-described-in-a-document-that-nobody-has"}`: "format uuid-as-described-in-a-document-that-nobody-has",
	} {
		for _, required := range []bool{true, false} {
			op, found := operationOf(t, "https://api.example.com", header2("Idempotency-Key", schema, required), schemas)
			got, expected := refusalOf(op), ""
			if required {
				expected = "Idempotency-Key: " + want
			}
			if got != expected || op.KeyForm.Write("a:s1") != "" || !required && len(found.Warnings) == 0 {
				t.Errorf("%s, required %t: refused %q, want %q; %q is sent; said %q", schema, required, got, expected, op.KeyForm.Write("a:s1"), found.Warnings)
			}
		}
	}
	for name, parameter := range map[string]string{
		"in another style": `"schema":{"type":"string","format":"uuid"},"style":"label"`,
		"as JSON":          `"content":{"application/json":{"schema":{"type":"string","format":"uuid"}}}`,
		"as an object":     `"schema":{"type":"object"}`,
	} {
		op, _ := operationOf(t, "https://api.example.com", `"parameters":[{"name":"Idempotency-Key","in":"header","required":true,`+parameter+`}]`, "")
		if got := refusalOf(op); got != "key Idempotency-Key" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A read has no key, also where its path asks for one for all of its methods. A header of an operation takes the place of the same one
// of its path, in any spelling.
func TestAReadNeedsNoKey(t *testing.T) {
	const text = `{"openapi":"3.0.3","paths":{"/o":{"parameters":[{"name":"Idempotency-Key","in":"header","required":true,"schema":{"type":"string","format":"uuid"}}],` +
		`"get":{},"head":{},"options":{},"post":{},"delete":{},"put":{"parameters":[{"name":"idempotency-key","in":"header","required":true,"schema":{"type":"string","format":"ulid"}}]}}}}`
	found, err := parse(t.Context(), text, "https://api.example.com/openapi.json", "https://api.example.com")
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range found.Operations {
		want := map[string]string{"POST": "uuid5", "DELETE": "uuid5", "PUT": "ulid"}[op.Method]
		if op.Refused != nil || string(op.KeyForm) != want || len(op.Parameters) > 0 {
			t.Errorf("%s: refused %+v, form %q, want %q", op.Method, op.Refused, op.KeyForm, want)
		}
	}
	if len(found.Warnings) != 3 {
		t.Errorf("said %q", found.Warnings)
	}
}

// A required header that every request has is refused at registration where the document does not accept its value.
func TestAHeaderOfEachRequestIsOneThatTheDocumentAccepts(t *testing.T) {
	const components = `,"components":{"schemas":{"U":{"type":"string","format":"uuid"},"P":{"pattern":"^MyApp/"}}}`
	for _, c := range []struct {
		name, schema string
		accepted     bool
	}{
		{"X-Trace-Id", `{"type":"string"}`, true},
		{"X-Trace-Id", `{}`, true},
		{"x-trace-id", `{"type":"string","pattern":"^[0-9a-f]{32}$"}`, true},
		{"X-Trace-Id", `{"type":"string","maxLength":64}`, true},
		{"X-Trace-Id", `{"type":"string","format":"uuid"}`, false},
		{"X-Trace-Id", `{"type":"string","format":"guid"}`, false},
		{"X-Trace-Id", `{"type":"string","format":"uuid4"}`, false},
		{"X-Trace-Id", `{"$ref":"#/components/schemas/U"}`, false},
		{"X-Trace-Id", `{"allOf":[{"$ref":"#/components/schemas/U"}]}`, false},
		{"X-Trace-Id", `{"type":"string","maxLength":16}`, false},
		{"X-Trace-Id", `{"type":"integer"}`, false},
		{"X-Trace-Id", `{"$ref":"common.yaml#/Trace"}`, false},
		{"X-Trace-Id", `{"type":"string","pattern":"^(?!0)"}`, false},
		{"User-Agent", `{"type":"string"}`, true},
		{"User-Agent", `{"type":"string","pattern":"^[a-z]+/[0-9]+$"}`, true},
		{"User-Agent", `{"type":"string","enum":["x","piloto/1"]}`, true},
		{"User-Agent", `{"type":"string","enum":["x"]}`, false},
		{"User-Agent", `{"type":"string","pattern":"^MyApp/"}`, false},
		{"user-agent", `{"$ref":"#/components/schemas/P"}`, false},
		{"User-Agent", `{"type":"string","minLength":20}`, false},
		{"User-Agent", `{"const":"x"}`, false},
		{"Content-Length", `{"type":"integer"}`, true},
		{"Host", `{"type":"string","format":"hostname"}`, true},
	} {
		for _, required := range []bool{true, false} {
			op, found := operationOf(t, "https://api.example.com", header2(c.name, c.schema, required), components)
			if told := strings.Contains(strings.Join(found.Warnings, " "), "does not accept"); told != (!required && !c.accepted) {
				t.Errorf("%s %s, required %t: said %q", c.name, c.schema, required, found.Warnings)
			}
			want := ""
			if required && !c.accepted {
				want = "header " + c.name
			}
			if got := refusalOf(op); got != want {
				t.Errorf("%s %s, required %t: %q, want %q", c.name, c.schema, required, got, want)
			}
		}
	}
}

// The type of a body of 2.0, and what it accepts, are headers of each request, too.
func TestTheTypesOfVersion2AreThoseThatTheDocumentAccepts(t *testing.T) {
	for parameter, want := range map[string]string{
		`"name":"Content-Type","type":"string"`:                                            "",
		`"name":"Content-Type","type":"string","pattern":"^application/json$"`:             "",
		`"name":"Content-Type","type":"string","pattern":"^application/vnd\\.x"`:           "header Content-Type",
		`"name":"Content-Type","type":"string","pattern":"^(?!text)"`:                      "header Content-Type",
		`"name":"Content-Type","type":"string","enum":["application/json; charset=utf-8"]`: "",
		`"name":"Content-Type","type":"string","enum":["application/xml"]`:                 "header Content-Type",
		`"name":"Accept","type":"string"`:                                                  "",
		`"name":"Accept","type":"string","pattern":"json"`:                                 "",
		`"name":"Accept","type":"string","pattern":"^application/vnd"`:                     "header Accept",
	} {
		op, _ := operationOf(t, "https://api.example.com", `"parameters":[{"in":"header","required":true,`+parameter+`},{"in":"body","name":"b","schema":{"type":"object"}}]`, `,"swagger":"2.0"`)
		if got := refusalOf(op); got != want {
			t.Errorf("%s: %q, want %q", parameter, got, want)
		}
	}
}

// One key is written as one, and two as two.
func TestAKeyIsWrittenTheSameEachTime(t *testing.T) {
	for _, schema := range []string{
		`{"format":"uuid"}`, `{"format":"uuid4"}`, `{"format":"uuid7"}`, `{"format":"ulid"}`, `{"type":"integer"}`, `{"maxLength":16}`, `{"maxLength":32}`,
		`{"pattern":"^[0-9A-F]{16}$"}`, `{"pattern":"^\"[0-9a-f]{16}\"$"}`, `{"pattern":"^\"[0-9]"}`,
	} {
		op, _ := operationOf(t, "https://api.example.com", header2("Idempotency-Key", schema, true), "")
		seen := map[string]bool{}
		for i := range 2000 {
			seen[op.KeyForm.Write(fmt.Sprintf("01M80000000000000000000000:s%d", i%1000))] = true
		}
		if op.Refused != nil || len(seen) != 1000 {
			t.Errorf("%s: 1000 keys are written as %d", schema, len(seen))
		}
	}
}

// A UUID of version 7 has the time of its run, so that a service may sort by it.
func TestAKeyOfVersion7HasTheTimeOfItsRun(t *testing.T) {
	op, _ := operationOf(t, "https://api.example.com", header2("Idempotency-Key", `{"format":"uuidv7"}`, true), "")
	at := time.Date(2026, 11, 29, 16, 0, 0, 0, time.UTC)
	key := op.KeyForm.Write(ids.NewSource(nil).New(at) + ":s1")
	ms, err := strconv.ParseInt(key[:8]+key[9:13], 16, 64)
	if err != nil || ms != at.UnixMilli() {
		t.Errorf("%s: %d, want %d", key, ms, at.UnixMilli())
	}
}
