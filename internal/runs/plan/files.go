package plan

import (
	"encoding/json"
	"slices"

	"piloto/internal/ground/locale"
	"piloto/internal/tools/tool"
	"piloto/internal/workspace/files"
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

// MostRemoved is how many of Removed a ChangesResult has.
const MostRemoved = 20

// ChangesResult is the answer of a step that changes files. Removed made room for them: some of AllRemoved, the oldest first.
type ChangesResult struct {
	Files      int             `json:"files"`
	Done       []overlay.Done  `json:"done"`
	Removed    []files.Removed `json:"removed,omitempty"`
	AllRemoved int             `json:"all_removed,omitempty"`
}

// RoomOf returns the sentence about the files that were removed to make room for a step of a server; nil when none was.
// show returns the name of a file as text of the message.
func RoomOf(mcpID string, r *Result, show func(name string) locale.Phrase) locale.Phrase {
	var result ChangesResult
	if mcpID != tool.FilesID || r == nil || json.Unmarshal(r.Body, &result) != nil || len(result.Removed) == 0 {
		return nil
	}
	return files.MadeRoom(result.Removed, result.AllRemoved, show)
}

// ChangesOf returns the file changes of a step, those of an undo inverted. It is zero for a step that changes none, and in a
// plan that was not run the undo has no Done.
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
