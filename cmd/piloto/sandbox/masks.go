package sandbox

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"piloto/internal/ground/locale"
	"piloto/internal/ground/visible"
	"piloto/internal/runs/command"
)

// Masks are the files that a command wrote masks of masked copies into, at most 20, and the masked copies that it could not
// write, by slashed names.
type Masks struct{ Written, Blocked []string }

// mostMasked is the most files that a result names.
const mostMasked = 20

// locked is how programs say that a file cannot be written.
var locked = regexp.MustCompile(`(?i)resource busy|text file busy|read-only file system|permission denied|not permitted|` +
	`ocupado|s[oó]lo lectura|permiso denegado|no permitida`)

// blocked returns the masked copies that a command failed to write, as its line and its output name them.
func (c *Command) blocked(r Result) (names []string) {
	if r.Code == 0 || c.Unconfined || !locked.MatchString(r.Output) {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(c.Masked)) {
		if strings.Contains(r.Output, path.Base(name)) || strings.Contains(c.Line, path.Base(name)) {
			names = append(names, name)
		}
	}
	return names
}

// onlyReads reports whether a line is known to write no file.
func (c *Command) onlyReads() bool { return command.Classify(c.Line).Class == command.Safe }

// Tell returns a sentence for each file that has masks now. A person and a model are to read it.
func (m *Masks) Tell(tag locale.Tag) (told []string) {
	if m == nil {
		return nil
	}
	for _, name := range m.Written {
		told = append(told, locale.Text(tag, "sandbox.masked.copied", "name", visible.Line(name)))
	}
	return told
}

// Explain returns a sentence for each masked copy that could not be written. A model is to read it.
func (m *Masks) Explain(tag locale.Tag) (told []string) {
	if m == nil {
		return nil
	}
	for _, name := range m.Blocked {
		told = append(told, locale.Text(tag, "sandbox.masked.locked", "name", visible.Line(name)))
	}
	return told
}
