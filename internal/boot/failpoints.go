//go:build failpoints

package boot

import (
	"fmt"
	"os"

	"piloto/internal/ground/failpoint"
)

// init arms the processes of the crash test: each function, and the one process.
func init() {
	if err := failpoint.ArmFromEnvironment(); err != nil {
		fmt.Fprintln(os.Stderr, "piloto:", err)
		os.Exit(1)
	}
}
