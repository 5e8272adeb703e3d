// Command sweep runs each minute and whenever an execution ends without settling: it
// restarts what a crash left, expires drafts and settles abandoned runs.
package main

import "piloto/internal/boot/receipts"

func main() { receipts.StartSweep() }
