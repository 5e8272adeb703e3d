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
	"piloto/internal/workspace"
)

// The most files of a workspace that a line is taken to name, and folders in which its words are looked up.
const (
	mostNamed   = 1_000
	mostFolders = 20
)

// learn adds the secrets of the files that the line names, of whatever kind they are: a program may show the lines of a key
// so that nothing shows what they are. A line that only reads gets masked copies of them, because it may encode what it
// reads. Any other line may run them.
func (c *Command) learn() {
	if c.known == nil {
		return
	}
	names := c.named()
	switch {
	case c.Unconfined || !c.onlyReads():
	case c.compares():
		c.Masked = nil
		c.Hidden = slices.DeleteFunc(slices.Clone(c.Hidden), func(name string) bool {
			return c.shown.Secrets(name) != workspace.NoSecrets && !c.shown.Hidden(name)
		})
	default:
		c.Masked = maps.Clone(c.Masked)
		for name, safe := range names {
			if _, has := c.Masked[name]; has || c.shown.Hidden(name) || c.shown.Names(name) {
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
}

// named adds the secrets of the files that the line names, and returns the names of these files with their contents with
// masks; nil for one that has no secret of its own.
func (c *Command) named() (safe map[string][]byte) {
	k, start := cmp.Or(c.Known, &Known{}), time.Now()
	safe = map[string][]byte{}
	for i, at := range c.namedPaths() {
		real, err := filepath.EvalSymlinks(at)
		if err != nil || !isWithin(real, c.Workspace) {
			continue
		}
		for _, path := range slices.Compact([]string{real, at}) {
			f := k.read(c.Workspace, c.slashed(path), c.shown, i < alwaysRead || time.Since(start) < maxKnownTime)
			c.known.Add(f.secrets)
			if f.text {
				safe[c.slashed(real)] = f.safe
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

// wholeLines are the options with which the looks of git show whole lines of files, and no parts of them.
var wholeLines = lazy.Pattern(`^(?:-[sbpwzM]+|-U?\d+|-n|--(?:|short|branch|porcelain(?:=v[12])?|long|show-stash|ignored|untracked-files(?:=\w+)?|u(?:no|all|normal)|` +
	`stat(?:=[\d,]+)?|numstat|shortstat|dirstat|summary|compact-summary|name-only|name-status|cached|staged|merge-base|check|quiet|exit-code|patch|raw|` +
	`unified=\d+|no-color|no-ext-diff|no-renames|find-renames|minimal|patience|histogram|ignore-[\w-]+|diff-filter=\w+|relative|` +
	`oneline|graph|decorate|all|no-merges|max-count=\d+))$`)

// compares reports whether the line asks git what was changed, and nothing else reads files. Git takes a masked copy for a
// change, and so it reads the files themselves. What it shows of them has masks.
func (c *Command) compares() bool {
	list, _ := command.Plains(c.Line)
	asks := false
	for _, one := range list {
		words := one.Words
		if len(words) > 2 && words[0] == "git" && words[1] == "--no-pager" {
			words = slices.Delete(slices.Clone(words), 1, 2)
		}
		isOption := func(word string) bool { return strings.HasPrefix(word, "-") && !wholeLines().MatchString(word) }
		switch {
		case words[0] == "cd" || words[0] == "echo":
		case words[0] == "head" || words[0] == "tail" || words[0] == "cat":
			if !lineCount().MatchString(strings.Join(words[1:], " ")) {
				return false
			}
		case len(words) < 2 || words[0] != "git" || !slices.Contains([]string{"status", "diff", "log", "branch", "show"}, words[1]) || slices.ContainsFunc(words[2:], isOption):
			return false
		default:
			asks = true
		}
	}
	return asks
}

// lineCount is what head and tail have that count lines of what another program writes.
var lineCount = lazy.Pattern(`^(?:-n ?\d+|-\d+)?$`)

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
