package run

import (
	"context"
	"slices"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
)

// Begin moves a queued run to running and returns its waves: the ids of the steps that may run
// together, in order, without the steps whose results are taken from another run. It returns the
// same waves for a run that is already running, and none for a run that ended.
func (s *Service) Begin(ctx context.Context, account, runID string) ([][]plan.EffectID, error) {
	var waves [][]plan.EffectID
	err := s.decideRun(ctx, account, runID, func(r plan.Run) error {
		waves = [][]plan.EffectID{}
		if r.Status.Terminal() || r.Status == plan.Draft {
			return nil
		}
		all, err := plan.Waves(r.Plan.Steps)
		if err != nil {
			return err
		}
		for _, wave := range all {
			wave = slices.DeleteFunc(wave, func(id plan.EffectID) bool { return r.State(id).Reused != "" })
			if len(wave) > 0 {
				waves = append(waves, wave)
			}
		}
		if r.Status != plan.Queued {
			return nil
		}
		_, err = s.Store.MoveRun(ctx, r, StartMove(s.IDs, r, s.Now()))
		return err
	})
	return waves, err
}

// StartMove returns the move of a queued run to running.
func StartMove(ids *ids.Source, r plan.Run, at time.Time) Move {
	text := locale.Say("run.started", "goal", r.Plan.Goal, "n", len(r.Plan.Steps))
	return Move{To: plan.Running, Record: Record{
		At: at, Type: plan.EventStarted, Data: map[string]any{"goal": r.Plan.Goal, "steps": len(r.Plan.Steps)},
		Messages: []conversation.Message{Message(ids, r, conversation.KindProgress, at, locale.Tag(r.Locale), text)},
	}}
}
