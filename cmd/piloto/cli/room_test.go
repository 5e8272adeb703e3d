package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
	"piloto/internal/workspace/files"
)

// TestWhatMadeRoomIsToldAtTheTerminal of a step that changes files, and of no other; a name brings no control character.
func TestWhatMadeRoomIsToldAtTheTerminal(t *testing.T) {
	body, err := json.Marshal(plan.ChangesResult{Files: 1, Removed: []files.Removed{{Path: "old\x1b[2J.bin"}, {Path: "b", ProjectID: "p"}}, AllRemoved: 30})
	if err != nil {
		t.Fatal(err)
	}
	a, _, said := newApp(nil, "")
	a.con.Tag = locale.English
	a.runs.tellRoom("other", &plan.Result{Body: body})
	a.runs.tellRoom(tool.FilesID, nil)
	a.runs.tellRoom(tool.FilesID, &plan.Result{Body: body})
	if got := said.String(); !strings.HasPrefix(got, "! To make room, 30 earlier versions") || strings.Count(got, "\n") != 1 ||
		!strings.Contains(got, "b (of another project or chat)") || strings.Contains(got, "\x1b") {
		t.Errorf("%q", got)
	}
}
