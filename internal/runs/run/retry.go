package run

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
)

// Retrial is one person's wish to go on from a run that did not do everything.
type Retrial struct {
	Account string
	User    string
	RunID   string
	Viewer  string // to whom the draft is answered
	Locale  locale.Tag
	TraceID string
}

// Retry proposes the plan of a run again, as a new draft of its chat: what the run
// finished is not done again, and everything else runs when the draft is confirmed.
// What was undone is done again, and what was read of that. Of a run that another went
// on from, and was confirmed, it is that other that is gone on from: what it did since
// is not done twice.
//
// It returns plan.ErrRunNotFound; plan.ErrAlreadyRunning while the run is active;
// plan.ErrNothingToRetry when it never ran, or nothing is left; ErrUnsettled while
// something in it is in doubt; plan.ErrStale when what is left to do is not bound to
// what was shown any more; and conversation.ErrChatNotFound.
func (s *Service) Retry(ctx context.Context, c Retrial) (Decision, error) {
	var d Decision
	from := c.RunID
	err := s.decide(ctx, c.Account, c.RunID, func(r plan.Run, chat conversation.Chat) error {
		r, err := s.newest(ctx, r)
		if err != nil {
			return err
		}
		from = r.ID
		if err := retriable(r); err != nil {
			return err
		}
		if chat.ID == "" {
			return conversation.ErrChatNotFound
		}
		next, err := s.goingOn(ctx, r, chat, c)
		if err != nil {
			return err
		}
		revisions, err := s.Store.Revisions(ctx, r)
		if err != nil {
			return err
		}
		next.Besides = r.Owners(revisions)
		d, err = s.propose(ctx, next, chat, c.Viewer)
		return err
	})
	if err != nil {
		return d, err
	}
	c.RunID = from
	if err := s.retried(ctx, c, d.Run.ID); err != nil { // the draft is there, and says itself where it comes from
		s.Log.WarnContext(ctx, "run.retry_untold", "run_id", c.RunID, "error", err)
	}
	return d, nil
}

// newest is the last of the runs that were confirmed to go on from a run, one from the
// other; the run itself when there is none.
func (s *Service) newest(ctx context.Context, r plan.Run) (plan.Run, error) {
	for r.Next != "" {
		next, err := s.Store.Run(ctx, r.Account, r.Next)
		if err != nil {
			return r, err
		}
		if next.ConfirmBy == "" {
			break
		}
		r = next
	}
	return r, nil
}

func retriable(r plan.Run) error {
	switch {
	case r.Status.Active():
		return plan.ErrAlreadyRunning
	case r.ConfirmBy == "" || r.Status == plan.Done:
		return plan.ErrNothingToRetry
	}
	if id := unsettled(r); id != "" {
		step, _ := r.Plan.Step(id)
		return ErrUnsettled.With("step", step.Title)
	}
	return nil
}

// goingOn is the draft that goes on from a run.
func (s *Service) goingOn(ctx context.Context, r plan.Run, chat conversation.Chat, c Retrial) (plan.Run, error) {
	at := s.Now()
	states := finished(r)
	p := r.Plan
	p.Revision, p.Replaces = p.Revision+1, r.Digest
	p.ExpiresAt = at.Add(s.DraftLife).UTC().Truncate(time.Second)
	p.Reuse = nil
	if len(states) > 0 {
		p.Reuse = &plan.Reuse{RunID: r.ID}
		for _, st := range states {
			p.Reuse.Steps = append(p.Reuse.Steps, st.StepID)
		}
	}
	next := plan.Run{
		ID: s.IDs.New(at), Account: r.Account, User: c.User, ChatID: chat.ID, ProjectID: chat.ProjectID,
		Locale: string(c.Locale), TraceID: c.TraceID, Plan: p, Retries: r.ID, Steps: states,
	}
	if !slices.ContainsFunc(p.Steps, func(step plan.Step) bool { return next.State(step.ID).Reused == "" }) {
		return next, plan.ErrNothingToRetry
	}
	if raw, err := json.Marshal(p); err != nil {
		return next, err
	} else if len(raw) > plan.MaxPlanSize {
		return next, plan.ErrInvalid.At(fault.Field{Loc: []any{"steps"}, Type: "too_long", Msg: "the plan is too large"})
	}
	var err error
	if next.Digest, err = p.Digest(); err != nil {
		return next, err
	}
	return next, s.holds(ctx, next, c.Locale)
}

// propose writes the draft, in the place of one that the chat may have.
func (s *Service) propose(ctx context.Context, next plan.Run, chat conversation.Chat, viewer string) (Decision, error) {
	var old *plan.Run
	if chat.PendingRunID != "" {
		before, err := s.Store.Run(ctx, next.Account, chat.PendingRunID)
		if err != nil {
			return Decision{}, err
		}
		if before.Status != plan.Draft { // it was decided after the chat was read
			return Decision{}, plan.ErrMoved
		}
		old = &before
	}
	at := s.Now()
	card := s.message(next, conversation.KindPlan, at, Describe(tagOf(next), next.Plan, old != nil))
	data := Proposed(next, map[string]any{"retries": next.Retries})
	if next.Plan.Reuse != nil {
		data["reused"] = next.Plan.Reuse.Steps
	}
	draft, err := s.Store.Propose(ctx, next, chat, old, Record{
		At: at, Type: plan.EventProposed, Data: data, Messages: []conversation.Message{card}, Shown: next.Sighted(viewer, at),
	})
	chat.PendingRunID, chat.UpdatedAt = next.ID, at
	return Decision{Run: draft, Chat: chat, Message: card}, err
}

// retried tells in the old run that another goes on from it.
func (s *Service) retried(ctx context.Context, c Retrial, by string) error {
	return s.over(ctx, c.Account, c.RunID, func(r plan.Run) error {
		_, err := s.Store.SettleStep(ctx, r, nil, Record{
			At: s.Now(), Type: plan.EventRetried, Data: map[string]any{"run_id": by, "by": c.User},
		})
		return err
	})
}

// finished are the states of what a run did that stays done, for the run that goes on
// from it: also what a person said was done, which has no result. A step that was done
// for each element, but not whole, is done for the rest, while the list is the same. What only reads
// does not stay when it read of what does not: the answer is of a thing that is gone.
func finished(r plan.Run) []plan.StepState {
	stays := map[string]bool{}
	for _, st := range r.Steps {
		e := plan.ParseEffect(st.StepID)
		if e.Undo || e.Item < 0 && !settledDone(st) {
			continue
		}
		if e.Item >= 0 && !settledDone(st) {
			continue
		}
		stays[st.StepID] = !settledDone(r.State(plan.UndoOf(st.StepID)))
	}
	for _, step := range r.Plan.Steps { // a step as a whole stays done when all its elements do
		st := r.State(step.ID)
		for n := range st.Items {
			stays[step.ID] = stays[step.ID] && (stays[plan.ItemOf(step.ID, n)] || r.State(plan.ItemOf(step.ID, n)).Status == plan.StepSkipped)
		}
	}
	gone := func(id string) bool { return !stays[id] && r.State(id).Status != plan.StepSkipped }
	for more := true; more; { // what was read of something that is done again is read again
		more = false
		for _, step := range r.Plan.Steps {
			if step.Risk != plan.Read || !names(step, gone) {
				continue
			}
			more = more || stays[step.ID]
			stays[step.ID] = false
			for n := range r.State(step.ID).Items {
				stays[plan.ItemOf(step.ID, n)] = false
			}
		}
	}
	var states []plan.StepState
	for _, st := range r.Steps {
		e := plan.ParseEffect(st.StepID)
		if !stays[st.StepID] || e.Item >= 0 && !stays[e.Step] && !sameList(r, e.Step, stays) {
			continue
		}
		states = append(states, reused(r, st))
	}
	return states
}

// names reports whether a step's references name a step that is such.
func names(step plan.Step, such func(id string) bool) bool {
	ids, err := step.Named()
	return err == nil && slices.ContainsFunc(ids, func(id string) bool { return id != plan.ItemName && such(id) })
}

// settledDone reports whether an effect was done: as far as we know, or as somebody
// says.
func settledDone(st plan.StepState) bool {
	return st.Status == plan.StepDone || st.Status == plan.StepInDoubt && st.Settled != nil && st.Settled.Outcome == plan.OutcomeDone
}

// sameList reports whether the list that a step is done for each element of will be
// the same: its step is not done again.
func sameList(r plan.Run, stepID string, stays map[string]bool) bool {
	step, _ := r.Plan.Step(stepID)
	refs, err := ref.InText(step.ForEach)
	return err == nil && !slices.ContainsFunc(refs, func(of ref.Reference) bool { return !stays[of.Step] })
}

// reused is a state as the run that goes on has it: the result, and whose it is.
func reused(r plan.Run, st plan.StepState) plan.StepState {
	from := st.Reused
	if from == "" {
		from = r.ID
	}
	return plan.StepState{
		StepID: st.StepID, Status: plan.StepDone, Attempts: st.Attempts, Last: st.Last, Result: st.Result, UpdatedAt: st.UpdatedAt,
		Settled: st.Settled, Items: st.Items, Expanded: st.Expanded, Reused: from,
	}
}

// Proposed is what the event of a proposal says: what it is about, whose it is, and
// more.
func Proposed(r plan.Run, more map[string]any) map[string]any {
	data := map[string]any{
		"run_id": r.ID, "chat_id": r.ChatID, "by": r.User,
		"goal": r.Plan.Goal, "digest": r.Digest, "steps": len(r.Plan.Steps),
	}
	maps.Copy(data, more)
	return data
}
