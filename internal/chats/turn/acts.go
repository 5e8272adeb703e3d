package turn

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"piloto/internal/chats/claim"
	"piloto/internal/conversation"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
)

// mostNamedRuns bounds the runs of a chat that a claim is compared with.
const mostNamedRuns = 20

// waits reports whether a draft waits in the chat now, other than one that this answer ends.
func (d *dialog) waits(ctx context.Context) (bool, error) {
	ends := ""
	if d.req.anew != nil && d.req.anew.draft != nil {
		ends = d.req.anew.draft.ID
	}
	return d.service.draftWaits(ctx, d.req.Principal.Account, d.chat.ID, ends)
}

// draftWaits reports whether a draft waits in a chat now, other than one.
func (s *Service) draftWaits(ctx context.Context, account, chatID, but string) (bool, error) {
	chat, err := s.Store.Chat(ctx, account, chatID)
	if err != nil || chat.PendingRunID == "" || chat.PendingRunID == but {
		return false, err
	}
	r, err := s.Store.Bare(ctx, account, chat.PendingRunID)
	if errors.Is(err, plan.ErrRunNotFound) {
		return false, nil
	}
	return err == nil && stillWaits(r, s.Now()), err
}

// stillWaits reports whether a run is a draft that did not expire.
func stillWaits(r plan.Run, at time.Time) bool {
	return r.Status == plan.Draft && at.Before(r.Plan.ExpiresAt)
}

// facts are what the acts of a text are compared with: the runs of a chat, and what its model could read.
type facts struct {
	account, chatID string
	named           []string     // ids of runs that the newest messages name
	read, told      []string     // answers of services; what somebody told the model
	done            []claim.Call // acts that are in no run: what a client did for a job
	commands        []claim.Command
	machine         bool // a client carries out calls
	longer          bool // the chat has older runs, too
	message         conversation.Message
}

// lacking returns those of the acts that a text claims which the record of the chat lacks.
func (d *dialog) lacking(ctx context.Context, acts []claim.Act) ([]claim.Act, error) {
	f := facts{account: d.req.Principal.Account, chatID: d.chat.ID, named: d.named, done: d.done, longer: d.longer, message: d.incoming}
	f.commands, f.machine, f.read = d.commands, d.job != nil && len(d.job.Tools) > 0, d.reported
	f.told = []string{d.persona, d.project.Context, d.workspace(), d.chat.Summary}
	for _, s := range slices.Concat(d.sources, d.reads) {
		f.read = append(f.read, s.Answer)
	}
	for _, m := range d.history {
		if m.Role == llm.User && len(claim.Orders(m.Content)) == 0 {
			f.told = append(f.told, m.Content)
		}
	}
	return d.service.lacking(ctx, f, acts)
}

// lacking returns those of some acts that are no facts. What was done since the person's message, or is being done, is compared
// with each; what was done before, only with those that the message does not ask for, or that the text says were done before.
func (s *Service) lacking(ctx context.Context, f facts, acts []claim.Act) ([]claim.Act, error) {
	if len(acts) == 0 {
		return nil, nil
	}
	runs, err := s.runsOfChat(ctx, f)
	if err != nil {
		return nil, err
	}
	now, ever := claim.NewRecord(), claim.NewRecord()
	for _, r := range []*claim.Record{now, ever} {
		if f.machine {
			r.OnMachine(f.commands...)
		}
		for _, text := range f.read {
			r.Read(text)
		}
		for _, text := range f.told {
			r.Told(text)
		}
	}
	for _, r := range runs {
		if r.Withdrawn != nil {
			ever.Withdrew(draftOf(r))
			if r.Withdrawn.Message == f.message.ID {
				now.Withdrew(draftOf(r))
			}
		} else if neverRan(r) {
			ever.Ended(draftOf(r))
			now.Ended(draftOf(r))
		}
		goesOn := r.Status == plan.Queued || r.Status == plan.Running
		for _, st := range r.Steps {
			if !goesOn && st.Status != plan.StepDone {
				continue
			}
			record(ever, r, st)
			if goesOn || st.Reused == "" && !st.UpdatedAt.Before(f.message.At) {
				record(now, r, st)
			} else if step, ok := r.Plan.Step(st.StepID); ok && step.Method != "GET" && step.Method != "HEAD" {
				now.Before(callOf(r, step))
			}
		}
	}
	for _, c := range f.done {
		now.Did(c)
		ever.Did(c)
	}
	ordered := claim.Orders(f.message.Content)
	return slices.DeleteFunc(slices.Clone(acts), func(a claim.Act) bool {
		asked := slices.ContainsFunc(ordered, func(k claim.Kind) bool { return len(a.Kinds) == 0 || slices.Contains(a.Kinds, k) })
		return !now.Lacks(a, asked) || (!asked || a.Before) && (f.longer || !ever.Lacks(a, asked))
	}), nil
}

// neverRan reports whether a run ended, and nothing of it was done.
func neverRan(r plan.Run) bool {
	return (r.Status == plan.Cancelled || r.Status == plan.Expired || r.Status == plan.Superseded) &&
		!slices.ContainsFunc(r.Steps, func(st plan.StepState) bool { return st.Status != plan.StepPending && st.Status != plan.StepCancelled })
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
	c := callOf(r, step)
	if st.Result != nil {
		c.Answered = string(st.Result.Body)
	}
	if step.Method == "GET" || step.Method == "HEAD" {
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

// draftOf returns the record that a plan would make.
func draftOf(r plan.Run) *claim.Record {
	would := claim.NewRecord()
	for _, step := range r.Plan.Steps {
		if step.Method != "GET" && step.Method != "HEAD" {
			would.Did(callOf(r, step))
		}
	}
	return would
}

// runsOfChat returns the runs that the newest messages of a chat name, and those that wait, go on and ended last, as they are now.
func (s *Service) runsOfChat(ctx context.Context, f facts) ([]plan.Run, error) {
	chat, err := s.Store.Chat(ctx, f.account, f.chatID)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, id := range slices.Concat([]string{chat.PendingRunID, chat.ActiveRunID, chat.LastRunID}, f.named) {
		if id != "" && !slices.Contains(ids, id) && len(ids) < mostNamedRuns {
			ids = append(ids, id)
		}
	}
	runs := make([]plan.Run, len(ids))
	var reads errgroup.Group
	for i, id := range ids {
		reads.Go(func() (err error) {
			if runs[i], err = s.Store.Run(ctx, f.account, id); errors.Is(err, plan.ErrRunNotFound) {
				return nil
			}
			return err
		})
	}
	return runs, reads.Wait()
}

// namedRuns returns the ids of the runs that messages name, the newest first.
func namedRuns(messages []conversation.Message) (named []string) {
	for _, m := range slices.Backward(messages) {
		if id := cmp.Or(m.RunID, m.FromRunID); id != "" && !slices.Contains(named, id) {
			named = append(named, id)
		}
	}
	return named
}
