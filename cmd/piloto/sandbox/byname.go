package sandbox

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// readsFiles lists the files that programs read in their folder and run commands of.
var readsFiles = map[string][]string{
	"make": makefiles, "gmake": makefiles, "just": {"justfile", "Justfile", ".justfile"},
	"npm": scripts, "npx": scripts, "pnpm": scripts, "yarn": scripts, "bun": scripts, "composer": {"composer.json"},
	"deno": {"deno.json", "deno.jsonc", "package.json"}, "rake": {"Rakefile", "rakefile", "Rakefile.rb", "rakefile.rb"},
	"task": {"Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml"},
}

var (
	makefiles = []string{"GNUmakefile", "makefile", "Makefile"}
	scripts   = []string{"package.json"}

	isPython  = regexp.MustCompile(`^(python|pypy)[0-9.]*$`)
	hasModule = regexp.MustCompile(`^-[A-Za-z]*m(.*)$`) // -m, -um, -mNAME
)

// byName notes the files that a call in a line of a setting runs without their paths: those of readsFiles, and modules of
// Python. They are in the folder in which git runs it, or in one that the line names.
func (o *obeyed) byName(call []string, line, work string) {
	var names []string
	for i, word := range call {
		switch program := filepath.Base(word); {
		case readsFiles[program] != nil:
			names = append(append(names, readsFiles[program]...), call[i+1:]...) // also make -f rules
		case isPython.MatchString(program):
			names = append(names, module(call[i+1:])...)
		}
	}
	if len(names) == 0 {
		return
	}
	folders := []string{work}
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n;|&()<>\"'`=:", r) }) {
		if len(word) > 2 && word[0] == '-' && word[1] != '-' {
			word = word[2:] // make -Clib
		}
		real := o.follow(work, word)
		if info, err := os.Stat(real); err == nil && info.IsDir() {
			folders = append(folders, real)
		}
	}
	for _, folder := range folders {
		for _, name := range names {
			o.program(name, folder)
		}
	}
}

// module returns the files that Python may read for a module that its arguments name.
func module(args []string) (names []string) {
	for i, word := range args {
		m := hasModule.FindStringSubmatch(word)
		if m == nil {
			continue
		}
		if m[1] == "" && i+1 < len(args) {
			m[1] = args[i+1]
		}
		path := strings.ReplaceAll(m[1], ".", "/")
		names = append(names, path+".py", path+"/__main__.py")
		for ; path != "."; path = filepath.Dir(path) {
			names = append(names, path+"/__init__.py")
		}
		return names
	}
	return nil
}
