package stepfunctions

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/aws/smithy-go"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	passMachine = `{"StartAt":"A","States":{"A":{"Type":"Pass","End":true}}}`
	waitMachine = `{"StartAt":"A","States":{"A":{"Type":"Wait","Seconds":100,"End":true}}}`
)

var ctx = context.Background()

// refused checks the type and the wording of an API error.
func refused(t *testing.T, err error, code, message string) {
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
		w := newWorld(t, "", &functions{script: script}, opts...).start()
		defer w.close()
		test(t, w)
	})
}

func TestStateMachineLifecycle(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		arn := w.create("m", passMachine)
		if want := "arn:aws:states:us-east-1:123456789012:stateMachine:m"; arn != want {
			t.Errorf("arn %s, want %s", arn, want)
		}
		if again := w.create("m", passMachine); again != arn {
			t.Errorf("creating the same again gave %s", again)
		}
		_, err := w.sfn.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{Name: aws.String("m"), Definition: aws.String(waitMachine), RoleArn: aws.String(roleARN)})
		var exists *types.StateMachineAlreadyExists
		if !errors.As(err, &exists) {
			t.Errorf("another definition under the name: %v", err)
		}
		refused(t, err, "StateMachineAlreadyExists", "State Machine Already Exists: '"+arn+"'")
		up, err := w.sfn.UpdateStateMachine(ctx, &sfn.UpdateStateMachineInput{StateMachineArn: &arn, Definition: aws.String(waitMachine)})
		if err != nil {
			t.Fatal(err)
		}
		d, err := w.sfn.DescribeStateMachine(ctx, &sfn.DescribeStateMachineInput{StateMachineArn: &arn})
		if err != nil {
			t.Fatal(err)
		}
		if *d.Definition != waitMachine || *d.Name != "m" || *d.RoleArn != roleARN || d.Status != "ACTIVE" || d.Type != "STANDARD" ||
			*d.RevisionId != *up.RevisionId || d.LoggingConfiguration.Level != "OFF" || d.TracingConfiguration.Enabled {
			t.Errorf("described as %+v", d)
		}
		_, err = w.sfn.UpdateStateMachine(ctx, &sfn.UpdateStateMachineInput{StateMachineArn: &arn})
		refused(t, err, "MissingRequiredParameter", "Either the definition")
		if _, err := w.sfn.DeleteStateMachine(ctx, &sfn.DeleteStateMachineInput{StateMachineArn: &arn}); err != nil {
			t.Error(err)
		}
		if _, err := w.sfn.DeleteStateMachine(ctx, &sfn.DeleteStateMachineInput{StateMachineArn: &arn}); err != nil {
			t.Errorf("deleting what is gone: %v", err)
		}
		_, err = w.sfn.DescribeStateMachine(ctx, &sfn.DescribeStateMachineInput{StateMachineArn: &arn})
		refused(t, err, "StateMachineDoesNotExist", "State Machine Does Not Exist: '"+arn+"'")
	})
}

func TestDeletingAMachineStopsItsExecutions(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		arn := w.create("m", waitMachine)
		run := w.run(arn, "r", "{}")
		if _, err := w.sfn.DeleteStateMachine(ctx, &sfn.DeleteStateMachineInput{StateMachineArn: &arn}); err != nil {
			t.Fatal(err)
		}
		if out := w.describe(run); out.Status != types.ExecutionStatusAborted {
			t.Errorf("status %s", out.Status)
		}
	})
}

func TestCreateRefuses(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		for name, code := range map[string]string{"a b": "InvalidName", "a/b": "InvalidName", strings.Repeat("x", 81): "InvalidName", "é\u0001": "InvalidName"} {
			_, err := w.sfn.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{Name: &name, Definition: aws.String(passMachine), RoleArn: aws.String(roleARN)})
			refused(t, err, code, "Invalid Name")
		}
		_, err := w.sfn.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{Name: aws.String("x"), Definition: aws.String(`{"StartAt":"A"}`), RoleArn: aws.String(roleARN)})
		refused(t, err, "InvalidDefinition", "Invalid State Machine Definition: 'SCHEMA_VALIDATION_FAILED: These fields are required: [States] at /'")
		_, err = w.sfn.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{Name: aws.String("x"), Definition: aws.String(passMachine), RoleArn: aws.String(roleARN), Type: "EXPRESS"})
		refused(t, err, "StateMachineTypeNotSupported", "EXPRESS")
		_, err = w.sfn.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{Name: aws.String("x"), Definition: aws.String(passMachine), RoleArn: aws.String("role")})
		refused(t, err, "InvalidArn", "Invalid Arn")
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
		refused(t, start("n", `{"a":2}`), "ExecutionAlreadyExists", "Execution Already Exists: '"+first+"'")
		w.finish(first)
		refused(t, start("n", `{"a":1}`), "ExecutionAlreadyExists", first)
		time.Sleep(89 * 24 * time.Hour)
		refused(t, start("n", `{"a":1}`), "ExecutionAlreadyExists", first)
		time.Sleep(2 * 24 * time.Hour)
		if err := start("n", `{"a":9}`); err != nil {
			t.Errorf("after 90 days: %v", err)
		}
		if out := w.describe(first); aws.ToString(out.Input) != `{"a":9}` {
			t.Errorf("the name belongs to %s", aws.ToString(out.Input))
		}
		refused(t, start("a b", "{}"), "InvalidName", "Invalid Name: 'a b'")
		refused(t, start("j", "not json"), "InvalidExecutionInput", "Invalid State Machine Execution Input: 'Unrecognized token 'not': was expecting (JSON String, Number, Array, Object or token 'null', 'true' or 'false')'")
		refused(t, start("j", ""), "InvalidExecutionInput", "Invalid State Machine Execution Input: 'Invalid execution input.'")
		refused(t, start("j", `"`+strings.Repeat("é", 131072)+`"`), "ValidationException", "Member must have length less than or equal to 262144")
		for i, input := range []string{"2", `"x"`, "null"} {
			if err := start(fmt.Sprint("ok", i), input); err != nil {
				t.Errorf("input %s: %v", input, err)
			}
		}
		for bad, code := range map[string]string{"nope": "InvalidArn", first: "InvalidArn", arn + "x": "StateMachineDoesNotExist"} {
			_, err := w.sfn.StartExecution(ctx, &sfn.StartExecutionInput{StateMachineArn: &bad})
			refused(t, err, code, "")
		}
	})
}

func TestOneNameIsStartedOnceUnderContention(t *testing.T) {
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
			} else if apiCode(err) != "ExecutionAlreadyExists" { // it may have ended by then
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
		for bad, code := range map[string]string{"nope": "InvalidArn", run + "x": "ExecutionDoesNotExist", arn: "InvalidArn"} {
			_, err := w.sfn.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: &bad})
			refused(t, err, code, "")
		}
		m, err := w.sfn.DescribeStateMachineForExecution(ctx, &sfn.DescribeStateMachineForExecutionInput{ExecutionArn: &run})
		if err != nil || *m.Definition != passMachine {
			t.Errorf("%+v %v", m, err)
		}
	})
}

func TestRunningExecutionsKeepTheirDefinition(t *testing.T) {
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

func TestListExecutionsPagesNewestFirst(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		arn := w.create("m", passMachine)
		other := w.create("l", waitMachine)
		w.create("n", passMachine)
		for i := range 25 {
			w.finish(w.run(arn, fmt.Sprintf("e%02d", i), "{}"))
		}
		w.run(other, "w", "{}")
		var names []string
		pages := sfn.NewListExecutionsPaginator(w.sfn, &sfn.ListExecutionsInput{StateMachineArn: &arn, MaxResults: 10, StatusFilter: "SUCCEEDED"})
		count := 0
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				t.Fatal(err)
			}
			count++
			for _, x := range page.Executions {
				names = append(names, *x.Name)
			}
		}
		if count != 3 || len(names) != 25 || names[0] != "e24" || names[24] != "e00" {
			t.Errorf("%d pages: %v", count, names)
		}
		for filter, want := range map[types.ExecutionStatus]int{"RUNNING": 1, "SUCCEEDED": 0, "": 1} {
			out, err := w.sfn.ListExecutions(ctx, &sfn.ListExecutionsInput{StateMachineArn: &other, StatusFilter: filter})
			if err != nil || len(out.Executions) != want {
				t.Errorf("%s: %d, %v", filter, len(out.Executions), err)
			}
		}
		_, err := w.sfn.ListExecutions(ctx, &sfn.ListExecutionsInput{StateMachineArn: &arn, StatusFilter: "succeeded"})
		refused(t, err, "ValidationException", "1 validation error detected: Value 'succeeded' at 'statusFilter' failed to satisfy constraint: Member must satisfy enum value set: [SUCCEEDED, TIMED_OUT, PENDING_REDRIVE, ABORTED, FAILED, RUNNING]")
		_, err = w.sfn.ListExecutions(ctx, &sfn.ListExecutionsInput{StateMachineArn: &arn, MaxResults: 1001})
		refused(t, err, "ValidationException", "Value '1001' at 'maxResults' failed to satisfy constraint: Member must have value less than or equal to 1000")
		page, err := w.sfn.ListExecutions(ctx, &sfn.ListExecutionsInput{StateMachineArn: &arn, MaxResults: 10})
		if err != nil {
			t.Fatal(err)
		}
		for _, token := range []string{"x", *page.NextToken + "x", base64.StdEncoding.EncodeToString([]byte("executions m\x009"))} {
			_, err = w.sfn.ListExecutions(ctx, &sfn.ListExecutionsInput{StateMachineArn: &arn, NextToken: &token})
			refused(t, err, "InvalidToken", "Invalid Token: 'Invalid token'")
		}
		_, err = w.sfn.ListExecutions(ctx, &sfn.ListExecutionsInput{StateMachineArn: &other, NextToken: page.NextToken})
		refused(t, err, "InvalidToken", "")
	})
}

func TestListStateMachinesPages(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		var want, got []string
		for i := range 13 {
			want = append(want, w.create(fmt.Sprintf("m%02d", i), passMachine))
		}
		pages := sfn.NewListStateMachinesPaginator(w.sfn, &sfn.ListStateMachinesInput{MaxResults: 5})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range page.StateMachines {
				got = append(got, *m.StateMachineArn)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v", got)
		}
	})
}

func TestHistoryOrderPagesAndData(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		arn := w.create("m", `{"StartAt":"A","States":{"A":{"Type":"Wait","Seconds":1,"Next":"B"},"B":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","Parameters":{"FunctionName":"f"},"OutputPath":"$.Payload","End":true}}}`)
		run := w.run(arn, "r", `{"a":1}`)
		w.finish(run)
		forward := brief(w.history(run))
		var back []string
		pages := sfn.NewGetExecutionHistoryPaginator(w.sfn, &sfn.GetExecutionHistoryInput{ExecutionArn: &run, MaxResults: 2, ReverseOrder: true})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				t.Fatal(err)
			}
			back = append(back, brief(page.Events)...)
		}
		slices.Reverse(back)
		if !slices.Equal(forward, back) || len(forward) != 9 {
			t.Errorf("forward %v\nback %v", forward, back)
		}
		full, err := w.sfn.GetExecutionHistory(ctx, &sfn.GetExecutionHistoryInput{ExecutionArn: &run})
		if err != nil {
			t.Fatal(err)
		}
		started, scheduled := full.Events[0].ExecutionStartedEventDetails, full.Events[4].TaskScheduledEventDetails
		if *started.Input != `{"a":1}` || *started.RoleArn != roleARN || started.InputDetails.Truncated ||
			*scheduled.Resource != "invoke" || *scheduled.ResourceType != "lambda" || *scheduled.Region != "us-east-1" || *scheduled.Parameters != `{"FunctionName":"f"}` {
			t.Errorf("%+v %+v", started, scheduled)
		}
		if d := full.Events[3].Timestamp.Sub(*full.Events[0].Timestamp); d != time.Second {
			t.Errorf("timestamps are %s apart", d)
		}
		bare, err := w.sfn.GetExecutionHistory(ctx, &sfn.GetExecutionHistoryInput{ExecutionArn: &run, IncludeExecutionData: aws.Bool(false)})
		if err != nil || bare.Events[0].ExecutionStartedEventDetails.Input != nil || *bare.Events[1].StateEnteredEventDetails.Name != "A" {
			t.Errorf("%+v %v", bare.Events[0].ExecutionStartedEventDetails, err)
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

func TestTaskTokens(t *testing.T) {
	inWorld(t, map[string][]answer{"f": {{Result: []byte("{}")}}}, func(t *testing.T, w *world) {
		run := w.run(w.create("m", approval), "r", "{}")
		synctest.Wait()
		var payload struct{ Token string }
		mustJSON(t, w.fns.calls[0].Payload, &payload)
		success := func(token, output string) error {
			_, err := w.sfn.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: &token, Output: &output})
			return err
		}
		refused(t, success(payload.Token, "{"), "InvalidOutput", "Invalid Output")
		refused(t, success("abc", "{}"), "InvalidToken", "Invalid Token: 'Invalid token'")
		seq, thread, _ := parseToken(payload.Token)
		refused(t, success(newToken(seq, thread), "{}"), "TaskTimedOut", "Task Timed Out: 'Provided task does not exist anymore'")
		refused(t, success(newToken(seq+1, thread), "{}"), "TaskDoesNotExist", "Task Does Not Exist")
		refused(t, success(newToken(seq, thread+1), "{}"), "TaskTimedOut", "")
		if err := success(payload.Token, `{"a": 1}`); err != nil {
			t.Fatal(err)
		}
		refused(t, success(payload.Token, `{"a": 1}`), "TaskTimedOut", "")
		_, err := w.sfn.SendTaskHeartbeat(ctx, &sfn.SendTaskHeartbeatInput{TaskToken: &payload.Token})
		refused(t, err, "TaskTimedOut", "")
		_, err = w.sfn.SendTaskFailure(ctx, &sfn.SendTaskFailureInput{TaskToken: &payload.Token, Error: aws.String(strings.Repeat("x", 257))})
		refused(t, err, "ValidationException", "256")
		if out := w.finish(run); *out.Output != `{"a":1}` {
			t.Errorf("output %s", *out.Output)
		}
	})
}

func TestOneTokenSucceedsOnceUnderContention(t *testing.T) {
	fns := &functions{script: map[string][]answer{"f": {{Result: []byte("{}")}}}}
	w := newWorld(t, "", fns).start()
	defer w.close()
	run := w.run(w.create("m", approval), "r", "{}")
	token := ""
	for token == "" {
		fns.mu.Lock()
		if len(fns.calls) > 0 {
			var payload struct{ Token string }
			mustJSON(t, fns.calls[0].Payload, &payload)
			token = payload.Token
		}
		fns.mu.Unlock()
	}
	gate := make(chan struct{})
	var wg sync.WaitGroup
	won := make(chan int, 64)
	for i := range 64 {
		wg.Go(func() {
			<-gate
			if _, err := w.sfn.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: &token, Output: aws.String(fmt.Sprint(i))}); err == nil {
				won <- i
			} else if apiCode(err) != "TaskTimedOut" {
				t.Error(err)
			}
		})
	}
	close(gate)
	wg.Wait()
	close(won)
	winner := <-won
	if _, more := <-won; more {
		t.Error("more than one success was accepted")
	}
	if out := w.describe(run); aws.ToString(out.Output) != fmt.Sprint(winner) {
		t.Errorf("output %s, winner %d", aws.ToString(out.Output), winner)
	}
}

func TestValidateStateMachineDefinition(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		for definition, want := range map[string]types.ValidateStateMachineDefinitionDiagnostic{
			"not a definition": {Code: aws.String("INVALID_JSON_DESCRIPTION"), Message: aws.String("Unrecognized token 'not': was expecting (JSON String, Number, Array, Object or token 'null', 'true' or 'false')")},
			"{}":               {Code: aws.String("SCHEMA_VALIDATION_FAILED"), Message: aws.String("These fields are required: [States, StartAt]"), Location: aws.String("/")},
			"[]":               {Code: aws.String("SCHEMA_VALIDATION_FAILED"), Message: aws.String("Definition must be a valid JSON object")},
		} {
			out, err := w.sfn.ValidateStateMachineDefinition(ctx, &sfn.ValidateStateMachineDefinitionInput{Definition: &definition})
			if err != nil || out.Result != "FAIL" || len(out.Diagnostics) != 1 {
				t.Errorf("%s: %+v %v", definition, out, err)
				continue
			}
			d := out.Diagnostics[0]
			if *d.Code != *want.Code || *d.Message != *want.Message || aws.ToString(d.Location) != aws.ToString(want.Location) || d.Severity != "ERROR" {
				t.Errorf("%s: %s %s %s", definition, *d.Code, *d.Message, aws.ToString(d.Location))
			}
		}
		out, err := w.sfn.ValidateStateMachineDefinition(ctx, &sfn.ValidateStateMachineDefinitionInput{Definition: aws.String(passMachine)})
		if err != nil || out.Result != "OK" || len(out.Diagnostics) != 0 {
			t.Errorf("%+v %v", out, err)
		}
	})
}

func TestProtocolRefusals(t *testing.T) {
	w := newWorld(t, "", &functions{}).start()
	defer w.close()
	_, err := w.sfn.CreateActivity(ctx, &sfn.CreateActivityInput{Name: aws.String("a")})
	refused(t, err, "UnknownOperationException", "The operation 'CreateActivity' is not supported by this deployment")
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

func TestStatusChangesAreDeliveredAtLeastOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var got []Event
		failing := true
		handler := WithStatusChange(func(_ context.Context, ev Event) error {
			mu.Lock()
			defer mu.Unlock()
			if failing {
				return errors.New("not now")
			}
			got = append(got, ev)
			return nil
		})
		fns := &functions{}
		w := newWorld(t, "", fns, handler).start()
		run := w.run(w.create("m", `{"StartAt":"A","States":{"A":{"Type":"Fail","Error":"E","Cause":"c"}}}`), "r", `{"a":1}`)
		w.finish(run)
		w.close()
		if len(got) != 0 {
			t.Fatal("delivered in spite of the error")
		}
		failing = false
		w = newWorld(t, w.path, fns, handler).start()
		synctest.Wait()
		time.Sleep(time.Hour)
		if len(got) != 2 || got[0].Detail.Status != "RUNNING" || got[1].Detail.Status != "FAILED" {
			t.Fatalf("delivered %+v", got)
		}
		d := got[1]
		if d.DetailType != "Step Functions Execution Status Change" || d.Source != "aws.states" || d.Resources[0] != run ||
			d.Detail.ExecutionARN != run || *d.Detail.Error != "E" || *d.Detail.Cause != "c" || d.Detail.Output != nil ||
			d.Detail.Input != `{"a":1}` || d.Detail.Name != "r" || *d.Detail.StopDate < d.Detail.StartDate {
			t.Errorf("event %+v", d)
		}
		w.close()
		w = newWorld(t, w.path, fns, handler).start()
		defer w.close()
		time.Sleep(time.Hour)
		if len(got) != 2 {
			t.Errorf("delivered again: %d", len(got))
		}
	})
}

func TestExecutionsTakeTurnsAtTheFunctions(t *testing.T) {
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

func TestOldExecutionsAreForgotten(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		arn := w.create("m", passMachine)
		run := w.run(arn, "old", "{}")
		time.Sleep(92 * 24 * time.Hour)
		_, err := w.sfn.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: &run})
		refused(t, err, "ExecutionDoesNotExist", "Execution Does Not Exist: '"+run+"'")
	})
}
