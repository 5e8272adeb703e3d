package boot

import (
	"context"

	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/edge/gateway"
	"piloto/internal/ground/sweep"
	"piloto/internal/live/hook"
	"piloto/internal/runs/run"
	"piloto/internal/tools/outbound"
	"piloto/internal/workspace/files"
)

// Sweep builds functions/sweep.
func Sweep(w World, e Environment, signers Signers) (gateway.Function, error) {
	c, err := read[SweepConfig](e)
	if err != nil {
		return nil, err
	}
	s := w.site(c.Config).withPush(c.Push).waking()
	runs, credits, jobs := s.runs(c.Machine), s.credits(), s.jobs(c.Jobs)
	sealer, err := s.sealer(c.Receipts, signers)
	if err != nil {
		return nil, err
	}
	runs.Sealer = sealer
	hooks := &hook.Sweeper{Store: s.stores.Hooks, Send: outbound.NewHooks(s.world.outbound(hookTimeout)), NewID: w.IDs.New, Now: w.Now, Log: s.log}
	chats := &conversation.Sweeper{Store: s.stores.Chats, Notice: turn.LeftNotice, IDs: w.IDs, Now: w.Now, Log: s.log}
	workspaces := s.filesClient(c.Workspace)
	gone := &conversation.FilesSweeper{Store: s.stores.Gone, Chats: s.stores.Chats, Now: w.Now, Log: s.log, Clear: func(ctx context.Context, g conversation.Gone) error {
		return workspaces.Clear(ctx, files.PlaceOf(g.Account, g.ProjectID, g.ChatID))
	}}
	all := []sweep.Counted{
		sweep.Counting("runs", runs.Sweep), sweep.Counting("chats", chats.Sweep), sweep.Counting("credit", credits.Sweep),
		sweep.Counting("receipts", sealer.Sweep), sweep.Counting("jobs", jobs.Sweep), sweep.Counting("hooks", hooks.Sweep),
		sweep.Counting("files", gone.Sweep), // deleted projects and chats whose files were deleted
	}
	return task(s, func(ctx context.Context, wake gateway.Wake) (map[string]any, error) {
		if wake.Execution.Failed() {
			_, err := runs.Finish(ctx, run.Key{Account: wake.Execution.Account, RunID: wake.Execution.Name}, wake.Execution.Status)
			return map[string]any{"runs": run.Swept{Finished: 1}}, err
		}
		counts, some, err := sweep.All(ctx, all)
		if some {
			var counted []any
			for _, one := range all {
				counted = append(counted, one.Name, counts[one.Name])
			}
			s.log.InfoContext(ctx, "sweep.done", counted...)
		}
		return counts, err
	}), nil
}
