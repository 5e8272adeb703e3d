//go:build failpoints

package main

import (
	"localaws/moment"

	"piloto/internal/ground/failpoint"
)

// init has the failpoints of the engines counted with those of the functions.
func init() { moment.Watch = failpoint.Here }
