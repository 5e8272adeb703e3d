package lambda

import (
	"os/exec"
	"syscall"
)

const attached = true

// attach makes the kernel end a process together with its parent, also when that is killed. (The
// kernel watches the thread that starts it; Go keeps its threads.) A process group of its own keeps
// Ctrl-C from the process, because its caller ends it.
func attach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
