package statemachines_test

import (
	"context"
	"encoding/json"
	"localaws/stepfunctions"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"piloto/statemachines"
)

const agentARN = "arn:aws:lambda:us-east-1:123456789012:function:agent"

// worker simulates the function of jobs: its rounds say how to go on, one after the other, and the last one repeats.
type worker struct {
	says   []string      // of the rounds; "fail": the call fails
	closes []string      // of the closings; then ""
	wait   time.Duration // until the wait is ended; 0: nobody ends it

	client    *sfn.Client
	calls     []string
	throttled bool     // it was closed for that
	foreign   []string // payloads with other data than ids
}

func (w *worker) Invoke(_ context.Context, _ string, payload []byte) ([]byte, *stepfunctions.FunctionError, error) {
	var in statemachines.JobInput
	if err := json.Unmarshal(payload, &in); err != nil || in.JobID != "job1" || in.AccountID != "acct1" || (in.Token == "") != (in.Task != statemachines.JobWait) {
		w.foreign = append(w.foreign, string(payload))
	}
	w.calls = append(w.calls, string(in.Task))
	w.throttled = in.Throttled()
	said := ""
	switch in.Task {
	case statemachines.JobRound:
		said = w.says[min(w.count("round"), len(w.says))-1]
	case statemachines.JobClose:
		if n := w.count("close"); n <= len(w.closes) {
			said = w.closes[n-1]
		}
	case statemachines.JobWait:
		if w.wait > 0 {
			go func() {
				time.Sleep(w.wait)
				_, _ = w.client.SendTaskSuccess(context.Background(), &sfn.SendTaskSuccessInput{TaskToken: &in.Token, Output: aws.String("{}")})
			}()
		}
	}
	if said == "fail" {
		return nil, &stepfunctions.FunctionError{Type: "Task.Failed", Message: "as the case says"}, nil
	}
	return []byte(`{"next":"` + said + `"}`), nil, nil
}

func (w *worker) count(task string) int {
	n := 0
	for _, c := range w.calls {
		if c == task {
			n++
		}
	}
	return n
}

func TestJobGoesInRoundsUntilItEnds(t *testing.T) {
	definition := strings.ReplaceAll(string(statemachines.JobDefinition), "${"+statemachines.AgentFunctionArn+"}", agentARN)
	failing := slices.Repeat([]string{"fail"}, 9)
	for name, c := range map[string]struct {
		worker worker
		calls  string
		ends   types.ExecutionStatus
	}{
		"at once":                     {worker{says: []string{"end"}}, "round", types.ExecutionStatusSucceeded},
		"rounds":                      {worker{says: []string{"round", "round", "end"}}, "round round round", types.ExecutionStatusSucceeded},
		"a plan":                      {worker{says: []string{"wait", "end"}, wait: time.Hour}, "round wait round", types.ExecutionStatusSucceeded},
		"a plan whose token was lost": {worker{says: []string{"wait", "end"}}, "round wait round", types.ExecutionStatusSucceeded},
		"stopped":                     {worker{says: []string{"round", "close"}}, "round round close", types.ExecutionStatusSucceeded},
		"after the one who died":      {worker{says: []string{"fail", "fail", "end"}}, "round round round", types.ExecutionStatusSucceeded},
		"every attempt fails":         {worker{says: []string{"fail"}}, strings.Repeat("round ", 9) + "close", types.ExecutionStatusSucceeded},
		"says what nobody knows":      {worker{says: []string{"else"}}, "round close", types.ExecutionStatusSucceeded},
		"closes after a failure":      {worker{says: []string{"close"}, closes: []string{"fail"}}, "round close close", types.ExecutionStatusSucceeded},
		"cannot be closed":            {worker{says: []string{"close"}, closes: append(failing, failing...)}, "round" + strings.Repeat(" close", 13), types.ExecutionStatusFailed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := c.worker
				ends, _ := perform(t, &w, definition, statemachines.JobInput{JobID: "job1", AccountID: "acct1"}, func(client *sfn.Client) { w.client = client })
				if got := strings.Join(w.calls, " "); ends != c.ends || got != c.calls || len(w.foreign) > 0 {
					t.Errorf("%s after %s, want %s after %s; alien %q", ends, got, c.ends, c.calls, w.foreign)
				}
			})
		})
	}
}
