// Command step runs one step of a run: the RunStep task of the state machine.
package main

import "piloto/internal/boot/tools"

func main() { tools.StartStep() }
