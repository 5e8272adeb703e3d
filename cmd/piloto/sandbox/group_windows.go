package sandbox

import (
	"context"
	"os"
	"os/exec"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A group is the job object of an unconfined command: the processes that it starts belong to it too.
type group struct {
	line *exec.Cmd
	job  windows.Handle // 0 when there is none: then only the process itself is killed
}

// newGroup makes a job object that ends with its handle.
func newGroup(line *exec.Cmd) *group {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return &group{line: line}
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		_ = windows.CloseHandle(job)
		return &group{line: line}
	}
	return &group{line, job}
}

// begin puts the process that runs into the job.
func (g *group) begin() {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(g.line.Process.Pid))
	if err != nil {
		return
	}
	defer func() { _ = windows.CloseHandle(process) }()
	_ = windows.AssignProcessToJobObject(g.job, process)
}

// kill ends the processes of the job.
func (g *group) kill() {
	_ = g.line.Process.Kill()
	if g.job != 0 {
		_ = windows.TerminateJobObject(g.job, 1)
	}
}

// resultOf returns how a process ended.
func resultOf(ctx context.Context, state *os.ProcessState) Result {
	if ctx.Err() != nil {
		return killed()
	}
	return Result{Code: state.ExitCode()}
}

// inheritNothing has nothing to do: a process inherits only the handles that it is given.
func inheritNothing() error { return nil }
