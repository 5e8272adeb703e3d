package turn

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"piloto/internal/chats/job"
	"piloto/internal/chats/proposal"
	"piloto/internal/chats/toolcall"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/retry"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

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
	case d.files.Set == "":
		return Reply{}, toolcall.Error("", "nothing was changed: there is nothing to propose"), nil
	case b.proposals.Any():
		return Reply{}, toolcall.Error("", "nothing was proposed: propose changes of files apart from calls of services"), nil
	case b.fileFailed:
		return Reply{}, toolcall.Error("", "nothing was proposed: another call of this reply failed; mend that first"), nil
	case d.job == nil && len(b.apply.Paths) > 0:
		return Reply{}, toolcall.Error("paths", "in a turn all changes are proposed together: leave paths out"), nil
	}
	shown, rest, result := d.files.Choose(ctx, b.apply.Paths)
	if result != "" {
		d.files.Proposed = d.files.Set
		return Reply{}, result, nil
	}
	p, wrong, err := d.files.Plan(ctx, d.drafter(), b.apply.Goal, shown)
	if err != nil || len(wrong) > 0 {
		return Reply{}, toolcall.Errors(wrong), err
	}
	if d.job != nil { // before the plan, so that an invocation that finds the plan knows what it applies
		if err := d.saveNext(ctx, job.Changes{Round: d.round, Set: d.files.Set, Proposed: shown.Set.ID, Rest: rest.ID}); err != nil {
			return Reply{}, "", err
		}
	}
	reply, err = d.propose(ctx, p)
	return reply, "", err
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
	shown, _, refused := w.files.Choose(ctx, nil)
	if refused != "" && w.files.Set != "" && w.files.Set != set { // without the files that moved
		shown, _, refused = w.files.Choose(ctx, nil)
	}
	if refused != "" {
		s.Log.WarnContext(ctx, "job.changes_left", "job_id", w.job.ID, "why", refused)
		return nil
	}
	p, wrong, err := w.files.Plan(ctx, w.drafter(), "", shown)
	if err != nil || len(wrong) > 0 {
		return err
	}
	_, err = w.propose(ctx, p)
	return err
}
