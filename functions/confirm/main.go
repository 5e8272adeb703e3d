// Command confirm answers a person's decision on a plan: POST /api/runs/{id}/confirm and
// POST /api/runs/{id}/cancel.
package main

import "piloto/internal/boot"

func main() { boot.StartConfirm() }
