// Command step runs one step of a run, and requests its approval: the RunStep, RunItem, RunUndo and AwaitApproval
// tasks of the state machine.
package main

import "piloto/internal/boot/tools"

func main() { tools.StartStep() }
