package stepfunctions

import (
	"bufio"
	"context"
	"fmt"
	"localaws/disk"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
)

const (
	crashFile  = "STEPFUNCTIONS_CRASH_FILE"
	crashAsync = "STEPFUNCTIONS_CRASH_ASYNC" // not empty: WithAsyncJournal
)

// loggingInvoker is an Invoker that writes every call to a file, so that calls can be
// counted across processes.
type loggingInvoker struct {
	mu  sync.Mutex
	out *os.File
}

func (l *loggingInvoker) Invoke(_ context.Context, arn string, payload []byte) ([]byte, *FunctionError, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := fmt.Fprintf(l.out, "%s %s\n", arn, payload)
	return payload, nil, err
}

// crashChild starts executions as fast as possible until it is killed, and prints the acknowledged
// starts. It also resumes the executions of an earlier child.
func crashChild(path string) {
	store, err := disk.Open(path)
	if err != nil {
		panic(err)
	}
	out, err := os.OpenFile(path+".calls", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	options := []Option{quiet()}
	if os.Getenv(crashAsync) != "" {
		options = append(options, WithAsyncJournal())
	}
	e, err := Open(store, &loggingInvoker{out: out}, options...)
	if err != nil {
		panic(err)
	}
	c := client(e)
	m, err := c.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{Name: aws.String("plan"), Definition: aws.String(benchMachine), RoleArn: aws.String(roleARN)})
	if err != nil {
		panic(err)
	}
	if err := e.Start(ctx); err != nil {
		panic(err)
	}
	for i := 0; ; i++ {
		name := fmt.Sprintf("%d-%d", os.Getpid(), i)
		input := fmt.Sprintf(`{"run":%q,"waves":[["%s a","%s b"],["%s c"]]}`, name, name, name, name)
		if _, err := c.StartExecution(ctx, &sfn.StartExecutionInput{StateMachineArn: m.StateMachineArn, Name: &name, Input: &input}); err != nil {
			panic(err)
		}
		fmt.Println(name)
	}
}

// TestKillLosesNothingAcknowledged kills a process many times with SIGKILL. In the end every
// acknowledged execution exists and succeeded, and every history is complete. A task was called
// more often than recorded at most once for each kill during a call.
func TestKillLosesNothingAcknowledged(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	for name, async := range map[string]string{"journal": "", "async journal": "yes"} {
		t.Run(name, func(t *testing.T) { killAndCheck(t, async) })
	}
}

func killAndCheck(t *testing.T, async string) {
	path := filepath.Join(scratch(t), "data.db")
	var acknowledged []string
	for range 8 {
		acknowledged = append(acknowledged, runAndKill(t, path, async)...)
	}
	if len(acknowledged) == 0 {
		t.Fatal("nothing was acknowledged")
	}
	w := newWorld(t, path, &functions{}).start()
	defer w.close()
	recorded := map[string]bool{}
	for _, name := range acknowledged {
		arn := w.engine.account.arn("execution", "plan:"+name)
		for w.describe(arn).Status == "RUNNING" {
			time.Sleep(time.Millisecond)
		}
		if out := w.describe(arn); out.Status != "SUCCEEDED" {
			t.Fatalf("%s: %s %s", name, out.Status, aws.ToString(out.Cause))
		}
		succeeded := 0
		for _, ev := range w.history(arn) {
			if ev.LambdaFunctionSucceededEventDetails != nil {
				succeeded++
			}
		}
		if succeeded != 5 {
			t.Errorf("%s has %d recorded results, want 5", name, succeeded)
		}
		recorded[name] = true
	}
	// Calls beyond one each come from calls that a kill interrupted: at most one
	// for each of the functions that may run at once, for each kill.
	calls, err := os.ReadFile(path + ".calls")
	if err != nil {
		t.Fatal(err)
	}
	extra := 0
	seen := map[string]bool{}
	for line := range strings.Lines(string(calls)) {
		if seen[line] && strings.Contains(line, ":step ") {
			extra++
		}
		seen[line] = true
	}
	if extra > 8*64 {
		t.Errorf("%d calls were repeated", extra)
	}
	t.Logf("%d acknowledged, %d calls repeated", len(acknowledged), extra)
}

// runAndKill runs a child for a random time and returns the starts that it acknowledged.
func runAndKill(t *testing.T, path, async string) []string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashFile+"="+path, crashAsync+"="+async)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var names []string
	lines := bufio.NewScanner(out)
	after := 5 + rand.IntN(40)
	for lines.Scan() {
		names = append(names, lines.Text())
		if len(names) == after {
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Wait()
	return names
}
