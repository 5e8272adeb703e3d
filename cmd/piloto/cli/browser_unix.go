//go:build unix

package cli

import (
	"os/exec"
	"syscall"
)

// setApart puts a command into a session of its own, so that Ctrl-C in this terminal does not end it.
func setApart(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
