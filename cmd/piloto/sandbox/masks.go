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
	"unicode"
	"unicode/utf8"

	"piloto/internal/ground/lazy"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/visible"
	"piloto/internal/runs/command"
	"piloto/internal/workspace"
	"piloto/internal/workspace/mask"
)

// Masks describe the masked copies after a command, and the limits of their masks. Each names at most 20 files.
type Masks struct {
	Left            []string // files that stay as they were, though the command wrote their copies
	told, explained []about
}

// about is a sentence about a file, by its slashed name.
type about struct{ sentence, name string }

// mostMasked is the most files that a result names.
const mostMasked = 20

// Tell returns sentences about files that have masks now, or had them meanwhile. A person and a model are to read them.
func (m Masks) Tell(tag locale.Tag) []string { return sentencesOf(tag, m.told) }

// Explain returns sentences about the files that the command could not write, and about the output of git on them. A
// model is to read them.
func (m Masks) Explain(tag locale.Tag) []string { return sentencesOf(tag, m.explained) }

func sentencesOf(tag locale.Tag, list []about) (all []string) {
	for _, a := range list {
		all = append(all, locale.Text(tag, "sandbox.masked."+a.sentence, "name", visible.Line(a.name)))
	}
	return all
}

// locked is how programs say that a file cannot be written.
var locked = regexp.MustCompile(`(?i)resource busy|text file busy|read-only file system|permission denied|not permitted|` +
	`ocupado|s[oó]lo lectura|permiso denegado|no permitida`)

// busy is how programs say that a file cannot be replaced. They often name another one that was to stand there.
var busy = lazy.Pattern(`(?i)resource busy|ocupado`)

// explain adds to a result the sentences for a model about the files that the line or the output name: why the command
// could not write them, and which output of git is true of their copies only.
func (c *Command) explain(r *Result, since time.Time) {
	if c.Unconfined {
		return
	}
	to := func(list *[]about, most int) func(sentence string, names []string) {
		return func(sentence string, names []string) {
			names = slices.Compact(slices.Sorted(slices.Values(names)))
			for _, name := range names[:min(len(names), most)] {
				*list = append(*list, about{sentence, name})
			}
		}
	}
	add, tell := to(&r.Masks.explained, mostBlocked), to(&r.Masks.told, mostMasked)
	line := strings.Join(c.words(), "\n")
	hidden := named(c.Hidden, line)
	if r.Code != 0 && r.Output == "" && stash().MatchString(c.Line) { // it fails without a word
		add("held", nearest(named(c.held, gitFolder), line))
	}
	if locked.MatchString(r.Output) && (r.Code != 0 || !c.onlyReads()) {
		both := line + "\n" + r.Output
		hidden = named(c.Hidden, both)
		copies := slices.Sorted(maps.Keys(c.Masked))
		blocked, held := named(copies, both), named(c.held, both)
		if blocked == nil && held == nil && hidden == nil && named(c.above(), both) == nil && busy().MatchString(r.Output) {
			blocked = copies // a script may have failed to replace any
		}
		add("locked", blocked)
		if held == nil && busy().MatchString(r.Output) {
			add("above", named(c.above(), both))
		}
		add("held", nearest(held, both))
		hidden = nearest(hidden, both)
	}
	add("hidden", nearest(hidden, line))
	c.explainGit(r.Output, add, tell)
	r.Masks.Left = c.carrying.left[:min(len(c.carrying.left), mostMasked)]
	tell("left", r.Masks.Left)
	tell("staged", c.stagedOf(since))
}

var stash = lazy.Pattern(`\bgit\b.*\bstash\b`)

// named returns those of some files that a text names, sorted; nil for none.
func named(files []string, text string) (names []string) {
	for _, name := range slices.Sorted(slices.Values(files)) {
		if mentions(text, path.Base(name)) {
			names = append(names, name)
		}
	}
	return names
}

// above returns the folders of the workspace that have held files.
func (c *Command) above() (folders []string) {
	for _, name := range c.held {
		for name = path.Dir(name); name != "."; name = path.Dir(name) {
			folders = append(folders, name)
		}
	}
	return folders
}

// nearest returns those of files of one name that a text can mean: the one that it names with its folder, else those in
// no folder.
func nearest(files []string, text string) []string {
	isDeep := func(name string) bool { return strings.Contains(name, "/") }
	for _, is := range []func(name string) bool{
		func(name string) bool { return isDeep(name) && strings.Contains(text, name) },
		func(name string) bool { return !isDeep(name) },
	} {
		if i := slices.IndexFunc(files, is); i >= 0 {
			return slices.DeleteFunc(slices.Clone(files), func(name string) bool { return !is(name) })
		}
	}
	return files
}

// mentions reports whether a text has a word.
func mentions(text, word string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(text[:at+i])
		at += i + len(word)
		after, size := utf8.DecodeRuneInString(text[at:])
		if after == '.' {
			after, _ = utf8.DecodeRuneInString(text[at+size:])
		}
		if !isOfName(before) && before != '.' && !isOfName(after) {
			return true
		}
	}
}

func isOfName(r rune) bool {
	return r != utf8.RuneError && (r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r))
}

const mostBlocked = 5

// archive is the name of a file that has others.
var archive = lazy.Pattern(`(?i)\.(?:zip|tar|t[gbx]z|tar\.\w+|7z|cpio|rar)$`)

// tick is that of the clock of a file system.
const tick = 10 * time.Millisecond

// written checks the files of the workspace that were changed since a time. A known secret that has a mask now is restored, if
// its position is unambiguous.
func (c *Command) written(since time.Time) (m Masks) {
	if c.known == nil || c.onlyReads() {
		return m
	}
	masks := c.masks()
	_ = filepath.WalkDir(c.Workspace, func(at string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() && isGitName(e.Name()) {
			return filepath.SkipDir
		}
		name, below := strings.CutPrefix(at, c.Workspace+string(filepath.Separator))
		info, _ := e.Info() // nil: it is gone
		if !below || info == nil || !info.Mode().IsRegular() || !changedSince(info, since) {
			return nil
		}
		name = filepath.ToSlash(name)
		if len(c.Masked)+len(c.Hidden) > 0 && !c.Unconfined && archive().MatchString(name) {
			m.told = append(m.told, about{"archived", name})
		}
		if info.Size() > maxNamedFile {
			return nil
		}
		if _, masked := c.Masked[name]; masked && !c.Unconfined || info.Size() > maxKnownFile && c.secretsOf(name) == nil {
			return nil
		}
		if sentence := c.restore(name, masks); sentence != "" {
			m.told = append(m.told, about{sentence, name})
		}
		if len(m.told) >= mostMasked {
			return filepath.SkipAll
		}
		return nil
	})
	return m
}

// restore puts lost secrets back into a changed file, and returns the sentence about it: "" if it has no mask.
func (c *Command) restore(name string, masks map[string]bool) (sentence string) {
	root, err := os.OpenRoot(c.Workspace) // a process that a command leaves behind may exchange folders meanwhile
	if err != nil {
		return ""
	}
	defer func() { _ = root.Close() }()
	content, err := root.ReadFile(filepath.FromSlash(name))
	had := c.secretsOf(name)
	lost := mask.Lost(had, content)
	switch {
	case err != nil || workspace.Binary(content) || !lost && !hasMasks(content, masks) && !mask.Stands(c.shown, name, content):
		return ""
	case !lost && had == nil:
		return "copied"
	}
	if whole, ok := mask.Restored(c.shown, name, had, content); ok && replace(root, filepath.FromSlash(name), whole) == nil {
		return "restored"
	}
	return "lost"
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
