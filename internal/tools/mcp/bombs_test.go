package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture/cost"
)

// heavySchemas returns schemas of up to n bytes that are costly to check.
func heavySchemas(n int) map[string]string {
	list := func(form string) string {
		var b strings.Builder
		for i := 0; b.Len()+len(form)+8 < n-200; i++ {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, form, i)
		}
		return b.String()
	}
	nested := func(open, closed string) string {
		times := (n - 100) / (len(open) + len(closed))
		return strings.Repeat(open, times) + `{"type":"string","x-mcp-header":"b"}` + strings.Repeat(closed, times)
	}
	var ring strings.Builder
	for i := range n / 80 {
		fmt.Fprintf(&ring, `"s%d":{"allOf":[{"$ref":"#/$defs/s%d"},{"$ref":"#/$defs/s%d"}]},`, i, (i+1)%(n/80), (i+7)%(n/80))
	}
	counted := strings.Repeat("x{999}", 140)
	return map[string]string{
		"nested properties":      `{"type":"object","properties":{"a":` + nested(`{"properties":{"a":`, "}}") + `}}`,
		"nested not":             `{"type":"object","not":` + nested(`{"not":`, "}") + `}`,
		"a ring of definitions":  `{"type":"object","$ref":"#/$defs/s0","$defs":{` + ring.String() + `"z":{}}}`,
		"patterns that count":    `{"type":"object","allOf":[` + list(`{"pattern":"%05d`+counted+`"}`) + `]}`,
		"names by such patterns": `{"type":"object","patternProperties":{` + list(`"%05d`+counted+`":{}`) + `}}`,
		"many values":            `{"type":"object","properties":{"a":{"enum":[` + list(`"%d"`) + `]}}}`,
		"many forms":             `{"type":"object","anyOf":[` + list(`{"const":%d}`) + `]}`,
		"many duplicates":        `{"type":"object","properties":{` + list(`"a":{"const":%d}`) + `}}`,
	}
}

// The slowest of them took a hundred times as long as the others. The ratio is measured within one run.
func TestDiscoveryLimitsCostOfHeavySchema(t *testing.T) {
	read := func(schema string) time.Duration {
		if len(schema) > maxSchema {
			t.Fatal(len(schema))
		}
		raw := json.RawMessage(`{"name":"t","inputSchema":` + schema + `}`)
		return cost.Least(func() { operations(listing{tools: []json.RawMessage{raw}}, true) })
	}
	var b strings.Builder
	for i := 0; b.Len() < maxSchema-1000; i++ {
		fmt.Fprintf(&b, `"property_%d":{"type":"string","description":"what it is for","maxLength":100,"pattern":"^[a-z]{1,20}$"},`, i)
	}
	normal := read(`{"type":"object","properties":{` + b.String() + `"z":{}}}`)
	for name, schema := range heavySchemas(maxSchema) {
		if took := read(schema); took > 20*normal {
			t.Errorf("%s: %d times an ordinary schema of that size", name, took/normal)
		}
	}
}

func TestSchemaNestingIsLimited(t *testing.T) {
	for levels, want := range map[int]int{40: 1, 200: 0} {
		schema := `{"type":"object","properties":{"a":` + strings.Repeat(`{"properties":{"a":`, levels/2) + `{}` + strings.Repeat("}}", levels/2) + `}}`
		ops, warnings := operations(listing{tools: []json.RawMessage{json.RawMessage(`{"name":"t","inputSchema":` + schema + `}`)}}, true)
		if len(ops) != want || len(warnings) != 1-want {
			t.Errorf("%d levels: %d tools, %q", levels, len(ops), warnings)
		}
	}
}

// TestEventParsingIsLinear covers streams that are cut at any place.
func TestEventParsingIsLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("large streams")
	}
	const size = 256 << 10
	hostile := cost.Repeated(size, "\n", "\r", "\r\n", ":", "data\n", "data:\n", "data: x\n\n", "event: x\n", "id: 1\nretry: 1\n", "data: [1,\n", "\n\r")
	hostile["a line without an end"] = "data: " + strings.Repeat("x", size)
	hostile["one event of many lines"] = strings.Repeat("data: 1\n", size/8) + "\n"
	for name, piece := range map[string]int{"large pieces": 16 << 10, "small pieces": 64} {
		cost.Alike(t, name, func(text string) {
			s := events{each: func(_ string, data []byte) { _ = messages(data) }}
			for from := 0; from < len(text); from += piece {
				s.feed([]byte(text[from:min(from+piece, len(text))]))
			}
			s.end()
		}, strings.Repeat("event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progress\":1}}\n\n", size/100), hostile)
	}
}
