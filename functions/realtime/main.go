// Command realtime answers the WebSocket API: who connects, what they ask, and that
// they left.
package main

import "piloto/internal/boot"

func main() { boot.StartRealtime() }
