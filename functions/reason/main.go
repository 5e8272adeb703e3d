// Command reason thinks of another command for a step whose command failed: the
// Reason task of the state machine.
package main

import "piloto/internal/boot"

func main() { boot.StartReason() }
