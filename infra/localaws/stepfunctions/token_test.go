package stepfunctions

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
)

func TestTaskTokens(t *testing.T) {
	inWorld(t, map[string][]answer{"f": {{Result: []byte("{}")}}}, func(t *testing.T, w *world) {
		run := w.run(w.create("m", approval), "r", "{}")
		synctest.Wait()
		var payload struct{ Token string }
		mustJSON(t, w.fns.Calls()[0].Payload, &payload)
		success := func(token, output string) error {
			_, err := w.sfn.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: &token, Output: &output})
			return err
		}
		checkRefusal(t, success(payload.Token, "{"), "InvalidOutput", "Invalid Output")
		checkRefusal(t, success("abc", "{}"), "InvalidToken", "Invalid Token: 'Invalid token'")
		seq, thread, _ := parseToken(payload.Token)
		checkRefusal(t, success(newToken(seq, thread), "{}"), "TaskTimedOut", "Task Timed Out: 'Provided task does not exist anymore'")
		checkRefusal(t, success(newToken(seq+1, thread), "{}"), "TaskDoesNotExist", "Task Does Not Exist")
		checkRefusal(t, success(newToken(seq, thread+1), "{}"), "TaskTimedOut", "")
		if err := success(payload.Token, `{"a": 1}`); err != nil {
			t.Fatal(err)
		}
		checkRefusal(t, success(payload.Token, `{"a": 1}`), "TaskTimedOut", "")
		_, err := w.sfn.SendTaskHeartbeat(ctx, &sfn.SendTaskHeartbeatInput{TaskToken: &payload.Token})
		checkRefusal(t, err, "TaskTimedOut", "")
		_, err = w.sfn.SendTaskFailure(ctx, &sfn.SendTaskFailureInput{TaskToken: &payload.Token, Error: aws.String(strings.Repeat("x", 257))})
		checkRefusal(t, err, "ValidationException", "256")
		if out := w.finish(run); *out.Output != `{"a":1}` {
			t.Errorf("output %s", *out.Output)
		}
	})
}

func TestTaskTokenSucceedsOnceUnderContention(t *testing.T) {
	fns := scriptedFunctions(map[string][]answer{"f": {{Result: []byte("{}")}}})
	w := newWorld(t, "", fns).start()
	defer w.close()
	run := w.run(w.create("m", approval), "r", "{}")
	token := ""
	for token == "" {
		if calls := fns.Calls(); len(calls) > 0 {
			var payload struct{ Token string }
			mustJSON(t, calls[0].Payload, &payload)
			token = payload.Token
		}
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
