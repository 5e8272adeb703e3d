// Command records reads and writes the data of an account: projects, chats, messages and runs. It also answers
// /health, /openapi.json, /docs, and every path without a route.
package main

import "piloto/internal/boot/records"

func main() { records.Start() }
