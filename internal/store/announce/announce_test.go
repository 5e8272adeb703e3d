package announce

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// methods returns the exported methods of a type in the files of a folder, with whether they take
// a parameter of a type that ends so.
func methods(t *testing.T, folder, receiver, param string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tree.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || !f.Name.IsExported() || typeText(f.Recv.List[0].Type) != receiver {
				continue
			}
			takes := false
			for _, p := range f.Type.Params.List {
				takes = takes || typeText(p.Type) == param
			}
			all[f.Name.Name] = takes
		}
	}
	return all
}

func typeText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return typeText(e.X)
	case *ast.Ellipsis:
		return typeText(e.Elt)
	case *ast.ArrayType:
		return typeText(e.Elt)
	case *ast.SelectorExpr:
		return typeText(e.X) + "." + e.Sel.Name
	}
	return ""
}

// TestEveryTransitionIsAnnounced: a method that takes a record moves a run, and one that takes
// messages or events of a job adds them. Runs, Chats and Jobs have each of them, or clients would not hear of it.
func TestEveryTransitionIsAnnounced(t *testing.T) {
	for _, c := range []struct {
		folder, announced, param string
		least                    int
	}{
		{"../runs", "Runs", "run.Record", 3},
		{"../chats", "Chats", "conversation.Message", 3},
		{"../jobs", "Jobs", "job.Event", 2},
	} {
		own, found := methods(t, ".", c.announced, c.param), 0
		for name, takes := range methods(t, c.folder, "Store", c.param) {
			if !takes || name == "AddNewMessages" { // Chats.AddMessages calls it
				continue
			}
			found++
			if _, ok := own[name]; !ok {
				t.Errorf("%s.%s announces nothing", c.announced, name)
			}
		}
		if found < c.least {
			t.Errorf("%d methods of %s take a %s", found, c.folder, c.param)
		}
	}
}
