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

	// longestCall is the limit of a call with its preparation, at any progress. The rest of the function's time is for the
	// work of an invocation before (shareFor) and after it (writeTime).
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

// time returns how long a call may take, with its preparation, unless it is granted more (prolong).
func (call prepared) time(patience time.Duration) time.Duration {
	patience = cmp.Or(patience, UsualPatience)
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
func (e *effect) mayBeCalling(st plan.StepState) bool {
	switch {
	case st.Error != nil:
		return false
	case !e.aloneSince.IsZero() && st.Last.SentAt.Before(e.aloneSince):
		return false
	}
	return e.now().Before(st.Last.Until())
}

// errCallOver means that an attempt ended, or another began.
var errCallOver = errors.New("the attempt is over")

// prolong lets the call of the last attempt go on: it stores how long, before it does. The call may end meanwhile, so
// it has a journal of its own.
func (e *effect) prolong() tool.Prolong {
	number := e.journal.run.State(e.id).Last.Number
	j := *e.journal
	j.last = &latest{}
	return func(ctx context.Context, within time.Duration) time.Duration {
		ctx, cancel := context.WithTimeout(ctx, addTime)
		defer cancel()
		err := j.decide(ctx, e.id, func(r plan.Run) ([]run.Move, error) {
			st, at := r.State(e.id), e.now()
			if !st.Last.Open || st.Last.Number != number || st.Status.Terminal() {
				return nil, errCallOver
			}
			within = min(within+spare, st.Last.SentAt.Add(longestCall).Sub(at))
			st.Last.Lasts = lasting(at.Add(within).Sub(st.Last.SentAt))
			return []run.Move{{Record: run.Record{At: at}, State: &st}}, nil
		})
		if err != nil {
			e.log.WarnContext(ctx, "step.not_prolonged", "run_id", j.runID, "step", e.id, "error", err)
			return 0
		}
		return within
	}
}
