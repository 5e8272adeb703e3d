package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestSchemasThatAreNone(t *testing.T) {
	for text, usable := range map[string]bool{
		``: true, `{}`: true, `true`: true, `false`: true, `1`: true, `{`: false, `{"type":7}`: false, `{"$ref":"#/$defs/a"}`: false,
		`{"$ref":"http://x/y"}`: true, `{"$ref":"#/title","title":"t"}`: false, `{"pattern":"(?=x)"}`: true, `{"minimum":1e999999}`: true,
		`{"$defs":{"a":{"$ref":"#/$defs/b"}}}`: true, `{"$defs":{"a":{"type":"none"}}}`: false, `{"properties":3,"items":4}`: true,
	} {
		if _, ok := (Compiler{}).Compile(json.RawMessage(text)); ok != usable {
			t.Errorf("%s: usable %v", text, ok)
		}
	}
}

// TestNestingEnds: schemas that apply to one value, each inside of another, are counted.
func TestNestingEnds(t *testing.T) {
	deep := func(levels int) string {
		return strings.Repeat(`{"allOf":[`, levels) + `{"type":"string"}` + strings.Repeat(`]}`, levels)
	}
	for _, c := range []struct{ text, want string }{
		{deep(500), "type"},
		{deep(4000), "complex"},
		{`{"allOf":[{"$ref":"#"}]}`, "schema"},
	} {
		s := parse(json.RawMessage(c.text))
		left := 1_000_000
		if got := s.Problems(decode(t, `{"a":1}`), "/body", nil, &left); len(got) != 1 || got[0].Type != c.want || got[0].Loc != "/body" {
			t.Errorf("%.40s: %v, want %s", c.text, got, c.want)
		}
	}
}

func TestFormats(t *testing.T) {
	for format, values := range map[string]map[string]bool{
		"date":      {`"2026-02-28"`: true, `"2026-02-30"`: false, `1`: true},
		"date-time": {`"2026-02-28t10:00:00z"`: true, `"2026-02-28"`: false},
		"uuid":      {`"00000000-0000-0000-0000-00000000000A"`: true, `"00000000-0000-0000-0000-00000000000g"`: false, `"00000000000000000000000000000000000a"`: false},
		"email":     {`"a@b.c"`: true, `"a"`: false},
		"ipv4":      {`"1.2.3.4"`: true, `"::1"`: false},
		"ipv6":      {`"::1"`: true, `"1.2.3.4"`: false},
		"int32":     {`2147483647`: true, `2147483648`: false, `1e99`: true},
		"int64":     {`2147483648`: true, `9223372036854775808`: false},
		"unknown":   {`"x"`: true},
	} {
		s := parse(json.RawMessage(`{"format":"` + format + `"}`))
		for text, want := range values {
			if got := fits(t, s, decode(t, text)); got != want {
				t.Errorf("%s of %s: %v", text, format, got)
			}
		}
	}
}

// TestKeptSchemasAreBounded: the text of the schemas that are kept has a limit, and a kept schema is not compiled again.
func TestKeptSchemasAreBounded(t *testing.T) {
	k := keeper{schemas: map[string]*node{}}
	first := json.RawMessage(`{"type":"object"}`)
	if a, b := k.get(first), k.get(first); a != b {
		t.Error("it was compiled twice")
	}
	padding := strings.Repeat("x", mostKept/10)
	for i := range 50 {
		k.get(json.RawMessage(fmt.Sprintf(`{"title":"%d%s"}`, i, padding)))
		size := 0
		for text := range k.schemas {
			size += len(text)
		}
		if size > mostKept || size != k.size {
			t.Fatalf("%d bytes are kept, and %d are counted", size, k.size)
		}
	}
	k.get(json.RawMessage(`{"title":"` + strings.Repeat("x", mostKept) + `"}`))
	if k.size > mostKept || len(k.schemas) == 0 {
		t.Errorf("%d bytes of %d schemas", k.size, len(k.schemas))
	}
}
