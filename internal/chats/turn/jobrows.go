package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"piloto/internal/chats/agent"
	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/retry"
	"piloto/internal/ground/visible"
)

// jobRows are a job and its rounds, as they are stored.
type jobRows struct {
	service *Service
	job     job.Job
	rounds  []job.Round
}

func (jr *jobRows) locale() locale.Tag { return locale.Tag(jr.job.Locale) }

// watch returns the times by which the client is checked.
func (jr *jobRows) watch() job.Watch {
	return job.Watch{Now: jr.service.Now(), Began: jr.service.AloneSince}
}

// isBack reports whether the job waited for nothing but its client, which is there again.
func (jr *jobRows) isBack() bool {
	return !jr.job.Absent && jr.job.RunID == "" && jr.job.Question == "" && len(jr.job.Open) == 0
}

// evaluates reports whether a text is judged before the job ends with it.
func (jr *jobRows) evaluates(text string) bool {
	eval := jr.job.Loop.Eval
	return (eval == agent.EvalBasic || eval == agent.EvalFull) && !visible.Blank(text)
}

// toJudge reports whether the next call judges the last answer.
func (jr *jobRows) toJudge() bool {
	last := jr.last()
	switch {
	case last == nil:
		return false
	case last.Answered.IsZero(): // it was lost
		return last.Eval
	}
	return last.IsText() && !last.Doubted && !last.Handled.IsZero()
}

// isAnswered reports whether the last round was answered, and its answer not handled.
func (jr *jobRows) isAnswered() bool {
	last := jr.last()
	return last != nil && !last.Answered.IsZero() && last.Handled.IsZero()
}

// judges reports whether the next round, or the one that is not handled yet, is an evaluation.
func (jr *jobRows) judges() bool { return jr.isAnswered() && jr.last().Eval || jr.toJudge() }

// lastAnswer returns the round with whose text the agent was done, and the verdict about it; nil when there is none, or
// when the agent proposed something after it.
func (jr *jobRows) lastAnswer() (answer *job.Round, v verdict) {
	for i, r := range jr.rounds {
		switch {
		case r.Answered.IsZero():
		case r.IsText() && !visible.Blank(r.Text):
			answer, v = &jr.rounds[i], verdict{}
		case r.Eval:
			v, _ = readVerdict(r.Text) // one that cannot be read says nothing
		case r.RunID != "":
			answer, v = nil, verdict{}
		}
	}
	return answer, v
}

// tally returns how many rounds are steps of the agent, and how many are evaluations.
func (jr *jobRows) tally() (steps, evaluations int) {
	for _, r := range jr.rounds {
		if r.Eval {
			evaluations++
		} else {
			steps++
		}
	}
	return steps, evaluations
}

// reasonText returns why the job is ended, as a part of a sentence.
func (jr *jobRows) reasonText() string {
	return locale.Text(jr.locale(), "job.stopped."+string(jr.job.StopReason))
}

// results puts the client's answers into the results of the round; "" while some are missing. The answers are data of
// the machine, so they may not go into a read of a service without a confirmation.
func (jr *jobRows) results() (result string, data map[string]any, err error) {
	if len(jr.job.OpenCalls()) > 0 {
		return "", nil, nil
	}
	r := jr.last()
	for _, t := range jr.job.Results {
		for i := range r.Results {
			if t.ID != strconv.Itoa(r.N)+"."+strconv.Itoa(i) {
				continue
			}
			if r.Results[i] = cmp.Or(t.Output, "{}"); t.Did == nil {
				continue
			}
			if r.Did == nil {
				r.Did = make([][]job.Deed, len(r.Results))
			}
			r.Did[i] = t.Did
		}
	}
	jr.addReadFrom(job.MachineZone)
	return "{}", map[string]any{"calls": openNames(jr.job.Open)}, nil // the result of a call with an empty answer
}

func (jr *jobRows) last() *job.Round {
	if len(jr.rounds) == 0 {
		return nil
	}
	return &jr.rounds[len(jr.rounds)-1]
}

// save stores the job with rounds and events. A request to stop that arrived meanwhile is kept.
func (jr *jobRows) save(ctx context.Context, rounds []job.Round, events ...job.Event) error {
	jr.job.UpdatedAt = jr.service.Now()
	jr.job.DueAt = jr.job.UpdatedAt.Add(job.CheckEvery)
	return retry.Do(ctx, func() error {
		saved, err := jr.service.Jobs.SaveJob(ctx, jr.job, rounds, slices.Clone(events)...)
		if err == nil {
			jr.job = saved
		}
		if !errors.Is(err, fault.ErrMoved) {
			return err
		}
		now, readErr := jr.service.Jobs.Job(ctx, jr.job.Account, jr.job.ID)
		if readErr != nil {
			return readErr
		}
		jr.job.Version, jr.job.StopAt, jr.job.Events, jr.job.Listed, jr.job.Seen = now.Version, now.StopAt, now.Events, now.Listed, now.Seen
		jr.takeResults(now)
		return err
	})
}

// takeResults takes the client's answers that came while this invocation worked.
func (jr *jobRows) takeResults(now job.Job) {
	if len(jr.job.Open) == 0 || len(now.Results) <= len(jr.job.Results) {
		return
	}
	jr.job.Note(now.Results[len(jr.job.Results):]...)
	if jr.job.Results = now.Results; jr.job.Status.Terminal() {
		jr.job.CloseRecord()
	}
}

// addReadFrom adds services whose data the model has read. open gives them their trust zones.
func (jr *jobRows) addReadFrom(more ...string) {
	for _, c := range more {
		if !slices.Contains(jr.job.ReadFrom, c) {
			jr.job.ReadFrom = append(jr.job.ReadFrom, c)
		}
	}
}

// readText returns the function that reads the answer of a read of an earlier round.
func (jr *jobRows) readText(of conversation.Source) func() (string, error) {
	return func() (string, error) {
		if !of.Cut {
			return of.Answer, nil
		}
		return jr.service.Jobs.Text(context.Background(), jr.job.Account, jr.job.ID, of.ID)
	}
}

// replied returns the tool result with the person's answer, and the option that it names; "" when there is none yet.
func (jr *jobRows) replied() (result string, data map[string]any, err error) {
	if jr.job.Reply == "" {
		return "", nil, nil
	}
	answer := map[string]string{"answer": jr.job.Reply}
	if chosen := conversation.Choose(jr.job.Options, jr.job.Reply); chosen != jr.job.Reply {
		answer["option"] = chosen
	}
	raw, err := json.Marshal(answer)
	return string(raw), map[string]any{"message_id": jr.job.ReplyID}, err
}

// keepNext stores the changes of the job as of its plan. The round stores its other results.
func (jr *jobRows) keepNext(ctx context.Context, next job.Changes) error {
	return retry.Do(ctx, func() error {
		stored, err := jr.service.Jobs.Job(ctx, jr.job.Account, jr.job.ID)
		if err != nil {
			return err
		}
		stored.Next = &next
		saved, err := jr.service.Jobs.SaveJob(ctx, stored, nil)
		if err == nil {
			jr.job.Next, jr.job.Version, jr.job.StopAt, jr.job.Events, jr.job.Listed = &next, saved.Version, saved.StopAt, saved.Events, saved.Listed
		}
		return err
	})
}

// takeNextChanges takes the changes that the round stored before it proposed its plan.
func (jr *jobRows) takeNextChanges() {
	if next := jr.job.Next; next != nil && next.Round == jr.last().N {
		jr.job.Changes, jr.job.Next = *next, nil
	}
}
