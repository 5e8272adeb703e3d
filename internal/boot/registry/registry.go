// Package registry builds the discovery of servers for functions/mcp, the only function that links its code, and
// for a process that registers servers of its own.
package registry

import (
	"net/http"

	"piloto/internal/boot"
	"piloto/internal/tools/mcp"
	"piloto/internal/tools/openapi"
	"piloto/internal/tools/tool"
)

// Start runs functions/mcp.
func Start() { boot.StartHTTP(New) }

// New builds functions/mcp.
func New(w boot.World, e boot.Environment) (http.Handler, error) { return boot.MCP(w, e, Of) }

// Of returns the registry of servers over a store.
func Of(w boot.World, store tool.Store) tool.Registry {
	d := w.Discovery()
	return tool.Registry{
		Discover: map[tool.Kind]tool.Discoverer{
			tool.KindOpenAPI: openapi.Discoverer{Client: d.Client, Total: d.Total},
			tool.KindMCP:     mcp.Discoverer{Client: d.Client, Bearer: d.Bearer, Total: d.Total},
		},
		Store: store, IDs: w.IDs, Policy: d.Policy, Queue: tool.NewQueue(),
	}
}
