package step

import (
	"context"
	"slices"

	"piloto/internal/ground/retry"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// mostHanded is the greatest number of effects that one transaction hands out.
const mostHanded = 40

// handOut returns the outcome by which the state machine gives each effect an invocation of its own. The row of each
// effect says so before: then its invocation writes that row alone, because transactions on the row of the run
// would cancel each other. Who stops, undoes or ends the run first takes the effects back (run.TakeBack), and an
// effect that was taken back begins only as the run then allows. A step that is done for each element counts the
// elements of others, so it is always written with the run; so is an effect that has no others beside it.
func (x *Executor) handOut(ctx context.Context, t Task, effects []plan.EffectID) (Done, error) {
	wave := continueWith(OutcomeWave, effects...)
	if len(effects) < 2 {
		return wave, nil
	}
	return wave, retry.Do(ctx, func() error {
		if err := x.read(ctx, t); err != nil {
			return err
		}
		if err := x.takeBack(ctx, t); err != nil { // of an invocation that did not come so far as to return them
			return err
		}
		for part := range slices.Chunk(effects, mostHanded) {
			r := t.progress.run
			if moves := x.handedOut(r, part); len(moves) > 0 && r.Status.Active() && r.UndoAt == nil {
				if err := x.moveAlone(ctx, t, append(x.begins(r), moves...)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// handedOut returns the moves that hand effects out.
func (x *Executor) handedOut(r plan.Run, effects []plan.EffectID) []run.Move {
	var moves []run.Move
	at := x.Now()
	for _, id := range effects {
		step, _ := r.Plan.Step(id)
		st := r.State(id)
		if step.ForEach != "" || st.Status.Terminal() {
			continue
		}
		st.Handed, st.UpdatedAt = x.IDs.New(at), at
		moves = append(moves, run.Move{Record: run.Record{At: at}, State: &st})
	}
	return moves
}

// takeBack takes back the effects of the run that are handed out. When they were its last ones, and all ended well,
// the run ends with them.
func (x *Executor) takeBack(ctx context.Context, t Task) error {
	for t.progress.run.HandedOut() {
		if err := x.moveAlone(ctx, t, run.TakenBack(x.IDs, t.progress.run, x.Now())); err != nil {
			return err
		}
	}
	return nil
}

// takeBackNow is takeBack for who has not locked the run. It reads the run again when effects moved meanwhile.
func (x *Executor) takeBackNow(ctx context.Context, t Task) error {
	return retry.Do(ctx, func() error {
		if err := x.read(ctx, t); err != nil {
			return err
		}
		return x.takeBack(ctx, t)
	})
}

// moveAlone makes moves of the run that nothing else is written with.
func (x *Executor) moveAlone(ctx context.Context, t Task, moves []run.Move) error {
	r := t.progress.run
	t.progress.last.known = false // until the write succeeds
	next, err := x.advance(ctx, r, afterMoves(r, moves), moves)
	if err == nil {
		*t.progress.last = latest{next, true}
		t.progress.run = next
	}
	return err
}

// isHanded reports whether the effect of the task is handed out. A task of which it was not when the run was first
// read is written with the run.
func (x *Executor) isHanded(ctx context.Context, t Task) (bool, error) {
	if t.progress.run.State(t.StepID).Handed == "" {
		return false, nil
	}
	err := x.read(ctx, t)
	return t.progress.run.State(t.StepID).Handed != "", err
}

// writeHanded writes the move that f returns for an effect that is handed out.
func (x *Executor) writeHanded(ctx context.Context, t Task, f func(plan.Run) ([]run.Move, error)) error {
	r := t.progress.run
	t.progress.last.known = false // until the write succeeds
	moves, err := (&change{decide: f}).moves(r)
	if err != nil || len(moves) == 0 {
		return err
	}
	m := moves[len(moves)-1]
	st := *m.State
	st.Handed = x.IDs.New(m.At)
	m.State = &st
	next, err := x.Store.MoveEffect(ctx, r, m)
	if err == nil {
		*t.progress.last = latest{next, true}
		t.progress.run = next
	}
	return err
}
