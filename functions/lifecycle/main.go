// Command lifecycle starts and finishes a run, and decides which steps are undone: the Start, Undo and Finish tasks of
// the state machine.
package main

import "piloto/internal/boot/receipts"

func main() { receipts.StartLifecycle() }
