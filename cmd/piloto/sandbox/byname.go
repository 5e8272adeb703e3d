package sandbox

import (
	"path/filepath"
	"regexp"
	"slices"
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

	isPython = regexp.MustCompile(`^(python|pypy)[0-9.]*$`)
	isModule = regexp.MustCompile(`^[\pL_][\pL\d_]*(\.[\pL\d_]+)*$`)
)

// byName returns the names of files that the words of a setting run without naming them: those of readsFiles, and modules of
// Python.
func byName(words []string) (names []string) {
	python := slices.ContainsFunc(words, func(word string) bool { return isPython.MatchString(filepath.Base(word)) })
	for _, word := range words {
		names = append(names, readsFiles[filepath.Base(word)]...)
		if python && isModule.MatchString(word) {
			names = append(names, module(word)...)
		}
	}
	return names
}

// module returns the files that Python may read for a module.
func module(name string) (names []string) {
	path := strings.ReplaceAll(name, ".", "/")
	names = append(names, path+".py", path+"/__main__.py")
	for ; path != "."; path = filepath.Dir(path) {
		names = append(names, path+"/__init__.py")
	}
	return names
}
