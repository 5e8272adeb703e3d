package run

import (
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
)

// StartMove returns the move of a queued run to running.
func StartMove(ids *ids.Source, r plan.Run, at time.Time) Move {
	text := locale.Say("run.started", "goal", r.Plan.Goal, "n", len(r.Plan.Steps))
	return Move{To: plan.Running, Record: Record{
		At: at, Type: plan.EventStarted, Data: map[string]any{"goal": r.Plan.Goal, "steps": len(r.Plan.Steps)},
		Messages: []conversation.Message{Message(ids, r, conversation.KindProgress, at, locale.Tag(r.Locale), text)},
	}}
}
