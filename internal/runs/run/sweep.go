package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
)

// Swept counts what one sweep did.
type Swept struct {
	Expired   int `json:"expired"`
	Restarted int `json:"restarted"`
	Settled   int `json:"settled"`
	Woken     int `json:"woken"` // steps that waited for an approval
	Failed    int `json:"failed"`
}

// sweepMost bounds one sweep; what is left is due at the next one.
const sweepMost = 5000

// Sweep looks at every run that is due: expires drafts, starts what confirm
// left queued, wakes what was decided, and settles runs whose execution ended
// without saying so. One run that cannot be healed does not keep the others from
// it, in this sweep or in a later one; the errors are joined.
func (s *Service) Sweep(ctx context.Context) (Swept, error) {
	var swept Swept
	list, err := s.Store.Due(ctx, s.Now(), sweepMost)
	problems := []error{err}
	for _, o := range list {
		if ctx.Err() != nil {
			break
		}
		if err := s.heal(ctx, o.Key, &swept); err != nil {
			swept.Failed++
			problems = append(problems, fmt.Errorf("run %s: %w", o.RunID, err), s.putOff(ctx, o, err))
		}
	}
	return swept, errors.Join(problems...)
}

// A run that cannot be healed is tried at so many sweeps in a row, because most causes pass;
// then after a minute, two, four, and at last once a day.
const (
	sweepTries   = 3
	sweepSeldom  = 24 * time.Hour
	sweepDoubled = 11 // 2^11 minutes are more than a day
)

// putOff makes room for others that are due. Otherwise a batch of runs that cannot be healed
// would fill every sweep.
func (s *Service) putOff(ctx context.Context, o Overdue, because error) error {
	until := s.Now()
	if more := o.Tries + 1 - sweepTries; more >= 0 {
		until = until.Add(min(time.Minute<<min(more, sweepDoubled), sweepSeldom))
	}
	s.Log.ErrorContext(ctx, "run.not_healed", "account", o.Account, "run_id", o.RunID, "tries", o.Tries+1, "next", until, "error", because)
	return s.Store.PutOff(ctx, o, until)
}

// heal does for one run what the sweep is for. A panic is that run's failure: one
// that cannot even be read holds up no other.
func (s *Service) heal(ctx context.Context, k Key, swept *Swept) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panicked: %v", p)
		}
	}()
	r, err := s.Store.Run(ctx, k.Account, k.RunID)
	if err != nil {
		return err
	}
	switch r.Status {
	case plan.Draft:
		did, err := s.expire(ctx, k)
		if did {
			swept.Expired++
		}
		return err
	case plan.Queued, plan.Running, plan.Waiting:
		return s.resume(ctx, r, swept)
	}
	return nil
}

// expire moves a draft whose time is over to expired.
func (s *Service) expire(ctx context.Context, k Key) (bool, error) {
	did := false
	err := s.decide(ctx, k.Account, k.RunID, func(r plan.Run, chat conversation.Chat) error {
		at := s.Now()
		if r.Status != plan.Draft || at.Before(r.Plan.ExpiresAt) {
			return nil
		}
		text := locale.Text(tagOf(r), "run.expired", "goal", r.Plan.Goal)
		_, err := s.Store.Discard(ctx, r, chat, plan.Expired, Record{
			At: at, Type: plan.EventExpired,
			Messages: []conversation.Message{s.message(r, conversation.KindNotice, at, text)},
		})
		did = err == nil
		return err
	})
	return did, err
}

// resume starts an execution that was not started, settles the run of one that ended,
// and wakes one that waits for what has been decided.
func (s *Service) resume(ctx context.Context, r plan.Run, swept *Swept) error {
	execution, err := s.Executions.ExecutionOf(ctx, r.ID)
	if err != nil {
		return err
	}
	switch execution {
	case ExecutionNone:
		if err := s.Executions.StartExecution(ctx, r.Account, r.ID); err != nil {
			return err
		}
		swept.Restarted++
	case ExecutionEnded:
		if _, err := s.Finish(ctx, r.Account, r.ID, string(ExecutionEnded)); err != nil {
			return err
		}
		swept.Settled++
		return nil
	case ExecutionRunning:
		n, err := s.wake(ctx, r)
		swept.Woken += n
		if err != nil {
			return err
		}
	}
	return s.Store.Postpone(ctx, r, LookAgain(r, s.Now()))
}

// LookAgain is when the sweep should look at a run that goes on: when the first of its
// approvals is over, if it does nothing but wait for them, or else in a while. Who decides
// before then makes it due, and so does an execution that ends badly.
func LookAgain(r plan.Run, at time.Time) time.Time {
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

// wake lets a run's execution go on where a step has nothing to wait for any more: it
// was decided, its time is over, or the run was asked to stop. A step that began was
// woken before. It returns how many.
func (s *Service) wake(ctx context.Context, r plan.Run) (int, error) {
	woken := 0
	var problems []error
	for _, st := range r.Steps {
		a := st.Approval
		if a == nil || a.Token == "" || st.Status != plan.StepWaiting && st.Status != plan.StepPending {
			continue
		}
		if r.CancelAt == nil && a.Open(s.Now()) {
			continue
		}
		if err := s.Executions.Wake(ctx, a.Token); err != nil {
			problems = append(problems, err)
			continue
		}
		woken++
	}
	return woken, errors.Join(problems...)
}
