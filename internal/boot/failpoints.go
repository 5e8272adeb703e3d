//go:build failpoints

package boot

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"piloto/internal/ground/failpoint"
)

// init arms the processes of the crash test: each function, and the one process.
func init() {
	ahead, err := time.ParseDuration("0" + os.Getenv(failpoint.AheadVariable))
	if err == nil {
		err = failpoint.Arm(os.Getenv(failpoint.PointVariable), os.Getenv(failpoint.TraceVariable), ahead)
	}
	if most := os.Getenv(failpoint.ConcurrencyVariable); err == nil && most != "" {
		var n int
		n, err = strconv.Atoi(most)
		failpoint.Limit(n)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "piloto:", err)
		os.Exit(1)
	}
}
