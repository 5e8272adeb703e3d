package stepfunctions

import (
	"context"
	"fmt"
	"localaws/conformance/machines"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
)

// snapshot is a copy of the data file after one journal write.
type snapshot struct {
	path  string
	at    time.Time
	calls []machines.Call // calls before the copy
}

// ledger counts the calls of a history by function: how many were scheduled, and how many of them
// have a recorded end.
type ledger struct{ scheduled, ended map[string]int }

func countCalls(events []types.HistoryEvent) ledger {
	l := ledger{map[string]int{}, map[string]int{}}
	scheduledAt := map[int64]string{} // by the id of each event of the task
	for _, ev := range events {
		switch {
		case ev.LambdaFunctionScheduledEventDetails != nil:
			_, name, _ := strings.Cut(*ev.LambdaFunctionScheduledEventDetails.Resource, ":function:")
			scheduledAt[ev.Id], _, _ = strings.Cut(name, ":")
			l.scheduled[scheduledAt[ev.Id]]++
		case ev.Type == types.HistoryEventTypeTaskScheduled:
			scheduledAt[ev.Id] = "f"
			l.scheduled["f"]++
		case ev.Type == types.HistoryEventTypeTaskStarted, ev.Type == types.HistoryEventTypeLambdaFunctionStarted:
			scheduledAt[ev.Id] = scheduledAt[ev.PreviousEventId]
		case strings.HasPrefix(string(ev.Type), "Task") || strings.HasPrefix(string(ev.Type), "LambdaFunction"):
			if name := scheduledAt[ev.PreviousEventId]; name != "" {
				l.ended[name]++
			}
		}
	}
	return l
}

// TestResumeAfterEveryWriteEndsTheSame stops the engine after each journal write of each case,
// reopens the file at that point, and lets the case end: status, output and error are those of the
// uninterrupted run, and a task with a recorded end is never called again.
func TestResumeAfterEveryWriteEndsTheSame(t *testing.T) {
	resumed := 0
	for n, c := range loadCases(t) {
		if testing.Short() && n%5 > 0 {
			continue
		}
		if !strings.Contains(string(c.Definition), `"Task"`) && !strings.Contains(string(c.Definition), `"Wait"`) || c.Refused != "" {
			continue // one write: nothing can be resumed
		}
		t.Run(c.ID(), func(t *testing.T) {
			for i, snap := range snapshots(t, &c) {
				resumed++
				synctest.Test(t, func(t *testing.T) { resume(t, &c, i, snap) })
			}
		})
	}
	t.Logf("%d restarts", resumed)
	if resumed < 200 && !testing.Short() {
		t.Errorf("only %d restarts", resumed)
	}
}

// snapshots runs the case and returns the file after every journal write.
func snapshots(t *testing.T, c *machines.Case) []snapshot {
	var list []snapshot
	dir := scratch(t)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "", scriptedFunctions(c.Functions)).start()
		defer w.close()
		machine := w.create("machine", c.DefinitionText(""))
		w.engine.journal.committed = func() {
			snap := snapshot{filepath.Join(dir, fmt.Sprintf("%d.db", len(list))), time.Now(), w.fns.Calls()}
			if err := w.store.Backup(snap.path); err != nil {
				t.Error(err)
			}
			list = append(list, snap)
		}
		w.finish(w.run(machine, "run", c.InputText("")))
	})
	return list
}

// resume opens a snapshot at the time of its copy and lets the case end.
func resume(t *testing.T, c *machines.Case, i int, snap snapshot) {
	time.Sleep(time.Until(snap.at))
	w := newWorld(t, snap.path, scriptedFunctions(c.Functions))
	defer w.close()
	arn := w.engine.account.arn("execution", "machine:run")
	before := countCalls(w.history(arn))
	w.fns.GoOn(before.ended) // functions continue in their scripts
	script := map[string]int{}
	for name, n := range before.ended {
		script[name] = n
	}
	over := w.describe(arn).Status != types.ExecutionStatusRunning
	w.start()
	w.fns.Resume(context.Background(), snap.calls)
	out := w.finish(arn)
	if string(out.Status) != c.Status || aws.ToString(out.Error) != c.Error {
		t.Errorf("after write %d: %s %s (%s), want %s %s", i, out.Status, aws.ToString(out.Error), aws.ToString(out.Cause), c.Status, c.Error)
	}
	if c.Output != nil && !sameJSON(t, []byte(aws.ToString(out.Output)), c.Output) {
		t.Errorf("after write %d: output %s, want %s", i, aws.ToString(out.Output), c.Output)
	}
	inFlight := len(snap.calls)
	for _, n := range before.ended {
		inFlight -= n
	}
	if inFlight > 0 && !over && !wasMadeBefore(w.fns.Calls(), snap.calls) {
		t.Errorf("after write %d: the task under way was not called again as it was: %v, then %v", i, snap.calls, w.fns.Calls())
	}
	after := countCalls(w.history(arn))
	for name, n := range after.scheduled {
		if over {
			n = script[name]
		}
		if calls := w.fns.Counts()[name] - script[name]; calls != n-script[name] {
			t.Errorf("after write %d: %s was called %d times, want %d", i, name, calls, n-script[name])
		}
	}
	total := 0
	for _, n := range after.scheduled {
		total += n
	}
	if c.Calls != nil && total != len(c.Calls) {
		t.Errorf("after write %d: %d calls in the history, want %d", i, total, len(c.Calls))
	}
	if c.Topic == "wait" && c.Elapsed != nil {
		if got := out.StopDate.Sub(*out.StartDate); (got - seconds64(*c.Elapsed)).Abs() > 5*time.Millisecond {
			t.Errorf("after write %d: took %s, want %gs", i, got, *c.Elapsed)
		}
	}
}

// wasMadeBefore reports whether one of the calls was made before, with the same payload. It need
// not be the first: concurrent items may be quicker.
func wasMadeBefore(calls, before []machines.Call) bool {
	return slices.ContainsFunc(calls, func(call machines.Call) bool {
		return slices.ContainsFunc(before, func(c machines.Call) bool {
			return c.Function == call.Function && string(c.Payload) == string(call.Payload)
		})
	})
}

const approval = `{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke.waitForTaskToken",
 "TimeoutSeconds":100,"HeartbeatSeconds":30,
 "Parameters":{"FunctionName":"f","Payload":{"token.$":"$$.Task.Token"}},"End":true}}}`

func TestTokenSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fns := scriptedFunctions(map[string][]answer{"f": {{Result: []byte("null")}}})
		w := newWorld(t, "", fns).start()
		arn := w.run(w.create("machine", approval), "run", "{}")
		synctest.Wait()
		var payload struct{ Token string }
		mustJSON(t, fns.Calls()[0].Payload, &payload)
		w.close()

		time.Sleep(20 * time.Second)
		w = newWorld(t, w.path, fns)
		defer w.close()
		_, err := w.sfn.SendTaskSuccess(context.Background(), &sfn.SendTaskSuccessInput{TaskToken: &payload.Token, Output: aws.String("1")})
		if code := apiCode(err); code != "ServiceUnavailableException" {
			t.Errorf("before Start: %s", code)
		}
		w.start()
		synctest.Wait()
		if _, err := w.sfn.SendTaskHeartbeat(context.Background(), &sfn.SendTaskHeartbeatInput{TaskToken: &payload.Token}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second) // past the first heartbeat's deadline
		if _, err := w.sfn.SendTaskSuccess(context.Background(), &sfn.SendTaskSuccessInput{TaskToken: &payload.Token, Output: aws.String(`{"ok":1}`)}); err != nil {
			t.Fatal(err)
		}
		out := w.finish(arn)
		if aws.ToString(out.Output) != `{"ok":1}` || len(fns.Calls()) != 1 {
			t.Errorf("output %s after %d calls", aws.ToString(out.Output), len(fns.Calls()))
		}
	})
}

func TestDeadlinesPassWhileEngineIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fns := scriptedFunctions(map[string][]answer{"f": {{Result: []byte("null")}}})
		w := newWorld(t, "", fns).start()
		token := w.run(w.create("machine", approval), "token", "{}")
		wait := w.run(w.create("wait", `{"StartAt":"A","States":{"A":{"Type":"Wait","Seconds":60,"End":true}}}`), "wait", "{}")
		whole := w.run(w.create("whole", `{"StartAt":"A","TimeoutSeconds":50,"States":{"A":{"Type":"Wait","Seconds":600,"End":true}}}`), "whole", "{}")
		synctest.Wait()
		w.close()
		time.Sleep(70 * time.Second) // past the heartbeat, not past the time-out
		w = newWorld(t, w.path, fns).start()
		defer w.close()
		for arn, want := range map[string]types.ExecutionStatus{token: "FAILED", wait: "SUCCEEDED", whole: "TIMED_OUT"} {
			out := w.finish(arn)
			if out.Status != want || time.Since(*out.StopDate) > time.Second {
				t.Errorf("%s ended %s at %s", arn, out.Status, out.StopDate)
			}
		}
	})
}

// TestCloseCancelsCallsAndRestartRepeatsThem closes the engine while one call is under way: the
// call is cancelled and repeated after the restart.
func TestCloseCancelsCallsAndRestartRepeatsThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fns := scriptedFunctions(map[string][]answer{"f": {{Sleep: 30, Result: []byte("1")}}})
		w := newWorld(t, "", fns).start()
		arn := w.run(w.create("machine", `{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"arn:aws:lambda:us-east-1:123456789012:function:f","End":true}}}`), "run", `{"k":1}`)
		time.Sleep(10 * time.Second)
		w.close()
		w = newWorld(t, w.path, fns).start()
		defer w.close()
		out := w.finish(arn)
		if aws.ToString(out.Output) != "1" || len(fns.Calls()) != 2 || string(fns.Calls()[0].Payload) != string(fns.Calls()[1].Payload) {
			t.Errorf("output %s, calls %v", aws.ToString(out.Output), fns.Calls())
		}
	})
}
