// Command records reads and keeps what an account holds: projects, chats, messages and
// runs. It also answers /health, /openapi.json, /docs, and whatever no other
// route does.
package main

import "piloto/internal/boot"

func main() { boot.StartRecords() }
