package run

import (
	"context"
	"maps"
	"slices"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
)

// Retry proposes the plan of a run again, as a new draft of its chat. The steps that the run
// finished are not done again; all others run after the draft is confirmed. A step that was undone
// is done again, and so is a step that read its result. If a confirmed run already continues this
// one, Retry continues that run instead, so that its steps are not done twice.
//
// It returns plan.ErrRunNotFound; plan.ErrAlreadyRunning while the run is active;
// plan.ErrNothingToRetry when it never ran, or nothing is left; ErrUnresolved while one of its steps
// is in doubt; plan.ErrStale when a binding of the remaining steps no longer holds; ErrUnfit when one of them could not be
// sent with the known results; and conversation.ErrChatNotFound.
func (s *Service) Retry(ctx context.Context, c Again) (Decision, error) {
	var d Decision
	from := c.RunID
	err := s.decide(ctx, Key{c.Account, c.RunID}, func(r plan.Run, chat conversation.Chat) error {
		r, err := plan.Newest(ctx, s.Runs, r)
		if err != nil {
			return err
		}
		from = r.ID
		if err := checkRetriable(r); err != nil {
			return err
		}
		if chat.ID == "" {
			return conversation.ErrChatNotFound
		}
		next, err := s.continuation(ctx, r, chat, c)
		if err != nil {
			return err
		}
		revisions, err := s.Runs.Revisions(ctx, r)
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
	if err := s.recordRetry(ctx, c, d.Run.ID); err != nil { // the draft exists, and names the run that it continues
		s.Log.WarnContext(ctx, "run.retry_untold", "run_id", c.RunID, "error", err)
	}
	return d, nil
}

func checkRetriable(r plan.Run) error {
	switch {
	case r.Status.Active():
		return plan.ErrAlreadyRunning
	case r.ConfirmBy == "" || r.Status == plan.Done:
		return plan.ErrNothingToRetry
	}
	if doubts := r.Doubts(); len(doubts) > 0 {
		step, _ := r.Plan.Step(doubts[0])
		return ErrUnresolved.With("step", step.Title)
	}
	return nil
}

// continuation returns the draft that continues a run.
func (s *Service) continuation(ctx context.Context, r plan.Run, chat conversation.Chat, c Again) (plan.Run, error) {
	at := s.Now()
	states := keptStates(r)
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
		ReadFrom: r.ReadFrom, Question: r.Question, Conclude: wantedAgain(r.Conclude),
	}
	if !slices.ContainsFunc(p.Steps, func(step plan.Step) bool { return next.State(step.ID).Reused == "" }) {
		return next, plan.ErrNothingToRetry
	}
	return s.tried(ctx, next)
}

// propose writes the draft, and replaces the pending draft of the chat if there is one.
func (s *Service) propose(ctx context.Context, next plan.Run, chat conversation.Chat, viewer string) (Decision, error) {
	var old *plan.Run
	if chat.PendingRunID != "" {
		before, err := s.Runs.Run(ctx, next.Account, chat.PendingRunID)
		if err != nil {
			return Decision{}, err
		}
		if before.Status != plan.Draft { // the draft was decided after the chat was read
			return Decision{}, fault.ErrMoved
		}
		old = &before
	}
	at := s.Now()
	next.Dropped = plan.DroppedFor(old, next.Plan)
	card := s.message(next, conversation.KindPlan, at, Describe(next.Plan, next.Dropped))
	data := Proposed(next, map[string]any{"retries": next.Retries})
	if next.Plan.Reuse != nil {
		data["reused"] = next.Plan.Reuse.Steps
	}
	draft, err := s.Runs.Propose(ctx, next, chat, old, Record{
		At: at, Type: plan.EventProposed, Data: data, Messages: []conversation.Message{card}, Shown: next.Sighted(viewer, at),
	})
	chat.PendingRunID, chat.UpdatedAt = next.ID, at
	return Decision{Run: draft, Chat: chat, Message: card}, err
}

// recordRetry adds an event to the old run that names the new one.
func (s *Service) recordRetry(ctx context.Context, c Again, by string) error {
	return s.decideRun(ctx, Key{c.Account, c.RunID}, func(r plan.Run) error {
		_, err := s.Runs.MoveRun(ctx, r, Move{Record: Record{
			At: s.Now(), Type: plan.EventRetried, Data: map[string]any{"run_id": by, "by": c.User},
		}})
		return err
	})
}

// keptStates returns the states that the continuing run takes over: those of the effects that were
// done and stay done. This includes effects that a person resolved as done, which have no result.
// If a step was done for some of its elements, only the others are done, as long as its list is the
// same. A step that only reads is done again when it read the result of a step that is done again,
// because that result no longer exists.
func keptStates(r plan.Run) []plan.StepState {
	stays := map[plan.EffectID]bool{}
	for _, st := range r.Steps {
		if st.StepID.Undo() || !st.WasDone() {
			continue
		}
		stays[st.StepID] = !r.State(plan.UndoOf(st.StepID)).WasDone()
	}
	for _, step := range r.Plan.Steps { // a whole step is kept when all its elements are
		st := r.State(step.ID)
		for n := range st.Items {
			stays[step.ID] = stays[step.ID] && (stays[plan.ItemOf(step.ID, n)] || r.State(plan.ItemOf(step.ID, n)).Status == plan.StepSkipped)
		}
	}
	gone := func(id plan.EffectID) bool { return !stays[id] && r.State(id).Status != plan.StepSkipped }
	for more := true; more; { // a step that read the result of a repeated step is repeated too
		more = false
		for _, step := range r.Plan.Steps {
			if step.Risk != plan.Read || !refersTo(step, gone) {
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
		whole := plan.EffectOf(st.StepID.Step())
		if !stays[st.StepID] || !stays[whole] && !keepsList(r, whole, stays) {
			continue
		}
		states = append(states, reusedState(r, st))
	}
	return states
}

// refersTo reports whether a reference of the step names a step for which match is true.
func refersTo(step plan.Step, match func(id plan.EffectID) bool) bool {
	names, err := step.ReferencedSteps()
	return err == nil && slices.ContainsFunc(names, func(name string) bool { return name != plan.ItemName && match(plan.EffectOf(name)) })
}

// keepsList reports whether the list of a for_each step stays the same, because the step that
// returned it is not done again.
func keepsList(r plan.Run, id plan.EffectID, stays map[plan.EffectID]bool) bool {
	step, _ := r.Plan.Step(id)
	refs, err := ref.InText(step.ForEach)
	return err == nil && !slices.ContainsFunc(refs, func(of ref.Reference) bool { return !stays[plan.EffectOf(of.Step)] })
}

// reusedState returns a state as the continuing run stores it: the result, and the run that it came
// from.
func reusedState(r plan.Run, st plan.StepState) plan.StepState {
	from := st.Reused
	if from == "" {
		from = r.ID
	}
	return plan.StepState{
		StepID: st.StepID, Status: plan.StepDone, Attempts: st.Attempts, Last: st.Last, Result: st.Result, UpdatedAt: st.UpdatedAt,
		Resolved: st.Resolved, Items: st.Items, Expanded: st.Expanded, Reused: from,
	}
}

// Proposed returns the data of a proposal's event: the run, its user and its plan, and the members
// of more.
func Proposed(r plan.Run, more map[string]any) map[string]any {
	data := map[string]any{
		"run_id": r.ID, "chat_id": r.ChatID, "by": r.User,
		"goal": r.Plan.Goal, "digest": r.Digest, "steps": len(r.Plan.Steps),
	}
	maps.Copy(data, more)
	return data
}
