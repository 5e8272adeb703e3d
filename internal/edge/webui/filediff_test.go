package webui

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
	"piloto/internal/workspace/overlay"
)

// TestCardShowsChangesOfFiles: each file, and the whole diff with its characters visible.
func TestCardShowsChangesOfFiles(t *testing.T) {
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	body, err := json.Marshal(plan.ChangesBody{Set: "x", Changes: []overlay.Change{
		{Name: "a.sql", Before: "1", After: "2", Added: 1, Removed: 1}, {Name: "n<b>.txt", After: "3", Added: 1},
	}, Diff: "--- a/a.sql\n+++ b/a.sql\n@@ -1,2 +1,2 @@\n \tselect 1\n--- a comment\n+++ evil\u202e\n--- /dev/null\n+++ b/n<b>.txt\n@@ -0,0 +1 @@\n+hola\n\\ No newline at end of file\n"})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		tool  string
		wants []string
	}{
		"applied": {tool.ApplyChanges, []string{"a.sql (+1 −1)", "n&lt;b&gt;.txt: archivo nuevo (+1)"}},
		"undone":  {tool.UndoChanges, []string{"a.sql (+1 −1)", "n&lt;b&gt;.txt: se borra (−1)"}},
	} {
		run := plan.Run{ID: "r", Status: plan.Draft, Plan: plan.Plan{ExpiresAt: at.Add(time.Hour), Goal: "g", Steps: []plan.Step{
			{ID: plan.EffectOf("s1"), Title: "Aplica", MCPID: tool.FilesID, Tool: c.tool, Method: "PUT", Body: body, Risk: plan.Write},
		}, Bindings: []plan.Binding{{StepID: plan.EffectOf("s1"), MCPID: tool.FilesID, ServerName: "Archivos", BaseURL: "files:"}}}}
		card := newCard(run, nil, locale.Spanish, at)
		var kinds []string
		for _, l := range card.Steps[0].Files.Diff {
			kinds = append(kinds, string(l.Kind))
		}
		if got, want := strings.Join(kinds, ","), "file,file,part,,del,add,file,file,part,add,part"; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		var b bytes.Buffer
		if err := loadViews(loadAssets(), func() time.Time { return at }).render(&b, locale.Spanish, "card", card); err != nil {
			t.Fatal(err)
		}
		shown := b.String()
		for _, want := range append(c.wants, `<span class="del">--- a comment`, "⟦U+202E", `> 	select 1`, "Archivos", `<span class="add">+hola`) {
			if !strings.Contains(shown, want) {
				t.Errorf("%s: the card does not have %q", name, want)
			}
		}
		if !card.Marked || strings.Contains(shown, "\u202e") || strings.Contains(shown, "n<b>") {
			t.Errorf("%s: a hidden character is hidden", name)
		}
	}
}
