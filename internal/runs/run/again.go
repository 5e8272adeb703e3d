package run

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
)

// ErrNothingToUndo is the error of a run that left nothing that can be undone.
var ErrNothingToUndo = fault.New(fault.Conflict, "run.nothing_to_undo")

// ErrUnresolvable is the error of an undo that cannot be sent with the values that there are.
var ErrUnresolvable = fault.New(fault.Conflict, "run.undo_unresolvable")

// ErrUnfit refuses a draft because a step cannot be sent with the known values, so no person is asked to confirm it.
var ErrUnfit = fault.New(fault.Conflict, "run.unfit")

// Drafts makes the calls of drafts that come after a run, and tries them as those of every proposal.
type Drafts interface {
	// Resolved returns the call of an effect with values for its references. It fails with a conflict when a result has no
	// such value.
	Resolved(ctx context.Context, r plan.Run, id plan.EffectID) (plan.Call, error)
	// Known reads the values that the references of each step name, within limit, and which requests may have been done
	// before. It lists the calls that could not be sent with the known results: those of its reads, and those that the draft
	// takes over. reads are earlier results, by the names of the steps.
	Known(ctx context.Context, r plan.Run, reads map[string]ref.Result, limit time.Duration) ([]plan.Known, []fault.Field)
}

// previewTime bounds the reads for a draft.
const previewTime = 5 * time.Second

// Again is a person's request for a draft that follows a run: its remaining steps, its undo, or the same plan once more.
type Again struct {
	Account ids.Account
	User    string
	RunID   string
	Viewer  string // the viewer who is shown the draft
	Locale  locale.Tag
	TraceID string
}

// Reverse proposes the declared undos of a run's changes, the newest change first, as a new draft of its chat. The calls of
// the draft have values, and no references. Changes that another confirmed draft of this kind undid, or may still undo, are
// left out.
//
// It returns plan.ErrRunNotFound; plan.ErrAlreadyRunning while the run is active, or such a draft; ErrUnresolved while
// one of its steps is in doubt; ErrNothingToUndo; plan.ErrStale when a binding no longer holds; ErrUnresolvable; and
// conversation.ErrChatNotFound.
func (s *Service) Reverse(ctx context.Context, a Again) (Decision, error) {
	return s.again(ctx, a, func(r plan.Run) (plan.Plan, []plan.EffectID, error) {
		if doubts := r.Doubts(); len(doubts) > 0 {
			step, _ := r.Plan.Step(doubts[0])
			return plan.Plan{}, nil, ErrUnresolved.With("step", step.Title)
		}
		back := reversal{s.Runs, s.Catalogue, s.Drafts, r}
		undos, err := back.left(ctx)
		if err != nil {
			return plan.Plan{}, nil, err
		}
		p, err := back.plan(ctx, undos, a.Locale)
		return p, undos, err
	})
}

// Repeat proposes the plan of a run once more, as a new draft of its chat: all of its steps are done when the draft is
// confirmed, at any outcome of the run. Its errors are those of Reverse, without ErrNothingToUndo and ErrUnresolved, and with
// ErrUnfit instead of ErrUnresolvable.
func (s *Service) Repeat(ctx context.Context, a Again) (Decision, error) {
	return s.again(ctx, a, func(r plan.Run) (plan.Plan, []plan.EffectID, error) {
		p := r.Plan
		p.Undoes = ""
		return p, nil, nil
	})
}

// again proposes the plan that make returns for a run, with the effects of the run that it undoes.
func (s *Service) again(ctx context.Context, a Again, make func(plan.Run) (plan.Plan, []plan.EffectID, error)) (Decision, error) {
	var d Decision
	err := s.decide(ctx, Key{a.Account, a.RunID}, func(r plan.Run, chat conversation.Chat) error {
		if chat.ID == "" {
			return conversation.ErrChatNotFound
		}
		if r.Status.Active() {
			return plan.ErrAlreadyRunning
		}
		at := s.Now()
		p, undos, err := make(r)
		if err != nil {
			return err
		}
		p.ID, p.Revision, p.Replaces, p.Reuse = s.IDs.New(at), 1, "", nil
		p.ExpiresAt = at.Add(s.DraftLife).UTC().Truncate(time.Second)
		next := plan.Run{
			ID: s.IDs.New(at), Account: r.Account, User: a.User, ChatID: chat.ID, ProjectID: chat.ProjectID,
			Locale: string(a.Locale), TraceID: a.TraceID, Plan: p, ReadFrom: r.ReadFrom, Conclude: wantedAgain(r.Conclude),
		}
		if len(undos) > 0 { // its values are those of the answers
			next.ReadFrom = r.DataFrom()
		} else if revisions, err := s.Runs.Revisions(ctx, r); err != nil {
			return err
		} else { // it is the plan that they asked for
			next.Besides = r.Owners(revisions)
		}
		if next, err = s.tried(ctx, next); err != nil {
			return err
		}
		if len(undos) > 0 { // before the draft, so that no undo that was confirmed is unknown
			if _, err = s.Runs.MoveRun(ctx, r, Move{Record: Record{
				At: at, Type: plan.EventReversed, Data: map[string]any{"run_id": next.ID, "by": a.User, "undos": undos[:len(p.Steps)]},
			}}); err != nil {
				return err
			}
		}
		d, err = s.propose(ctx, next, chat, a.Viewer)
		return err
	})
	return d, err
}

// tried returns a draft whose steps can be sent, as far as it is known, with new targets and doubts of its steps and its
// digest.
func (s *Service) tried(ctx context.Context, next plan.Run) (plan.Run, error) {
	if err := checkBindings(ctx, s.Catalogue, next); err != nil {
		return next, err
	}
	next.Plan = next.Plan.Knowing(nil)
	source := next
	source.ID = cmp.Or(next.Retries, next.ID) // the run with the results that it takes over
	known, wrong := s.Drafts.Known(ctx, source, nil, previewTime)
	if len(wrong) > 0 {
		return next, unfit(next.Plan, wrong)
	}
	next.Plan = next.Plan.Knowing(known)
	raw, err := json.Marshal(next.Plan)
	if err != nil {
		return next, err
	}
	if len(raw) > plan.MaxPlanSize {
		return next, plan.ErrInvalid.At(fault.Field{Loc: []any{"steps"}, Type: "too_long", Msg: "the plan is too large"})
	}
	next.Digest, err = next.Plan.Digest()
	return next, err
}

// unfit returns the error of a draft that could not be sent, with the reason of its first fault.
func unfit(p plan.Plan, wrong []fault.Field) error {
	err := ErrUnfit
	if p.Undoes != "" {
		err = ErrUnresolvable
	}
	title := p.Goal
	if i, ok := wrong[0].Loc[1].(int); ok {
		title = p.Steps[i].Title
	}
	return err.With("step", title).WithFault("why", wrong[0].Why).At(wrong...)
}
