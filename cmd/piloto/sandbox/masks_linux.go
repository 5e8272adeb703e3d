package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"piloto/internal/workspace"
	"piloto/internal/workspace/mask"
)

// copied returns the files of the workspace that were changed since a time, and have masks of masked copies; nil for none.
func (c *Command) copied(since time.Time) *Masks {
	var names []string
	if len(c.Masked) == 0 || c.onlyReads() {
		return nil
	}
	masks := map[string]bool{}
	for _, content := range c.Masked {
		for _, line := range mask.Masks(content) {
			masks[line] = true
		}
	}
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
		if _, masked := c.Masked[name]; masked {
			return nil
		}
		content, err := os.ReadFile(at) //nolint:gosec // a file of the workspace
		if err == nil && !workspace.Binary(content) && hasMasks(content, masks) {
			names = append(names, name)
		}
		if len(names) == mostMasked {
			return filepath.SkipAll
		}
		return nil
	})
	if names == nil {
		return nil
	}
	return &Masks{Written: names}
}

// changedSince reports whether a file was changed since a time. A program can set another time of its content.
func changedSince(info fs.FileInfo, since time.Time) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	const tick = 10 * time.Millisecond // of the clock of a file system
	return !ok || !time.Unix(stat.Ctim.Unix()).Before(since.Add(-tick))
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
