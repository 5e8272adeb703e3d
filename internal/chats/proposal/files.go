package proposal

import (
	"encoding/json"
	"slices"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/jcs"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
	"piloto/internal/workspace"
	"piloto/internal/workspace/mask"
)

// Masked returns the body of a call as a model reads it: masks stand for the secrets of files in a diff.
func Masked(mcpID string, body json.RawMessage) json.RawMessage {
	var all map[string]json.RawMessage
	var diff string
	if mcpID != tool.FilesID || json.Unmarshal(body, &all) != nil || json.Unmarshal(all["diff"], &diff) != nil {
		return body
	}
	safe := mask.Diff(workspace.Shown{}, diff)
	if safe == diff {
		return body
	}
	text, err := json.Marshal(safe)
	if err != nil {
		return body
	}
	all["diff"] = text
	raw, err := json.Marshal(all)
	if err != nil {
		return body
	}
	return raw
}

// hasSum reports whether a body has a digest.
func hasSum(body json.RawMessage, sum string) bool {
	got, err := jcs.Sum(body)
	return err == nil && got == sum
}

// bindFiles binds a call that changes files. It stands in the plan as it was made from a change set, and nobody edits it,
// because the diff on the card would then be another one.
func (d Drafter) bindFiles(c *plan.Call, to *boundCall) []fault.Field {
	sum, err := jcs.Sum(c.Body)
	at := slices.IndexFunc(d.Files, func(f plan.Call) bool {
		return err == nil && f.Tool == c.Tool && (hasSum(f.Body, sum) || hasSum(Masked(f.MCPID, f.Body), sum))
	})
	if at < 0 {
		return []fault.Field{{Loc: []any{"body"}, Type: "files", Msg: "the changes of files cannot be edited here: leave the step as it is, take it out, or ask for other changes"}}
	}
	c.Body = d.Files[at].Body
	op, err := tool.FilesOperation(c.Tool)
	if err != nil {
		return []fault.Field{{Loc: []any{"tool"}, Type: "unknown", Msg: "is no tool of the files"}}
	}
	c.Method = op.Method
	server := tool.FilesServer()
	*to = boundCall{op: op, binding: plan.Binding{
		MCPID: server.ID, ServerName: locale.Text(d.Locale, "files.service"), BaseURL: server.BaseURL, Fingerprint: op.Fingerprint,
	}}
	return nil
}

// FileCalls returns the calls of a plan that change files.
func FileCalls(p plan.Plan) (list []plan.Call) {
	for _, s := range p.Steps {
		if s.MCPID == tool.FilesID {
			list = append(list, s.Call())
		}
		if s.Undo != nil && s.Undo.MCPID == tool.FilesID {
			list = append(list, s.Undo.Call)
		}
	}
	return list
}
