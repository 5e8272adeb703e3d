//go:build unix && !linux

package lambda

import (
	"os/exec"
	"syscall"
)

const attached = false

// attach keeps Ctrl-C from a process, because its caller ends it. Only Linux can end a process
// together with its parent.
func attach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
