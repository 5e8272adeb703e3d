// Command lifecycle undoes or ends a run that cannot go on, and has the receipt of one that ended signed: the Settle
// and Seal tasks of the state machine.
package main

import "piloto/internal/boot/receipts"

func main() { receipts.StartLifecycle() }
