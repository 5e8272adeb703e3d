package mask

import (
	"slices"
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

// Folded returns an output in which lines of a diff are shown as unchanged whose only change is the mask of a copy: the
// masked values of a line are known, and its masked form is one of copies. A part without another change is left out.
func (k *Known) Folded(output string, copies map[string]bool) string {
	if k == nil || len(copies) == 0 || !strings.Contains(output, Mark) {
		return output
	}
	var all, folded []string // lines, each with git's note on its end
	for line := range strings.SplitSeq(output, "\n") {
		if strings.HasPrefix(line, `\ `) && len(all) > 0 {
			all[len(all)-1] += "\n" + line
		} else {
			all = append(all, line)
		}
	}
	is := func(i int, sign string) bool { return i < len(all) && strings.HasPrefix(all[i], sign) }
	part, folds, changes := -1, 0, 0 // where a part of the diff begins, and its lines that were folded, or are changed
	end := func() {
		if part >= 0 && folds > 0 && changes == 0 {
			folded = folded[:part]
		}
		part = -1
	}
	for i := 0; i < len(all); {
		if !is(i, "-") {
			if !is(i, " ") && !is(i, "+") {
				end()
			}
			if is(i, "@@ ") {
				part, folds, changes = len(folded), 0, 0
			}
			if is(i, "+") {
				changes++
			}
			folded = append(folded, all[i])
			i++
			continue
		}
		gone := i
		for is(i, "-") {
			i++
		}
		came := i
		for is(i, "+") {
			i++
		}
		lines := k.fold(all[gone:came], all[came:i], copies)
		for _, line := range lines {
			if line[0] == ' ' {
				folds++
			} else {
				changes++
			}
		}
		folded = append(folded, lines...)
	}
	end()
	return strings.Join(folded, "\n")
}

// fold returns a change of a diff, from the lines that are gone and those that came.
func (k *Known) fold(gone, came []string, copies map[string]bool) (folded []string) {
	waits := 0 // lines of came that are not there yet
	for i, line := range came {
		text, end, _ := strings.Cut(line[1:], "\n")
		masked := strings.TrimSpace(text)
		at := -1
		if copies[masked] {
			at = slices.IndexFunc(gone, func(line string) bool {
				text, was, _ := strings.Cut(line[1:], "\n")
				return was == end && strings.TrimSpace(k.replace(text)) == masked
			})
		}
		if at < 0 {
			waits++
			continue
		}
		folded = slices.Concat(folded, gone[:at], came[i-waits:i], []string{" " + line[1:]})
		gone, waits = gone[at+1:], 0
	}
	return slices.Concat(folded, gone, came[len(came)-waits:])
}
