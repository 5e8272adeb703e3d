package turn

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"piloto/internal/access/auth"
	"piloto/internal/chats/setup"
	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/meaning"
	"piloto/internal/ground/retry"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// ErrNotLookedAgain is the error of a draft whose values could not be read again.
var ErrNotLookedAgain = fault.New(fault.Upstream, "plan.not_looked_again")

// answers returns what the model has read, the newest first: of this turn or job whole, of earlier turns as it stands in the
// prompt.
func (d *dialog) answers() []plan.Answered {
	var list []plan.Answered
	for _, s := range d.reads {
		list = append(list, answered(s, s.Answer))
	}
	for _, l := range d.looks.made {
		text := l.source.Answer
		if l.lines != nil {
			text = l.text
		}
		list = append(list, answered(l.source, text))
	}
	slices.Reverse(list)
	return list
}

func answered(s conversation.Source, text string) plan.Answered {
	return plan.Answered{MCPID: s.MCPID, Service: s.Service, Called: s.Called(), At: s.At, Call: s.Call, Answer: text, Names: s.Names}
}

// LookAgain reads again what the values of a draft were taken from, as a person asked for on its card. The draft and its
// digest stay as they are: a value that is no longer there is marked. A value whose service does not answer stays as it was
// read before.
//
// It returns plan.ErrStale when Digest is not the draft's; plan.ErrExpired, plan.ErrNotPending, plan.ErrAlreadyRunning or
// plan.ErrRunNotFound when there is no draft; ErrNotLookedAgain when nothing could be read.
func (s *Service) LookAgain(ctx context.Context, e Edit) (plan.Run, error) {
	account, began := e.Principal.Account, s.Now()
	r, err := s.Store.Run(ctx, account, e.RunID)
	if err != nil {
		return r, err
	}
	if err := checkEditable(r, e.Digest, began); err != nil {
		return r, err
	}
	set, err := s.Store.Setup(ctx, setup.Of{Account: account, ProjectID: r.ProjectID}, began)
	if err != nil {
		return r, err
	}
	d := s.drafter(account, e.Locale)
	d.rules = set.Rules
	if d.listed, err = s.loadCatalogue(ctx, account, set); err != nil {
		return r, err
	}
	reads := slices.DeleteFunc(s.readAgain(ctx, d, r, e), func(one reread) bool { return one.err != nil })
	if len(reads) == 0 {
		return r, ErrNotLookedAgain
	}
	err = retry.Do(ctx, func() error { // somebody else may be looking again
		if r, err = s.Store.Run(ctx, account, e.RunID); err != nil {
			return err
		}
		if err := checkEditable(r, e.Digest, s.Now()); err != nil {
			return err
		}
		r, err = s.Store.Retake(ctx, r, retaken(r.Taken, reads), looked(r, reads, e, s.Now()))
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

// looked returns the event of what was read again.
func looked(r plan.Run, reads []reread, e Edit, at time.Time) run.Record {
	hashes := []map[string]any{}
	for _, one := range reads {
		hashes = append(hashes, map[string]any{"call": json.RawMessage(one.call), "request_hash": one.seen.Hash, "answer_hash": one.seen.Result.SHA256})
	}
	return run.Record{At: at, Type: plan.EventLooked, Data: map[string]any{
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
	method string
	seen   plan.Look
	answer string
	at     time.Time
	err    error
}

// readAgain makes each call once that the values of a draft were taken from.
func (s *Service) readAgain(ctx context.Context, d drafter, r plan.Run, e Edit) []reread {
	var list []reread
	for _, t := range r.Taken {
		if len(t.Call) > 0 && !slices.ContainsFunc(list, func(o reread) bool { return o.call == string(t.Call) }) && len(list) < maxLooks {
			list = append(list, reread{call: string(t.Call)})
		}
	}
	var reads errgroup.Group
	reads.SetLimit(looksAtOnce)
	for i := range list {
		reads.Go(func() error {
			one := &list[i]
			one.seen, one.method, one.err = s.lookOnce(ctx, d, r, e.Principal, e.Locale, one.call)
			one.at = s.Now().UTC()
			if res := one.seen.Result; one.err == nil && (one.seen.Failed || meaning.Of(res.Status, false) != meaning.Done) {
				one.err = ErrNotLookedAgain
			}
			if one.err != nil {
				s.Log.InfoContext(ctx, "turn.not_looked_again", "run_id", r.ID, "error", one.err)
			} else {
				one.answer = readable(one.seen.Result.Answer(one.method))
			}
			return nil
		})
	}
	_ = reads.Wait() // each has its own error
	return list
}

// lookOnce makes one read, as the tool mcp_request takes it. The service's setting and the rules decide as they do for a turn.
func (s *Service) lookOnce(ctx context.Context, d drafter, r plan.Run, p auth.Principal, tag locale.Tag, call string) (seen plan.Look, method string, err error) {
	step, wrong := readRequest(json.RawMessage(call))
	if len(wrong) > 0 {
		return plan.Look{}, "", ErrNotLookedAgain.At(wrong...)
	}
	bound, wrong, err := d.draft(ctx, plan.Proposal{Steps: []plan.ProposedStep{step}})
	switch {
	case err != nil:
		return plan.Look{}, "", err
	case len(wrong) > 0: // the service changed meanwhile
		return plan.Look{}, "", ErrNotLookedAgain.At(wrong...)
	case s.Looks == nil:
		return plan.Look{}, "", ErrNotLookedAgain
	}
	seen, err = s.Looks.Look(ctx, plan.Run{
		ID: r.ID, Account: r.Account, User: p.User, ChatID: r.ChatID, ProjectID: r.ProjectID, Locale: string(tag), TraceID: r.TraceID, Plan: bound,
	}, bound.Steps[0])
	return seen, step.Method, err
}
