//go:build unix && !linux

package lambda

import (
	"os/exec"
	"syscall"
)

const attached = false

// attach keeps Ctrl-C from a process, as its caller ends what it does. No kernel but
// Linux's ties one process to another.
func attach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
