//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// endTogether has an interrupt reach `go test` and the tests that it runs: go alone would leave them.
func endTogether(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
}
