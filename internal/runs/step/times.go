package step

import (
	"cmp"
	"context"
	"errors"
	"math"
	"time"

	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/tools/tool"
)

// The times of a step. Each follows from the longest time of its function; tests hold the template and the state machine
// to them.
const (
	// FunctionTime is the timeout of the step function: Lambda's longest.
	FunctionTime = 15 * time.Minute
	// TaskTime is how long the state machine waits for the function: when it gives an invocation up, that one has ended.
	TaskTime = FunctionTime + 10*time.Second

	// longestCall is the most that a call may take, with what precedes it, whatever progress it reports. The rest of
	// the function's time is for what an invocation does before (shareFor) and after it (writeTime).
	longestCall = FunctionTime - time.Minute

	// MostPatience is the greatest setting of Executor.Patience: a tool may take so long after the longest preparation.
	MostPatience = longestCall - tool.PrepareTime
	// UsualPatience is the setting where nobody chose one.
	UsualPatience = time.Minute

	// filesTime is the most that a change of files takes. The function that makes it has a minute.
	filesTime = 70 * time.Second

	writeTime = 15 * time.Second // to write a result

	// outlives is how much longer than its call an invocation may live, as another one sees it: it writes the intent
	// before and the result after it, and clocks differ.
	outlives = writeTime + 30*time.Second

	// spare is how much more than it needs a call is granted that goes on, so that it seldom asks.
	spare = time.Minute
)

// callTime returns how long a call may take, with what precedes it, unless it is granted more (prolong).
func (x *Executor) callTime(call prepared) time.Duration {
	patience := cmp.Or(x.Patience, UsualPatience)
	switch {
	case call.tool == nil:
		return patience
	case call.server.Kind == tool.KindFiles:
		return filesTime
	}
	return tool.PrepareTime + patience
}

// lasting returns for how many seconds an attempt counts as one that is in its call, when that takes so long.
func lasting(call time.Duration) int { return int(math.Ceil((call + outlives).Seconds())) }

// mayBeCalling reports whether the invocation that wrote the open attempt may still receive a
// response. The state machine invokes a step again when it loses track of an invocation, which may
// still run. An open attempt with an error has ended without a response.
func (x *Executor) mayBeCalling(st plan.StepState) bool {
	switch {
	case st.Error != nil:
		return false
	case !x.AloneSince.IsZero() && st.Last.SentAt.Before(x.AloneSince):
		return false
	}
	return x.Now().Before(st.Last.Until())
}

// errCallOver means that an attempt ended, or another began.
var errCallOver = errors.New("the attempt is over")

// prolong lets the call of the last attempt go on: it stores how long, before it does. The call may end meanwhile, so
// it has a progress of its own.
func (x *Executor) prolong(t Task) tool.Prolong {
	number := t.progress.run.State(t.StepID).Last.Number
	t.progress = &progress{run: t.progress.run, last: &latest{}}
	return func(ctx context.Context, within time.Duration) time.Duration {
		ctx, cancel := context.WithTimeout(ctx, addTime)
		defer cancel()
		err := x.decide(ctx, t, func(r plan.Run) ([]run.Move, error) {
			st, at := r.State(t.StepID), x.Now()
			if !st.Last.Open || st.Last.Number != number || st.Status.Terminal() {
				return nil, errCallOver
			}
			within = min(within+spare, st.Last.SentAt.Add(longestCall).Sub(at))
			st.Last.Lasts = lasting(at.Add(within).Sub(st.Last.SentAt))
			return []run.Move{{Record: run.Record{At: at}, State: &st}}, nil
		})
		if err != nil {
			x.Log.WarnContext(ctx, "step.not_prolonged", "run_id", t.RunID, "step", t.StepID, "error", err)
			return 0
		}
		return within
	}
}
