//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// together has a command and its child processes end together, by the function that is returned.
func together(c *exec.Cmd) (stop func()) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}
