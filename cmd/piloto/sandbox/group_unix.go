//go:build unix

package sandbox

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// A group is the process group of an unconfined command. It has no terminal, because it is a session of its own.
type group struct{ line *exec.Cmd }

// newGroup lets a process that is not started yet begin a group.
func newGroup(line *exec.Cmd) *group {
	line.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return &group{line}
}

// begin is called when the process runs.
func (g *group) begin() {}

// kill kills the rest of the group.
func (g *group) kill() {
	_ = syscall.Kill(-g.line.Process.Pid, syscall.SIGKILL)
}

// resultOf returns how a process ended.
func resultOf(_ context.Context, state *os.ProcessState) Result {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return Result{Code: 128 + int(status.Signal()), Killed: true}
	}
	return Result{Code: state.ExitCode()}
}

// inheritNothing lets no descriptor reach the processes that are started from here, also none that this process got
// from its parent.
func inheritNothing() error {
	folder, err := os.Open("/dev/fd")
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }()
	names, err := folder.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if fd, err := strconv.Atoi(name); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
	return nil
}
