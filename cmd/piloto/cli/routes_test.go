package cli

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestEveryRequestHasARoute holds the requests of the command to the routes of the API's document: their paths, and
// their methods where the code names one.
func TestEveryRequestHasARoute(t *testing.T) {
	text, err := os.ReadFile("../../../internal/edge/httpapi/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	wild := regexp.MustCompile(`\{[^}]*\}`)
	var routes []string
	for path, methods := range doc.Paths {
		for m := range methods {
			routes = append(routes, strings.ToUpper(m)+" "+wild.ReplaceAllString(path, "{}"))
		}
	}
	files, err := filepath.Glob("*.go")
	below, belowErr := filepath.Glob("*/*.go")
	if err := errors.Join(err, belowErr); err != nil {
		t.Fatal(err)
	}
	files = append(files, below...)
	found := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range requestsOf(file) {
			found++
			if !slices.ContainsFunc(routes, r.fits) {
				t.Errorf("%s: the API has no %s %s", set.Position(r.at), r.method, r.path)
			}
		}
	}
	if found < 45 {
		t.Errorf("only %d requests were found", found)
	}
}

type madeRequest struct {
	method, path string
	at           token.Pos
}

// fits reports whether a route serves the request. A variable of the code may be any segment.
func (r madeRequest) fits(route string) bool {
	method, path, _ := strings.Cut(route, " ")
	want, got := strings.Split(path, "/"), strings.Split(r.path, "/")
	if r.method != "" && r.method != method || len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != got[i] && got[i] != "{}" {
			return false
		}
	}
	return true
}

// requestsOf returns the requests of a file: those of Get, Post, PostOnce and Delete, and those of a client.Call.
func requestsOf(file *ast.File) (list []madeRequest) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			method, at := map[string]struct {
				method string
				at     int
			}{"Get": {"GET", 2}, "Post": {"POST", 2}, "PostOnce": {"POST", 2}, "Delete": {"DELETE", 2}}[calledName(n.Fun)], 0
			if at = method.at; at > 0 && len(n.Args) > at {
				if path := pathOf(n.Args[at]); path != "" {
					list = append(list, madeRequest{method.method, path, n.Pos()})
				}
			}
		case *ast.CompositeLit:
			if s, ok := n.Type.(*ast.SelectorExpr); ok && s.Sel.Name == "Call" {
				if r := callRequest(n); r.path != "" {
					list = append(list, r)
				}
			}
		}
		return true
	})
	return list
}

// callRequest returns the request of a client.Call.
func callRequest(lit *ast.CompositeLit) (r madeRequest) {
	r.at = lit.Pos()
	for _, e := range lit.Elts {
		pair, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		switch key, _ := pair.Key.(*ast.Ident); key.Name {
		case "Method":
			if s, ok := pair.Value.(*ast.SelectorExpr); ok {
				r.method = strings.ToUpper(strings.TrimPrefix(s.Sel.Name, "Method"))
			} else {
				r.method = literalOf(pair.Value)
			}
		case "Path":
			r.path = pathOf(pair.Value)
		}
	}
	return r
}

// calledName returns the name of a called function, without its package and its type arguments.
func calledName(fun ast.Expr) string {
	switch f := fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	case *ast.IndexExpr:
		return calledName(f.X)
	}
	return ""
}

// pathOf returns a path with {} in the place of values that are no literals; "" when it is not known here.
func pathOf(e ast.Expr) string {
	if text := literalOf(e); strings.HasPrefix(text, "/") {
		return text
	}
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return ""
	}
	path := ""
	switch calledName(call.Fun) {
	case "Path":
	case "RunPath":
		path = "/api/runs"
	default:
		return ""
	}
	for _, a := range call.Args {
		if text := literalOf(a); text != "" {
			path += "/" + text
		} else {
			path += "/{}"
		}
	}
	return path
}

func literalOf(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	text, err := strconv.Unquote(lit.Value)
	if err != nil {
		return ""
	}
	return text
}
