package stepfunctions

import (
	"context"
	"errors"
	"fmt"
	"localaws/disk"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
)

// invokerFunc is an Invoker.
type invokerFunc func(ctx context.Context, arn string, payload []byte) ([]byte, *FunctionError, error)

func (f invokerFunc) Invoke(ctx context.Context, arn string, payload []byte) ([]byte, *FunctionError, error) {
	return f(ctx, arn, payload)
}

// openAsync opens an engine with an asynchronous journal over the file at path.
func openAsync(t *testing.T, path string, invoke Invoker) (*disk.Store, *Engine, *sfn.Client) {
	t.Helper()
	store, err := disk.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	e, err := Open(store, invoke, quiet(), WithAsyncJournal())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(e.Close(), store.Close()) })
	return store, e, client(e)
}

// killed opens the engine as it were after a kill at this moment, without starting it.
func killed(t *testing.T, store *disk.Store) *sfn.Client {
	t.Helper()
	folder := filepath.Join(scratch(t), "killed")
	if err := os.CopyFS(folder, os.DirFS(filepath.Dir(store.Path()))); err != nil {
		t.Fatal(err)
	}
	_, _, c := openAsync(t, filepath.Join(folder, filepath.Base(store.Path())), nil)
	return c
}

// TestAsyncTransitionsTakeNoCommits: the transitions of an execution share the commits of its functions.
func TestAsyncTransitionsTakeNoCommits(t *testing.T) {
	synctest.Test(t, countCommits) // no time passes, so the timer of asynchronous writes adds none
}

func countCommits(t *testing.T) {
	const tasks = 20
	var store *disk.Store
	var calls atomic.Int32
	name := []byte("table")
	store, e, c := openAsync(t, filepath.Join(scratch(t), "data.db"), invokerFunc(func(context.Context, string, []byte) ([]byte, *FunctionError, error) {
		n := calls.Add(1)
		return []byte("{}"), nil, store.Update(func(tx *disk.Tx) error { return tx.Bucket(name).Put(fmt.Append(nil, n), []byte("x")) })
	}))
	if err := store.Update(func(tx *disk.Tx) error { _, err := tx.CreateBucket(name); return err }); err != nil {
		t.Fatal(err)
	}
	definition := `{"StartAt":"s0","States":{`
	for i := range tasks {
		next := fmt.Sprintf(`"Next":"s%d"},`, i+1)
		if i == tasks-1 {
			next = `"End":true}}}`
		}
		definition += fmt.Sprintf(`"s%d":{"Type":"Task","Resource":"arn:aws:lambda:us-east-1:123456789012:function:f",%s`, i, next)
	}
	m, err := c.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{Name: aws.String("m"), Definition: &definition, RoleArn: aws.String(roleARN)})
	if err == nil {
		err = e.Start(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	before := store.Commits()
	run, err := c.StartExecution(ctx, &sfn.StartExecutionInput{StateMachineArn: m.StateMachineArn})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	for int(calls.Load()) < tasks || e.find(1) != nil {
		runtime.Gosched() // the disk works
	}
	out, err := c.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: run.ExecutionArn})
	if err != nil || out.Status != "SUCCEEDED" {
		t.Fatalf("%v: %v", out, err)
	}
	if n := store.Commits() - before; n != tasks+2 { // of the start, of each task, and of the question about the end
		t.Errorf("%d tasks took %d commits", tasks, n)
	}
}

// TestAsyncAnswersAreOnDisk: what the API tells of an execution is there after a kill.
func TestAsyncAnswersAreOnDisk(t *testing.T) { synctest.Test(t, checkAnswers) }

func checkAnswers(t *testing.T) {
	tokens := make(chan string, 1)
	store, e, c := openAsync(t, filepath.Join(scratch(t), "data.db"), invokerFunc(func(_ context.Context, _ string, payload []byte) ([]byte, *FunctionError, error) {
		tokens <- string(payload[1 : len(payload)-1])
		return []byte("{}"), nil, nil
	}))
	definition := `{"StartAt":"A","States":{
		"A":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke.waitForTaskToken","TimeoutSeconds":1,"Next":"W",
			"Parameters":{"FunctionName":"arn:aws:lambda:us-east-1:123456789012:function:f","Payload.$":"$$.Task.Token"},
			"Catch":[{"ErrorEquals":["States.Timeout"],"Next":"W"}]},
		"W":{"Type":"Wait","Seconds":1,"End":true}}}`
	m, err := c.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{Name: aws.String("m"), Definition: &definition, RoleArn: aws.String(roleARN)})
	if err == nil {
		err = e.Start(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	run, err := c.StartExecution(ctx, &sfn.StartExecutionInput{StateMachineArn: m.StateMachineArn})
	if err != nil {
		t.Fatal(err)
	}
	history := func() (last types.HistoryEventType) {
		t.Helper()
		out, err := killed(t, store).GetExecutionHistory(ctx, &sfn.GetExecutionHistoryInput{ExecutionArn: run.ExecutionArn, ReverseOrder: true, MaxResults: 1})
		if err != nil || len(out.Events) == 0 {
			t.Fatalf("it was acknowledged: %v", err)
		}
		return out.Events[0].Type
	}
	history() // the start is on disk
	token := <-tokens
	time.Sleep(time.Second)
	synctest.Wait() // the task has timed out, and the timer of asynchronous writes has not
	if last := history(); last == types.HistoryEventTypeWaitStateEntered {
		t.Error("the transition was not asynchronous")
	}
	if _, err := c.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: &token, Output: aws.String("1")}); err == nil {
		t.Fatal("a task that is over was ended")
	}
	if last := history(); last != types.HistoryEventTypeWaitStateEntered {
		t.Errorf("it was told that the task is over, and the last event is %s", last)
	}
	time.Sleep(time.Second)
	synctest.Wait()
	out, err := c.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: run.ExecutionArn})
	if err != nil || out.Status != "SUCCEEDED" {
		t.Fatalf("a question sees %v: %v", out.Status, err)
	}
	if last := history(); last != types.HistoryEventTypeExecutionSucceeded {
		t.Errorf("it was told that it succeeded, and the last event is %s", last)
	}
}
