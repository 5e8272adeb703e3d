package tool_test

import (
	"encoding/json"
	"testing"

	"piloto/internal/tools/schema"
	"piloto/internal/tools/tool"
)

// BenchmarkCheck judges one call, as a turn and each step of a run do.
func BenchmarkCheck(b *testing.B) {
	op := tool.Reserve()
	args := tool.Arguments{
		Method: "POST", Path: "/rooms/7/reservations", Query: json.RawMessage(`{"mode":"fast","tags":["a","b"]}`),
		Body: json.RawMessage(`{"date":"2026-11-20","people":2,"guest":{"name":"Ana","email":"a@b.c"},"extras":["tv"]}`),
	}
	b.ReportAllocs()
	for b.Loop() {
		if problems := op.Check(schema.Compiler{}, args); problems != nil {
			b.Fatal(problems)
		}
	}
}
