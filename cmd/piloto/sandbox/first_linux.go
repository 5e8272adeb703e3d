package sandbox

import (
	"encoding/gob"
	"errors"
	"io"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// firstName is the name under which this program is started as the first process of a sandbox.
const firstName = "piloto-sandbox"

// The descriptors of the first process beside the three usual ones.
const (
	orderFD  = 3 // the order is read from it. It ends when Piloto dies
	reportFD = 4 // the report is written to it
)

// ready is set when Main was called. Without it, this program started again would do its whole work again.
var ready bool

// Main does the work of the first process of a sandbox, and does not return there. Elsewhere it returns at once. A
// program that runs commands calls it first in its main, and a test in its TestMain.
func Main() {
	ready = true
	if len(os.Args) == 1 && os.Args[0] == firstName {
		runFirst()
		syscall.Exit(0) // not os.Exit, with which the race detector waits for a second
	}
}

// runFirst builds the sandbox, starts the line in it, waits for the line, and reports. When it returns, the process ends,
// and the kernel kills the rest of the namespace.
func runFirst() {
	runtime.LockOSThread() // capabilities and the filter belong to one thread
	unix.CloseOnExec(orderFD)
	unix.CloseOnExec(reportFD)
	orders := os.NewFile(orderFD, "order")
	var o order
	if err := gob.NewDecoder(orders).Decode(&o); err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, orders)
		os.Exit(1) // Piloto died
	}()
	r := o.run()
	_ = gob.NewEncoder(os.NewFile(reportFD, "report")).Encode(r)
}

// run builds the sandbox and runs the line in it.
func (o *order) run() report {
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"files", o.enterTree},
		{"network", o.loopback},
		{"limits", o.limit},
		{"landlock", o.restrict},
		{"filter", o.filter},
		{"capabilities", o.dropCapabilities},
	} {
		if err := step.do(); err != nil {
			return failed(step.name, err)
		}
	}
	pid, err := syscall.ForkExec(o.Shell, o.Args, &syscall.ProcAttr{
		Dir: o.Dir, Env: o.Env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return failed("start", err)
	}
	for {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &status, 0, nil) // also of processes whose parents died
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return failed("wait", err)
		case ended != pid:
		case status.Signaled():
			return report{Code: 128 + int(status.Signal()), Ended: true}
		default:
			return report{Code: status.ExitStatus()}
		}
	}
}

// failed returns the report of a step that failed.
func failed(step string, err error) report {
	r := report{Step: step, Text: err.Error()}
	if !errors.As(err, &r.Errno) && errors.Is(err, errUnbounded) {
		r.Step = "root"
	}
	return r
}
