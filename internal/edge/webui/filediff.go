package webui

import (
	"strings"

	"piloto/internal/ground/render"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
	"piloto/internal/workspace/overlay"
)

// fileChanges are the changes of files by a step: each file with its change, and the whole diff.
type fileChanges struct {
	Files []render.HTML
	Diff  []diffLine
}

// diffLine is one line of a diff. Its kind is the class of its element.
type diffLine struct {
	Kind overlay.LineKind
	Text render.HTML
}

// addFiles adds the changes of files by a step. Its target then has no origin.
func (a cardBuilder) addFiles(v *cardStep, s plan.Step) {
	if s.MCPID != tool.FilesID {
		return
	}
	body := plan.ChangesOf(s)
	v.Target.Origin, v.Files = "", &fileChanges{}
	for _, c := range body.Changes {
		v.Files.Files = append(v.Files.Files, a.pen.show(c.Phrase().In(a.pen.words.tag)))
	}
	for line := range overlay.Lines(body.Diff) {
		v.Files.Diff = append(v.Files.Diff, diffLine{line.Kind, a.pen.showTabs(line.Text)})
	}
}

// showTabs renders a line with display, but for its tabs.
func (w pen) showTabs(line string) render.HTML {
	parts := strings.Split(line, "\t")
	var out render.HTML
	for i, p := range parts {
		if i > 0 {
			out += "\t"
		}
		out += w.show(p)
	}
	return out
}
