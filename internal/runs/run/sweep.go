package run

import (
	"context"
	"errors"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/sweep"
	"piloto/internal/runs/plan"
)

// Swept counts the effects of one sweep.
type Swept struct {
	Expired   int `json:"expired"`
	Restarted int `json:"restarted"`
	Finished  int `json:"settled"`
	Woken     int `json:"woken"` // steps that waited for an approval
	Failed    int `json:"failed"`
}

// sweepLimit is the greatest number of runs of one sweep; the others stay due.
const sweepLimit = 5000

// Sweep handles every run that is due: it expires drafts, starts queued runs that were not started,
// resumes executions whose step was decided, and finishes runs whose execution ended. A run that ended and is
// still due has no receipt: it is put on the list of the sweep that seals.
func (s *Service) Sweep(ctx context.Context) (Swept, error) {
	var swept Swept
	due := sweep.List[Key]{Name: "runs", Due: s.Runs.Due, Most: sweepLimit, Now: s.Now, Log: s.Log, Do: func(ctx context.Context, k Key) error {
		return healing{s, &swept}.run(ctx, k)
	}}
	count, err := due.Sweep(ctx)
	swept.Failed = count.Failed
	return swept, err
}

// healing is the work of one sweep.
type healing struct {
	service *Service
	swept   *Swept
}

// run heals one run.
func (h healing) run(ctx context.Context, k Key) error {
	s := h.service
	r, err := s.Runs.Run(ctx, k.Account, k.RunID)
	if err != nil {
		return err
	}
	switch r.Status {
	case plan.Draft:
		return h.expire(ctx, k)
	case plan.Queued, plan.Running, plan.Waiting:
		return h.resume(ctx, r)
	}
	return s.Runs.LeaveUnplaced(ctx, r, s.Now())
}

// expire moves a draft to expired when its time is over.
func (h healing) expire(ctx context.Context, k Key) error {
	s := h.service
	return s.decide(ctx, k, func(r plan.Run, chat conversation.Chat) error {
		at := s.Now()
		if r.Status != plan.Draft || r.StatusAt(at) != plan.Expired {
			return nil
		}
		text := locale.Say("run.expired", "goal", r.Plan.Goal)
		_, err := s.Runs.Discard(ctx, r, chat, plan.Expired, Record{
			At: at, Type: plan.EventExpired,
			Messages: []conversation.Message{s.message(r, conversation.KindNotice, at, text)},
		})
		if err == nil {
			h.swept.Expired++
		}
		return err
	})
}

// resume starts an execution that was not started, finishes the run of one that ended, and wakes
// one whose step was decided.
func (h healing) resume(ctx context.Context, r plan.Run) error {
	s := h.service
	execution, err := s.Executions.ExecutionOf(ctx, r.ID)
	if err != nil {
		return err
	}
	switch execution {
	case ExecutionNone:
		if err := s.Executions.StartExecution(ctx, Key{r.Account, r.ID}); err != nil {
			return err
		}
		h.swept.Restarted++
	case ExecutionEnded:
		if _, err := s.Finish(ctx, Key{r.Account, r.ID}, string(ExecutionEnded)); err != nil {
			return err
		}
		h.swept.Finished++
		return nil
	case ExecutionRunning:
		n, err := wake(ctx, s.Executions, r, s.Now())
		h.swept.Woken += n
		if err != nil {
			return err
		}
	}
	return s.Runs.Postpone(ctx, r, NextCheck(r, s.Now()))
}

// NextCheck returns the next due time of an active run: the expiry of the first open approval, if the run only waits for
// approvals, else a fixed time later. A decision, or a failed execution, makes the run due earlier.
func NextCheck(r plan.Run, at time.Time) time.Time {
	if until, waits := r.WaitsUntil(at); waits {
		return until
	}
	next := at.Add(CheckEvery)
	for _, st := range r.Steps {
		if st.Status == plan.StepWaiting && st.Approval.Open(at) && st.Approval.ExpiresAt.Before(next) {
			next = st.Approval.ExpiresAt
		}
	}
	return next
}

// wake resumes a run's execution where a step no longer has to wait: it was decided, its approval
// expired, or the run was asked to stop. A step that already began was woken before. It returns the
// number of steps that it woke.
func wake(ctx context.Context, executions Waker, r plan.Run, now time.Time) (int, error) {
	woken := 0
	var problems []error
	for _, st := range r.Steps {
		a := st.Approval
		if a == nil || a.Token == "" || st.Status != plan.StepWaiting && st.Status != plan.StepPending {
			continue
		}
		if r.CancelAt == nil && a.Open(now) {
			continue
		}
		if err := executions.Wake(ctx, a.Token); err != nil {
			problems = append(problems, err)
			continue
		}
		woken++
	}
	return woken, errors.Join(problems...)
}
