package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/metrics"
	"strings"
	"time"

	"piloto/infra/local/process"
)

// apartVariable holds the deployment (as JSON) that this executable serves in place of the benchmark. In a process of
// its own a deployment has its own garbage collector, memory and CPU time.
const apartVariable = "PILOTO_BENCH_APART"

// apart is a deployment that is served by a process of its own.
type apart struct {
	Folder   string `json:"folder"`
	Template string `json:"template"`
	Model    string `json:"model"` // base URL
}

// counters are the resources that a process has used since its start.
type counters struct {
	CPU       time.Duration `json:"cpu_ns"`
	Allocated uint64        `json:"allocated_bytes"`
	Allocs    uint64        `json:"allocations"`
	Written   int64         `json:"written_bytes"` // to the disk, in whole pages
	Resident  int64         `json:"rss_bytes"`
	Peak      int64         `json:"peak_rss_bytes"`
}

// minus returns the use since a moment; the memory is that of now.
func (c counters) minus(o counters) counters {
	c.CPU -= o.CPU
	c.Allocated -= o.Allocated
	c.Allocs -= o.Allocs
	c.Written -= o.Written
	return c
}

func (c *counters) add(o counters) {
	c.CPU += o.CPU
	c.Allocated += o.Allocated
	c.Allocs += o.Allocs
	c.Written += o.Written
}

// readCounters reads those of this process.
func readCounters() (counters, error) {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/allocs:objects"}}
	metrics.Read(samples)
	c := counters{CPU: cpuTime(), Allocated: samples[0].Value.Uint64(), Allocs: samples[1].Value.Uint64()}
	var errs [3]error
	c.Written, errs[0] = procValue("io", "write_bytes:")
	c.Resident, errs[1] = procValue("status", "VmRSS:")
	c.Peak, errs[2] = procValue("status", "VmHWM:")
	c.Resident, c.Peak = c.Resident<<10, c.Peak<<10
	return c, errors.Join(errs[:]...)
}

// procValue returns a number of a file of /proc/self, and 0 when the system has no such file.
func procValue(file, name string) (n int64, err error) {
	raw, err := os.ReadFile(filepath.Join("/proc/self", file))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut("\n"+string(raw), "\n"+name)
	_, err = fmt.Sscan(rest, &n)
	return n, err
}

// serveApart serves a deployment until in is closed. It prints the address of its counters, and then what the
// deployment prints.
func serveApart(ctx context.Context, asked string, in io.Reader, out io.Writer) error {
	var a apart
	if err := json.Unmarshal([]byte(asked), &a); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, in)
		stop()
	}()
	at, end, err := listen(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, err := readCounters()
		if err == nil {
			err = json.NewEncoder(w).Encode(c)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
	if err != nil {
		return err
	}
	defer end()
	fmt.Fprintln(out, countersAt+at)
	o, s := deployment(a.Folder, a.Template, a.Model, process.Unlimited())
	log, err := os.OpenFile(filepath.Join(a.Folder, logName), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	o.Log = log
	return errors.Join(process.Serve(ctx, o, s, out), log.Close())
}

// A process that serves a deployment prints these before the addresses.
const (
	countersAt = "counters on "
	readyOn    = "piloto ready on "
)

// deployApart starts the whole deployment in a folder, in a process of its own. It returns the time until it was ready.
func (s *system) deployApart(folder, template string) (time.Duration, error) {
	s.data = filepath.Join(folder, "data", "piloto.db")
	asked, err := json.Marshal(apart{folder, template, s.modelURL + "/v1"})
	if err != nil {
		return 0, err
	}
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	command := exec.CommandContext(s.caller.ctx, self)
	command.Env = append(os.Environ(), apartVariable+"="+string(asked))
	command.Stderr = os.Stderr
	hold, err := command.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := command.Start(); err != nil {
		return 0, err
	}
	s.stop = func() error { return errors.Join(hold.Close(), command.Wait()) }
	lines := bufio.NewScanner(out)
	for s.origin == "" && lines.Scan() {
		if at, ok := strings.CutPrefix(lines.Text(), countersAt); ok {
			s.countersURL = at
		}
		_, s.origin, _ = strings.Cut(lines.Text(), readyOn)
	}
	took := time.Since(began)
	if s.origin == "" {
		return 0, errors.New("the system did not start")
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return took, nil
}

// counters returns the counters of the process of the deployment.
func (s *system) counters() (c counters, err error) {
	err = s.caller.get(s.countersURL, &c)
	return c, err
}
