// Command sweep runs each minute, and whenever an execution ends without finishing its run: it restarts runs after
// a crash, expires drafts and finishes abandoned runs.
package main

import "piloto/internal/boot/receipts"

func main() { receipts.StartSweep() }
