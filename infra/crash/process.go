package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"piloto/infra/local/process"
)

const (
	token      = "crash-token-of-the-account"
	startLimit = 30 * time.Second // generous, because the machine may be busy
	stopLimit  = 10 * time.Second
)

// deployment is one data folder and its process. When a process dies by itself, as an armed one
// does, another one is started at once, unarmed.
type deployment struct {
	binary, root string // the executable, and its working folder
	functions    string // the folder of the functions' executables; empty: they run in the process
	folder       string // of the round: data, trace and log
	addr, aws    string // the same at every start
	env          []string

	mu      sync.Mutex
	cmd     *exec.Cmd
	exited  chan struct{} // of the running process
	off     time.Duration // how far ahead the clock of the next process is
	deaths  int           // number of processes that died or were killed, without functions
	point   string        // the failpoint of the armed process; empty: none
	itself  bool          // the armed process died by itself, and not a function
	closing bool
	failed  error // the error of a failed start
}

// data returns its data folder.
func (d *deployment) data() string { return filepath.Join(d.folder, "data") }

// start starts a process, armed with a point unless that is empty, and returns once the process is
// ready or dead. A traced process records the failpoints that it passes, which an armed one needs.
func (d *deployment) start(point string, traced bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.launch(point, traced)
}

// trace returns the file of the failpoints that were passed.
func (d *deployment) trace() string { return filepath.Join(d.folder, "trace") }

// passed returns the failpoints that were recorded, each "moment#n".
func (d *deployment) passed() ([]string, error) {
	raw, err := os.ReadFile(d.trace())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.Fields(string(raw)), err
}

// launch is start for a caller that holds mu.
func (d *deployment) launch(point string, traced bool) error {
	log, err := os.OpenFile(filepath.Join(d.folder, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := d.command(point, traced)
	cmd.Stderr = log
	if point != "" {
		d.point = point
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	d.cmd, d.exited = cmd, exited
	ready := make(chan bool, 1)
	go func() {
		readOutput(out, func() { ready <- true })
		_ = cmd.Wait()
		close(exited)
		ready <- false
		d.restart(cmd)
	}()
	select {
	case up := <-ready:
		if !up && point == "" {
			return fmt.Errorf("the process did not get ready; see %s and the log in %s", log.Name(), d.data())
		}
		return nil
	case <-time.After(startLimit):
		_ = cmd.Process.Kill()
		return errors.New("the process did not get ready in time")
	}
}

// command returns the command of a process, armed with a point unless that is empty.
func (d *deployment) command(point string, traced bool) *exec.Cmd {
	args := []string{"up", "--template", "template.yaml", "-addr", d.addr, "-aws", d.aws, "-data", d.data()}
	if d.functions != "" {
		args = append(args, "-lambda", process.AsProcess, "-functions", d.functions)
	}
	trace := ""
	if traced {
		trace = d.trace()
	}
	cmd := exec.CommandContext(context.Background(), d.binary, args...) //nolint:gosec // built by us
	cmd.Dir = d.root
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "PILOTO_TOKEN=" + token, "PILOTO_DEMO=off", "LOG_LEVEL=warn",
		"PILOTO_TURNS_PER_MINUTE=0", "PILOTO_WRITES_PER_MINUTE=0", "PILOTO_REQUESTS_PER_MINUTE=0",
		"PILOTO_FAILPOINT=" + point, "PILOTO_FAILPOINT_TRACE=" + trace, "PILOTO_OFF_FOR=" + d.off.String(),
	}, d.env...)
	return cmd
}

// readOutput reads the output of a process until it ends, and calls ready at the last line of a start.
func readOutput(out io.Reader, ready func()) {
	output := ""
	buffer := make([]byte, 4096)
	for isReady := false; ; {
		n, err := out.Read(buffer)
		output += string(buffer[:n])
		if !isReady && strings.Contains(output, "\n  Prueba") {
			isReady = true
			ready()
		}
		if err != nil {
			return
		}
	}
}

// waitForDeath waits until something died at the armed point, and ends the process, if a function died.
func (d *deployment) waitForDeath(point string) error {
	for deadline := time.Now().Add(endLimit); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		points, err := d.passed()
		if err != nil {
			return err
		}
		if slices.Contains(points, point) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.killProcess()
			return nil
		}
	}
	return fmt.Errorf("nothing passed %s", point)
}

// restart starts another process in place of one that ended by itself.
func (d *deployment) restart(cmd *exec.Cmd) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closing || d.cmd != cmd {
		return
	}
	d.deaths++
	d.itself = true
	d.failed = errors.Join(d.failed, d.launch("", false))
}

// kill ends the process as a power failure does, and starts the next one, whose clock is ahead by
// off.
func (d *deployment) kill(off time.Duration) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.killProcess()
	d.deaths++
	d.off += off
	return d.launch("", false)
}

// killProcess kills the running process; the caller holds mu.
func (d *deployment) killProcess() {
	cmd, exited := d.cmd, d.exited
	d.cmd = nil
	if cmd != nil {
		_ = cmd.Process.Kill()
		<-exited
	}
}

// lostFunction reports whether a function died at the armed point, alone.
func (d *deployment) lostFunction() bool {
	points, _ := d.passed()
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.functions != "" && !d.itself && d.point != "" && slices.Contains(points, d.point)
}

// deathCount returns the number of processes that died, of functions too, and the error of a failed start.
func (d *deployment) deathCount() (int, error) {
	lost := d.lostFunction()
	d.mu.Lock()
	defer d.mu.Unlock()
	if lost {
		return d.deaths + 1, d.failed
	}
	return d.deaths, d.failed
}

// stop asks the process to end, as Ctrl-C does, and waits for its end.
func (d *deployment) stop() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closing = true
	if d.cmd == nil {
		return nil
	}
	if err := d.cmd.Process.Signal(syscall.SIGINT); err != nil {
		return err
	}
	select {
	case <-d.exited:
		return nil
	case <-time.After(stopLimit):
		_ = d.cmd.Process.Kill()
		<-d.exited
		return errors.New("the process did not stop in time")
	}
}

// close ends everything.
func (d *deployment) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closing = true
	d.killProcess()
}

// usedAddresses holds the addresses that freeAddress returned.
var usedAddresses sync.Map

// freeAddress returns a free loopback address, outside the port ranges of outgoing connections and
// of other tests: it stays free while a process is killed and started.
func freeAddress() (string, error) {
	var config net.ListenConfig
	for range 200 {
		addr := fmt.Sprintf("127.0.0.1:%d", 30300+rand.IntN(2400)) //nolint:gosec // a port, no secret
		if _, taken := usedAddresses.LoadOrStore(addr, true); taken {
			continue
		}
		if l, err := config.Listen(context.Background(), "tcp", addr); err == nil {
			return addr, l.Close()
		}
	}
	return "", errors.New("no free port")
}

// copyFolder copies the files of a folder into a new one, without the sockets of a killed process.
func copyFolder(from, to string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch {
		case e.IsDir():
			err = copyFolder(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()))
		case e.Type().IsRegular():
			err = copyFile(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from) //nolint:gosec // of the round
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600) //nolint:gosec // of the round
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
