package sandbox

import (
	"cmp"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"piloto/internal/ground/lazy"
	"piloto/internal/runs/command"
	"piloto/internal/workspace/mask"
)

// The most files of a workspace that a line is taken to name, and folders in which its words are searched.
const (
	mostNamed   = 1_000
	mostFolders = 20
)

// learn adds the secrets of the files that the line names, of every kind: a program may show the lines of a key without a
// sign of their kind. A line that only reads gets masked copies of them, because it may encode their content. Any other
// line may run them, and gets copies of settings only.
func (c *Command) learn() {
	if c.known == nil {
		return
	}
	k := cmp.Or(c.Known, &Known{})
	names := c.named(k)
	if c.Unconfined {
		return
	}
	reads := c.onlyReads()
	c.Masked = maps.Clone(c.Masked)
	c.maskCopies(k)
	for name, safe := range names {
		_, has := c.Masked[name]
		isOther := !reads && (safe == nil || !mask.Mentions(c.shown, name))
		if has || isOther || c.shown.Hidden(name) || c.shown.Names(name) {
			continue
		}
		if safe == nil {
			safe, _ = os.ReadFile(filepath.Join(c.Workspace, filepath.FromSlash(name)))
		}
		if text, secrets := c.known.Output(string(safe)); secrets > 0 || names[name] != nil { // or it has a copy of another secret
			c.copyOf(name, []byte(text))
		}
	}
}

// named adds the secrets of the files that the line names, and returns the names of these files with their contents with
// masks; nil for one that has no secret of its own.
func (c *Command) named(k *Known) (safe map[string][]byte) {
	start := time.Now()
	safe = map[string][]byte{}
	for _, at := range c.namedPaths() {
		real, err := filepath.EvalSymlinks(at)
		if err != nil || !isWithin(real, c.Workspace) {
			continue
		}
		for _, path := range slices.Compact([]string{real, at}) {
			f := k.read(c.Workspace, c.slashed(path), c.shown, maxNamedFile, time.Since(start) < maxNamedTime)
			c.known.Add(f.secrets)
			switch name := c.slashed(real); {
			case f.text:
				safe[name] = f.safe
			case f.opaque && mask.Mentions(c.shown, name), f.unread && c.onlyReads():
				c.hide(name)
			}
		}
	}
	return safe
}

// slashed returns the name of a file of the workspace.
func (c *Command) slashed(path string) string {
	name, err := filepath.Rel(c.Workspace, path)
	if err != nil {
		return ""
	}
	return filepath.ToSlash(name)
}

// deep finds programs and options that read files which a line does not name.
var deep = lazy.Pattern(`\b(?:rg|ag|ack|find|fd|xargs|for|while)\b|\s-\w*[rR]|--recursive`)

// namedPaths returns the files that the words of the line name, in the folders that they name, too, and those below a folder
// for a line that goes there.
func (c *Command) namedPaths() (paths []string) {
	folders, all := []string{c.Dir}, append(c.words(), c.Args...)
	seen := map[string]bool{}
	add := func(at string) {
		if !seen[at] && len(paths) < mostNamed {
			seen[at] = true
			paths = append(paths, at)
		}
	}
	for i := 0; i < len(folders); i++ {
		for _, word := range all {
			word = strings.ReplaceAll(word, "$PWD", ".")
			pattern := filepath.Join(globbed(folders[i]), filepath.FromSlash(word))
			if filepath.IsAbs(word) {
				pattern = word
			}
			found, _ := filepath.Glob(pattern)
			for _, at := range found {
				info, err := os.Stat(at)
				switch {
				case err != nil:
				case info.Mode().IsRegular():
					add(at)
				case info.IsDir() && i == 0 && len(folders) < mostFolders && isWithin(at, c.Workspace):
					folders = append(folders, at)
				}
			}
		}
	}
	if !deep().MatchString(c.Line) {
		return paths
	}
	if len(folders) > 1 {
		folders = folders[1:]
	}
	for _, folder := range folders {
		_ = filepath.WalkDir(folder, func(at string, e fs.DirEntry, err error) error {
			switch {
			case err != nil || e.IsDir() && isGitName(e.Name()):
				return filepath.SkipDir
			case e.Type().IsRegular():
				add(at)
			}
			if len(paths) == mostNamed {
				return filepath.SkipAll
			}
			return nil
		})
	}
	return paths
}

// words returns the words of the line, as far as they can be separated.
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
