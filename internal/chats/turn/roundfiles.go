package turn

import (
	"context"
	"errors"
	"strings"

	"piloto/internal/chats/job"
	"piloto/internal/chats/proposal"
	"piloto/internal/ground/ids"
	"piloto/internal/models/eligibility"
	"piloto/internal/runs/plan"
)

// filesResumed takes the outcome of the proposed changes of a job into its change set, and returns lines about it for
// the tool result; "" when there is nothing to add.
func (w *work) filesResumed(ctx context.Context, r plan.Run) (string, error) {
	if len(proposal.FileCalls(r.Plan)) == 0 {
		return "", nil
	}
	if r.Status == plan.Done {
		w.job.Changes = job.Changes{Set: w.job.Changes.Rest}
		return "", nil
	}
	set, gone, err := w.service.Files.Rebase(ctx, w.loop.scope(), w.job.Changes.Set)
	if err != nil {
		return "", err
	}
	if w.job.Changes.Set = set.ID; len(gone) == 0 {
		return "\nYour changes of files are not applied; only you still see them.", nil
	}
	return "\nThese files are not as they were when you read them, so your changes of them are dropped: " + strings.Join(gone, ", ") + ".", nil
}

// proposeLeft proposes the changes of a job that is ended before it was done: a person may want them, and the job does
// not wait. Changes that cannot be proposed are left.
func (w *work) proposeLeft(ctx context.Context) error {
	s, set := w.service, w.job.Changes.Set
	if set == "" || set == w.job.Changes.Proposed || w.job.DryRun || s.Files == nil || !job.Graceful(w.job.StopReason) {
		return nil
	}
	w.loop.runID = ids.DeriveAt(w.job.CreatedAt, "job", w.job.ID, "left")
	if _, err := s.Plans.Status(ctx, w.job.Account, w.loop.runID); !errors.Is(err, plan.ErrRunNotFound) { // it is there, or nobody knows
		return err
	}
	if w.loop.project.ID == "" && w.loop.listed == nil { // nothing was read for a last call
		if err := w.open(ctx); err != nil {
			s.Log.WarnContext(ctx, "job.changes_left", "job_id", w.job.ID, "error", err)
			return nil
		}
	}
	if w.loop.calls.Use == nil { // none may be called now
		w.loop.calls.Use = &eligibility.Selection{}
		if last := w.rows.last(); last != nil {
			w.loop.calls.Use.Provider, w.loop.calls.Use.Model = last.Provider, last.Model
		}
	}
	shown, _, refused := w.loop.files.Choose(ctx, nil)
	if refused != "" && w.loop.files.Set != "" && w.loop.files.Set != set { // without the files that moved
		shown, _, refused = w.loop.files.Choose(ctx, nil)
	}
	if refused != "" {
		s.Log.WarnContext(ctx, "job.changes_left", "job_id", w.job.ID, "why", refused)
		return nil
	}
	p, wrong, err := w.loop.files.Plan(ctx, w.loop.drafter(), "", shown)
	if err != nil || len(wrong) > 0 {
		return err
	}
	_, err = w.loop.fileDrafting().propose(ctx, p)
	return err
}
