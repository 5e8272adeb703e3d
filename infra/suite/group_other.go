//go:build !unix

package main

import (
	"os"
	"os/exec"
)

// endTogether has an interrupt reach `go test`.
func endTogether(cmd *exec.Cmd) {
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
}
