package openapi

import (
	"fmt"
	"regexp"
	"testing"
)

// The Idempotency-Key of a call is written as its document wants it, and an operation that wants another form is refused.
func TestTheKeyOfOnceHasTheFormOfTheDocument(t *testing.T) {
	const (
		own      = `^a:s1$`
		uuid     = `^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`
		uuid4    = `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`
		none     = `^$`
		version3 = ""
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
		`{"type":"string","maxLength":10}`: none, `{"type":"string","pattern":"^ORD-[0-9]+$"}`: none, `{"type":"string","enum":["x"]}`: none, `{"type":"integer"}`: none,
		`{"type":"string","pattern":"^[89ab]"}`: none, `{"type":"string","minLength":100}`: none,
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

// One key is written as one, and two as two.
func TestAKeyIsWrittenTheSameEachTime(t *testing.T) {
	op, _ := operationOf(t, "https://api.example.com", header2("Idempotency-Key", `{"type":"string","format":"uuid"}`, true), "")
	seen := map[string]bool{}
	for i := range 2000 {
		seen[op.KeyForm.Write(fmt.Sprintf("01M8:s%d", i%1000))] = true
	}
	if len(seen) != 1000 {
		t.Errorf("1000 keys are written as %d", len(seen))
	}
}
