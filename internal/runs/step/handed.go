package step

import (
	"context"
	"slices"

	"piloto/internal/ground/retry"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// mostHanded is the greatest number of effects that one transaction dispatches.
const mostHanded = 40

// handOut dispatches effects, and returns the outcome by which the state machine gives each an invocation of its own. The row
// of each effect is marked before: then its invocation writes that row alone, because transactions on the row of the run would
// cancel each other. A writer who stops, undoes or ends the run reclaims the effects first (run.TakeBack), and a reclaimed
// effect begins only as the run then allows. A step that is done for each element counts the elements of others, so it is
// always written with the run; so is an effect that has no others beside it.
func (j *journal) handOut(ctx context.Context, effects []plan.EffectID) (Done, error) {
	wave := continueWith(OutcomeWave, effects...)
	if len(effects) < 2 {
		return wave, nil
	}
	return wave, retry.Do(ctx, func() error {
		if err := j.read(ctx); err != nil {
			return err
		}
		if err := j.takeBack(ctx); err != nil { // of an invocation that did not come so far as to return them
			return err
		}
		for part := range slices.Chunk(effects, mostHanded) {
			r := j.run
			if moves := j.handedOut(r, part); len(moves) > 0 && r.Status.Active() && r.UndoAt == nil {
				if err := j.moveAlone(ctx, append(j.begins(r), moves...)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// handedOut returns the moves that dispatch effects.
func (j *journal) handedOut(r plan.Run, effects []plan.EffectID) []run.Move {
	var moves []run.Move
	at := j.now()
	for _, id := range effects {
		step, _ := r.Plan.Step(id)
		st := r.State(id)
		if step.ForEach != "" || st.Status.Terminal() {
			continue
		}
		st.Handed, st.UpdatedAt = j.ids.New(at), at
		moves = append(moves, run.Move{Record: run.Record{At: at}, State: &st})
	}
	return moves
}

// takeBack reclaims the dispatched effects of the run. When they were its last ones, and all ended well, the run ends with
// them.
func (j *journal) takeBack(ctx context.Context) error {
	for j.run.HandedOut() {
		if err := j.moveAlone(ctx, run.TakenBack(j.ids, j.run, j.now())); err != nil {
			return err
		}
	}
	return nil
}

// takeBackNow is takeBack without a lock on the run. It reads the run again when effects moved meanwhile.
func (j *journal) takeBackNow(ctx context.Context) error {
	return retry.Do(ctx, func() error {
		if err := j.read(ctx); err != nil {
			return err
		}
		return j.takeBack(ctx)
	})
}

// moveAlone makes moves of the run that nothing else is written with.
func (j *journal) moveAlone(ctx context.Context, moves []run.Move) error {
	r := j.run
	j.last.known = false // until the write succeeds
	next, err := j.advance(ctx, r, afterMoves(r, moves), moves)
	if err == nil {
		*j.last = latest{next, true}
		j.run = next
	}
	return err
}

// isHanded reports whether an effect is dispatched. One that was not when the run was first read is written with the run.
func (j *journal) isHanded(ctx context.Context, id plan.EffectID) (bool, error) {
	if j.run.State(id).Handed == "" {
		return false, nil
	}
	err := j.read(ctx)
	return j.run.State(id).Handed != "", err
}

// writeHanded writes the move that f returns for a dispatched effect.
func (j *journal) writeHanded(ctx context.Context, f func(plan.Run) ([]run.Move, error)) error {
	r := j.run
	j.last.known = false // until the write succeeds
	moves, err := (&change{decide: f}).moves(r)
	if err != nil || len(moves) == 0 {
		return err
	}
	m := moves[len(moves)-1]
	st := *m.State
	st.Handed = j.ids.New(m.At)
	m.State = &st
	next, err := j.moves.MoveEffect(ctx, r, m)
	if err == nil {
		*j.last = latest{next, true}
		j.run = next
	}
	return err
}
