// Command eligibility decides whether a turn may run, on which model and at which cost, and stores the settings of
// that decision: /ai and all routes below it.
package main

import "piloto/internal/boot"

func main() { boot.StartEligibility() }
