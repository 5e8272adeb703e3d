package ending

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"piloto/cmd/piloto/client"
	"piloto/internal/chats/job"
	"piloto/internal/conversation"
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
		"usage":            {Miswritten(errors.New("x")), 3},
		"no token":         {problem(401), 4},
		"no right":         {problem(403), 4},
		"a deadline":       {fmt.Errorf("x: %w", context.DeadlineExceeded), 5},
		"of a gateway":     {problem(504), 5},
		"credits":          {problem(402), 8},
		"no answer":        {&client.UnreachableError{Cause: errors.New("refused")}, 9},
		"none in time":     {&client.UnreachableError{Cause: fmt.Errorf("x: %w", context.DeadlineExceeded)}, 9},
		"too many":         {problem(429), 9},
		"unavailable":      {problem(503), 9},
		"Ctrl-C":           {&Signal{Signal: os.Interrupt}, 130},
		"a request to end": {&Signal{Signal: syscall.SIGTERM}, 143},
	} {
		if got := CodeOf(c.err); got != c.want {
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
		if got := CodeOfRun(c.status, c.done); got != c.want {
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
		if got := CodeOfJob(c.status, c.why, c.acted); got != c.want {
			t.Errorf("a job that is %s because of %q, acted %v: %d, not %d", c.status, c.why, c.acted, got, c.want)
		}
	}
}
