package turn

import (
	"context"
	"encoding/json"

	"piloto/internal/chats/job"
	"piloto/internal/chats/toolcall"
	"piloto/internal/chats/toolset"
	"piloto/internal/models/llm"
)

// applySpec is the tool that proposes the change set.
var applySpec = toolSpec{
	class: toolset.ClassWrite, do: doApply,
	Tool: llm.Tool{
		Name: toolset.Apply,
		Description: "Propose your changes of files as one step, which the person sees as a diff and confirms. Until then only you see them. " +
			"Without this call they are proposed when you are done.",
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

// applyCall is a call of apply_changes.
type applyCall struct {
	at    int
	Goal  string   `json:"goal"`
	Paths []string `json:"paths"`
}

// doApply takes the call: it is answered after the other calls of the reply, whose changes it proposes, too.
func doApply(_ context.Context, _ *loop, c toolCall) (string, error) {
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
func (l *loop) applyChanges(ctx context.Context, b *batch) (reply Reply, result string, err error) {
	switch {
	case l.terms.dryRunResult() != "":
		return Reply{}, l.terms.dryRunResult(), nil
	case l.files.Set == "":
		return Reply{}, toolcall.Error("", "nothing was changed: there is nothing to propose"), nil
	case b.proposals.Any():
		return Reply{}, toolcall.Error("", "nothing was proposed: propose changes of files apart from calls of services"), nil
	case b.fileFailed:
		return Reply{}, toolcall.Error("", "nothing was proposed: another call of this reply failed; mend that first"), nil
	case !l.terms.parts && len(b.apply.Paths) > 0:
		return Reply{}, toolcall.Error("paths", "in a turn all changes are proposed together: leave paths out"), nil
	}
	shown, rest, result := l.files.Choose(ctx, b.apply.Paths)
	if result != "" {
		l.files.Proposed = l.files.Set
		return Reply{}, result, nil
	}
	p, wrong, err := l.files.Plan(ctx, l.drafter(), b.apply.Goal, shown)
	if err != nil || len(wrong) > 0 {
		return Reply{}, toolcall.Errors(wrong), err
	}
	err = l.journal.proposing(ctx, job.Changes{Set: l.files.Set, Proposed: shown.Set.ID, Rest: rest.ID})
	if err == nil {
		reply, err = l.fileDrafting().propose(ctx, p)
	}
	return reply, "", err
}

// fileDrafting returns the drafting of changes of files: they may be proposed again after a person refused them.
func (l *loop) fileDrafting() drafting {
	d := l.drafting()
	d.refuses = nil
	return d
}
