package e2e

import (
	"os/exec"
	"syscall"
)

// attach has the kernel end a process that outlives the test that started it.
func attach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
