package e2e

import (
	"os/exec"
	"syscall"
)

// attach makes the kernel end a process that outlives its test.
func attach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
