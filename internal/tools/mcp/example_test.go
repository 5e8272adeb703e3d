package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"piloto/internal/tools/mcp"
	"piloto/internal/tools/tool"
)

// An agent is discovered and then called: its tool is called only while it equals the discovered one.
func Example() {
	agent := sdk.NewServer(&sdk.Implementation{Name: "reserva", Version: "1"}, nil)
	sdk.AddTool(agent, &sdk.Tool{Name: tool.ChatTool, Description: "Reservas"},
		func(_ context.Context, _ *sdk.CallToolRequest, in struct {
			Message   string         `json:"message"`
			SessionID string         `json:"session_id"`
			Context   map[string]any `json:"context,omitempty"`
		},
		) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "¿Para cuándo? " + in.Message}}}, nil, nil
		})
	server := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return agent }, nil))
	defer server.Close()
	guarded := server.Client() // elsewhere: outbound.NewClient

	found, err := mcp.Discoverer{Client: guarded}.Discover(context.Background(), tool.Target{Base: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	chat := found.Operations[0]

	client := mcp.NewClient(mcp.Options{HTTP: guarded, Now: time.Now})
	defer func() { _ = client.Close() }()
	answer, err := client.CallTool(context.Background(), tool.Call{
		Server:      tool.Server{ID: "01J", BaseURL: found.BaseURL, Transport: found.Transport},
		Tool:        chat.Name,
		Fingerprint: tool.Fingerprint(found.BaseURL, chat),
		Arguments:   json.RawMessage(`{"message":"Una mesa","session_id":"s1"}`),
		Limit:       64 << 10,
		Trust:       time.Minute,
	})
	fmt.Println(string(answer.Body), answer.Failed, err)
	// Output: {"content":[{"text":"¿Para cuándo? Una mesa","type":"text"}]} false <nil>
}
