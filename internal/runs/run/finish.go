package run

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/view"
)

// Finish moves a run to its final status, which follows from its steps. It posts the final message
// once and frees the chat. cause is the reason why the execution ended, empty when it ended well. A
// run that already ended is not changed.
func (s *Service) Finish(ctx context.Context, k Key, cause string) (plan.Run, error) {
	var ended plan.Run
	err := s.decideRun(ctx, k, func(r plan.Run) error {
		ended = r
		if !r.Status.Active() {
			return nil
		}
		chat, err := s.chatOf(ctx, r)
		if err != nil {
			return err
		}
		closed := closing{r, s.Now()}.states()
		to, failure := endStatus(withStates(r, closed), cause)
		ended, _, err = s.finish(ctx, ending{run: r, closed: closed, chat: chat, to: to, failure: failure, data: map[string]any{}})
		if err == nil {
			LogEnd(ctx, s.Log, ended)
		}
		return err
	})
	if err == nil && ended.Status.Terminal() {
		err = s.Seal(ctx, k)
	}
	return ended, err
}

// LogEnd logs that a run ended. Operators may keep only warnings, and their alarms count the runs
// that failed or are in doubt.
func LogEnd(ctx context.Context, log *slog.Logger, r plan.Run) {
	level := slog.LevelInfo
	if r.Status == plan.Failed || r.Status == plan.InDoubt {
		level = slog.LevelWarn
	}
	log.Log(ctx, level, "run.finished", "account", r.Account, "run_id", r.ID, "status", r.Status)
}

// DoneMove returns the move that ends a run whose steps ended well (plan.Run.EndedWell). chat is the
// run's chat, empty when it was deleted.
func DoneMove(ids *ids.Source, r plan.Run, chat conversation.Chat, at time.Time) Move {
	m, _ := ending{run: r, chat: chat, to: plan.Done, data: map[string]any{}}.move(ids, at)
	return m
}

// sealWithin is how long Finish waits for the signature of the receipt.
const sealWithin = 5 * time.Second

// Seal has the receipt of a run that ended signed; it is no error that a run did not end. A failure is logged, and the sweep
// retries it. It returns plan.ErrRunNotFound.
func (s *Service) Seal(ctx context.Context, k Key) error {
	if s.Sealer == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sealWithin)
	defer cancel()
	err := s.Sealer.Seal(ctx, k)
	switch {
	case err == nil, errors.Is(err, plan.ErrAlreadyRunning):
	case errors.Is(err, plan.ErrRunNotFound):
		return err
	default:
		s.Log.WarnContext(ctx, "run.unsealed", "account", k.Account, "run_id", k.RunID, "error", err)
	}
	return nil
}

// ending holds the end of a run: the final states of its open effects, and the additional data of
// the event and the chat.
type ending struct {
	run     plan.Run // as it was read
	closed  []plan.StepState
	chat    conversation.Chat
	to      plan.Status
	failure *plan.Failure
	data    map[string]any
	before  []conversation.Message
}

// withStates returns the run with the given states.
func withStates(r plan.Run, closed []plan.StepState) plan.Run {
	for _, st := range closed {
		r = r.With(st)
	}
	return r
}

func (s *Service) finish(ctx context.Context, e ending) (plan.Run, conversation.Message, error) {
	m, final := e.move(s.IDs, s.Now())
	ended, err := s.Runs.MoveRun(ctx, e.run, m)
	return ended, final, err
}

// move returns the move that ends the run, and its final message.
func (e ending) move(ids *ids.Source, at time.Time) (Move, conversation.Message) {
	r := withStates(e.run, e.closed)
	seen := view.Of(r, at)
	reason := ""
	if e.failure != nil {
		reason = e.failure.Message
		e.data["error"] = e.failure
	}
	if closed := idsByStatus(e.closed); len(closed) > 0 {
		e.data["closed"] = closed
	}
	e.data["status"], e.data["done"], e.data["skipped"], e.data["steps"] = e.to, seen.Done, seen.Skipped, seen.Total
	steps := locale.Phrase(locale.Verbatim(""))
	if seen.Total > 1 {
		steps = locale.Say("run.finished_steps", "done", seen.Done, "n", seen.Total)
	}
	lines := []locale.Phrase{locale.Say("run.finished_"+string(e.to), "goal", r.Plan.Goal, "steps", steps, "reason", reason)}
	if seen.Skipped > 0 {
		lines = append(lines, locale.Say("run.skipped", "n", seen.Skipped))
	}
	var result locale.Phrase
	if e.to == plan.Done {
		result = summary(r)
	} else {
		lines = append(lines, reportUndos(r, seen, e.data)...)
	}
	parts := append([]locale.Phrase{locale.Lines(lines...), result}, reportRoom(r)...)
	text := locale.Joined{Phrases: parts, Between: "\n\n"} // a table begins a paragraph
	final := Message(ids, r, conversation.KindFinal, at, locale.Tag(r.Locale), text)
	rec := Record{At: at, Type: plan.EventFinished, Data: e.data, Messages: append(e.before, final)}
	return Move{Record: rec, To: e.to, End: &End{Chat: e.chat, Error: e.failure, Closed: e.closed, Concludes: concludes(r, e.chat)}}, final
}

// idsByStatus groups the effects that were closed by the end of their run by their final status.
// They have no events of their own.
func idsByStatus(closed []plan.StepState) map[plan.StepStatus][]plan.EffectID {
	by := map[plan.StepStatus][]plan.EffectID{}
	for _, st := range closed {
		by[st.Status] = append(by[st.Status], st.StepID)
	}
	return by
}

// reportUndos returns the lines of the final message about the effects that were undone, those that
// could not be undone, and those that stay. It adds the same to the data of the event.
func reportUndos(r plan.Run, seen view.View, data map[string]any) []locale.Phrase {
	var lines []locale.Phrase
	for _, group := range []struct {
		name, key string
		ids       []plan.EffectID
	}{{"undone", "run.undone", seen.Undone}, {"not_undone", "run.not_undone", seen.NotUndone}, {"stays", "run.stays", seen.Stays}} {
		if len(group.ids) > 0 {
			data[group.name] = group.ids
			lines = append(lines, locale.Say(group.key, "list", titles(r, group.ids)))
		}
	}
	return lines
}

// maxTitles is the greatest number of effects that a message names.
const maxTitles = 10

func titles(r plan.Run, ids []plan.EffectID) locale.Phrase {
	var names []string
	for _, id := range ids[:min(maxTitles, len(ids))] {
		step, _ := r.Plan.Step(id)
		names = append(names, step.Title)
	}
	list := locale.Verbatim(strings.Join(names, "; "))
	if more := len(ids) - maxTitles; more > 0 {
		return locale.Say("run.and_more", "list", list, "n", more)
	}
	return list
}
