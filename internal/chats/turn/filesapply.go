package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"piloto/internal/chats/job"
	"piloto/internal/chats/proposal"
	"piloto/internal/chats/toolcall"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/retry"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
	"piloto/internal/workspace"
	"piloto/internal/workspace/files"
	"piloto/internal/workspace/overlay"
)

// mostDiff is the size of the largest diff that a card shows, in bytes. What a person confirms is on the card whole.
const mostDiff = 80 << 10

// applySpec is the tool that proposes what was changed.
var applySpec = toolSpec{
	class: classWrite, do: doApply,
	Tool: llm.Tool{
		Name: tool.ApplyChanges,
		Description: "Propose your changes of files as one step, which the person sees as a diff and confirms. Until then only you see them. " +
			"Without this call they are proposed when you are done. Propone tus cambios de archivos como un solo paso, que la persona confirma.",
		Parameters: json.RawMessage(`{
  "type": "object",
  "properties": {
    "goal": {"type": "string", "description": "what the changes achieve, in the person's language"},
    "paths": {"type": "array", "items": {"type": "string"}, "description": "only these files; absent: all that changed"}
  },
  "additionalProperties": false
}`),
	},
}

// applyAll returns the calls that stand for a model that is done without one.
func (d *dialog) applyAll() []llm.Call {
	return llm.Distinct([]llm.Call{{Name: tool.ApplyChanges, Arguments: "{}"}}, d.query.messages)
}

// applyCall is a call of apply_changes.
type applyCall struct {
	at    int
	Goal  string   `json:"goal"`
	Paths []string `json:"paths"`
}

// doApply takes the call: it is answered after the other calls of the reply, whose changes it proposes, too.
func doApply(_ context.Context, _ *dialog, c toolCall) (string, error) {
	in := applyCall{at: c.at}
	if wrong := toolcall.Decode(c.raw, &in, []string{"goal", "paths"}); len(wrong) > 0 {
		return toolcall.Errors(wrong), nil
	}
	if c.batch.apply != nil {
		return toolcall.Error("", "it is called once in a reply"), nil
	}
	c.batch.apply = &in
	return "", nil
}

// applyChanges proposes the changes that a reply asks for. It returns the result for the model when there is nothing to
// propose as it was asked.
func (d *dialog) applyChanges(ctx context.Context, b *batch) (reply Reply, result string, err error) {
	switch {
	case d.dryRun() != "":
		return Reply{}, d.dryRun(), nil
	case d.files.set == "":
		return Reply{}, toolcall.Error("", "nothing was changed: there is nothing to propose"), nil
	case b.proposals.Any():
		return Reply{}, toolcall.Error("", "nothing was proposed: propose changes of files apart from calls of services"), nil
	case b.fileFailed:
		return Reply{}, toolcall.Error("", "nothing was proposed: another call of this reply failed; mend that first"), nil
	case d.job == nil && len(b.apply.Paths) > 0:
		return Reply{}, toolcall.Error("paths", "in a turn all changes are proposed together: leave paths out"), nil
	}
	shown, rest, result := d.chosenChanges(ctx, b.apply.Paths)
	if result != "" {
		d.files.refused = d.files.set
		if d.job != nil {
			d.job.Changes.Proposed = d.files.set
		}
		return Reply{}, result, nil
	}
	p, wrong, err := d.changesPlan(ctx, b.apply.Goal, shown)
	if err != nil || len(wrong) > 0 {
		return Reply{}, toolcall.Errors(wrong), err
	}
	if d.job != nil { // before the plan, so that an invocation that finds the plan knows what it applies
		if err := d.saveNext(ctx, job.Changes{Round: d.round, Set: d.files.set, Proposed: shown.Set.ID, Rest: rest.ID}); err != nil {
			return Reply{}, "", err
		}
	}
	reply, err = d.propose(ctx, p)
	return reply, "", err
}

// chosenChanges returns the changes of some files, and the set of the others. It returns the result for the model
// instead when they cannot be proposed.
func (d *dialog) chosenChanges(ctx context.Context, paths []string) (shown files.Shown, rest files.Set, result string) {
	shown, err := d.service.Files.Show(ctx, d.place(), d.files.set)
	if err == nil && len(paths) > 0 {
		if result = notChanged(shown.Set, paths); result != "" {
			return shown, rest, result
		}
		shown, rest, err = d.divide(ctx, shown.Set, paths)
	}
	switch {
	case errors.Is(err, workspace.ErrMoved):
		return shown, rest, d.dropMoved(ctx)
	case err != nil:
		return shown, rest, toolcall.Error("", fileFault(err))
	case len(shown.Unseen) > 0:
		return shown, rest, toolcall.Error("paths", "the new content of these files cannot be shown to the person, because it is binary or too long, so it cannot be proposed: "+
			strings.Join(shown.Unseen, ", "))
	case len(shown.Diff) > mostDiff:
		return shown, rest, toolcall.Error("paths", fmt.Sprintf(
			"the diff has %d KB, and a card shows %d KB: propose some of the files first, with paths", len(shown.Diff)>>10, mostDiff>>10))
	}
	return shown, rest, ""
}

// notChanged returns the result for the model when it names a file that it did not change; else "".
func notChanged(all files.Set, paths []string) string {
	for _, p := range paths {
		if !slices.ContainsFunc(all.Changes, func(c overlay.Change) bool { return c.Name == p }) {
			return toolcall.Error("paths", fmt.Sprintf("%q was not changed", p))
		}
	}
	return ""
}

// divide returns the changes of some files, and the set of the others.
func (d *dialog) divide(ctx context.Context, all files.Set, paths []string) (shown files.Shown, rest files.Set, err error) {
	var others []string
	for _, c := range all.Changes {
		if !slices.Contains(paths, c.Name) {
			others = append(others, c.Name)
		}
	}
	w, place := d.service.Files, d.place()
	some, err := w.Without(ctx, place, all.ID, others)
	if err == nil {
		rest, err = w.Without(ctx, place, all.ID, paths)
	}
	if err == nil {
		shown, err = w.Show(ctx, place, some.ID)
	}
	return shown, rest, err
}

// dropMoved forgets the changes of files that others changed meanwhile, and tells the model.
func (d *dialog) dropMoved(ctx context.Context) string {
	set, gone, err := d.service.Files.Rebase(ctx, d.place(), d.files.set)
	if err != nil {
		return toolcall.Error("", fileFault(err))
	}
	d.files.set = set.ID
	return toolcall.Error("", "these files are not as they were when you read them, so your changes of them are dropped: "+
		strings.Join(gone, ", ")+". Read them again, and change them again if that is still right")
}

// changesPlan returns the plan of one step that applies a change set, and whose undo restores what was there.
func (d *dialog) changesPlan(ctx context.Context, goal string, shown files.Shown) (plan.Plan, []fault.Field, error) {
	set := overlay.Set{Changes: shown.Set.Changes}
	title := set.Title().In(d.req.Locale)
	apply, err := json.Marshal(plan.ChangesBody{Set: shown.Set.ID, Changes: set.Changes, Diff: shown.Diff})
	if err != nil {
		return plan.Plan{}, nil, err
	}
	undo, err := json.Marshal(map[string]any{"set": shown.Set.ID, "changes": set.Changes, "done": "${s1.body.done}"})
	if err != nil {
		return plan.Plan{}, nil, err
	}
	out := d.drafter()
	own := plan.Call{MCPID: tool.FilesID, Tool: tool.ApplyChanges, Method: "PUT", Body: apply}
	back := plan.Call{MCPID: tool.FilesID, Tool: tool.UndoChanges, Method: "PUT", Body: undo}
	out.Files = []plan.Call{own, back}
	return out.Draft(ctx, plan.Proposal{Goal: cmp.Or(plan.Line(goal), title), Steps: []plan.ProposedStep{
		{ID: "s1", Title: title, MCPID: own.MCPID, Tool: own.Tool, Method: own.Method, Body: own.Body, Undo: &back},
	}})
}

// filesResumed takes what became of the proposed changes of a job into its change set, and returns what the model is told
// of it; "" when there is nothing to add.
func (w *work) filesResumed(ctx context.Context, r plan.Run) (string, error) {
	if len(proposal.FileCalls(r.Plan)) == 0 {
		return "", nil
	}
	if r.Status == plan.Done {
		w.job.Changes = job.Changes{Set: w.job.Changes.Rest}
		return "", nil
	}
	set, gone, err := w.service.Files.Rebase(ctx, w.place(), w.job.Changes.Set)
	if err != nil {
		return "", err
	}
	if w.job.Changes.Set = set.ID; len(gone) == 0 {
		return "\nYour changes of files are not applied; only you still see them.", nil
	}
	return "\nThese files are not as they were when you read them, so your changes of them are dropped: " + strings.Join(gone, ", ") + ".", nil
}

// keepNext stores what the changes of the job are when its plan is there. What else the round did is stored with the round.
func (w *work) keepNext(ctx context.Context, next job.Changes) error {
	return retry.Do(ctx, func() error {
		stored, err := w.service.Jobs.Job(ctx, w.job.Account, w.job.ID)
		if err != nil {
			return err
		}
		stored.Next = &next
		saved, err := w.service.Jobs.SaveJob(ctx, stored, nil)
		if err == nil {
			w.job.Next, w.job.Version, w.job.StopAt, w.job.Events, w.job.Listed = &next, saved.Version, saved.StopAt, saved.Events, saved.Listed
		}
		return err
	})
}

// takeNextChanges takes the changes that the round stored before it proposed its plan.
func (w *work) takeNextChanges() {
	if next := w.job.Next; next != nil && next.Round == w.round {
		w.job.Changes, w.job.Next = *next, nil
	}
}

// proposeLeft proposes the changes of a job that is ended before it was done: a person may want them, and the job does not
// wait. What cannot be proposed is left.
func (w *work) proposeLeft(ctx context.Context) error {
	s, set := w.service, w.job.Changes.Set
	if set == "" || set == w.job.Changes.Proposed || w.job.DryRun || s.Files == nil || !job.Graceful(w.job.StopReason) {
		return nil
	}
	w.runID = ids.DeriveAt(w.job.CreatedAt, "job", w.job.ID, "left")
	if _, err := s.Store.Status(ctx, w.job.Account, w.runID); !errors.Is(err, plan.ErrRunNotFound) { // it is there, or nobody knows
		return err
	}
	if w.project.ID == "" && w.listed == nil { // nothing was read for a last call
		if err := w.open(ctx); err != nil {
			s.Log.WarnContext(ctx, "job.changes_left", "job_id", w.job.ID, "error", err)
			return nil
		}
	}
	if w.calls.Use == nil { // none may be called now
		w.calls.Use = &eligibility.Selection{}
		if last := w.last(); last != nil {
			w.calls.Use.Provider, w.calls.Use.Model = last.Provider, last.Model
		}
	}
	shown, _, refused := w.chosenChanges(ctx, nil)
	if refused != "" && w.files.set != "" && w.files.set != set { // without the files that moved
		shown, _, refused = w.chosenChanges(ctx, nil)
	}
	if refused != "" {
		s.Log.WarnContext(ctx, "job.changes_left", "job_id", w.job.ID, "why", refused)
		return nil
	}
	p, wrong, err := w.changesPlan(ctx, "", shown)
	if err != nil || len(wrong) > 0 {
		return err
	}
	_, err = w.propose(ctx, p)
	return err
}
