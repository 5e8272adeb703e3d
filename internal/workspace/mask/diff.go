package mask

import (
	"strings"

	"piloto/internal/workspace"
	"piloto/internal/workspace/overlay"
)

// Diff returns a diff of package overlay as a model may read it. Its lines stay where they are.
func Diff(shown workspace.Shown, diff string) string {
	var b, part strings.Builder
	var marks []string // of the lines of part
	name := ""
	flush := func() {
		masked, _ := Content(shown, name, []byte(part.String()))
		for i, line := range strings.SplitAfter(string(masked), "\n")[:len(marks)] {
			b.WriteString(marks[i] + line)
		}
		marks = nil
		part.Reset()
	}
	for line := range overlay.Lines(diff) {
		switch {
		case line.Kind == overlay.Names || line.Kind == overlay.Part || line.Text == "":
			flush()
			for _, side := range []string{"--- a/", "+++ b/"} {
				if of, ok := strings.CutPrefix(line.Text, side); ok && line.Kind == overlay.Names {
					name = of
				}
			}
			b.WriteString(line.Text + "\n")
		default:
			marks = append(marks, line.Text[:1])
			part.WriteString(line.Text[1:] + "\n")
		}
	}
	flush()
	if !strings.HasSuffix(diff, "\n") {
		return strings.TrimSuffix(b.String(), "\n")
	}
	return b.String()
}
