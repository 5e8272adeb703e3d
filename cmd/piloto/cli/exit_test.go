package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"piloto/cmd/piloto/client"
	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/edge/httpapi"
	"piloto/internal/runs/plan"
)

func TestExitCodes(t *testing.T) {
	problem := func(status int) error { return fmt.Errorf("read: %w", &client.Problem{Status: status}) }
	for name, c := range map[string]struct {
		err  error
		want Code
	}{
		"nothing":          {nil, 0},
		"another error":    {errors.New("x"), 1},
		"not found":        {problem(404), 1},
		"a conflict":       {problem(409), 1},
		"gone":             {problem(410), 1},
		"our fault":        {problem(500), 1},
		"malformed":        {problem(400), 3},
		"invalid":          {problem(422), 3},
		"too large":        {problem(413), 3},
		"usage":            {usage(errors.New("x")), 3},
		"no token":         {problem(401), 4},
		"no right":         {problem(403), 4},
		"a deadline":       {fmt.Errorf("x: %w", context.DeadlineExceeded), 5},
		"of a gateway":     {problem(504), 5},
		"credits":          {problem(402), 8},
		"no answer":        {&client.UnreachableError{Cause: errors.New("refused")}, 9},
		"none in time":     {&client.UnreachableError{Cause: fmt.Errorf("x: %w", context.DeadlineExceeded)}, 9},
		"too many":         {problem(429), 9},
		"unavailable":      {problem(503), 9},
		"Ctrl-C":           {&signalError{os.Interrupt}, 130},
		"a request to end": {&signalError{syscall.SIGTERM}, 143},
	} {
		if got := codeOf(c.err); got != c.want {
			t.Errorf("%s: %d, not %d", name, got, c.want)
		}
	}
}

func TestExitCodesOfRunsAndJobs(t *testing.T) {
	for _, c := range []struct {
		status plan.Status
		done   int
		want   Code
	}{
		{plan.Done, 2, Success},
		{plan.Draft, 0, Waits},
		{plan.Waiting, 1, Waits},
		{plan.InDoubt, 1, InDoubt},
		{plan.Failed, 0, Failed},
		{plan.Failed, 1, Partial},
		{plan.Cancelled, 0, Failed},
		{plan.Cancelled, 1, Partial},
		{plan.Expired, 0, Failed},
		{plan.Superseded, 0, Failed},
	} {
		if got := codeOfRun(c.status, c.done); got != c.want {
			t.Errorf("a run that is %s, with %d steps done: %d, not %d", c.status, c.done, got, c.want)
		}
	}
	for _, c := range []struct {
		status job.Status
		why    conversation.StopReason
		acted  bool
		want   Code
	}{
		{job.Success, "", false, Success},
		{job.Success, "", true, Success},
		{job.Waiting, "", true, Waits},
		{job.Partial, "", false, Partial}, // something was refused
		{job.Partial, conversation.StopSteps, false, Partial},
		{job.Partial, conversation.StopTime, false, TimedOut},
		{job.Partial, conversation.StopTime, true, Partial},
		{job.Partial, conversation.StopBlocked, true, Partial},
		{job.Failed, conversation.StopModel, false, Failed},
		{job.Failed, conversation.StopBlocked, false, Blocked},
		{job.Partial, conversation.StopBudget, false, Partial},
	} {
		if got := codeOfJob(c.status, c.why, c.acted); got != c.want {
			t.Errorf("a job that is %s because of %q, acted %v: %d, not %d", c.status, c.why, c.acted, got, c.want)
		}
	}
}

// TestTheEndOfARunNamesWhatWaits, and nothing that the deployment would refuse: an approval that was given, a doubt that a person
// resolved, or one of a run that still goes on.
func TestTheEndOfARunNamesWhatWaits(t *testing.T) {
	step := func(id string, status plan.StepStatus) httpapi.Step {
		return httpapi.Step{PlannedStep: httpapi.PlannedStep{ID: id, Method: "POST", Undo: &httpapi.UndoCall{}}, Status: status}
	}
	asked, given := step("s1", plan.StepWaiting), step("s2", plan.StepRunning)
	asked.Approval, given.Approval = &httpapi.StepApproval{Request: "11", Digest: "11"}, &httpapi.StepApproval{Request: "22", Digest: "22", Decision: plan.Approved}
	doubt, resolved, undone := step("s3", plan.StepInDoubt), step("s4", plan.StepInDoubt), step("s5", plan.StepDone)
	resolved.Resolved = &plan.Resolution{Outcome: plan.OutcomeDone}
	undone.UndoState = &httpapi.Effect{Status: plan.StepInDoubt}
	all := []httpapi.Step{asked, given, doubt, resolved, undone}
	for status, want := range map[plan.Status][]string{
		plan.Waiting: {"approve 01R --step s1 --digest 11"},
		plan.InDoubt: {"settle 01R s3 ", "settle 01R undo:s5 "},
		plan.Running: nil,
	} {
		a, _, errOut := newApp(map[string]string{"PILOTO_LANG": "en"}, "")
		if err := a.endOf(httpapi.Run{RunID: "01R", Status: status, Steps: all}); codeOf(err) != codeOfRun(status, 1) {
			t.Errorf("%s: %v", status, err)
		}
		var got []string
		for line := range strings.Lines(errOut.String()) {
			if strings.Contains(line, " runs ") {
				got = append(got, line)
			}
		}
		if !slices.EqualFunc(got, want, strings.Contains) {
			t.Errorf("%s: %q, not %q", status, got, want)
		}
	}
}
