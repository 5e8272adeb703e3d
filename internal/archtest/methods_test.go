package archtest

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// The limits of a type and of a function. A type with more methods holds several ideas, and a function with more parameters
// lacks a type for some of them. The receiver and a context that comes first are no parameters here.
const (
	mostMethods    = 40
	mostParameters = 6
)

// The exceptions, each with its number. A number may only become smaller.
var (
	// wideTypes are the types with more methods, promoted ones included.
	wideTypes = map[string]int{}
	// longLists are the functions with more parameters.
	longLists = map[string]int{}
	// swappable counts, in each package, the neighbours of one type among the parameters of exported functions: a caller that
	// swaps them still compiles.
	swappable = map[string]int{
		"cmd/piloto/client":                 3,
		"infra/local/fixture":               4,
		"infra/local/fixture/memory":        3,
		"infra/local/process":               4,
		"infra/localaws/alone":              1,
		"infra/localaws/conformance/tables": 1,
		"infra/localaws/disk":               4,
		"infra/localaws/secretsmanager":     1,
		"infra/localaws/template":           1,
		"internal/access/rate":              1,
		"internal/boot":                     1,
		"internal/boot/signed":              2,
		"internal/chats/agent":              3,
		"internal/chats/beside":             1,
		"internal/chats/job":                7,
		"internal/chats/toolcall":           1,
		"internal/chats/window":             1,
		"internal/edge/webui":               1,
		"internal/ground/failpoint":         9,
		"internal/ground/fault":             1,
		"internal/ground/meaning":           2,
		"internal/ground/order":             2,
		"internal/ground/origin":            1,
		"internal/ground/ref":               1,
		"internal/live/hook":                3,
		"internal/live/realtime":            1,
		"internal/models/eligibility":       1,
		"internal/models/secrets":           2,
		"internal/runs/plan":                4,
		"internal/runs/run":                 1,
		"internal/store/access":             1,
		"internal/store/announce":           1,
		"internal/store/chats":              3,
		"internal/store/hooks":              2,
		"internal/store/jobs":               4,
		"internal/store/kept":               1,
		"internal/store/kv":                 5,
		"internal/store/receipts":           1,
		"internal/store/registry":           2,
		"internal/store/router":             3,
		"internal/store/runs":               2,
		"internal/store/wallet":             1,
		"internal/tools/tool":               8,
		"internal/workspace":                3,
		"internal/workspace/bucket":         3,
		"internal/workspace/files":          1,
		"internal/workspace/folder":         3,
		"internal/workspace/overlay":        3,
	}
)

// judged reports whether the rules of this file hold for a folder.
func judged(dir string) bool { return within(dir, "internal", "cmd", "infra") }

func TestTypesHaveOneIdea(t *testing.T) {
	counts := map[string]int{}
	eachType(t, func(name string, of types.Type) { counts[name] = methodsOf(of) })
	if counts["internal/runs/step.Executor"] == 0 {
		t.Error("no methods were counted")
	}
	compare(t, "methods", mostMethods, counts, wideTypes)
}

func TestParametersAreFewAndDistinct(t *testing.T) {
	lists, neighbours := map[string]int{}, map[string]int{}
	for _, f := range sources(t, false) {
		if !judged(f.dir()) {
			continue
		}
		for _, d := range f.syntax.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			params := parametersOf(fn.Type)
			lists[f.path+":"+fn.Name.Name] = len(params)
			for i := 1; i < len(params) && fn.Name.IsExported(); i++ {
				if named(params[i]) && types.ExprString(params[i]) == types.ExprString(params[i-1]) {
					neighbours[f.dir()]++
				}
			}
		}
	}
	compare(t, "parameters", mostParameters, lists, longLists)
	compare(t, "neighbours of one type among the parameters of exported functions", 0, neighbours, swappable)
}

// compare holds counts to a limit, and the exceptions to their numbers.
func compare(t *testing.T, of string, most int, counts, exceptions map[string]int) {
	t.Helper()
	for name, n := range counts {
		if allowed := max(most, exceptions[name]); n > allowed {
			t.Errorf("%s has %d %s, over %d", name, n, of, allowed)
		}
	}
	for name := range exceptions {
		if counts[name] <= most {
			t.Errorf("%s has %d %s: take it off the list", name, counts[name], of)
		}
	}
}

// methodsOf counts the methods of a type, promoted ones included.
func methodsOf(of types.Type) int {
	if !types.IsInterface(of) {
		of = types.NewPointer(of)
	}
	return types.NewMethodSet(of).Len()
}

// parametersOf returns the type of each parameter of a function, without a context that comes first.
func parametersOf(f *ast.FuncType) (all []ast.Expr) {
	for i, field := range f.Params.List {
		if i == 0 && types.ExprString(field.Type) == "context.Context" {
			continue
		}
		all = append(all, slices.Repeat([]ast.Expr{field.Type}, max(1, len(field.Names)))...)
	}
	return all
}

// named reports whether an expression names a type.
func named(e ast.Expr) bool {
	switch e.(type) {
	case *ast.Ident, *ast.SelectorExpr:
		return true
	}
	return false
}

// checker checks the types of the project's packages, without the bodies of functions. Packages from outside are empty, so their
// methods are not counted.
type checker struct {
	files map[string][]*ast.File // of each folder
	set   *token.FileSet
	done  map[string]*types.Package
}

// Import implements types.Importer.
func (c checker) Import(name string) (*types.Package, error) {
	dir, own := strings.CutPrefix(name, "piloto/")
	if !own || c.files[dir] == nil {
		return nil, errors.New("it is from outside")
	}
	return c.check(dir), nil
}

func (c checker) check(dir string) *types.Package {
	if c.done[dir] == nil {
		conf := types.Config{Importer: c, IgnoreFuncBodies: true, Error: func(error) {}} // of names from outside
		c.done[dir], _ = conf.Check("piloto/"+dir, c.set, c.files[dir], nil)
	}
	return c.done[dir]
}
