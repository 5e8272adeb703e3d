package archtest

import (
	"go/ast"
	"go/token"
	"strconv"
	"testing"
)

// judges lists the files besides internal/ground/meaning that compare the status of an HTTP answer, each with a reason.
var judges = map[string]string{
	"cmd/piloto/cli/exit.go":             "the refusals of a deployment of Piloto have exit codes",
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
	"internal/tools/mcp/wire.go":         "an answer below 200 is no HTTP any more",
	"internal/tools/outbound/sender.go":  "an answer below 200 is no HTTP any more",
	"internal/workspace/bucket/fault.go": "507 is the embedded engine's: its disk is full",
}

// Whether an answer of another server means that something was done is decided in one place. Statuses are compared with numbers, by name
// or not, nowhere else.
func TestAnswersAreClassifiedInOnePlace(t *testing.T) {
	found := map[string]bool{}
	for _, f := range sources(t, true) {
		if f.test || within(f.dir(), "internal/ground/meaning") || within(f.dir(), "internal/edge") || !within(f.dir(), "internal", "cmd") { // edge writes answers
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if at := statusComparison(n); at != nil {
				found[f.path] = true
				if judges[f.path] == "" {
					t.Errorf("%s compares a status", f.at(at))
				}
			}
			return true
		})
	}
	for path := range judges {
		if !found[path] {
			t.Errorf("%s compares no status any more: take it off the list", path)
		}
	}
}

// statusComparison returns a comparison of a status that a node is; nil for none.
func statusComparison(n ast.Node) ast.Node {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		switch n.Op {
		case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ, token.QUO:
			if isStatus(n.X) && isNumber(n.Y) {
				return n
			}
		}
	case *ast.SwitchStmt:
		if n.Tag != nil && isStatus(n.Tag) && len(n.Body.List) > 0 {
			for _, c := range n.Body.List {
				for _, e := range c.(*ast.CaseClause).List {
					if isNumber(e) {
						return n
					}
				}
			}
		}
	}
	return nil
}

// isStatus reports whether an expression is named as the status of an HTTP answer is.
func isStatus(e ast.Expr) bool {
	name := ""
	switch e := e.(type) {
	case *ast.Ident:
		name = e.Name
	case *ast.SelectorExpr:
		name = e.Sel.Name
	case *ast.CallExpr:
		return isStatus(e.Fun)
	}
	return name == "status" || name == "Status" || name == "StatusCode" || name == "HTTPStatusCode" || name == "effectiveStatus"
}

// isNumber reports whether an expression is a status over 99 in figures, or a name of net/http's, or the class of one.
func isNumber(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		n, err := strconv.Atoi(e.Value)
		return err == nil && n >= 100
	case *ast.SelectorExpr:
		pkg, ok := e.X.(*ast.Ident)
		return ok && pkg.Name == "http"
	}
	return false
}
