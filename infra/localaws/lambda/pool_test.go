//go:build unix

package lambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"localaws/lambda"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func pool(t *testing.T, most int, timeout time.Duration) *lambda.Pool {
	t.Helper()
	p := lambda.NewPool(config(t, "acts", timeout), most)
	t.Cleanup(p.Close)
	return p
}

// ask invokes a function of the tests and returns its text.
func ask(t *testing.T, p *lambda.Pool, payload string) (string, *lambda.FunctionError) {
	t.Helper()
	answer, failed, err := p.Invoke(t.Context(), []byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	var text string
	if failed == nil {
		if err := json.Unmarshal(answer, &text); err != nil {
			t.Fatal(err)
		}
	}
	return text, failed
}

// TestPoolStartsEnvironmentForEachConcurrentCall: at most three; a fourth call waits, and an idle
// environment is used again.
func TestPoolStartsEnvironmentForEachConcurrentCall(t *testing.T) {
	p := pool(t, 3, 30*time.Second)
	first, _ := ask(t, p, `{"do":"pid"}`)
	if second, _ := ask(t, p, `{"do":"pid"}`); second != first {
		t.Errorf("an idle environment was there, and %s answered, not %s", second, first)
	}
	var mu sync.Mutex
	var pids []string
	var all sync.WaitGroup
	barrier := make(chan struct{})
	for range 9 {
		all.Go(func() {
			<-barrier
			pid, failed := ask(t, p, `{"do":"pid, later"}`)
			mu.Lock()
			defer mu.Unlock()
			if pids = append(pids, pid); failed != nil {
				t.Error(failed)
			}
		})
	}
	close(barrier)
	all.Wait()
	slices.Sort(pids)
	if pids = slices.Compact(pids); len(pids) < 2 || len(pids) > 3 {
		t.Errorf("nine at once were answered by %v", pids)
	}
}

func TestPoolReplacesEndedAndTimedOutProcesses(t *testing.T) {
	p := pool(t, 1, 2*time.Second)
	before, _ := ask(t, p, `{"do":"pid"}`)
	for _, c := range []struct{ payload, kind string }{
		{`{"do":"exit"}`, lambda.ErrorExit}, {`{"do":"hang"}`, lambda.ErrorTimeout}, {`{"do":"panic"}`, "string"},
	} {
		if _, failed := ask(t, p, c.payload); failed == nil || failed.Type != c.kind {
			t.Errorf("%s: %v", c.payload, failed)
		}
		after, failed := ask(t, p, `{"do":"pid"}`)
		if failed != nil || after == before {
			t.Errorf("after %s: %s answers, %v", c.payload, after, failed)
		}
		before = after
	}
	// An environment that is killed while it is idle fails no call.
	pid, err := strconv.Atoi(before)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for syscall.Kill(pid, 0) == nil { // until the process was reaped
		time.Sleep(time.Millisecond)
	}
	if after, failed := ask(t, p, `{"do":"pid"}`); failed != nil || after == before {
		t.Errorf("after its death: %s, %v", after, failed)
	}
}

func TestPoolCloseEndsAllProcesses(t *testing.T) {
	p := lambda.NewPool(config(t, "acts", time.Minute), 2)
	idle, _ := ask(t, p, `{"do":"pid"}`)
	given := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _, err := p.Invoke(ctx, []byte(`{"do":"hang"}`))
		given <- err
	}()
	other, _ := ask(t, p, `{"do":"pid, later"}`)
	cancel() // the caller is gone, but the function continues
	if err := <-given; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller: %v", err)
	}
	p.Close()
	for _, pid := range []string{idle, other} {
		n, _ := strconv.Atoi(pid)
		if err := syscall.Kill(n, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %s is still there: %v", pid, err)
		}
	}
	if _, _, err := p.Invoke(t.Context(), []byte(`{}`)); !errors.Is(err, lambda.ErrClosed) {
		t.Errorf("afterwards: %v", err)
	}
}

// TestPoolEndsIdleEnvironmentsOfBurst, and keeps those in use.
func TestPoolEndsIdleEnvironmentsOfBurst(t *testing.T) {
	p := pool(t, 3, 30*time.Second)
	var all sync.WaitGroup
	var mu sync.Mutex
	var pids []string
	for range 3 {
		all.Go(func() {
			pid, _ := ask(t, p, `{"do":"pid, later"}`)
			mu.Lock()
			defer mu.Unlock()
			pids = append(pids, pid)
		})
	}
	all.Wait()
	burst := time.Now()
	p.Reap(burst.Add(lambda.IdleLife - time.Minute))
	last, _ := ask(t, p, `{"do":"pid"}`)
	if !slices.Contains(pids, last) {
		t.Errorf("%s answers, and before its life was over it was one of %v", last, pids)
	}
	p.Reap(time.Now().Add(lambda.IdleLife))
	for _, pid := range append(pids, last) {
		n, _ := strconv.Atoi(pid)
		if err := syscall.Kill(n, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %s is still there: %v", pid, err)
		}
	}
	after, failed := ask(t, p, `{"do":"pid"}`)
	if failed != nil || slices.Contains(pids, after) {
		t.Errorf("afterwards: %s, %v", after, failed)
	}
	p.Close()
	p.Reap(time.Now().Add(time.Hour)) // as a timer that fired during Close
}

func TestPoolWarmStartsOrReturnsError(t *testing.T) {
	p := pool(t, 1, 30*time.Second)
	for range 2 {
		if err := p.Warm(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, failed := ask(t, p, `{"do":"pid"}`); failed != nil {
		t.Error(failed)
	}
	for function, want := range map[string]string{"says why": "no table", "exits": "exited before it asked for work"} {
		broken := lambda.NewPool(config(t, function, time.Second), 1)
		t.Cleanup(broken.Close)
		if err := broken.Warm(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", function, err)
		}
	}
	p.Close()
	if err := p.Warm(t.Context()); !errors.Is(err, lambda.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

func TestPoolReturnsStartError(t *testing.T) {
	p := lambda.NewPool(config(t, "says why", time.Second), 1)
	t.Cleanup(p.Close)
	for range 2 { // and again, as Lambda does
		_, failed, err := p.Invoke(t.Context(), []byte(`{}`))
		if err != nil || failed == nil || failed.Type != "Config.Missing" || failed.Message != "no table" {
			t.Errorf("%v, %v", failed, err)
		}
	}
}

// TestProcessHasEnvironmentOfLambda, and no variable of this process.
func TestProcessHasEnvironmentOfLambda(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-canary")
	c := config(t, "acts", time.Minute)
	c.Memory, c.LogGroup = 512, "/local/test"
	p := lambda.NewPool(c, 1)
	t.Cleanup(p.Close)
	answer, failed, err := p.Invoke(lambda.WithTrace(t.Context(), "Root=1-5759e988-bd862e3fe1be46a994272793"), []byte(`{"do":"env"}`))
	if failed != nil || err != nil {
		t.Fatal(failed, err)
	}
	var text string
	_ = json.Unmarshal(answer, &text)
	got := map[string]string{}
	for line := range strings.SplitSeq(text, "\n") {
		name, value, _ := strings.Cut(line, "=")
		got[name] = value
	}
	for name, want := range map[string]string{
		"AWS_LAMBDA_FUNCTION_NAME": "Test", "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
		"AWS_LAMBDA_LOG_GROUP_NAME": "/local/test", "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand", "_HANDLER": "bootstrap",
		"TZ": ":UTC", "_X_AMZN_TRACE_ID": "Root=1-5759e988-bd862e3fe1be46a994272793", "PATH": "/usr/local/bin:/usr/bin/:/bin:/opt/bin",
		"LANG": "en_US.UTF-8", "LAMBDA_TEST_FUNCTION": "acts",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
		delete(got, name)
	}
	for _, name := range []string{"AWS_LAMBDA_RUNTIME_API", "AWS_LAMBDA_LOG_STREAM_NAME", "LAMBDA_TASK_ROOT"} {
		if got[name] == "" {
			t.Errorf("%s is missing", name)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("it has more: %v", got)
	}
}

// TestFunctionsIgnoreCtrlC: they are in a process group of their own.
func TestFunctionsIgnoreCtrlC(t *testing.T) {
	pid, _ := ask(t, pool(t, 1, time.Minute), `{"do":"pid"}`)
	n, _ := strconv.Atoi(pid)
	group, err := syscall.Getpgid(n)
	if ours, _ := syscall.Getpgid(0); err != nil || group == ours || group != n {
		t.Errorf("process %d is of group %d, we of %d: %v", n, group, ours, err)
	}
}

// TestFunctionsEndWithParent, also when that is killed.
func TestFunctionsEndWithParent(t *testing.T) {
	if !lambda.Attached {
		t.Skip("no kernel but Linux's ties one process to another: there they end when they next ask for work")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "LAMBDA_TEST_FUNCTION=starts another")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line := make([]byte, 16)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(line[:n])))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Fatalf("process %d: %v", pid, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	deadline := time.Now().Add(10 * time.Second)
	for alive(pid) {
		if time.Now().After(deadline) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatalf("process %d outlives who started it", pid)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// alive reports whether a process runs; a zombie does not.
func alive(pid int) bool {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(status), ") ")
	return !strings.HasPrefix(after, "Z")
}
