package step

import (
	"context"
	"encoding/json"
	"errors"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
	"piloto/internal/workspace/files"
)

// changeFiles applies a change set to the files of the run's project or chat, or undoes it. Both are idempotent: they find the
// changes of an earlier attempt.
func (w wire) changeFiles(ctx context.Context, r plan.Run, call tool.Call) (tool.Answer, error) {
	in := plan.ChangesOf(plan.Step{MCPID: tool.FilesID, Tool: call.Tool, Body: call.Arguments})
	scope := files.PlaceOf(r.Account, r.ProjectID, r.ChatID)
	var applied files.Applied
	var err error
	if call.Tool == tool.UndoChanges {
		applied, err = w.files.Undo(ctx, scope, in.Set, in.Done)
	} else {
		applied, err = w.files.Apply(ctx, scope, in.Set)
	}
	if err != nil {
		return tool.Answer{}, err
	}
	removed := files.RemovedFor(scope, applied.Gone)
	body, err := json.Marshal(plan.ChangesResult{
		Files: len(applied.Done), Done: applied.Done, Removed: removed[:min(len(removed), plan.MostRemoved)], AllRemoved: len(removed),
	})
	return tool.Answer{Status: 200, Body: body, Bytes: len(body)}, err
}

// filesRefused returns the failure of a change set that cannot be applied as it is: nothing was changed. ok is false for an
// error after which it may have been applied, or may still be.
func filesRefused(r plan.Run, step plan.Step, err error) (failed *plan.Failure, ok bool) {
	var f *fault.Error
	if step.MCPID != tool.FilesID || !errors.As(err, &f) || f.Kind == fault.Unavailable || f.Kind == fault.Internal {
		return nil, false
	}
	todo := locale.OfFault(f)
	todo.Key += ".do"
	return r.Failure(f.Code, locale.Say("step.files_refused", "why", locale.OfFault(f), "todo", todo)), true
}
