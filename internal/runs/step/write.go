package step

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/retry"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// journal writes the moves of an effect, or of those of an invocation one after the other, to a run.
type journal struct {
	runs  Runs
	chats conversation.ChatReader
	moves Moves
	ids   *ids.Source
	locks *runLocks
	now   func() time.Time
	log   *slog.Logger

	account ids.Account
	runID   string
	run     plan.Run // as the last write about the effect left it
	last    *latest
}

// latest is a run as the last write of an invocation left it. It is used under the lock of the run,
// or by the only user of it.
type latest struct {
	run   plan.Run
	known bool
}

// read brings the run up to date.
func (j *journal) read(ctx context.Context) error {
	if !j.last.known {
		r, err := j.runs.Bare(ctx, j.account, j.runID)
		if err != nil {
			return err
		}
		*j.last = latest{r, true}
	}
	j.run = j.last.run
	return nil
}

// decide writes the moves that f returns for the run, about an effect of it, and repeats it while other writers change the run
// first. f gets the run as the last write of this invocation left it, if that is known, and otherwise as it is read, after the
// moves of the effects that are written in the same transaction. The move of a dispatched effect is written to its row alone.
// The writes depend on the state that f was given, so a known state is as safe as one that was just read.
func (j *journal) decide(ctx context.Context, id plan.EffectID, f func(plan.Run) ([]run.Move, error)) error {
	return retry.Do(ctx, func() error {
		handed, err := j.isHanded(ctx, id)
		switch {
		case err != nil:
			return err
		case handed:
			return j.writeHanded(ctx, f)
		}
		own := &change{of: j.last, decide: f}
		changes, done, err := j.locks.lock(ctx, j.runID, own)
		if err != nil {
			return err
		}
		defer done()
		if len(changes) > 0 {
			j.write(ctx, changes)
		}
		if j.last.known = own.after != nil; own.after != nil {
			j.last.run, j.run = *own.after, *own.after
		}
		return own.err
	})
}

// write writes changes in one transaction; the first one is that of the caller. A change that cannot be
// written with the others is left to its own writer, and so are all others when the transaction fails for
// another reason than that the run moved: the reason may be one of them.
func (j *journal) write(ctx context.Context, changes []*change) {
	err := j.read(ctx)
	if err == nil {
		err = j.takeBack(ctx)
	}
	if err != nil {
		changes[0].end(nil, err)
		return
	}
	j.last.known = false // until the write succeeds
	r := j.run
	var moves []run.Move
	var joined []*change
	after := r
	for _, c := range changes {
		own, err := c.moves(after)
		switch {
		case err != nil || len(own) == 0:
			c.end(nil, err)
		case shareEffect(moves, own):
		default:
			joined, moves, after = append(joined, c), append(moves, own...), afterMoves(after, own)
		}
	}
	if len(joined) == 0 {
		return
	}
	next, err := j.advance(ctx, r, after, moves)
	if err != nil && len(joined) > 1 && !errors.Is(err, fault.ErrMoved) {
		if joined[0] == changes[0] {
			j.write(ctx, joined[:1])
		}
		return
	}
	for _, c := range joined {
		if err != nil {
			c.end(nil, err)
		} else {
			c.end(&next, nil)
		}
	}
}

// shareEffect reports whether two lists of moves are about the same effect.
func shareEffect(a, b []run.Move) bool {
	return slices.ContainsFunc(a, func(m run.Move) bool {
		return m.State != nil && slices.ContainsFunc(b, func(other run.Move) bool { return other.State != nil && other.State.StepID == m.State.StepID })
	})
}

// afterMoves returns a run as moves leave it, as far as other moves depend on it.
func afterMoves(r plan.Run, moves []run.Move) plan.Run {
	for _, m := range moves {
		if m.State != nil {
			r = r.With(*m.State)
		}
		if m.To != "" {
			r.Status = m.To
		}
	}
	return r
}

// begins returns the move that begins a queued run, before its first other one.
func (j *journal) begins(r plan.Run) []run.Move {
	if r.Status != plan.Queued {
		return nil
	}
	return []run.Move{run.StartMove(j.ids, r, j.now())}
}

// advance makes moves of the run. It also ends a run whose steps have then all ended well. after is the run
// as the moves leave it.
func (j *journal) advance(ctx context.Context, r, after plan.Run, moves []run.Move) (plan.Run, error) {
	j.add(ctx, r, func(ctx context.Context) error {
		if !after.EndedWell() || after.HandedOut() {
			return nil
		}
		chat, err := j.chats.Chat(ctx, r.Account, r.ChatID)
		if err != nil && !errors.Is(err, conversation.ErrChatNotFound) {
			return err
		}
		whole, err := j.withWhole(ctx, after)
		if err == nil {
			moves = append(moves, run.DoneMove(j.ids, whole, chat, j.now()))
		}
		return err
	})
	next, err := j.moves.MoveRun(ctx, r, moves...)
	if err == nil && next.Status.Terminal() && !r.Status.Terminal() {
		run.LogEnd(ctx, j.log, next)
	}
	return next, err
}

// withWhole returns a run with the whole result for its final message.
func (j *journal) withWhole(ctx context.Context, r plan.Run) (plan.Run, error) {
	id, ok := run.Reported(r)
	if !ok {
		return r, nil
	}
	st := r.State(id)
	whole, err := j.runs.Whole(ctx, r, id, *st.Result)
	st.Result = &whole
	return r.With(st), err
}

// addTime limits the preparation of writes with a result. It leaves time to write the result.
const addTime = 5 * time.Second

// add prepares further writes with a received result. The result is written also when that fails or panics: another
// invocation then prepares them again, and meets the same error.
func (j *journal) add(ctx context.Context, r plan.Run, prepare func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, addTime)
	defer cancel()
	defer func() {
		if cause := recover(); cause != nil {
			j.log.ErrorContext(ctx, "step.panicked", "run_id", r.ID, "error", cause, "stack", string(debug.Stack()))
		}
	}()
	if err := prepare(ctx); err != nil {
		j.log.WarnContext(ctx, "step.not_added", "run_id", r.ID, "error", err)
	}
}
