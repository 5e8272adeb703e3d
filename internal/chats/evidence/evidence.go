// Package evidence compares the acts that a text claims with the facts of a chat: its runs, as they are now, and the
// data that its model could read.
package evidence

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"piloto/internal/chats/claim"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/view"
)

// mostNamedRuns bounds the runs of a chat that a claim is compared with.
const mostNamedRuns = 20

// Runs reads runs.
type Runs interface {
	plan.Reader
	plan.BareReader
}

// Chats reads the evidence of chats.
type Chats struct {
	Chats conversation.ChatReader
	Runs  Runs
	Now   func() time.Time
}

// Waits reports whether a draft waits in a chat now, other than one.
func (c Chats) Waits(ctx context.Context, k conversation.Key, but string) (bool, error) {
	chat, err := c.Chats.Chat(ctx, k.Account, k.ChatID)
	if err != nil || chat.PendingRunID == "" || chat.PendingRunID == but {
		return false, err
	}
	r, err := c.Runs.Bare(ctx, k.Account, chat.PendingRunID)
	if errors.Is(err, plan.ErrRunNotFound) {
		return false, nil
	}
	return err == nil && r.StatusAt(c.Now()) == plan.Draft, err
}

// Facts are compared with the acts of a text: the runs of a chat, and the data that its model could read.
type Facts struct {
	Account     ids.Account
	ChatID      string
	Named       []string     // ids of runs that the newest messages name
	Read, Given []string     // answers of services; other texts that the model read
	Done        []claim.Call // acts that are in no run: a client did them for a job
	Commands    []claim.Command
	Machine     bool // a client carries out calls
	Longer      bool // the chat has older runs, too
	Message     conversation.Message
}

// Lacking returns those of some acts that are no facts. Acts that were done since the person's message, or are being
// done, are compared with each; earlier acts only with those that the message does not ask for, or that the text says
// were done before.
func (c Chats) Lacking(ctx context.Context, f Facts, acts []claim.Act) ([]claim.Act, error) {
	if len(acts) == 0 {
		return nil, nil
	}
	runs, err := c.runs(ctx, f)
	if err != nil {
		return nil, err
	}
	now, ever := claim.NewRecord(), claim.NewRecord()
	for _, r := range []*claim.Record{now, ever} {
		if f.Machine {
			r.OnMachine(f.Commands...)
		}
		for _, text := range f.Read {
			r.Read(text)
		}
		for _, text := range f.Given {
			r.Given(text)
		}
	}
	for _, r := range runs {
		if r.Withdrawn != nil {
			ever.Withdrew(OfDraft(r))
			if r.Withdrawn.Message == f.Message.ID {
				now.Withdrew(OfDraft(r))
			}
		} else if view.Of(r, c.Now()).Dead {
			ever.Ended(OfDraft(r))
			now.Ended(OfDraft(r))
		}
		goesOn := r.Status == plan.Queued || r.Status == plan.Running
		for _, st := range r.Steps {
			if !goesOn && st.Status != plan.StepDone {
				continue
			}
			Add(ever, r, st)
			if goesOn || st.Reused == "" && !st.UpdatedAt.Before(f.Message.At) {
				Add(now, r, st)
			} else if step, ok := r.Plan.Step(st.StepID); ok && plan.RiskOf(step.Method) != plan.Read {
				now.Before(callOf(r, step))
			}
		}
	}
	for _, act := range f.Done {
		now.Did(act)
		ever.Did(act)
	}
	ordered := claim.Orders(f.Message.Content)
	return slices.DeleteFunc(slices.Clone(acts), func(a claim.Act) bool {
		asked := slices.ContainsFunc(ordered, func(k claim.Kind) bool { return len(a.Kinds) == 0 || slices.Contains(a.Kinds, k) })
		return !now.Lacks(a, asked) || (!asked || a.Before) && (f.Longer || !ever.Lacks(a, asked))
	}), nil
}

// Add adds a step to a record: as an act, or as a read.
func Add(to *claim.Record, r plan.Run, st plan.StepState) {
	step, ok := r.Plan.Step(st.StepID)
	if !ok {
		return
	}
	c := callOf(r, step)
	if st.Result != nil {
		c.Answered = string(st.Result.Body)
	}
	if plan.RiskOf(step.Method) == plan.Read {
		to.Ran(c.Answered)
		return
	}
	to.Did(c)
}

// callOf returns a step as a claim is compared with it.
func callOf(r plan.Run, step plan.Step) claim.Call {
	b, _ := r.Plan.Binding(step.ID)
	return claim.Call{Method: step.Method, Tool: step.Tool, Path: step.Path, Summary: b.Summary, Sent: "[" + cmp.Or(string(step.Query), "null") + "," + cmp.Or(string(step.Body), "null") + "]"}
}

// OfDraft returns the record that a plan would make.
func OfDraft(r plan.Run) *claim.Record {
	would := claim.NewRecord()
	for _, step := range r.Plan.Steps {
		if plan.RiskOf(step.Method) != plan.Read {
			would.Did(callOf(r, step))
		}
	}
	return would
}

// runs returns the runs that the newest messages of a chat name, and those that wait, go on and ended last, as they are now.
func (c Chats) runs(ctx context.Context, f Facts) ([]plan.Run, error) {
	chat, err := c.Chats.Chat(ctx, f.Account, f.ChatID)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, id := range slices.Concat([]string{chat.PendingRunID, chat.ActiveRunID, chat.LastRunID}, f.Named) {
		if id != "" && !slices.Contains(ids, id) && len(ids) < mostNamedRuns {
			ids = append(ids, id)
		}
	}
	runs := make([]plan.Run, len(ids))
	var reads errgroup.Group
	for i, id := range ids {
		reads.Go(func() (err error) {
			if runs[i], err = c.Runs.Run(ctx, f.Account, id); errors.Is(err, plan.ErrRunNotFound) {
				return nil
			}
			return err
		})
	}
	return runs, reads.Wait()
}

// Named returns the ids of the runs that messages name, the newest first.
func Named(messages []conversation.Message) (named []string) {
	for _, m := range slices.Backward(messages) {
		if id := cmp.Or(m.RunID, m.FromRunID); id != "" && !slices.Contains(named, id) {
			named = append(named, id)
		}
	}
	return named
}
