package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"piloto/infra/local/process"
)

const (
	testToken  = "e2e-token-of-the-default-account"
	startLimit = 2 * time.Minute // generous: the machine may be busy with other tests
	patience   = 3 * time.Minute // for an event that takes a moment on an idle machine
)

// deployment is one data folder and the current or last process on it.
type deployment struct {
	data string   // its folder
	addr string   // the same at every start
	aws  string   // of the engines' wire protocols; empty: not served
	env  []string // besides the variables of every process
	args []string

	cmd    *exec.Cmd
	out    *transcript // stdout of the current or last process
	log    *transcript // the output of all of them, including their logs
	exited chan struct{}
	failed error // the error of the last process, once exited is closed
}

// passed is what a driven process has of the environment of the tests. GORACE says how long it waits before it exits.
var passed = []string{"PATH=" + os.Getenv("PATH"), "GORACE=" + os.Getenv("GORACE")}

// unlimited raises the rate limits, because the tests stand for many people with one token, and lowers the time to stop, because
// some of their calls never end.
var unlimited = []string{
	"PILOTO_TURNS_PER_MINUTE=0", "PILOTO_WRITES_PER_MINUTE=0", "PILOTO_REQUESTS_PER_MINUTE=0", "PILOTO_BAD_TOKENS_PER_MINUTE=0", "PILOTO_STOP_TIMEOUT=3",
}

// newDeployment returns a deployment on its own folder and address, without rate limits. Its processes are ended
// with the test. The test fails when a function sent AWS a request that its role in the template does not allow. A test that
// failed tells the end of the log, and what was an error in it.
func newDeployment(t testing.TB, env ...string) *deployment {
	t.Helper()
	d := &deployment{data: t.TempDir(), addr: freeAddress(t), env: env, log: newTranscript()}
	t.Cleanup(func() {
		d.kill()
		for line := range strings.Lines(d.log.String()) {
			if strings.Contains(line, process.DeniedEvent) {
				t.Errorf("on AWS this would fail: %s", line)
			}
			if t.Failed() && strings.Contains(line, `"level":"ERROR"`) {
				t.Log(line)
			}
		}
		if t.Failed() {
			t.Logf("the log ends with\n%s", tail(d.log.String()))
		}
	})
	return d
}

func (d *deployment) url() string { return "http://" + d.addr }

// start starts the process and waits until it reports that it is ready.
func (d *deployment) start() error {
	if err := d.launch(); err != nil {
		return err
	}
	if d.out.wait(startLimit, `(?m)^  (?:Prueba|Try)\b`, d.exited) { // the last line at the start
		return nil
	}
	d.kill()
	return fmt.Errorf("the process did not get ready (%v)\n%s%s", d.failed, d.out, tail(d.log.String()))
}

func (d *deployment) launch() error {
	args := append([]string{"up", "-v", "--template", "template.yaml", "-addr", d.addr, "-data", d.data, "-lambda", *lambdaMode}, d.args...)
	if asProcesses() {
		args = append(args, "-functions", functions)
	}
	if d.aws != "" {
		args = append(args, "-aws", d.aws)
	}
	d.out, d.exited, d.failed = newTranscript(), make(chan struct{}), nil
	d.cmd = exec.Command(binary, args...)
	d.cmd.Dir, d.cmd.Stdout, d.cmd.Stderr = root, io.MultiWriter(d.out, d.log), d.log
	d.cmd.Env = slices.Concat(passed, []string{"PILOTO_TOKEN=" + testToken}, unlimited, d.env)
	attach(d.cmd)
	if err := d.cmd.Start(); err != nil {
		return err
	}
	go func(cmd *exec.Cmd, exited chan struct{}) {
		err := cmd.Wait()
		d.failed = err
		close(exited)
	}(d.cmd, d.exited)
	return nil
}

// isRunning reports whether there is a process.
func (d *deployment) isRunning() bool {
	if d.cmd == nil {
		return false
	}
	select {
	case <-d.exited:
		return false
	default:
		return true
	}
}

// kill ends the process with SIGKILL, as a power cut does.
func (d *deployment) kill() {
	if d.isRunning() {
		_ = d.cmd.Process.Kill()
		<-d.exited
	}
}

// stop interrupts the process, as Ctrl-C does, and returns how it ended.
func (d *deployment) stop(within time.Duration) error {
	if err := d.interrupt(); err != nil {
		return err
	}
	return d.waitEnd(within)
}

func (d *deployment) interrupt() error { return d.cmd.Process.Signal(syscall.SIGINT) }

// waitEnd waits until the process ended by itself.
func (d *deployment) waitEnd(within time.Duration) error {
	select {
	case <-d.exited:
	case <-time.After(within):
		d.kill()
		return fmt.Errorf("still running after %s", within)
	}
	var exit *exec.ExitError
	if errors.As(d.failed, &exit) {
		return fmt.Errorf("%w\n%s", d.failed, tail(d.log.String()))
	}
	return d.failed
}

// transcript is the output of a process.
type transcript struct {
	mu    sync.Mutex
	text  strings.Builder
	wrote chan struct{} // closed and replaced at each write
}

func newTranscript() *transcript { return &transcript{wrote: make(chan struct{})} }

func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.wrote)
	t.wrote = make(chan struct{})
	return t.text.Write(p)
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// wait waits until the pattern is in the text, over ends, or the time is up.
func (t *transcript) wait(limit time.Duration, pattern string, over <-chan struct{}) bool {
	re := regexp.MustCompile(pattern)
	deadline := time.After(limit)
	for {
		t.mu.Lock()
		found, wrote := re.MatchString(t.text.String()), t.wrote
		t.mu.Unlock()
		if found {
			return true
		}
		select {
		case <-wrote:
		case <-over:
			return re.MatchString(t.String())
		case <-deadline:
			return false
		}
	}
}

// tail returns the last lines of a log, for the message of a failure.
func tail(text string) string {
	const most = 4000
	if len(text) > most {
		return "…" + text[len(text)-most:]
	}
	return text
}

// usedAddresses holds the addresses that freeAddress returned.
var usedAddresses sync.Map

// freeAddress returns an unused loopback address. It is outside the range of ephemeral ports, so that it stays free
// while its process is killed and restarted. It is never returned twice, because another test may be about to
// listen on it.
func freeAddress(t testing.TB) string {
	t.Helper()
	var config net.ListenConfig
	for range 200 {
		addr := fmt.Sprintf("127.0.0.1:%d", 10240+rand.IntN(20000))
		if _, taken := usedAddresses.LoadOrStore(addr, true); taken {
			continue
		}
		if l, err := config.Listen(context.Background(), "tcp", addr); err == nil {
			_ = l.Close()
			return addr
		}
	}
	t.Fatal("no free port")
	return ""
}

// listenOn listens on an address of freeAddress. A child process inherits the open listeners between fork and exec:
// for that moment the address is in use, so listenOn retries.
func listenOn(addr string) (net.Listener, error) {
	var config net.ListenConfig
	var l net.Listener
	err := eventually(patience, func() (err error) {
		l, err = config.Listen(context.Background(), "tcp", addr)
		return err
	})
	return l, err
}

// eventually polls until f returns nil, and returns its last error after the limit.
func eventually(limit time.Duration, f func() error) error {
	deadline := time.Now().Add(limit)
	for pause := 5 * time.Millisecond; ; pause = min(pause*2, 100*time.Millisecond) {
		err := f()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %s: %w", limit, err)
		}
		time.Sleep(pause)
	}
}
