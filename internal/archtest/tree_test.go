package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// file is one Go file of the project.
type file struct {
	path   string // from the root, with slashes
	test   bool
	lines  int
	syntax *ast.File
	set    *token.FileSet
}

// dir returns the folder of the file, which is the import path of its package without "piloto/".
func (f file) dir() string { return path.Dir(f.path) }

// imports returns the paths that the file imports.
func (f file) imports() []string {
	var paths []string
	for _, spec := range f.syntax.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			paths = append(paths, p)
		}
	}
	return paths
}

func (f file) at(n ast.Node) string {
	return f.path + ":" + strconv.Itoa(f.set.Position(n.Pos()).Line)
}

const root = "../.."

// files returns every Go file of the module, parsed once.
var files = sync.OnceValues(func() ([]file, error) {
	var all []file
	set := token.NewFileSet()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			outside := name == "testdata" || name == "build" || rel != "." && strings.HasPrefix(name, ".") || rel == filepath.Join("infra", "tools")
			if outside {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasPrefix(name, ".") {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		syntax, err := parser.ParseFile(set, p, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		all = append(all, file{
			path: filepath.ToSlash(rel), test: strings.HasSuffix(name, "_test.go"),
			lines: strings.Count(string(text), "\n"), syntax: syntax, set: set,
		})
		return nil
	})
	return all, err
})

// sources returns the files that are not tests, or all files.
func sources(t *testing.T, tests bool) []file {
	t.Helper()
	all, err := files()
	if err != nil {
		t.Fatal(err)
	}
	var chosen []file
	for _, f := range all {
		if tests || !f.test {
			chosen = append(chosen, f)
		}
	}
	if len(chosen) < 50 {
		t.Fatalf("only %d files were found below %s", len(chosen), root)
	}
	return chosen
}

// within reports whether a package is one of these places, or below one.
func within(dir string, places ...string) bool {
	for _, place := range places {
		if dir == place || strings.HasPrefix(dir, place+"/") {
			return true
		}
	}
	return false
}

// calls yields every use of a selector such as time.Now in a file.
func calls(f file, pkg string, names ...string) []ast.Node {
	local := ""
	for _, spec := range f.syntax.Imports {
		if spec.Path.Value != strconv.Quote(pkg) {
			continue
		}
		local = path.Base(pkg)
		if spec.Name != nil {
			local = spec.Name.Name
		}
	}
	var found []ast.Node
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok || local == "" {
			return true
		}
		if id, ok := s.X.(*ast.Ident); ok && id.Name == local {
			for _, name := range names {
				if s.Sel.Name == name {
					found = append(found, n)
				}
			}
		}
		return true
	})
	return found
}
