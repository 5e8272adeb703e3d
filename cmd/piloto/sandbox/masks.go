package sandbox

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"piloto/internal/ground/lazy"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/visible"
	"piloto/internal/runs/command"
	"piloto/internal/workspace"
	"piloto/internal/workspace/mask"
)

// Masks are the files that a command wrote masks into, at most 20, by slashed names: Lost had a secret before, and Written had
// none that is known. Blocked are the masked copies that it could not write.
type Masks struct{ Written, Lost, Blocked []string }

// mostMasked is the most files that a result names.
const mostMasked = 20

// locked is how programs say that a file cannot be written.
var locked = regexp.MustCompile(`(?i)resource busy|text file busy|read-only file system|permission denied|not permitted|` +
	`ocupado|s[oó]lo lectura|permiso denegado|no permitida`)

// busy is how programs say that a file cannot be replaced. They often name another one that was to stand there.
var busy = lazy.Pattern(`(?i)resource busy|ocupado`)

// blocked returns the masked copies that a command failed to write, as its line and its output name them. If they name none,
// a script may have failed to replace any: a few are returned then.
func (c *Command) blocked(r Result) (names []string) {
	if r.Code == 0 || c.Unconfined || !locked.MatchString(r.Output) {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(c.Masked)) {
		if strings.Contains(r.Output, path.Base(name)) || strings.Contains(c.Line, path.Base(name)) {
			names = append(names, name)
		}
	}
	if names == nil && busy().MatchString(r.Output) {
		all := slices.Sorted(maps.Keys(c.Masked))
		return all[:min(len(all), mostBlocked)]
	}
	return names
}

const mostBlocked = 5

// tick is that of the clock of a file system.
const tick = 10 * time.Millisecond

// written returns the files of the workspace that were changed since a time, and have masks now; nil for none.
func (c *Command) written(since time.Time) *Masks {
	if c.known == nil || c.onlyReads() {
		return nil
	}
	masks := c.masks()
	var m Masks
	_ = filepath.WalkDir(c.Workspace, func(at string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() && isGitName(e.Name()) {
			return filepath.SkipDir
		}
		name, below := strings.CutPrefix(at, c.Workspace+string(filepath.Separator))
		info, _ := e.Info() // nil: it is gone
		if !below || info == nil || !info.Mode().IsRegular() || info.Size() > maxKnownFile || !changedSince(info, since) {
			return nil
		}
		name = filepath.ToSlash(name)
		if _, masked := c.Masked[name]; masked && !c.Unconfined {
			return nil
		}
		content, err := os.ReadFile(at) //nolint:gosec // a file of the workspace
		switch had := c.secretsOf(name); {
		case err != nil || workspace.Binary(content):
		case mask.Lost(had, content):
			m.Lost = append(m.Lost, name)
		case !hasMasks(content, masks) && !mask.Stands(c.shown, name, content):
		case had != nil:
			m.Lost = append(m.Lost, name)
		default:
			m.Written = append(m.Written, name)
		}
		if len(m.Written)+len(m.Lost) == mostMasked {
			return filepath.SkipAll
		}
		return nil
	})
	if m.Written == nil && m.Lost == nil {
		return nil
	}
	return &m
}

// secretsOf returns the secrets that a file had before the line ran, as far as it was read.
func (c *Command) secretsOf(name string) []mask.Secret {
	if c.Known == nil {
		return nil
	}
	return c.Known.files[name].secrets
}

// hasMasks reports whether a content has a line of a masked copy, or the value or the name that stands in one.
func hasMasks(content []byte, masks map[string]bool) bool {
	for _, line := range mask.Masks(content) {
		if masks[line] || strings.Trim(line, `"' `) == mask.Mark {
			return true
		}
		for other := range masks {
			before, _, _ := strings.Cut(other, mask.Mark)
			if before = strings.TrimSpace(before); strings.Contains(line, other) || len(before) > 3 && strings.Contains(line, before) {
				return true
			}
		}
	}
	return false
}

// onlyReads reports whether a line is known to write no file.
func (c *Command) onlyReads() bool { return command.Classify(c.Line).Class == command.Safe }

// Tell returns a sentence for each file that has masks now. A person and a model are to read it.
func (m *Masks) Tell(tag locale.Tag) (told []string) {
	if m == nil {
		return nil
	}
	for _, name := range m.Lost {
		told = append(told, locale.Text(tag, "sandbox.masked.lost", "name", visible.Line(name)))
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
