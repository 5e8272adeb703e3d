package ignore

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"
)

// File is the name of the files that list patterns.
const File = ".gitignore"

// excluded lists folders that hold no work of a person: the data of git, downloads and builds of programs, and caches.
var excluded = []string{
	".git", "node_modules", "vendor", "dist",
	".cache", ".gradle", ".mypy_cache", ".next", ".parcel-cache", ".pytest_cache", ".ruff_cache", ".tox", ".turbo", ".venv", "__pycache__",
}

// Excluded reports whether a folder with this last segment of its name is left out everywhere.
func Excluded(segment string) bool { return slices.Contains(excluded, segment) }

// MaxPatterns is the maximum number of patterns that Rules keeps. Later ones are not read.
const MaxPatterns = 2_000

// Rules answers which files are left out: those in excluded folders, and those that the .gitignore files name. The zero
// value has no pattern. It is not safe for concurrent use, because it remembers the folders that it was asked about.
type Rules struct {
	byFolder map[string][]rule // of the .gitignore file of each folder; "" is the root
	count    int
	folders  map[string]bool // whether a folder is left out
}

// rule is one line of a .gitignore file.
type rule struct {
	negated    bool
	folderOnly bool
	base       bool // it is for the last segment of a name
	match      *regexp.Regexp
}

// Add reads the .gitignore file of a folder, "" for the root.
func (r *Rules) Add(folder string, content []byte) {
	if r.byFolder == nil {
		r.byFolder = map[string][]rule{}
	}
	r.folders = nil
	content = bytes.TrimPrefix(content, []byte("\xEF\xBB\xBF"))
	for line := range bytes.Lines(content) {
		if r.count >= MaxPatterns {
			return
		}
		text := strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r")
		if one, ok := parse(text); ok {
			r.byFolder[folder] = append(r.byFolder[folder], one)
			r.count++
		}
	}
}

// parse reads a line. ok is false for a comment, and for a pattern that git would never match.
func parse(line string) (one rule, ok bool) {
	if strings.HasPrefix(line, "#") {
		return one, false
	}
	line = trim(line)
	line, one.negated = strings.CutPrefix(line, "!")
	line, one.folderOnly = strings.CutSuffix(line, "/")
	if line == "" {
		return one, false
	}
	one.base = !strings.Contains(line, "/")
	expression, err := translate(strings.TrimPrefix(line, "/"), false)
	if err != nil {
		return one, false
	}
	one.match, err = compile(expression)
	return one, err == nil
}

// trim removes the spaces at the end of a line, except those after a backslash.
func trim(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			continue
		case '\\':
			i++
		}
		end = min(i+1, len(line))
	}
	return line[:end]
}

// Ignored reports whether a file is left out: the last pattern that matches it or one of its folders decides, and a
// .gitignore file comes after those of the folders above it. No pattern brings back a file below a folder that is left out.
func (r *Rules) Ignored(name string) bool {
	return r.FolderIgnored(Parent(name)) || r.decide(name, false)
}

// FolderIgnored reports whether a folder is left out, with all that is in it.
func (r *Rules) FolderIgnored(folder string) bool {
	if folder == "" {
		return false
	}
	known, ok := r.folders[folder]
	if ok {
		return known
	}
	out := r.FolderIgnored(Parent(folder)) || Excluded(path.Base(folder)) || r.decide(folder, true)
	if r.folders == nil {
		r.folders = map[string]bool{}
	}
	r.folders[folder] = out
	return out
}

// decide asks the patterns, from the last to the first.
func (r *Rules) decide(name string, folder bool) bool {
	for from := Parent(name); ; from = Parent(from) {
		below := name
		if from != "" {
			below = name[len(from)+1:]
		}
		for _, one := range slices.Backward(r.byFolder[from]) {
			tried := below
			if one.base {
				tried = path.Base(name)
			}
			if (folder || !one.folderOnly) && one.match.MatchString(tried) {
				return !one.negated
			}
		}
		if from == "" {
			return false
		}
	}
}

// Parent returns the folder of a name, "" for the root.
func Parent(name string) string {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return name[:i]
	}
	return ""
}
