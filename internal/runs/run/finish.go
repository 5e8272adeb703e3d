package run

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
)

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
		closed := s.open(r)
		to, failure := verdict(closing(r, closed), cause)
		ended, _, err = s.finish(ctx, ending{run: r, closed: closed, chat: chat, to: to, failure: failure, data: map[string]any{}})
		if err == nil {
			level := slog.LevelInfo
			if to == plan.Failed || to == plan.InDoubt { // somebody may only keep warnings, and is alarmed by these
				level = slog.LevelWarn
			}
			s.Log.Log(ctx, level, "run.finished", "account", account, "run_id", runID, "status", to)
		}
		return err
	})
	if err == nil {
		s.seal(ctx, ended)
	}
	return ended, err
}

// sealWithin is how long the end of a run waits for the signature of its receipt.
const sealWithin = 5 * time.Second

// seal tries to sign the receipt of a run that ended. The run has ended even when that fails.
func (s *Service) seal(ctx context.Context, r plan.Run) {
	if s.Sealer == nil || !r.Status.Terminal() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sealWithin)
	defer cancel()
	if err := s.Sealer.Seal(ctx, r.Account, r.ID); err != nil {
		s.Log.WarnContext(ctx, "run.unsealed", "account", r.Account, "run_id", r.ID, "error", err)
	}
}

// ending is how a run ends: the states that close what was open in it, and what its
// event and the chat say beside the rest.
type ending struct {
	run     plan.Run // as it was read
	closed  []plan.StepState
	chat    conversation.Chat
	to      plan.Status
	failure *plan.Failure
	data    map[string]any
	before  []conversation.Message
}

// closing is the run with the states that close it.
func closing(r plan.Run, closed []plan.StepState) plan.Run {
	for _, st := range closed {
		r = r.With(st)
	}
	return r
}

func (s *Service) finish(ctx context.Context, e ending) (plan.Run, conversation.Message, error) {
	at := s.Now()
	r := closing(e.run, e.closed)
	done, skipped := 0, 0
	for _, step := range r.Plan.Steps {
		switch r.State(step.ID).Status {
		case plan.StepDone:
			done++
		case plan.StepSkipped:
			skipped++
		}
	}
	reason := ""
	if e.failure != nil {
		reason = e.failure.Message
		e.data["error"] = e.failure
	}
	if closed := named(e.closed); len(closed) > 0 {
		e.data["closed"] = closed
	}
	e.data["status"], e.data["done"], e.data["skipped"], e.data["steps"] = e.to, done, skipped, len(r.Plan.Steps)
	lines := []string{locale.Text(tagOf(r), "run.finished_"+string(e.to), "goal", r.Plan.Goal,
		"done", count(done), "n", count(len(r.Plan.Steps)), "reason", reason)}
	if skipped > 0 {
		lines = append(lines, locale.Text(tagOf(r), "run.skipped", "n", count(skipped)))
	}
	if e.to == plan.Done {
		lines = append(lines, summary(r))
	} else {
		lines = append(lines, leftovers(r, e.data)...)
	}
	final := s.message(r, conversation.KindFinal, at, joined(lines))
	e.run.Error = e.failure
	ended, err := s.Store.Finish(ctx, e.run, e.chat, e.to, e.closed, Record{
		At: at, Type: plan.EventFinished, Data: e.data, Messages: append(e.before, final),
	})
	return ended, final, err
}

// named are the effects that got their status from the end of their run, by that status. They
// have no event of their own.
func named(closed []plan.StepState) map[plan.StepStatus][]string {
	by := map[plan.StepStatus][]string{}
	for _, st := range closed {
		by[st.Status] = append(by[st.Status], st.StepID)
	}
	return by
}

func joined(lines []string) string {
	var said []string
	for _, line := range lines {
		if line = strings.TrimSpace(line); line != "" {
			said = append(said, line)
		}
	}
	return strings.Join(said, "\n")
}

// leftovers tells what of a run that did not end well was undone, what could not be,
// and what stays done; data gets the same for programs.
func leftovers(r plan.Run, data map[string]any) []string {
	var undone, not, stays []string
	for _, st := range effects(r) {
		switch undo := r.State(plan.UndoOf(st.StepID)); {
		case r.UndoAt == nil || undo.Status == plan.StepPending:
			stays = append(stays, st.StepID)
		case undo.Status == plan.StepDone:
			undone = append(undone, st.StepID)
		default:
			not = append(not, st.StepID)
		}
	}
	var lines []string
	for _, told := range []struct {
		name, key string
		ids       []string
	}{{"undone", "run.undone", undone}, {"not_undone", "run.not_undone", not}, {"stays", "run.stays", stays}} {
		if len(told.ids) > 0 {
			data[told.name] = told.ids
			lines = append(lines, locale.Text(tagOf(r), told.key, "list", titles(r, told.ids)))
		}
	}
	return lines
}

// mostTitles is how many effects a message names.
const mostTitles = 10

func titles(r plan.Run, ids []string) string {
	var names []string
	for _, id := range ids[:min(mostTitles, len(ids))] {
		step, _ := r.Plan.Step(id)
		names = append(names, step.Title)
	}
	list := strings.Join(names, "; ")
	if more := len(ids) - mostTitles; more > 0 {
		list = locale.Text(tagOf(r), "run.and_more", "list", list, "n", count(more))
	}
	return list
}
