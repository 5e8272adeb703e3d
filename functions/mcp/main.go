// Command mcp is the registry of services (MCP servers and OpenAPI documents): /api/mcps and all routes below it.
package main

import "piloto/internal/boot/registry"

func main() { registry.Start() }
