package turn

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"piloto/internal/chats/proposal"
	"piloto/internal/chats/reads"
	"piloto/internal/chats/setup"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/retry"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// ErrNotReadAgain is the error of a draft whose values could not be read again.
var ErrNotReadAgain = fault.New(fault.Upstream, "plan.not_looked_again")

// ReadAgain repeats the reads of a draft's values, as a person asked for on its card. The draft and its digest stay as
// they are: a value that is no longer there is marked. A value whose service does not answer stays as it was read
// before.
//
// It returns plan.ErrStale when Digest is not the draft's; plan.ErrExpired, plan.ErrNotPending, plan.ErrAlreadyRunning
// or plan.ErrRunNotFound when there is no draft; ErrNotReadAgain when nothing could be read.
func (s *Service) ReadAgain(ctx context.Context, e Edit) (plan.Run, error) {
	account, began := e.Principal.Account, s.Now()
	r, err := s.Plans.Run(ctx, account, e.RunID)
	if err != nil {
		return r, err
	}
	if err := checkEditable(r, e.Digest, began); err != nil {
		return r, err
	}
	set, err := s.Setups.Setup(ctx, setup.Of{Account: account, ProjectID: r.ProjectID})
	if err != nil {
		return r, err
	}
	d := s.drafter(account, e.Locale)
	d.Rules = set.Rules
	if d.Listed, err = s.loadCatalogue(ctx, account, set); err != nil {
		return r, err
	}
	again := slices.DeleteFunc(s.reread(ctx, d, r), func(one reread) bool { return one.err != nil })
	if len(again) == 0 {
		return r, ErrNotReadAgain
	}
	err = retry.Do(ctx, func() error { // somebody else may be reading again
		if r, err = s.Plans.Run(ctx, account, e.RunID); err != nil {
			return err
		}
		if err := checkEditable(r, e.Digest, s.Now()); err != nil {
			return err
		}
		r, err = s.Plans.Retake(ctx, r, retaken(r.Taken, again), readEvent(r, again, e, s.Now()))
		return err
	})
	return r, err
}

// retaken returns the values of a draft as they were read again.
func retaken(before []plan.Taken, reads []reread) []plan.Taken {
	taken := slices.Clone(before)
	for i, t := range taken {
		for _, one := range reads {
			if string(t.Call) == one.call {
				taken[i] = t.Again(one.answer, one.at)
			}
		}
	}
	return taken
}

// readEvent returns the event of the repeated reads.
func readEvent(r plan.Run, reads []reread, e Edit, at time.Time) run.Record {
	hashes := []map[string]any{}
	for _, one := range reads {
		hashes = append(hashes, map[string]any{"call": json.RawMessage(one.call), "request_hash": one.seen.Hash, "answer_hash": one.seen.Result.SHA256})
	}
	return run.Record{At: at, Type: plan.EventRead, Data: map[string]any{
		"by": e.Principal.User, "trace_id": e.TraceID, "reads": hashes, "gone": gone(retaken(r.Taken, reads)),
	}}
}

// gone lists the values that are no longer there.
func gone(taken []plan.Taken) []string {
	list := []string{}
	for _, t := range taken {
		if t.Gone {
			list = append(list, t.StepID.String()+" "+t.Where)
		}
	}
	return list
}

// reread is a read that was made again.
type reread struct {
	call   string
	seen   plan.ReadAnswer
	answer string
	at     time.Time
	err    error
}

// reread makes each call once from which the values of a draft were taken.
func (s *Service) reread(ctx context.Context, d proposal.Drafter, r plan.Run) []reread {
	var list []reread
	for _, t := range r.Taken {
		if len(t.Call) > 0 && !slices.ContainsFunc(list, func(o reread) bool { return o.call == string(t.Call) }) && len(list) < reads.Most {
			list = append(list, reread{call: string(t.Call)})
		}
	}
	if s.Reads == nil {
		return nil
	}
	set := reads.NewSet(reads.Turn{Reader: s.Reads, Drafter: d, For: plan.Bound{Account: r.Account, ProjectID: r.ProjectID, TraceID: r.TraceID, Key: r.ID}})
	var all errgroup.Group
	all.SetLimit(reads.AtOnce)
	for i := range list {
		all.Go(func() error {
			one := &list[i]
			var wrong []fault.Field
			one.seen, one.answer, wrong, one.err = set.Again(ctx, json.RawMessage(one.call))
			one.at = s.Now().UTC()
			if one.err == nil && len(wrong) > 0 {
				one.err = ErrNotReadAgain.At(wrong...)
			}
			if one.err != nil {
				s.Log.InfoContext(ctx, "turn.not_looked_again", "run_id", r.ID, "error", one.err)
			}
			return nil
		})
	}
	_ = all.Wait() // each has its own error
	return list
}
