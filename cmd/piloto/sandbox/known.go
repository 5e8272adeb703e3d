package sandbox

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"piloto/internal/runs/command"
	"piloto/internal/workspace"
	"piloto/internal/workspace/mask"
)

// Known remembers the secrets of the files of one workspace from one command to the next, so that a file is read again only
// when it was changed. The zero value knows no file. It is not safe for concurrent use.
type Known struct{ files map[string]knownFile }

type knownFile struct {
	size    int64
	at      time.Time
	secrets []mask.Secret
}

// Limits of what is read for the secrets of a workspace before a command. What has no time is read before the next one.
const (
	maxKnownFile  = 1 << 20 // bytes
	alwaysRead    = 200     // files: those that usually have secrets first, and then those nearest to the workspace
	maxKnownTime  = 300 * time.Millisecond
	mostKnownFile = 20_000
)

// of returns the secrets of files of a workspace, which are named by slashed names below it.
func (k *Known) of(root string, shown workspace.Shown, names []string) *mask.Known {
	far := make(map[string]int, len(names))
	for _, name := range names {
		if far[name] = strings.Count(name, "/"); shown.Secrets(name) == workspace.NoSecrets {
			far[name] += 1_000
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(far[a], far[b]) })
	known, files, start := &mask.Known{}, map[string]knownFile{}, time.Now()
	for i, name := range names[:min(len(names), mostKnownFile)] {
		at := filepath.Join(root, filepath.FromSlash(name))
		info, err := os.Lstat(at)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxKnownFile {
			continue
		}
		f, ok := k.files[name]
		if !ok || f.size != info.Size() || !f.at.Equal(info.ModTime()) {
			if i >= alwaysRead && time.Since(start) > maxKnownTime {
				continue
			}
			f = knownFile{size: info.Size(), at: info.ModTime()}
			content, err := os.ReadFile(at) //nolint:gosec // a file of the workspace
			if err == nil && !workspace.Binary(content) && mask.Mentions(shown, name, content) {
				f.secrets = mask.Find(shown, name, content)
			}
		}
		files[name] = f
		known.Add(f.secrets)
	}
	k.files = files
	return known
}

// mostNamed is the most files that are read because a line names them.
const mostNamed = 50

// learn adds the secrets of the files that the line names, of whatever kind they are: a program may show the lines of a key
// so that nothing shows what they are.
func (c *Command) learn() {
	if c.known == nil {
		return
	}
	left := mostNamed
	for _, word := range append(c.words(), c.Args...) {
		found, err := filepath.Glob(filepath.Join(globbed(c.Dir), filepath.FromSlash(word)))
		for _, at := range found[:min(len(found), left)] {
			name, relErr := filepath.Rel(c.Workspace, at)
			info, statErr := os.Stat(at) // also where a link leads
			if err != nil || relErr != nil || statErr != nil || !info.Mode().IsRegular() || info.Size() > maxKnownFile || !filepath.IsLocal(name) {
				continue
			}
			left--
			if content, err := os.ReadFile(at); err == nil && !workspace.Binary(content) { //nolint:gosec // the line reads it, too
				c.known.Add(mask.Find(c.shown, filepath.ToSlash(name), content))
			}
		}
	}
}

// words returns the words of the line, as far as they can be told apart.
func (c *Command) words() (all []string) {
	list, _ := command.Plains(c.Line)
	for _, one := range list {
		all = append(all, one.Words...)
	}
	for word := range strings.FieldsFuncSeq(c.Line, func(r rune) bool { return strings.ContainsRune(" \t\n<>|&;=(){}\"'`", r) }) {
		all = append(all, word)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// globbed returns a path as a pattern that stands for it.
func globbed(path string) string {
	return strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, `\`, `\\`).Replace(path)
}
