package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// judges lists the files besides internal/ground/meaning that compare the status of an HTTP answer, each with a reason.
var judges = map[string]string{
	"cmd/piloto/cli/ending/exit.go":      "the refusals of a deployment of Piloto have exit codes",
	"cmd/piloto/client/answer.go":        "202 is a turn that goes on",
	"cmd/piloto/client/client.go":        "a deployment answers 202 to a turn that goes on, and 503 with its health",
	"cmd/piloto/client/files.go":         "206 is a part of a file",
	"internal/models/openai/format.go":   "which refusals are about a member of the request",
	"internal/models/openai/probe.go":    "a provider without a list of models answers",
	"internal/models/openai/quirks.go":   "which refusals are about a member of the request",
	"internal/models/openai/refusal.go":  "a refusal is about money, the key or a limit",
	"internal/store/kv/client.go":        "507 is the embedded engine's: its disk is full",
	"internal/tools/mcp/client.go":       "the protocol has statuses for a session that is unknown",
	"internal/tools/mcp/listen.go":       "a stream is answered 200",
	"internal/tools/mcp/resume.go":       "a stream is answered 200",
	"internal/tools/mcp/signin.go":       "only a 401 asks for a sign-in",
	"internal/tools/mcp/unavailable.go":  "the protocol has statuses for a server of its older transport",
	"internal/tools/mcp/wire.go":         "an answer below 200 is no HTTP any more",
	"internal/tools/openapi/output.go":   "which answers a document describes",
	"internal/tools/outbound/sender.go":  "an answer below 200 is no HTTP any more",
	"internal/tools/tool/url.go":         "443 is a port",
	"internal/workspace/bucket/fault.go": "507 is the embedded engine's: its disk is full",
}

// Whether an answer of another server means that something was done is decided in one place. Statuses are compared with
// numbers nowhere else, whatever the variable and the number are called.
func TestAnswersAreClassifiedInOnePlace(t *testing.T) {
	byDir := map[string][]file{}
	for _, f := range sources(t, false) {
		if !within(f.dir(), "internal/ground/meaning", "internal/edge") && within(f.dir(), "internal", "cmd") { // edge writes answers
			byDir[f.dir()] = append(byDir[f.dir()], f)
		}
	}
	found := map[string]bool{}
	for _, pkg := range byDir {
		var trees []*ast.File
		for _, f := range pkg {
			trees = append(trees, f.syntax)
		}
		named := statusConstants(trees)
		for _, f := range pkg {
			for _, at := range statusComparisons(f.syntax, named) {
				if found[f.path] = true; judges[f.path] == "" {
					t.Errorf("%s compares a status", f.at(at))
				}
			}
		}
	}
	for path := range judges {
		if !found[path] {
			t.Errorf("%s compares no status any more: take it off the list", path)
		}
	}
}

func TestEveryComparisonOfAStatusIsSeen(t *testing.T) {
	for body, want := range map[string]bool{
		"_ = a.Status == 404":                                   true,
		"_ = 500 <= a.StatusCode()":                             true,
		"_ = a.Status/100 == 2":                                 true,
		"_ = (a.Status) >= broken":                              true,
		"const own = 408; s := a.Status; _ = s != own":          true,
		"s := a.Status; u := s; _ = u < 200":                    true,
		"var s = a.Status; switch { case s > 299: }":            true,
		"switch a.Status { case 1, 429: }":                      true,
		"switch s := a.Status; s { case busy: }":                true,
		"_ = code == 429":                                       true,
		"_ = code >= 500":                                       true,
		"_ = code == http.StatusConflict":                       true,
		"_ = a.Args[\"status\"] == \"410\"":                     true,
		"switch f(a) { case \"400\", \"404\": }":                true,
		"_ = slices.Contains([]int{408, 429}, code)":            true,
		"_ = map[int]bool{http.StatusTooManyRequests: true}[n]": true,
		"_ = len(a) > 500":                                      false,
		"_ = b.Len() >= 400":                                    false,
		"_ = to-from > 512":                                     false,
		"_ = n > 200":                                           false,
		"_ = n > most":                                          false,
		"_ = a.Status == plan.StepDone":                         false,
		"_ = a.Status == 0":                                     false,
		"_ = []int{2, 3, 500}":                                  false,
		"_ = []int{}":                                           false,
	} {
		tree, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x; const (broken = 500; busy = 429; most = 300); func _() { "+body+" }", parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(statusComparisons(tree, statusConstants([]*ast.File{tree}))) > 0; got != want {
			t.Errorf("%s: seen is %t", body, got)
		}
	}
}

// statusConstants returns the names of a package's constants that could be statuses, by their values.
func statusConstants(pkg []*ast.File) map[string]bool {
	named := map[string]bool{}
	for _, tree := range pkg {
		ast.Inspect(tree, func(n ast.Node) bool {
			if group, ok := n.(*ast.GenDecl); ok && group.Tok == token.CONST {
				for _, spec := range group.Specs {
					one := spec.(*ast.ValueSpec)
					for i, value := range one.Values {
						if isFigure(value) {
							named[one.Names[i].Name] = true
						}
					}
				}
			}
			return true
		})
	}
	return named
}

// statusReader finds the comparisons of statuses in a file.
type statusReader struct {
	named map[string]bool // constants that could be statuses
	held  map[string]bool // variables of the function that hold a status
	found []ast.Node
}

// statusComparisons returns the nodes of a file that compare a status with a number.
func statusComparisons(tree *ast.File, named map[string]bool) []ast.Node {
	r := statusReader{named: named}
	for _, decl := range tree.Decls {
		r.held = map[string]bool{}
		ast.Inspect(decl, func(n ast.Node) bool {
			if r.compares(n) {
				r.found = append(r.found, n)
			}
			return true
		})
	}
	return r.found
}

func (r statusReader) compares(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		r.hold(n.Lhs, n.Rhs)
	case *ast.ValueSpec:
		names := make([]ast.Expr, len(n.Names))
		for i, name := range n.Names {
			names[i] = name
		}
		r.hold(names, n.Values)
	case *ast.BinaryExpr:
		return r.comparesWith(n.Op, n.X, n.Y) || r.comparesWith(n.Op, n.Y, n.X)
	case *ast.SwitchStmt:
		if n.Init != nil { // its variable is known before its cases
			r.compares(n.Init)
		}
		return n.Tag != nil && slices.ContainsFunc(n.Body.List, func(c ast.Stmt) bool {
			return slices.ContainsFunc(c.(*ast.CaseClause).List, func(e ast.Expr) bool { return r.comparesWith(token.EQL, n.Tag, e) })
		})
	case *ast.CompositeLit:
		return r.lists(n)
	}
	return false
}

// hold notes the variables that are given a status.
func (r statusReader) hold(names, values []ast.Expr) {
	for i, value := range values {
		if name, ok := names[i].(*ast.Ident); ok && r.isStatus(value) {
			r.held[name.Name] = true
		}
	}
}

// comparesWith reports whether a value is compared as a status is: by its name with any number that a status could be; or by a
// number that hardly anything else than a status is compared with.
func (r statusReader) comparesWith(op token.Token, value, number ast.Expr) bool {
	known, ok := number.(*ast.Ident)
	isNamed := ok && r.named[known.Name]
	switch op {
	case token.EQL, token.NEQ:
		return isFigure(number) && !isCount(value) || isNamed && r.isStatus(value)
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		return r.isStatus(value) && (isFigure(number) || isNamed) || isFigure(number) && !isText(number) && figure(number) >= 300 && !isCount(value)
	case token.QUO:
		return r.isStatus(value) && isFigure(number)
	}
	return false
}

// lists reports whether a literal is a list or a set of numbers that are all statuses.
func (r statusReader) lists(n *ast.CompositeLit) bool {
	all := len(n.Elts) > 0
	switch kind := n.Type.(type) {
	case *ast.ArrayType:
		all = all && isInt(kind.Elt)
	case *ast.MapType:
		all = all && isInt(kind.Key)
	default:
		return false
	}
	return all && !slices.ContainsFunc(n.Elts, func(e ast.Expr) bool {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			e = pair.Key
		}
		return !isFigure(e)
	})
}

func isInt(e ast.Expr) bool {
	name, ok := e.(*ast.Ident)
	return ok && name.Name == "int"
}

// isStatus reports whether an expression is the status of an HTTP answer, by its name or by where it comes from.
func (r statusReader) isStatus(e ast.Expr) bool {
	named := func(name string) bool { return strings.Contains(strings.ToLower(name), "status") }
	switch e := e.(type) {
	case *ast.ParenExpr:
		return r.isStatus(e.X)
	case *ast.Ident:
		return named(e.Name) || r.held[e.Name]
	case *ast.SelectorExpr:
		return named(e.Sel.Name)
	case *ast.IndexExpr:
		key, ok := e.Index.(*ast.BasicLit)
		return ok && named(key.Value)
	case *ast.CallExpr:
		return r.isStatus(e.Fun)
	}
	return false
}

// isCount reports whether an expression is a length or a difference.
func isCount(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return true
	case *ast.CallExpr:
		if name, ok := e.Fun.(*ast.SelectorExpr); ok {
			return name.Sel.Name == "Len" || strings.HasPrefix(name.Sel.Name, "RuneCount")
		}
		name, ok := e.Fun.(*ast.Ident)
		return ok && name.Name == "len"
	}
	return false
}

// isFigure reports whether an expression is a status in figures, as a number or a text, or a name of net/http's.
func isFigure(e ast.Expr) bool { return figure(e) >= 100 && figure(e) <= 599 }

func isText(e ast.Expr) bool {
	value, ok := e.(*ast.BasicLit)
	return ok && value.Kind == token.STRING
}

// figure returns the number that an expression is; 0 for none, and 599 for a name of net/http's.
func figure(e ast.Expr) int {
	switch e := e.(type) {
	case *ast.BasicLit:
		n, err := strconv.Atoi(strings.Trim(e.Value, `"`))
		if err == nil && (e.Kind == token.INT || len(e.Value) == len(`"100"`)) {
			return n
		}
	case *ast.SelectorExpr:
		if pkg, ok := e.X.(*ast.Ident); ok && pkg.Name == "http" && strings.HasPrefix(e.Sel.Name, "Status") {
			return 599
		}
	}
	return 0
}
