package sandbox

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"piloto/internal/ground/lazy"
	"piloto/internal/ground/redact"
	"piloto/internal/workspace"
	"piloto/internal/workspace/mask"
)

// mask adds an entry of the workspace to Masked, if its name is usual for secrets. A file that cannot be masked is
// hidden.
func (c *Command) mask(shown workspace.Shown, name string, entry fs.DirEntry) {
	switch {
	case !entry.Type().IsRegular() || !mask.Mentions(shown, name):
	case shown.Secrets(name) != workspace.NoSecrets && !shown.Hidden(name):
		c.revealing = append(c.revealing, name)
		switch f := cmp.Or(c.Known, &Known{}).read(c.Workspace, name, shown, maxNamedFile, true); {
		case f.safe != nil:
			c.copyOf(name, f.safe)
		case !f.text:
			c.hide(name)
		}
	default:
		c.revealing = append(c.revealing, name)
	}
}

// maskSettings adds the configurations of git to Masked: an address in them may have a token.
func (c *Command) maskSettings(shown workspace.Shown, o *obeyed) {
	for path := range o.parsed {
		name, err := filepath.Rel(c.Workspace, path)
		if err == nil && filepath.IsLocal(name) && !shown.Names(filepath.ToSlash(name)) {
			c.maskConfig(shown, filepath.ToSlash(name))
			c.held = append(c.held, filepath.ToSlash(name))
		}
	}
}

// maskConfig adds a configuration of git to Masked.
func (c *Command) maskConfig(shown workspace.Shown, name string) {
	c.revealing = append(c.revealing, name)
	at := filepath.Join(c.Workspace, filepath.FromSlash(name))
	if info, err := os.Lstat(at); err != nil || !info.Mode().IsRegular() {
		return // a link leads to a file that has its own name
	} else if info.Size() > workspace.MaxFileBytes {
		c.Hidden = append(c.Hidden, name)
		return
	}
	content, err := os.ReadFile(at) //nolint:gosec // a file of the workspace
	if err != nil || workspace.Binary(content) {
		c.Hidden = append(c.Hidden, name)
		return
	}
	if safe, secrets := mask.Content(shown, ".git/config", content); secrets > 0 {
		c.copyOf(name, safe)
	}
}

// hide makes a line read nothing instead of a file.
func (c *Command) hide(name string) {
	if !slices.Contains(c.Hidden, name) && !c.shown.Names(name) {
		c.Hidden = append(slices.Clip(c.Hidden), name)
	}
}

// copyOf makes a line read a content instead of a file.
func (c *Command) copyOf(name string, content []byte) {
	if c.Masked == nil {
		c.Masked = map[string][]byte{}
	}
	c.Masked[name] = content
}

// maskCopies makes each masked copy have masks for all secrets that are known.
func (c *Command) maskCopies(k *Known) {
	for name, content := range c.Masked {
		c.Masked[name] = k.copyOf(name, content, c.known)
	}
}

// withoutSecrets returns an output with masks, and how many secrets they stand for. Without a sandbox a line reads the
// files themselves, so that an output is taken for the content of each file that the line names.
func (c *Command) withoutSecrets(output string) (masked string, secrets int) {
	if strings.Contains(output, mask.Mark) { // of masked copies
		masks, seen := c.masks(), map[string]bool{}
		output = c.known.Folded(output, masks)
		for line := range strings.Lines(output) {
			if line = strings.TrimSpace(line); strings.Contains(line, mask.Mark) && !seen[line] && hasMasks([]byte(line), masks) {
				seen[line] = true
				secrets++
			}
		}
	}
	diffs := c.history(mask.Diffs(c.shown, output, strings.Contains(c.Line, "-word")))
	secrets += max(0, strings.Count(diffs, mask.Mark)-strings.Count(output, mask.Mark))
	output = diffs
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		if redact.Name(name) {
			known := string(redact.Known([]byte(output), c.Env[name]))
			secrets += max(0, strings.Count(known, mask.Mark)-strings.Count(output, mask.Mark))
			output = known
		}
	}
	masked, n := c.known.Output(output)
	secrets += n
	if !c.Unconfined {
		return masked, secrets
	}
	for _, word := range c.words() {
		name := strings.TrimLeft(path.Clean(filepath.ToSlash(word)), "./")
		if strings.HasPrefix(path.Base(word), ".") {
			name = path.Join(path.Dir(name), path.Base(word))
		}
		if (workspace.Shown{}).Secrets(name) != workspace.NoSecrets || (workspace.Shown{}).Hidden(name) {
			safe, n := mask.Content(workspace.Shown{}, name, []byte(masked))
			masked, secrets = string(safe), secrets+n
		}
	}
	return masked, secrets
}

// version is a word that names a file of a commit, or of the index.
var version = lazy.Pattern(`^[^\s:]*(?::[0-3])?:([^:]+)$`)

// history masks an output as the files of the commits that a line shows.
func (c *Command) history(output string) string {
	if !strings.Contains(c.Line, "git") || !strings.Contains(c.Line, "show") && !strings.Contains(c.Line, "cat-file") {
		return output
	}
	for _, word := range c.words() {
		if of := version().FindStringSubmatch(word); of != nil {
			safe, _ := mask.Content(c.shown, path.Clean(of[1]), []byte(output))
			output = string(safe)
		}
	}
	return output
}

// masks returns the lines of masked copies that have a mask.
func (c *Command) masks() map[string]bool {
	all := map[string]bool{}
	if c.Unconfined {
		return all
	}
	for _, content := range c.Masked {
		for _, line := range mask.Masks(content) {
			all[line] = true
		}
	}
	return all
}

// maskedNote explains the masks of an output to a model.
func maskedNote(secrets int) string {
	if secrets == 0 {
		return ""
	}
	return fmt.Sprintf("\n(%d masked: %s stands for a secret, and is not to be written)", secrets, mask.Mark)
}
