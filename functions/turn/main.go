// Command turn answers a turn outside the request that brought it, so that the turn may take longer than an HTTP
// API waits: the tasks of the state machine TurnRun.
package main

import "piloto/internal/boot/tools"

func main() { tools.StartTurn() }
