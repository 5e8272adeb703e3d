package turn

import (
	"context"
	"errors"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"piloto/internal/chats/claim"
	"piloto/internal/conversation"
	"piloto/internal/runs/plan"
)

// mostNamedRuns bounds the runs of a chat that a claim is compared with.
const mostNamedRuns = 20

// waits reports whether a draft waits in the chat now, other than one that this answer ends.
func (d *dialog) waits(ctx context.Context) (bool, error) {
	chat, err := d.service.Store.Chat(ctx, d.req.Principal.Account, d.chat.ID)
	if err != nil || chat.PendingRunID == "" || d.req.anew != nil && d.req.anew.draft != nil && chat.PendingRunID == d.req.anew.draft.ID {
		return false, err
	}
	r, err := d.service.Store.Bare(ctx, d.req.Principal.Account, chat.PendingRunID)
	if errors.Is(err, plan.ErrRunNotFound) {
		return false, nil
	}
	return err == nil && r.Status == plan.Draft && d.service.Now().Before(r.Plan.ExpiresAt), err
}

// lacking returns those of the acts that a text claims which the record of the chat lacks. What was done since the person's
// message, or is being done, is compared with each; what was done before, only with those that the message does not ask for.
func (d *dialog) lacking(ctx context.Context, acts []claim.Act) ([]claim.Act, error) {
	if len(acts) == 0 {
		return nil, nil
	}
	runs, err := d.runsOfChat(ctx)
	if err != nil {
		return nil, err
	}
	now, ever := claim.NewRecord(), claim.NewRecord()
	for _, s := range slices.Concat(d.sources, d.reads) {
		now.Read(s.Answer)
		ever.Read(s.Answer)
	}
	for _, r := range runs {
		goesOn := r.Status == plan.Queued || r.Status == plan.Running
		for _, st := range r.Steps {
			if !goesOn && st.Status != plan.StepDone {
				continue
			}
			record(ever, r, st)
			if goesOn || st.Reused == "" && !st.UpdatedAt.Before(d.incoming.At) {
				record(now, r, st)
			}
		}
	}
	ordered := claim.Orders(d.incoming.Content)
	return slices.DeleteFunc(slices.Clone(acts), func(a claim.Act) bool {
		asked := slices.ContainsFunc(ordered, func(k claim.Kind) bool { return len(a.Kinds) == 0 || slices.Contains(a.Kinds, k) })
		return !now.Lacks(a) || !asked && !ever.Lacks(a)
	}), nil
}

// mostSaid bounds the acts that a note names.
const mostSaid = 3

// notDone returns the note about acts that the record lacks; none: no note.
func (r Request) notDone(acts []claim.Act) []conversation.Note {
	var said []string
	for _, a := range acts {
		if word := "«" + a.Verb + "»"; !slices.Contains(said, word) && len(said) < mostSaid {
			said = append(said, word)
		}
	}
	if said == nil {
		return nil
	}
	return []conversation.Note{r.note(conversation.NoteNothingDone, "note.nothing_done", "acts", strings.Join(said, ", "))}
}

// record adds a step to a record: as an act, or as what was read.
func record(to *claim.Record, r plan.Run, st plan.StepState) {
	step, ok := r.Plan.Step(st.StepID)
	if !ok {
		return
	}
	b, _ := r.Plan.Binding(step.ID)
	c := claim.Call{Method: step.Method, Tool: step.Tool, Path: step.Path, Summary: b.Summary, Sent: string(step.Query) + " " + string(step.Body)}
	if st.Result != nil {
		c.Answered = string(st.Result.Body)
	}
	if step.Method == "GET" || step.Method == "HEAD" {
		to.Read(c.Answered)
		return
	}
	to.Did(c)
}

// runsOfChat returns the runs that the newest messages of the chat name, and those that wait, go on and ended last, as they
// are now.
func (d *dialog) runsOfChat(ctx context.Context) ([]plan.Run, error) {
	account := d.req.Principal.Account
	chat, err := d.service.Store.Chat(ctx, account, d.chat.ID)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, id := range slices.Concat([]string{chat.PendingRunID, chat.ActiveRunID, chat.LastRunID}, d.named) {
		if id != "" && !slices.Contains(ids, id) && len(ids) < mostNamedRuns {
			ids = append(ids, id)
		}
	}
	runs := make([]plan.Run, len(ids))
	var reads errgroup.Group
	for i, id := range ids {
		reads.Go(func() (err error) {
			if runs[i], err = d.service.Store.Run(ctx, account, id); errors.Is(err, plan.ErrRunNotFound) {
				return nil
			}
			return err
		})
	}
	return runs, reads.Wait()
}
