//go:build failpoints

package main

import (
	"fmt"
	"localaws/moment"
	"os"
	"time"

	"piloto/internal/ground/failpoint"
)

// init sets up the process of the crash test: where it crashes, where it writes the points that it
// passed, and how long it was off before.
func init() {
	moment.Watch = failpoint.Here
	ahead, err := time.ParseDuration("0" + os.Getenv("PILOTO_OFF_FOR"))
	if err == nil {
		err = failpoint.Arm(os.Getenv("PILOTO_FAILPOINT"), os.Getenv("PILOTO_FAILPOINT_TRACE"), ahead)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "piloto:", err)
		os.Exit(1)
	}
}
