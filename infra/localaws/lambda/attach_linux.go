package lambda

import (
	"os/exec"
	"syscall"
)

const attached = true

// attach has the kernel end a process with the one that starts it, also when that is
// killed. (It watches the thread that starts it; Go keeps its threads.) A group of its
// own keeps Ctrl-C from it: what it does is ended when its caller says so.
func attach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
