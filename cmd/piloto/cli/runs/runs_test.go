package runs

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"piloto/cmd/piloto/cli/console/consoletest"
	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/show"
	"piloto/internal/edge/httpapi"
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
	con, _, said := consoletest.New(nil, "")
	con.Tag = locale.English
	g := &Group{Con: con}
	g.tellRoom("other", &plan.Result{Body: body})
	g.tellRoom(tool.FilesID, nil)
	g.tellRoom(tool.FilesID, &plan.Result{Body: body})
	if got := said.String(); !strings.HasPrefix(got, "! To make room, 30 earlier versions") || strings.Count(got, "\n") != 1 ||
		!strings.Contains(got, "b (of another project or chat)") || strings.Contains(got, "\x1b") {
		t.Errorf("%q", got)
	}
}

// TestEndOfInputAgreesToNothing: Ctrl-D at the question, an empty line and another digest decide nothing.
func TestEndOfInputAgreesToNothing(t *testing.T) {
	r := httpapi.Run{RunID: "01", Digest: plan.Digest(strings.Repeat("ab", 32))}
	for _, c := range []struct {
		in   string
		want ending.Code
	}{{"", ending.Waits}, {"\n", ending.Waits}, {"abababa\n", ending.Waits}, {"cdcdcdcd\n", ending.Waits}, {"abababab\n", ending.Success}, {" ABABABAB \n", ending.Success}} {
		con, _, _ := consoletest.New(nil, c.in)
		con.Asks = true
		if got := ending.CodeOf((&Group{Con: con}).agreed(t.Context(), decision{}, r.Digest, &show.Writer{})); got != c.want {
			t.Errorf("%q: %d, not %d", c.in, got, c.want)
		}
	}
	con, _, _ := consoletest.New(nil, "")
	short := httpapi.Run{RunID: "01", Digest: "ab"}
	if got := ending.CodeOf((&Group{Con: con}).agreed(t.Context(), decision{digest: "abababab"}, short.Digest, &show.Writer{})); got != ending.Waits {
		t.Errorf("a digest that is none: %d", got)
	}
}

// TestNoTextOfAPlanSetsAnEditor: vim and emacs read settings in a file; and invisible characters are escaped. It is the
// same plan.
func TestNoTextOfAPlanSetsAnEditor(t *testing.T) {
	raw, err := json.MarshalIndent(map[string]string{"goal": "x vim: set x:\n vi:a: ex:b Vim<900: -*- mode -*- Local Variables: https://x.example \u202e\u009b\x7f"}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text := forEditor(string(raw))
	var was, is map[string]string
	if err := errors.Join(json.Unmarshal(raw, &was), json.Unmarshal([]byte(text), &is)); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(was, is) || !strings.Contains(text, "https://x.example") {
		t.Errorf("%q became %q", was, is)
	}
	for _, acts := range []string{"vim:", "vi:", "ex:", "<900:", "-*-", "Variables:", "\u202e", "\u009b", "\x7f"} {
		if strings.Contains(text, acts) {
			t.Errorf("%q is in %q", acts, text)
		}
	}
}

// TestTheEndOfARunNamesWhatWaits, and nothing that the deployment would refuse: an approval that was given, a doubt that a person
// resolved, or one of a run that still goes on.
func TestTheEndOfARunNamesWhatWaits(t *testing.T) {
	step := func(id string, status plan.StepStatus) httpapi.Step {
		return httpapi.Step{PlannedStep: httpapi.PlannedStep{ID: id, Method: "POST", Undo: &httpapi.UndoCall{}}, Status: status}
	}
	asked, given := step("s1", plan.StepWaiting), step("s2", plan.StepRunning)
	asked.Approval, given.Approval = &httpapi.StepApproval{Request: "11", Digest: "11"}, &httpapi.StepApproval{Request: "22", Digest: "22", Decision: plan.Approved}
	doubt, resolved, undone := step("s3", plan.StepInDoubt), step("s4", plan.StepInDoubt), step("s5", plan.StepDone)
	resolved.Resolved = &plan.Resolution{Outcome: plan.OutcomeDone}
	undone.UndoState = &httpapi.Effect{Status: plan.StepInDoubt}
	all := []httpapi.Step{asked, given, doubt, resolved, undone}
	for status, want := range map[plan.Status][]string{
		plan.Waiting: {"approve 01R --step s1 --digest 11"},
		plan.InDoubt: {"settle 01R s3 ", "settle 01R undo:s5 "},
		plan.Running: nil,
	} {
		con, _, errOut := consoletest.New(nil, "")
		con.Tag = locale.English
		if err := (&Group{Con: con}).endOf(httpapi.Run{RunID: "01R", Status: status, Steps: all}); ending.CodeOf(err) != ending.CodeOfRun(status, 1) {
			t.Errorf("%s: %v", status, err)
		}
		var got []string
		for line := range strings.Lines(errOut.String()) {
			if strings.Contains(line, " runs ") {
				got = append(got, line)
			}
		}
		if !slices.EqualFunc(got, want, strings.Contains) {
			t.Errorf("%s: %q, not %q", status, got, want)
		}
	}
}
