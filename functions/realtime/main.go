// Command realtime handles the WebSocket API: connections, messages of clients, and disconnections.
package main

import "piloto/internal/boot"

func main() { boot.StartRealtime() }
