package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"piloto/internal/ground/fold"
)

// gitFolder is the name of a folder, a file or a link by which git finds a repository. A file system may ignore case.
const gitFolder = ".git"

func isGitName(name string) bool {
	if len(name) == len(gitFolder) { // nearly all other names are told apart without a fold
		return strings.EqualFold(name, gitFolder)
	}
	return strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII }) && fold.Text(name) == gitFolder
}

// maxObeyed is the largest file whose former content is kept, in bytes.
const maxObeyed = 1 << 20

// obeyed is what git obeys in a workspace: what it runs, or where it reads what it runs.
type obeyed struct {
	root    string
	written []string // git folders that the person lets commands write

	folders map[string]fs.FileInfo // git folders: each .git, and what has the layout of one, by path
	files   map[string]content     // gitdir files, links, configurations and hooks, by path
	skipped map[string]bool        // folders that nobody looked into
}

// content tells what is in a file or a link. The zero one is that of nothing.
type content struct {
	mode   fs.FileMode
	text   string // of a file; the target of a link; else, or of a large file, when it was written
	config bool   // it is a configuration
	whole  bool   // the text is all of it
}

// newObeyed returns an empty list for a workspace, whose path has no link. Written are paths that commands may write.
func newObeyed(root string, written []string) *obeyed {
	o := &obeyed{root: root, folders: map[string]fs.FileInfo{}, files: map[string]content{}, skipped: map[string]bool{}}
	for _, path := range written {
		if slices.ContainsFunc(strings.Split(path, string(filepath.Separator)), isGitName) {
			o.written = append(o.written, path)
		}
	}
	return o
}

// visit notes what git obeys in a folder, beside the folders in it.
func (o *obeyed) visit(folder string, entries []fs.DirEntry) {
	if hasLayout(entries) {
		o.gitFolder(folder, folder)
	}
	for _, e := range entries {
		switch path := filepath.Join(folder, e.Name()); {
		case !isGitName(e.Name()):
		case e.IsDir():
			o.gitFolder(path, folder)
		default:
			o.pointer(path)
		}
	}
}

// hasLayout reports whether git takes a folder for a repository without a .git in it.
func hasLayout(entries []fs.DirEntry) bool {
	has := func(name string) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.EqualFold(e.Name(), name) })
	}
	return has("HEAD") && (has("objects") && has("refs") || has("commondir"))
}

// pointer notes a .git that is a file or a link, and the folder that it leads to.
func (o *obeyed) pointer(path string) {
	o.file(path, false)
	target, err := filepath.EvalSymlinks(path)
	if text, ok := strings.CutPrefix(readSmall(path), "gitdir:"); ok {
		target = joined(filepath.Dir(path), strings.TrimSpace(text))
	}
	if err == nil {
		o.gitFolder(target, filepath.Dir(path))
	}
}

// gitFolder notes a git folder and its common folder. Work is the folder whose files it keeps.
func (o *obeyed) gitFolder(path, work string) {
	o.note(path, work)
	if text := readSmall(filepath.Join(path, "commondir")); text != "" {
		o.note(joined(path, strings.TrimSpace(text)), work)
	}
}

// note notes what the git of a folder obeys. The settings of a folder elsewhere may lead into the workspace.
func (o *obeyed) note(path, work string) {
	o.settings(path, work)
	info, err := os.Lstat(path)
	if _, known := o.folders[path]; known || err != nil || !info.IsDir() || !o.mayChange(path) {
		return
	}
	o.folders[path] = info
	o.file(filepath.Join(path, "commondir"), false)
	o.hooks(filepath.Join(path, "hooks"))
}

// hooks notes a folder of hooks. Git runs no sample.
func (o *obeyed) hooks(folder string) {
	if info, err := os.Lstat(folder); err == nil && !info.IsDir() {
		o.file(folder, false)
		return
	}
	entries, _ := readFolder(folder)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".sample") {
			o.file(filepath.Join(folder, e.Name()), false)
		}
	}
}

// file notes a file or a link that a command may change.
func (o *obeyed) file(path string, config bool) {
	info, err := os.Lstat(path)
	if err != nil || info.IsDir() || !o.mayChange(path) {
		return
	}
	c := content{mode: info.Mode(), config: config}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		c.text, err = os.Readlink(path)
		c.whole = err == nil
	case info.Mode().IsRegular() && info.Size() <= maxObeyed:
		c.text, c.whole = readSmall(path), true
	default:
		c.text = info.ModTime().String()
	}
	o.files[path] = c
}

// mayChange reports whether a path is one of the workspace that the person did not let commands write.
func (o *obeyed) mayChange(path string) bool {
	return isWithin(path, o.root) && !slices.ContainsFunc(o.written, func(w string) bool { return isWithin(path, w) })
}

// readSmall returns the content of a file, or "" when there is none, or it is large.
func readSmall(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxObeyed {
		return ""
	}
	raw, _ := os.ReadFile(path)
	return string(raw)
}

// joined returns a path as git reads it in a folder, without links.
func joined(folder, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

// look notes what git obeys in a workspace, except in folders that were skipped before.
func (o *obeyed) look(skipped map[string]bool) {
	o.above()
	var into func(folder string)
	into = func(folder string) {
		entries, _ := readFolder(folder)
		o.visit(folder, entries)
		for _, e := range entries {
			if path := filepath.Join(folder, e.Name()); e.IsDir() && !isGitName(e.Name()) && !skipped[path] {
				into(path)
			}
		}
	}
	into(o.root)
}

// above notes the settings of a repository that the workspace is a part of.
func (o *obeyed) above() {
	for folder := filepath.Dir(o.root); ; folder = filepath.Dir(folder) {
		if _, err := os.Lstat(filepath.Join(folder, gitFolder)); err == nil {
			o.pointer(filepath.Join(folder, gitFolder))
			return
		}
		if folder == filepath.Dir(folder) {
			return
		}
	}
}

// readFolder returns what is in a folder, also when its owner took the right to read it from themselves: git needs
// no such right.
func readFolder(folder string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(folder)
	if !errors.Is(err, fs.ErrPermission) {
		return entries, err
	}
	info, failed := os.Lstat(folder)
	if failed != nil || !info.IsDir() || os.Chmod(folder, info.Mode().Perm()|0o500) != nil {
		return entries, err
	}
	defer func() { _ = os.Chmod(folder, info.Mode()) }()
	return os.ReadDir(folder)
}

// closed returns the paths that a command must not write. Nothing can be mounted on a link.
func (o *obeyed) closed() []string {
	var list []string
	for path := range o.folders {
		if path != o.root {
			list = append(list, path)
			continue
		}
		for _, name := range ownNames { // the workspace itself has the layout
			if _, err := os.Lstat(filepath.Join(path, name)); err == nil {
				list = append(list, filepath.Join(path, name))
			}
		}
	}
	for path, c := range o.files {
		if c.mode.IsRegular() {
			list = append(list, path)
		}
	}
	slices.Sort(list)
	var outer []string
	for _, path := range list { // a folder is before what is below it
		if len(outer) == 0 || !isWithin(path, outer[len(outer)-1]) {
			outer = append(outer, path)
		}
	}
	return outer
}

// ownNames are what git keeps in a git folder.
var ownNames = []string{
	"HEAD", "ORIG_HEAD", "FETCH_HEAD", "objects", "refs", "config", "config.worktree", "hooks", "info", "description", "branches", "packed-refs",
	"logs", "index", "commondir", "gitdir", "modules", "worktrees", "COMMIT_EDITMSG", "shallow", "lfs",
}
