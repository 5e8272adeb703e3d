package sandbox

import (
	"crypto/sha256"
	"errors"
	"io"
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
	if len(name) == len(gitFolder) { // the length decides nearly all other names without a fold
		return strings.EqualFold(name, gitFolder)
	}
	return strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII }) && fold.Text(name) == gitFolder
}

// maxObeyed is the largest file whose former content is kept, in bytes.
const maxObeyed = 1 << 20

// obeyed has the control files of git in the folders that commands write: the programs that git runs, and the files that
// name them.
type obeyed struct {
	roots   []string // the workspace, and other folders; none has a link
	written []string // git folders and files that the person lets commands write

	folders map[string]fs.FileInfo // git folders by path: each .git, and each folder with the layout of one
	files   map[string]content     // other control files, by path

	parsed  map[string][]option // configurations that git reads, by path
	indexes map[string][]string // of git folders, by path, each with the folders whose files it may have

	seen map[string]bool // of git folders, folders of hooks and configurations, each for the files that it is about
}

// content is the content of a file or a link. The zero value is that of no file.
type content struct {
	Mode  fs.FileMode
	Text  string // of a file; the target of a link; of a large file, its sum
	Whole bool   // the text is all of it
	Kind  part
}

// A part is the role of a file for git.
type part int

const (
	program       part = iota // it runs it
	configuration             // it reads settings there
	lead                      // it reads there where the others are
)

// same reports whether two contents are the same, however git takes them.
func (was content) same(now content) bool { return was.Mode == now.Mode && was.Text == now.Text }

// newObeyed returns an empty list for a workspace, whose path has no link, and paths beside it that commands may write.
func newObeyed(workspace string, written []string) *obeyed {
	o := &obeyed{roots: []string{workspace}}
	for _, path := range written {
		info, err := os.Stat(path)
		entries, _ := os.ReadDir(path)
		switch {
		case err != nil:
		case !info.IsDir(), hasLayout(entries), slices.ContainsFunc(strings.Split(path, string(filepath.Separator)), isGitName):
			o.written = append(o.written, path)
		case !slices.Contains(o.roots, path):
			o.roots = append(o.roots, path)
		}
	}
	return o.empty()
}

// empty returns a list of nothing for the same folders.
func (o *obeyed) empty() *obeyed {
	return &obeyed{
		roots: o.roots, written: o.written, folders: map[string]fs.FileInfo{}, files: map[string]content{},
		parsed: map[string][]option{}, indexes: map[string][]string{}, seen: map[string]bool{},
	}
}

// once reports whether it is asked for the first time.
func (o *obeyed) once(what ...string) bool {
	key := strings.Join(what, "\x00")
	defer func() { o.seen[key] = true }()
	return !o.seen[key]
}

// visit notes the control files of git in a folder, beside the folders in it.
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

// pointer notes a .git, perhaps one that is a file or a link, and the folder that it leads to.
func (o *obeyed) pointer(path string) {
	work := filepath.Dir(path)
	target := o.file(path, lead)
	if text, ok := strings.CutPrefix(readSmall(target), "gitdir:"); ok {
		target = o.follow(work, strings.TrimSpace(text))
	}
	o.gitFolder(target, work)
}

// gitFolder notes a git folder and its common folder. Work is the folder whose files it keeps.
func (o *obeyed) gitFolder(path, work string) {
	o.indexed(path, work)
	o.note(path, work)
	if text := readSmall(filepath.Join(path, "commondir")); text != "" {
		o.note(o.follow(path, strings.TrimSpace(text)), work)
	}
}

// note notes the control files of a git folder. A folder elsewhere may lead into the workspace.
func (o *obeyed) note(path, work string) {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || !o.once("folder", path, work) {
		return
	}
	o.settings(path, work)
	if !o.once("folder", path) {
		return
	}
	if o.mayChange(path) {
		o.folders[path] = info
	}
	o.file(filepath.Join(path, "commondir"), lead)
	o.file(filepath.Join(path, "gitdir"), lead)
	o.hooks(path, "hooks")
	o.modules(o.follow(path, "modules"), work)
	trees := o.follow(path, "worktrees")
	entries, _ := readFolder(trees)
	for _, e := range entries {
		tree := o.follow(trees, e.Name())
		work := path
		if text := readSmall(filepath.Join(tree, "gitdir")); text != "" {
			work = filepath.Dir(o.follow(tree, strings.TrimSpace(text)))
		}
		o.gitFolder(tree, work)
	}
}

// modules notes the git folders of submodules, also of those without files. The name of one may have slashes, and is nearly
// always the path of its files below work.
func (o *obeyed) modules(folder, work string) {
	if !o.once("modules", folder) {
		return
	}
	entries, _ := readFolder(folder)
	for _, e := range entries {
		path, files := o.follow(folder, e.Name()), filepath.Join(work, e.Name())
		if inner, _ := readFolder(path); hasLayout(inner) {
			o.gitFolder(path, files)
		} else {
			o.modules(path, files)
		}
	}
}

// hooks notes the hooks in a folder, which is relative to another one. Those of husky are in the folder above, or call
// hooks of the folder below.
func (o *obeyed) hooks(base, path string) {
	folder := o.follow(base, path)
	if !o.once("hooks", folder) {
		return
	}
	all := []string{folder, filepath.Join(folder, "_")}
	if filepath.Base(folder) == "_" {
		all = append(all, filepath.Dir(folder))
	}
	for _, folder := range all {
		entries, _ := readFolder(folder)
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), ".sample") { // git runs none
				o.file(filepath.Join(folder, e.Name()), program)
			}
		}
	}
}

// file notes a file that a command may change, and the links that lead to it. It returns the path of the file.
func (o *obeyed) file(path string, kind part) string {
	real := o.follow(filepath.Dir(path), filepath.Base(path))
	info, err := os.Lstat(real)
	if err != nil || info.IsDir() || !o.mayChange(real) {
		return real
	}
	was, known := o.files[real]
	if known {
		was.Kind = min(was.Kind, kind)
		o.files[real] = was
		return real
	}
	c := content{Mode: info.Mode(), Kind: kind}
	switch {
	case info.Mode().IsRegular() && info.Size() <= maxObeyed:
		raw, err := os.ReadFile(real)
		c.Text, c.Whole = string(raw), err == nil
	default:
		c.Text = sumOf(real, info)
	}
	o.files[real] = c
	return real
}

// maxSummed is the largest file whose content is compared, in bytes. A larger one is compared by its time.
const maxSummed = 256 << 20

// sumOf returns a text that another content of a file does not have.
func sumOf(path string, info fs.FileInfo) string {
	if !info.Mode().IsRegular() || info.Size() > maxSummed {
		return info.ModTime().String()
	}
	in, err := os.Open(path)
	if err != nil {
		return info.ModTime().String()
	}
	defer func() { _ = in.Close() }()
	sum := sha256.New()
	_, _ = io.Copy(sum, in)
	return string(sum.Sum(nil))
}

// maxLinks is how many links a path may go through, as for the kernel.
const maxLinks = 40

// follow returns where a path leads that is read in a folder without links, as far as it exists. It notes each link on the
// way that a command may change.
func (o *obeyed) follow(folder, path string) string {
	const slash = string(filepath.Separator)
	at, rest := folder, filepath.FromSlash(path)
	for links := 0; ; {
		if filepath.IsAbs(rest) {
			at = filepath.VolumeName(rest) + slash
			rest = rest[len(filepath.VolumeName(rest)):]
		}
		var name string
		name, rest, _ = strings.Cut(strings.TrimLeft(rest, slash), slash)
		rest = strings.TrimLeft(rest, slash)
		switch name {
		case "":
			return at
		case ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		at = filepath.Join(at, name)
		target, err := os.Readlink(at)
		if err != nil {
			continue
		}
		if o.mayChange(at) {
			o.files[at] = content{Mode: fs.ModeSymlink, Text: target, Whole: true, Kind: lead}
		}
		if links++; links > maxLinks {
			return at
		}
		at, rest = filepath.Dir(at), target+slash+rest
	}
}

// mayChange reports whether a path is in a folder that commands write, and none that the person named for it.
func (o *obeyed) mayChange(path string) bool {
	return hasWithin(o.roots, path) && !hasWithin(o.written, path)
}

// hasWithin reports whether a path is one of some folders, or below one.
func hasWithin(folders []string, path string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { return isWithin(path, folder) })
}

// exists reports whether there is something at a path that is no link.
func exists(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&os.ModeSymlink == 0
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

// collect notes all that git obeys.
func (o *obeyed) collect() {
	o.around()
	for _, root := range o.roots {
		o.into(root)
	}
}

// into notes the control files of git in a folder and below it.
func (o *obeyed) into(folder string) {
	entries, _ := readFolder(folder) // git and a command can enter folders without the right to read them
	o.visit(folder, entries)
	for _, e := range entries {
		if e.IsDir() && !isGitName(e.Name()) {
			o.into(filepath.Join(folder, e.Name()))
		}
	}
}

// around notes the control files that count in the folders because of a repository above them, or of the configuration of
// the person.
func (o *obeyed) around() {
	for _, root := range o.roots {
		o.own(root)
		for folder := root; folder != filepath.Dir(folder); {
			folder = filepath.Dir(folder)
			if _, err := os.Lstat(filepath.Join(folder, gitFolder)); err == nil {
				o.pointer(filepath.Join(folder, gitFolder))
			}
			if _, err := os.Lstat(filepath.Join(folder, "HEAD")); err == nil {
				o.gitFolder(folder, folder) // a bare repository
			}
		}
	}
}

// readFolder returns the entries of a folder, also when its owner took the right to read it from themselves: git needs no
// such right.
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
		if !slices.Contains(o.roots, path) {
			list = append(list, path)
			continue
		}
		for _, name := range ownNames { // the folder itself has the layout
			if _, err := os.Lstat(filepath.Join(path, name)); err == nil {
				list = append(list, filepath.Join(path, name))
			}
		}
	}
	for path, c := range o.files {
		if c.Mode.IsRegular() {
			list = append(list, path)
		}
	}
	slices.Sort(list)
	var outer []string
	for _, path := range list { // a folder precedes its content
		if len(outer) == 0 || !isWithin(path, outer[len(outer)-1]) {
			outer = append(outer, path)
		}
	}
	return outer
}

// ownNames are the names of git's own files in a git folder.
var ownNames = []string{
	"HEAD", "ORIG_HEAD", "FETCH_HEAD", "objects", "refs", "config", "config.worktree", "hooks", "info", "description", "branches", "packed-refs",
	"logs", "index", "commondir", "gitdir", "modules", "worktrees", "COMMIT_EDITMSG", "shallow", "lfs",
}
