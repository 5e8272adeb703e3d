// Command mcp keeps the registry of servers: /api/mcps and all below it.
package main

import "piloto/internal/boot/registry"

func main() { registry.Start() }
