package webui

import (
	"strconv"
	"strings"

	"piloto/internal/ground/render"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// fileChanges is what a step does to files: each file with what becomes of it, and the whole diff.
type fileChanges struct {
	Files []render.HTML
	Diff  []diffLine
}

// diffLine is one line of a diff, with its kind: "add", "del", "file" (it names one), "part" (it says where), or "" for a line
// that stays.
type diffLine struct {
	Kind string
	Text render.HTML
}

// addFiles adds what a step does to files, and names whose they are.
func (a cardBuilder) addFiles(v *cardStep, s plan.Step) {
	if s.MCPID != tool.FilesID {
		return
	}
	body := plan.ChangesOf(s)
	v.Target.Origin, v.Files = "", &fileChanges{}
	for _, c := range body.Changes {
		v.Files.Files = append(v.Files.Files, a.show(c.Phrase().In(a.words.tag)))
	}
	var old, now int // lines of the hunk that are still to come
	for line := range strings.Lines(body.Diff) {
		line = strings.TrimSuffix(line, "\n")
		kind := ""
		switch {
		case old+now == 0 && strings.HasPrefix(line, "@@"):
			kind, old, now = "part", hunkLines(line, "-"), hunkLines(line, "+")
		case strings.HasPrefix(line, "\\"): // no line end at the end of the file
			kind = "part"
		case old+now == 0:
			kind = "file"
		case strings.HasPrefix(line, "+"):
			kind, now = "add", now-1
		case strings.HasPrefix(line, "-"):
			kind, old = "del", old-1
		default:
			old, now = old-1, now-1
		}
		v.Files.Diff = append(v.Files.Diff, diffLine{kind, a.showTabs(line)})
	}
}

// hunkLines returns how many lines a hunk has of one side, by its head "@@ -1,3 +1,4 @@".
func hunkLines(head, side string) int {
	_, rest, _ := strings.Cut(head, " "+side)
	place, _, _ := strings.Cut(rest, " ")
	_, n, ok := strings.Cut(place, ",")
	if !ok {
		return 1
	}
	lines, _ := strconv.Atoi(n) // the diff was made here
	return lines
}

// showTabs renders a line with display, but for its tabs.
func (a cardBuilder) showTabs(line string) render.HTML {
	parts := strings.Split(line, "\t")
	var out render.HTML
	for i, p := range parts {
		if i > 0 {
			out += "\t"
		}
		out += a.show(p)
	}
	return out
}
