// Command agent makes the rounds of jobs: the tasks of the state machine AgentJob.
package main

import "piloto/internal/boot/tools"

func main() { tools.StartAgent() }
