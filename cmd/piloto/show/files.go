package show

import (
	"strings"

	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/visible"
	"piloto/internal/runs/plan"
	"piloto/internal/workspace/overlay"
)

var diffColours = map[overlay.LineKind]string{overlay.Added: green, overlay.Removed: red, overlay.Part: faint}

// files writes the changes of files of a step, and the whole diff. It reports whether the step could be read.
func (w *Writer) files(indent int, s httpapi.Step) bool {
	body := plan.ChangesOf(plan.Step{MCPID: s.MCPID, Tool: s.Tool, Body: s.Body})
	if len(body.Changes) == 0 {
		return false
	}
	for _, c := range body.Changes {
		w.line(indent, visible.Line(c.Phrase().In(w.Tag)))
	}
	for line := range overlay.Lines(body.Diff) {
		var cells []string
		for _, cell := range strings.Split(line.Text, "\t") {
			cells = append(cells, visible.Line(cell))
		}
		w.line(indent+2, w.style(diffColours[line.Kind], strings.Join(cells, "    ")))
	}
	return true
}
