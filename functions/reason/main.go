// Command reason asks the model for another command when the command of a step failed: the Reason task of the state
// machine.
package main

import "piloto/internal/boot"

func main() { boot.StartReason() }
