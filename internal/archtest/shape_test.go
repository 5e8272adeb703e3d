package archtest

import (
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
)

// The limits in lines of a file and of a function. Tables make tests longer.
const (
	maxFile     = 450
	maxTestFile = 700
	maxFunction = 80
)

// long lists the files and functions that may be longer, each with its reason.
var long = map[string]string{}

func TestFilesAndFunctionsAreShort(t *testing.T) {
	needed := map[string]bool{}
	tooLong := func(name string, lines, limit int) {
		if lines <= limit {
			return
		}
		needed[name] = true
		if long[name] == "" {
			t.Errorf("%s has %d lines, over %d: it holds more than one thing", name, lines, limit)
		}
	}
	for _, f := range sources(t, true) {
		limit := maxFile
		if f.test {
			limit = maxTestFile
		}
		tooLong(f.path, f.lines, limit)
		if f.test {
			continue
		}
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				lines := f.set.Position(fn.End()).Line - f.set.Position(fn.Pos()).Line + 1
				tooLong(f.path+":"+fn.Name.Name, lines, maxFunction)
			}
		}
	}
	for name := range long {
		if !needed[name] {
			t.Errorf("%s is short enough: take it off the list", name)
		}
	}
}

func TestEveryPackageHasDocComment(t *testing.T) {
	docs := map[string]string{}
	for _, f := range sources(t, false) {
		if _, seen := docs[f.dir()]; !seen {
			docs[f.dir()] = ""
		}
		if f.syntax.Doc == nil {
			continue
		}
		if docs[f.dir()] != "" {
			t.Errorf("%s: the package has two documentation comments", f.path)
		}
		want := "Package " + f.syntax.Name.Name + " "
		if f.syntax.Name.Name == "main" {
			want = "Command " + path.Base(f.dir()) + " "
		}
		docs[f.dir()] = f.syntax.Doc.Text()
		if !strings.HasPrefix(docs[f.dir()], want) {
			t.Errorf("%s: the documentation must begin with %q", f.path, want)
		}
	}
	for dir, doc := range docs {
		if doc == "" {
			t.Errorf("%s has no documentation comment: say what it owns and what must stay true", dir)
		}
	}
}

// vague lists names that say nothing about the content of a package.
var vague = []string{"base", "common", "core", "helper", "helpers", "lib", "misc", "mock", "mocks", "shared", "types", "util", "utils"}

func TestPackageNamesAreSpecific(t *testing.T) {
	for _, f := range sources(t, true) {
		for part := range strings.SplitSeq(f.dir(), "/") {
			if slices.Contains(vague, part) {
				t.Errorf("%s: the name %q says nothing of what the package owns", f.path, part)
			}
		}
	}
}

func TestMainHasOneStartCall(t *testing.T) {
	for _, f := range sources(t, true) {
		if !within(f.dir(), "functions") {
			continue
		}
		if path.Base(f.path) != "main.go" {
			t.Errorf("%s: a function's folder holds its main.go only", f.path)
		}
		for _, d := range f.syntax.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			starts := len(calls(f, "piloto/internal/boot", startOf(path.Base(f.dir()))))
			for _, imported := range f.imports() { // a package that only one function links has its own Start
				if strings.HasPrefix(imported, "piloto/internal/boot/") {
					starts += len(calls(f, imported, "Start")) + len(calls(f, imported, startOf(path.Base(f.dir()))))
				}
			}
			if fn.Name.Name != "main" || len(fn.Body.List) != 1 || starts != 1 {
				t.Errorf("%s: main must be { boot.%s() }, or that or Start() of a package below boot", f.at(fn), startOf(path.Base(f.dir())))
			}
		}
	}
}
