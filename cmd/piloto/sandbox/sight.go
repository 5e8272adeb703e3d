package sandbox

import (
	"bytes"
	"cmp"
	"crypto/sha1" //nolint:gosec // the sums of git
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"piloto/internal/ground/lazy"
	"piloto/internal/workspace/ignore"
	"piloto/internal/workspace/mask"
)

// A gitSight describes the files with a copy as git sees them in a sandbox, by slashed names: unlike are those that
// differ from the index, so that git compares the copy. unseen differ, too, and git takes them as unchanged: they are
// hidden, or git could stage the copy.
type gitSight struct {
	unlike, unseen, tracked []string
	staged                  []string // indexes that the command can write
	blind                   bool     // an index could not be marked: all files of unlike may be unchanged
}

// hiddenContent is the content of a hidden file for a command that can write a repository, because git always compares an
// empty file.
var hiddenContent = []byte("\n")

// marked adds to copies the indexes of the repositories that the command sees, by their paths. In these, files that have a copy
// are marked as unchanged. An index that a command can write is marked itself, and the Guard takes the marks away.
func (c *Command) marked(folder string, copies map[string]string) error {
	for path, works := range c.indexes {
		writes := hasWithin(c.stages, path)
		if !writes && (!exists(path) || !isWithin(path, c.Workspace) && !hasWithin(c.ReadOnly, path)) {
			continue
		}
		for _, work := range works {
			wanted, hidden := c.inTree(work, copies)
			if len(wanted) == 0 && len(hidden) == 0 {
				continue
			}
			mark := func(x *index) bool { return c.mark(x, work, wanted, hidden, writes) }
			err, done := error(nil), false
			if writes {
				c.git.staged = append(c.git.staged, path)
				tracked := map[string]bool{}
				failed := changeIndex(path, false, func(x *index) bool {
					_, _ = x.each(func(e entry) { tracked[string(e.name)] = true })
					return mark(x)
				})
				done = failed == nil || errors.Is(failed, fs.ErrNotExist) // a repository without one has no file yet
				if done {
					c.unknown(work, path, wanted, tracked)
				}
				err = c.exclude(commonOf(path), folder, copies, wanted)
			} else {
				done, err = c.markCopy(path, folder, copies, mark)
			}
			switch {
			case err != nil:
				return err
			case !done:
				c.git.blind = true
				c.git.unlike = slices.AppendSeq(append(c.git.unlike, c.Hidden...), maps.Keys(c.Masked))
			}
		}
	}
	return nil
}

// markCopy adds to copies that of an index with marks. It is not done if the index is not understood.
func (c *Command) markCopy(path, folder string, copies map[string]string, mark func(*index) bool) (done bool, err error) {
	x := readIndex(path)
	if x == nil || c.Env["GIT_INDEX_FILE"] != "" {
		return false, nil
	}
	if mark(x) {
		copies[path] = filepath.Join(folder, strconv.Itoa(len(copies)))
		err = errors.Join(os.WriteFile(copies[path], x.signed(), 0o400), os.Chtimes(copies[path], x.at, x.at)) // git compares files that are not older
	}
	return true, err
}

// commonOf returns the git folder that the work trees of a repository share, by the index of one of them.
func commonOf(index string) string {
	folder := filepath.Dir(index)
	switch common := strings.TrimSpace(readSmall(filepath.Join(folder, "commondir"))); {
	case common == "":
		return folder
	case filepath.IsAbs(common):
		return filepath.Clean(common)
	default:
		return filepath.Join(folder, common)
	}
}

// exclude adds to copies an exclude list of git, with the copies of files that it does not know. It could stage them. A
// repository without the list gets one, because a copy is mounted on it.
func (c *Command) exclude(common, folder string, copies, wanted map[string]string) error {
	path := filepath.Join(common, "info", "exclude")
	if root, err := os.OpenRoot(common); err == nil && hasWithin(c.stages, common) {
		_ = root.Mkdir("info", 0o755)
		if file, err := root.OpenFile("info/exclude", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644); err == nil {
			_ = file.Close()
		}
		_ = root.Close()
	}
	text, err := os.ReadFile(cmp.Or(copies[path], path)) //nolint:gosec // of the repository
	if err != nil {
		return nil //nolint:nilerr // without the file a copy has no mount point
	}
	text = append(text, '\n')
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		text = append(text, "/"+globbed(name)+"\n"...)
	}
	copies[path] = filepath.Join(folder, strconv.Itoa(len(copies)))
	return os.WriteFile(copies[path], text, 0o400)
}

// unknown notes the files with a copy that git would show as new, if they were not in the list of exclude.
func (c *Command) unknown(work, index string, wanted map[string]string, tracked map[string]bool) {
	for at := range wanted {
		name := c.slashed(filepath.Join(work, filepath.FromSlash(at)))
		if _, masked := c.Masked[name]; masked && !tracked[at] && !isIgnored(work, index, at) {
			c.git.unseen = append(c.git.unseen, name)
		}
	}
}

// isIgnored reports whether the lists of a repository say that git leaves out a file, by its slashed name below the work tree.
func isIgnored(work, index, name string) bool {
	rules, folder := &ignore.Rules{}, ""
	rules.Add("", []byte(readSmall(filepath.Join(commonOf(index), "info", "exclude"))))
	for part := range strings.SplitSeq(name, "/") {
		if folder != "" && rules.FolderIgnored(folder) {
			return true
		}
		rules.Add(folder, []byte(readSmall(filepath.Join(work, filepath.FromSlash(folder), ignore.File))))
		folder = path.Join(folder, part)
	}
	return rules.Ignored(name)
}

// inTree returns the copies that a line reads instead of files of a work tree, by slashed names below it, and its folders that
// are hidden.
func (c *Command) inTree(work string, copies map[string]string) (wanted map[string]string, hidden []string) {
	wanted = map[string]string{}
	below := func(name string) string {
		rel, err := filepath.Rel(work, filepath.Join(c.Workspace, filepath.FromSlash(name)))
		if err != nil || !filepath.IsLocal(rel) {
			return ""
		}
		return filepath.ToSlash(rel)
	}
	for _, name := range c.Hidden {
		info, err := os.Lstat(filepath.Join(c.Workspace, filepath.FromSlash(name)))
		switch at := below(name); {
		case err != nil || at == "":
		case info.IsDir():
			hidden = append(hidden, at+"/")
		default:
			wanted[at] = copies[""]
		}
	}
	for name := range c.Masked {
		if at := below(name); at != "" {
			wanted[at] = copies[name]
		}
	}
	return wanted, hidden
}

// mark marks the entries of an index whose files have a copy, or are in a folder that is hidden. It reports whether it marked one.
func (c *Command) mark(x *index, work string, wanted map[string]string, hidden []string, all bool) (marked bool) {
	_, ok := x.each(func(e entry) {
		at, has := wanted[string(e.name)]
		isHidden := slices.ContainsFunc(hidden, func(folder string) bool { return strings.HasPrefix(string(e.name), folder) })
		if !has && !isHidden || e.taken() {
			return
		}
		path := filepath.Join(work, filepath.FromSlash(string(e.name)))
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() {
			return
		}
		name := c.slashed(path)
		_, masked := c.Masked[name]
		if masked {
			c.git.tracked = append(c.git.tracked, name)
		}
		if differs := e.conflict || e.isMeant; differs || !x.isOf(e, path, info) {
			if masked && !all || differs {
				c.git.unlike = append(c.git.unlike, name)
				return
			}
			c.git.unseen = append(c.git.unseen, name)
		}
		var times []byte
		if info, err := os.Stat(at); has && err == nil {
			stat, _ := statOf(info)
			times = stat[:]
		}
		e.take(times)
		marked = true
	})
	return ok && marked
}

// stagedOf returns the files of which a repository that the command can write has the copy now: in its index, or as an object
// that is there since a time. It does not find the index or the branch of that object.
func (c *Command) stagedOf(since time.Time) (names []string) {
	contents := maps.Clone(c.Masked)
	if contents == nil {
		contents = map[string][]byte{}
	}
	for _, name := range c.Hidden {
		contents[name] = hiddenContent
	}
	for _, path := range c.git.staged {
		formats := []*index{readIndex(path)}
		if formats[0] == nil { // not understood: what it has is not known, and neither is the length of its sums
			formats = []*index{{sum: sha1.Size}, {sum: sha256.Size}}
		}
		entries := map[string]string{} // the sums that it has, by the names of the files
		for _, work := range c.indexes[path] {
			_, _ = formats[0].each(func(e entry) {
				entries[c.slashed(filepath.Join(work, filepath.FromSlash(string(e.name))))] = string(e.sum)
			})
		}
		for _, name := range slices.Sorted(maps.Keys(contents)) {
			_, masked := c.Masked[name]
			_, known := entries[name]
			known = known || masked || len(formats) > 1 && c.isSeen(path, name)
			if slices.ContainsFunc(formats, func(x *index) bool {
				sum := x.blob(bytes.NewReader(contents[name]), int64(len(contents[name])))
				at := hex.EncodeToString(sum)
				object, err := os.Stat(filepath.Join(commonOf(path), "objects", at[:2], at[2:]))
				return entries[name] == string(sum) || err == nil && changedSince(object, since) && known
			}) {
				names = append(names, name)
			}
		}
	}
	return names
}

// isSeen reports whether a file is below a work tree of an index, and git does not leave it out.
func (c *Command) isSeen(index, name string) bool {
	return slices.ContainsFunc(c.indexes[index], func(work string) bool {
		rel, err := filepath.Rel(work, filepath.Join(c.Workspace, filepath.FromSlash(name)))
		return err == nil && filepath.IsLocal(rel) && !isIgnored(work, index, filepath.ToSlash(rel))
	})
}

// explainGit adds the files of which an output of git is not true.
func (c *Command) explainGit(output string, add, tell func(sentence string, names []string)) {
	asks := strings.Contains(c.Line, "git")
	// those that the line or the output names; if they name none, all
	of := func(names []string) []string {
		if named := named(names, c.Line+"\n"+output); named != nil {
			return named
		}
		return names
	}
	if asks && (c.git.blind || counts().MatchString(output)) {
		add("unlike", of(c.git.unlike))
	}
	switch {
	case asks && stages().MatchString(c.Line):
		tell("unseen", slices.Concat(c.git.unseen, c.carrying.done))
	case asks:
		add("unseen", slices.Concat(c.git.unseen, c.carrying.done))
	}
	if uncommitted().MatchString(output) && strings.Contains(output, mask.Mark) {
		add("blamed", slices.DeleteFunc(of(c.git.tracked), func(name string) bool { return slices.Contains(c.git.unlike, name) }))
	}
}

// stages finds that a line stages or commits files. The person is told which files it leaves out.
var stages = lazy.Pattern(`\bgit\b.*\b(?:add|stage|commit|stash)\b`)

// counts finds where an output of git has numbers of changed lines, or a mask in a line that is not shown as unchanged.
var counts = lazy.Pattern(`(?m)\|\s+(?:\d|Bin)|^\d+\s+\d+\s|\d (?:insertion|deletion)|^\s*[\d.]+%?(?:\s|$)|^[^ \n].*\[redacted\]|\{\+`)

// uncommitted is how git blame shows a line that no commit has.
var uncommitted = lazy.Pattern(`(?m)Not Committed Yet|not\.committed\.yet|External file \(--contents\)|^0{7,} `)
