// Command eligibility says who is answered, by whom and at what cost, and keeps
// the settings of all that: /ai and all below it.
package main

import "piloto/internal/boot"

func main() { boot.StartEligibility() }
