package mcp_test

import (
	"context"
	"encoding/json"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"piloto/internal/tools/tool"
)

func TestEveryProtocolVersionWorks(t *testing.T) {
	for _, v := range versions {
		t.Run(v.name, func(t *testing.T) {
			s := serve(t, mount("/", v.via, v.only == nil, echo(v.only...)))
			found, err := discoverer(t).Discover(t.Context(), tool.Target{Base: s.URL})
			if err != nil {
				t.Fatal(err)
			}
			if found.Transport != v.via || found.Title != "Echo" || len(found.Operations) != 1 || len(found.Warnings) != 0 {
				t.Fatalf("%+v", found)
			}
			op := found.Operations[0]
			if op.Name != "echo" || op.Summary != "Says it again" || op.Description != "First line.\nSecond line." || op.Hints.Destroys() ||
				string(op.Body.Schema) != `{"type":"object","properties":{"text":{"type":"string"}}}` || !op.Body.Required {
				t.Errorf("%+v %s", op, op.Body.Schema)
			}
			c := client(t)
			call := callOf(asServer(found), byName(found)["echo"], `{"text":"ñ","n":12345678901234567890.10}`)
			call.Idempotency, call.TraceID = "run-1", "trace-1"
			for range 2 {
				a, err := c.CallTool(t.Context(), call)
				if err != nil || a.Status != 200 || a.Failed {
					t.Fatalf("%+v %v", a, err)
				}
				var body struct{ Content []struct{ Type, Text string } }
				if err := json.Unmarshal(a.Body, &body); err != nil || len(body.Content) != 1 || body.Content[0].Text != `{"text":"ñ","n":12345678901234567890.10}` {
					t.Errorf("%s %v", a.Body, err)
				}
			}
			if n := s.requests(isCall); n != 2 {
				t.Errorf("%d calls arrived, want 2", n)
			}
		})
	}
}

func TestCallToolReturnsResultAsData(t *testing.T) {
	server := echo()
	server.AddTool(&sdk.Tool{Name: "all", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{
			Content: []sdk.Content{
				&sdk.TextContent{Text: "a < b"}, &sdk.ImageContent{Data: []byte{1, 2, 3}, MIMEType: "image/png"},
				&sdk.AudioContent{Data: []byte{4}, MIMEType: "audio/wav"},
				&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///x", Blob: []byte{5, 6}}},
			},
			StructuredContent: map[string]any{"id": json.Number("12345678901234567890")},
			IsError:           true,
		}, nil
	})
	s := serve(t, mount("/", tool.TransportStreamable, false, server))
	at, ops := register(t, s.URL, nil)
	a, err := client(t).CallTool(t.Context(), callOf(at, ops["all"], `{}`))
	want := `{"content":[{"text":"a < b","type":"text"},{"data":"AQID","mimeType":"image/png","type":"image"},{"data":"BA==","mimeType":"audio/wav","type":"audio"},` +
		`{"resource":{"blob":"BQY=","uri":"file:///x"},"type":"resource"}],"structuredContent":{"id":12345678901234567890}}`
	if err != nil || !a.Failed || string(a.Body) != want || a.Truncated || a.Bytes != len(want) {
		t.Errorf("%+v %v\n%s", a, err, a.Body)
	}
}
