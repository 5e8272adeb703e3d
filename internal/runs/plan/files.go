package plan

import (
	"encoding/json"
	"slices"

	"piloto/internal/tools/tool"
	"piloto/internal/workspace/overlay"
)

// ChangesBody is the body of a step that applies a change set, and of its undo. A person sees it, so it has all that they
// confirm. Done is the answer of the step: only its undo has it.
type ChangesBody struct {
	Set     string           `json:"set"`
	Changes []overlay.Change `json:"changes"`
	Diff    string           `json:"diff,omitempty"`
	Done    []overlay.Done   `json:"done,omitempty"`
}

// ChangesOf returns what a step makes of files, those of an undo as it leaves them. It is zero of a step that changes none,
// and in a plan that was not run the undo has no Done.
func ChangesOf(s Step) ChangesBody {
	var body struct {
		ChangesBody
		Done json.RawMessage `json:"done"` // a reference in a plan
	}
	if s.MCPID != tool.FilesID || json.Unmarshal(s.Body, &body) != nil {
		return ChangesBody{}
	}
	if s.Tool == tool.UndoChanges {
		body.Changes = slices.Clone(body.Changes)
		for i, c := range body.Changes {
			body.Changes[i] = c.Inverse()
		}
	}
	_ = json.Unmarshal(body.Done, &body.ChangesBody.Done) // it is a reference
	return body.ChangesBody
}
