package proposal

import (
	"encoding/json"
	"strings"
	"testing"

	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// TestDraftHasNoSecretOfAFile: the lines around a change may have one. The model reads a mask, and the step that it sends
// back as it read it stays the one that the person saw.
func TestDraftHasNoSecretOfAFile(t *testing.T) {
	body, err := json.Marshal(plan.ChangesBody{Set: "s", Diff: "--- a/.netrc\n+++ b/.netrc\n@@ -1,2 +1,3 @@\n machine h\n password hunter2\n+login ana\n"})
	if err != nil {
		t.Fatal(err)
	}
	step := plan.Step{MCPID: tool.FilesID, Tool: tool.ApplyChanges, Body: body}
	step.Undo = &plan.Undo{Call: plan.Call{MCPID: tool.FilesID, Tool: tool.UndoChanges, Body: body}}
	draft, err := Encode(&plan.Run{Plan: plan.Plan{Steps: []plan.Step{step}}})
	if err != nil || strings.Contains(draft, "hunter2") || !strings.Contains(draft, "login ana") {
		t.Errorf("%v: %s", err, draft)
	}
	for _, sent := range []json.RawMessage{body, Masked(tool.FilesID, body)} {
		c := plan.Call{MCPID: tool.FilesID, Tool: tool.ApplyChanges, Body: sent}
		wrong := Drafter{Files: []plan.Call{{MCPID: tool.FilesID, Tool: tool.ApplyChanges, Body: body}}}.bindFiles(&c, &boundCall{})
		if len(wrong) > 0 || string(c.Body) != string(body) {
			t.Errorf("%v: %s", wrong, c.Body)
		}
	}
}
