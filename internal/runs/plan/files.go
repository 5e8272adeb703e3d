package plan

import "piloto/internal/workspace/overlay"

// ChangesBody is the body of a step that applies a change set, and of its undo. A person sees it, so it has all that they
// confirm. Done is the answer of the step: only its undo has it.
type ChangesBody struct {
	Set     string           `json:"set"`
	Changes []overlay.Change `json:"changes"`
	Diff    string           `json:"diff,omitempty"`
	Done    []overlay.Done   `json:"done,omitempty"`
}
