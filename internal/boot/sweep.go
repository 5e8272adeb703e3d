package boot

import (
	"context"
	"errors"
	"sync"

	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/edge/gateway"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/sweep"
	"piloto/internal/live/hook"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/runs/receipt"
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
	hooks := &hook.Sweeper{Store: s.stores.Hooks, Send: outbound.NewHooks(s.outbound(hookTimeout)), NewID: w.IDs.New, Now: w.Now, Log: s.log}
	chats := &conversation.Sweeper{
		Store: s.stores.Chats, IDs: w.IDs, Now: w.Now, Log: s.log,
		Notice: func(lang string) conversation.Message {
			tag := locale.Tag(lang)
			return conversation.Message{
				Role: conversation.RoleSystem, Kind: conversation.KindBlocked, Code: string(eligibility.InternalError),
				Content: "⚠️ " + locale.Text(tag, "turn.left"), Action: locale.Text(tag, "turn.left_do"),
			}
		},
	}
	workspaces := s.filesClient(c.Workspace)
	gone := &conversation.FilesSweeper{Store: s.stores.Chats, Now: w.Now, Log: s.log, Clear: func(ctx context.Context, g conversation.Gone) error {
		return workspaces.Clear(ctx, files.PlaceOf(g.Account, g.ProjectID, g.ChatID))
	}}
	return task(s, func(ctx context.Context, wake gateway.Wake) (Swept, error) {
		if wake.Execution.Failed() {
			_, err := runs.Finish(ctx, run.Key{Account: wake.Execution.Account, RunID: wake.Execution.Name}, wake.Execution.Status)
			return Swept{Runs: run.Swept{Finished: 1}}, err
		}
		var swept Swept
		var errs [7]error
		var sweeps sync.WaitGroup // each runs to its end although another fails, and every error is reported
		for i, do := range [len(errs)]func() error{
			func() (err error) { swept.Runs, err = runs.Sweep(ctx); return err },
			func() (err error) { swept.Chats, err = chats.Sweep(ctx); return err },
			func() (err error) { swept.Credit, err = credits.Sweep(ctx); return err },
			func() (err error) { swept.Receipts, err = sealer.Sweep(ctx); return err },
			func() (err error) { swept.Jobs, err = jobs.Sweep(ctx); return err },
			func() (err error) { swept.Hooks, err = hooks.Sweep(ctx); return err },
			func() (err error) { swept.Files, err = gone.Sweep(ctx); return err },
		} {
			sweeps.Go(func() { errs[i] = sweep.Guard(do) })
		}
		sweeps.Wait()
		if swept != (Swept{}) {
			s.log.InfoContext(ctx, "sweep.done", "runs", swept.Runs, "chats", swept.Chats, "credit", swept.Credit, "receipts", swept.Receipts, "jobs", swept.Jobs, "hooks", swept.Hooks, "files", swept.Files)
		}
		return swept, errors.Join(errs[:]...)
	}), nil
}

// Swept counts the results of one sweep.
type Swept struct {
	Runs   run.Swept          `json:"runs"`
	Chats  conversation.Swept `json:"chats"`
	Credit credit.Swept       `json:"credit"`

	Receipts receipt.Swept `json:"receipts"`
	Jobs     job.Swept     `json:"jobs"`
	Hooks    hook.Swept    `json:"hooks"`
	Files    int           `json:"files"` // deleted projects and chats whose files were deleted
}
