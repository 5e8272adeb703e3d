// Command step carries out the next effects of a run, and requests approvals: the Step, Effect and AwaitApproval tasks of
// the state machine.
package main

import "piloto/internal/boot/tools"

func main() { tools.StartStep() }
