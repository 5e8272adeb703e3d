package stepfunctions

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/smithy-go"
	"go.uber.org/goleak"
)

// TestMain also is the child process of the crash test.
func TestMain(m *testing.M) {
	if path := os.Getenv(crashFile); path != "" {
		crashChild(path)
	}
	goleak.VerifyTestMain(m)
}

const (
	passMachine = `{"StartAt":"A","States":{"A":{"Type":"Pass","End":true}}}`
	waitMachine = `{"StartAt":"A","States":{"A":{"Type":"Wait","Seconds":100,"End":true}}}`
)

var ctx = context.Background()

// checkRefusal checks the type and the message of an API error.
func checkRefusal(t *testing.T, err error, code, message string) {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) {
		t.Errorf("got %v, want %s", err, code)
		return
	}
	if api.ErrorCode() != code || !strings.Contains(api.ErrorMessage(), message) {
		t.Errorf("got %s %q, want %s %q", api.ErrorCode(), api.ErrorMessage(), code, message)
	}
}

// inWorld runs a test over a started engine, in a bubble.
func inWorld(t *testing.T, script map[string][]answer, test func(t *testing.T, w *world), opts ...Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "", scriptedFunctions(script), opts...).start()
		defer w.close()
		test(t, w)
	})
}

func TestStartExecutionNameRules(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		arn := w.create("m", waitMachine)
		first := w.run(arn, "n", `{"a":1}`)
		if again := w.run(arn, "n", `{"a":1}`); again != first {
			t.Errorf("the same start gave %s", again)
		}
		start := func(name, input string) error {
			_, err := w.sfn.StartExecution(ctx, &sfn.StartExecutionInput{StateMachineArn: &arn, Name: &name, Input: &input})
			return err
		}
		checkRefusal(t, start("n", `{"a":2}`), "ExecutionAlreadyExists", "Execution Already Exists: '"+first+"'")
		w.finish(first)
		checkRefusal(t, start("n", `{"a":1}`), "ExecutionAlreadyExists", first)
		time.Sleep(89 * 24 * time.Hour)
		checkRefusal(t, start("n", `{"a":1}`), "ExecutionAlreadyExists", first)
		time.Sleep(2 * 24 * time.Hour)
		if err := start("n", `{"a":9}`); err != nil {
			t.Errorf("after 90 days: %v", err)
		}
		if out := w.describe(first); aws.ToString(out.Input) != `{"a":9}` {
			t.Errorf("the name belongs to %s", aws.ToString(out.Input))
		}
		checkRefusal(t, start("a b", "{}"), "InvalidName", "Invalid Name: 'a b'")
		checkRefusal(t, start("j", "not json"), "InvalidExecutionInput", "Invalid State Machine Execution Input: 'Unrecognized token 'not': was expecting (JSON String, Number, Array, Object or token 'null', 'true' or 'false')'")
		checkRefusal(t, start("j", ""), "InvalidExecutionInput", "Invalid State Machine Execution Input: 'Invalid execution input.'")
		checkRefusal(t, start("j", `"`+strings.Repeat("é", 131072)+`"`), "ValidationException", "Member must have length less than or equal to 262144")
		for i, input := range []string{"2", `"x"`, "null"} {
			if err := start(fmt.Sprint("ok", i), input); err != nil {
				t.Errorf("input %s: %v", input, err)
			}
		}
		for bad, code := range map[string]string{"": "ValidationException", "nope": "InvalidArn", first: "InvalidArn", arn + "x": "StateMachineDoesNotExist"} {
			_, err := w.sfn.StartExecution(ctx, &sfn.StartExecutionInput{StateMachineArn: &bad})
			checkRefusal(t, err, code, "")
		}
	})
}

func TestStartExecutionTakesNameOnceUnderContention(t *testing.T) {
	w := newWorld(t, "", &functions{}).start()
	defer w.close()
	arn := w.create("m", `{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"arn:aws:lambda:us-east-1:1:function:f","End":true}}}`)
	gate := make(chan struct{})
	var wg sync.WaitGroup
	arns := make([]string, 64)
	for i := range arns {
		wg.Go(func() {
			<-gate
			out, err := w.sfn.StartExecution(ctx, &sfn.StartExecutionInput{StateMachineArn: &arn, Name: aws.String("one"), Input: aws.String("{}")})
			if err == nil {
				arns[i] = *out.ExecutionArn
			} else if apiCode(err) != "ExecutionAlreadyExists" { // it may have ended meanwhile
				t.Error(err)
			}
		})
	}
	close(gate)
	wg.Wait()
	list, err := w.sfn.ListExecutions(ctx, &sfn.ListExecutionsInput{StateMachineArn: &arn})
	if err != nil || len(list.Executions) != 1 {
		t.Errorf("%d executions, %v", len(list.Executions), err)
	}
	if arns = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(arns))), func(s string) bool { return s == "" }); len(arns) != 1 {
		t.Errorf("answers %v", arns)
	}
}

func TestDescribeExecution(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		arn := w.create("m", passMachine)
		run := w.run(arn, "r", `{ "a" : 1 }`)
		out := w.finish(run)
		if out.Status != "SUCCEEDED" || aws.ToString(out.Input) != `{ "a" : 1 }` || aws.ToString(out.Name) != "r" || aws.ToString(out.StateMachineArn) != arn ||
			out.StopDate == nil || !out.InputDetails.Included || !out.OutputDetails.Included || *out.RedriveCount != 0 || out.RedriveStatus != "NOT_REDRIVABLE" || out.Error != nil {
			t.Errorf("%+v", out)
		}
		for bad, code := range map[string]string{"": "ValidationException", "nope": "InvalidArn", run + "x": "ExecutionDoesNotExist", arn: "InvalidArn"} {
			_, err := w.sfn.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: &bad})
			checkRefusal(t, err, code, "")
		}
		m, err := w.sfn.DescribeStateMachineForExecution(ctx, &sfn.DescribeStateMachineForExecutionInput{ExecutionArn: &run})
		if err != nil || *m.Definition != passMachine {
			t.Errorf("%+v %v", m, err)
		}
	})
}

func TestRunningExecutionKeepsDefinition(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		arn := w.create("m", waitMachine)
		run := w.run(arn, "r", "{}")
		if _, err := w.sfn.UpdateStateMachine(ctx, &sfn.UpdateStateMachineInput{StateMachineArn: &arn, Definition: aws.String(passMachine)}); err != nil {
			t.Fatal(err)
		}
		if out := w.finish(run); out.StopDate.Sub(*out.StartDate) != 100*time.Second {
			t.Errorf("took %s", out.StopDate.Sub(*out.StartDate))
		}
		if out := w.finish(w.run(arn, "s", "{}")); !out.StopDate.Equal(*out.StartDate) {
			t.Errorf("a new execution runs the old definition")
		}
	})
}

func TestStopExecution(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		run := w.run(w.create("m", waitMachine), "r", "{}")
		time.Sleep(3 * time.Second)
		out, err := w.sfn.StopExecution(ctx, &sfn.StopExecutionInput{ExecutionArn: &run, Error: aws.String("E"), Cause: aws.String("c")})
		if err != nil {
			t.Fatal(err)
		}
		d := w.describe(run)
		if d.Status != "ABORTED" || *d.Error != "E" || *d.Cause != "c" || !d.StopDate.Equal(*out.StopDate) {
			t.Errorf("%+v", d)
		}
		if got := brief(w.history(run)); got[2] != "3<0 ExecutionAborted" {
			t.Errorf("history %v", got)
		}
		again, err := w.sfn.StopExecution(ctx, &sfn.StopExecutionInput{ExecutionArn: &run})
		if err != nil || !again.StopDate.Equal(*out.StopDate) {
			t.Errorf("stopping again: %v", err)
		}
	})
}

func TestStoppedTaskIsCancelled(t *testing.T) {
	inWorld(t, map[string][]answer{"f": {{Sleep: 1000}}}, func(t *testing.T, w *world) {
		run := w.run(w.create("m", `{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"arn:aws:lambda:us-east-1:1:function:f","End":true}}}`), "r", "{}")
		synctest.Wait()
		if _, err := w.sfn.StopExecution(ctx, &sfn.StopExecutionInput{ExecutionArn: &run}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if w.engine.dispatcher.running != 0 {
			t.Error("the call goes on")
		}
	})
}

func TestProtocolRefusals(t *testing.T) {
	w := newWorld(t, "", &functions{}).start()
	defer w.close()
	_, err := w.sfn.CreateActivity(ctx, &sfn.CreateActivityInput{Name: aws.String("a")})
	checkRefusal(t, err, "UnknownOperationException", "The operation 'CreateActivity' is not supported by this deployment")
	for _, c := range []struct {
		method, target, body string
		status               int
	}{
		{"GET", "AWSStepFunctions.ListStateMachines", "", 400},
		{"POST", "Other.ListStateMachines", "{}", 400},
		{"POST", "AWSStepFunctions.ListStateMachines", "{", 400},
		{"POST", "AWSStepFunctions.ListStateMachines", "", 200},
		{"POST", "AWSStepFunctions.StartExecution", strings.Repeat(" ", maxRequest+1), http.StatusRequestEntityTooLarge},
	} {
		r := httptest.NewRequest(c.method, "/", strings.NewReader(c.body))
		r.Header.Set("X-Amz-Target", c.target)
		rec := httptest.NewRecorder()
		w.engine.ServeHTTP(rec, r)
		if rec.Code != c.status || rec.Header().Get("X-Amzn-Requestid") == "" {
			t.Errorf("%s %s: %d %s", c.method, c.target, rec.Code, rec.Body)
		}
	}
}

func TestDispatcherAlternatesExecutions(t *testing.T) {
	inWorld(t, map[string][]answer{"f": {{Sleep: 1}}}, func(t *testing.T, w *world) {
		item := `{"StartAt":"I","States":{"I":{"Type":"Task","Resource":"arn:aws:lambda:us-east-1:1:function:f","End":true}}}`
		big := w.create("big", `{"StartAt":"M","States":{"M":{"Type":"Map","ItemProcessor":`+item+`,"End":true}}}`)
		small := w.create("small", strings.ReplaceAll(item, `"I"`, `"S"`))
		w.run(big, "b", "["+strings.Repeat("1,", 35)+"1]")
		out := w.finish(w.run(small, "s", "{}"))
		if took := out.StopDate.Sub(*out.StartDate); took > 2*time.Second {
			t.Errorf("the small execution took %s behind the big one", took)
		}
	}, WithConcurrency(2))
}

func TestSweepDeletesOldExecutions(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		arn := w.create("m", passMachine)
		run := w.run(arn, "old", "{}")
		time.Sleep(92 * 24 * time.Hour)
		_, err := w.sfn.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: &run})
		checkRefusal(t, err, "ExecutionDoesNotExist", "Execution Does Not Exist: '"+run+"'")
	})
}

func TestWaitingExecutionHasNoGoroutine(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		arn := w.create("m", waitMachine)
		before := runtime.NumGoroutine()
		var gate sync.WaitGroup
		for i := range 16 {
			gate.Go(func() {
				for j := range 100 {
					w.run(arn, fmt.Sprintf("%d-%d", i, j), "{}")
				}
			})
		}
		gate.Wait()
		synctest.Wait()
		if more := runtime.NumGoroutine() - before; more > 10 {
			t.Errorf("%d goroutines for 1600 waiting executions", more)
		}
		if n := len(w.engine.openExecutions("")); n != 1600 {
			t.Errorf("%d executions are open", n)
		}
		time.Sleep(101 * time.Second)
		synctest.Wait()
		if n := len(w.engine.openExecutions("")); n != 0 {
			t.Errorf("%d executions are still held", n)
		}
	})
}

func TestNothingRunsBeforeStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "", &functions{})
		defer w.close()
		arn := w.create("m", passMachine)
		_, err := w.sfn.StartExecution(ctx, &sfn.StartExecutionInput{StateMachineArn: &arn})
		checkRefusal(t, err, "ServiceUnavailableException", "The engine is not running")
		w.start()
		w.finish(w.run(arn, "r", "{}"))
		if err := w.engine.Start(ctx); err == nil {
			t.Error("started twice")
		}
	})
}
