package run

import (
	"context"
	"log/slog"
	"slices"

	"piloto/internal/conversation"
	"piloto/internal/locale"
	"piloto/internal/plan"
)

// Begin moves a queued run to running and returns its waves: the ids of the
// steps that may run together, in order. A run that already runs gets the same
// waves again, and one that ended gets none.
func (s *Service) Begin(ctx context.Context, account, runID string) ([][]string, error) {
	var waves [][]string
	err := s.over(ctx, account, runID, func(r plan.Run) error {
		waves = [][]string{}
		if r.Status.Terminal() || r.Status == plan.Draft {
			return nil
		}
		var err error
		if waves, err = plan.Waves(r.Plan.Steps); err != nil || r.Status != plan.Queued {
			return err
		}
		at := s.Now()
		text := locale.Text(tagOf(r), "run.started", "goal", r.Plan.Goal, "n", count(len(r.Plan.Steps)))
		_, err = s.Store.Start(ctx, r, at.Add(checkEvery), Record{
			At: at, Type: plan.EventStarted, Data: map[string]any{"goal": r.Plan.Goal, "steps": len(r.Plan.Steps)},
			Messages: []conversation.Message{s.message(r, conversation.KindProgress, at, text)},
		})
		return err
	})
	return waves, err
}

// Finish moves a run to the end its steps say, posts the final message once,
// and frees the chat. cause is how the execution itself ended, empty when it
// ended well. A run that ended before is left as it is.
func (s *Service) Finish(ctx context.Context, account, runID, cause string) (plan.Run, error) {
	var ended plan.Run
	err := s.over(ctx, account, runID, func(r plan.Run) error {
		ended = r
		if !r.Status.Active() {
			return nil
		}
		chat, err := s.chatOf(ctx, r)
		if err != nil {
			return err
		}
		r = closeSteps(r, s.closed)
		to, failure := verdict(r, cause)
		ended, _, err = s.finish(ctx, r, chat, to, failure, map[string]any{}, nil)
		if err == nil {
			level := slog.LevelInfo
			if to == plan.Failed || to == plan.InDoubt { // somebody may only keep warnings, and is alarmed by these
				level = slog.LevelWarn
			}
			s.Log.Log(ctx, level, "run.finished", "account", account, "run_id", runID, "status", to)
		}
		return err
	})
	return ended, err
}

func (s *Service) finish(ctx context.Context, r plan.Run, chat conversation.Chat, to plan.Status, failure *plan.Failure,
	data map[string]any, before []conversation.Message,
) (plan.Run, conversation.Message, error) {
	at := s.Now()
	done := 0
	for _, st := range r.Steps {
		if st.Status == plan.StepDone {
			done++
		}
	}
	reason := ""
	if failure != nil {
		reason = failure.Message
		data["error"] = failure
	}
	data["status"], data["done"], data["steps"] = to, done, len(r.Plan.Steps)
	text := locale.Text(tagOf(r), "run.finished_"+string(to), "goal", r.Plan.Goal,
		"done", count(done), "n", count(len(r.Plan.Steps)), "reason", reason)
	if told := summary(r); told != "" && to == plan.Done {
		text += "\n" + told
	}
	final := s.message(r, conversation.KindFinal, at, text)
	r.Error = failure
	ended, err := s.Store.Finish(ctx, r, chat, to, Record{
		At: at, Type: plan.EventFinished, Data: data, Messages: append(before, final),
	})
	return ended, final, err
}

// closeSteps ends what the execution left open: an attempt without a result is
// in doubt unless its method may be repeated, and what never began is cancelled.
func closeSteps(r plan.Run, failure func(plan.Run, plan.Step, plan.StepState) (plan.StepStatus, *plan.Failure)) plan.Run {
	states := make([]plan.StepState, len(r.Plan.Steps))
	for i, step := range r.Plan.Steps {
		st := r.State(step.ID)
		if !st.Status.Terminal() {
			st.Status, st.Error = failure(r, step, st)
			st.Last.Open = false
		}
		states[i] = st
	}
	r.Steps = states
	return r
}

func (s *Service) closed(r plan.Run, step plan.Step, st plan.StepState) (plan.StepStatus, *plan.Failure) {
	tag := tagOf(r)
	switch {
	case st.Status == plan.StepPending:
		return plan.StepCancelled, nil
	case st.Last.Open && !plan.Idempotent(step.Method):
		return plan.StepInDoubt, &plan.Failure{Code: "step.in_doubt", Message: locale.Text(tag, "step.in_doubt", "target", st.Last.URL)}
	case st.Error != nil && !st.Last.Open:
		return plan.StepFailed, st.Error
	}
	return plan.StepFailed, &plan.Failure{Code: "step.interrupted", Message: locale.Text(tag, "step.interrupted")}
}

// verdict says how a run whose steps are all closed ended, and why.
func verdict(r plan.Run, cause string) (plan.Status, *plan.Failure) {
	first := func(status plan.StepStatus) *plan.Failure {
		for _, st := range r.Steps {
			if st.Status == status {
				return st.Error
			}
		}
		return nil
	}
	has := func(status plan.StepStatus) bool {
		return slices.ContainsFunc(r.Steps, func(st plan.StepState) bool { return st.Status == status })
	}
	switch {
	case has(plan.StepInDoubt):
		return plan.InDoubt, first(plan.StepInDoubt)
	case has(plan.StepFailed):
		return plan.Failed, first(plan.StepFailed)
	case has(plan.StepCancelled) && r.CancelAt != nil:
		return plan.Cancelled, nil
	case has(plan.StepCancelled):
		if cause == "" {
			cause = "execution"
		}
		return plan.Failed, &plan.Failure{Code: "run.aborted", Message: locale.Text(tagOf(r), "run.aborted", "detail", cause)}
	}
	return plan.Done, nil
}
