package archtest

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// anotherMeaning lists the functions that build by themselves what a package of ground builds for all, because they mean
// something else.
var anotherMeaning = map[string]string{
	"internal/edge/webui/revision.go:shortDigest":       "shows the beginning and the end of a digest",
	"internal/tools/tool/path.go:sameShape":             "compares a whole address with the text that it was read from",
	"internal/tools/openapi/origin.go:onOrigin":         "resolves an address below an origin",
	"cmd/piloto/show/run.go:result":                     "tells how many characters are left",
	"internal/chats/turn/summary.go:usableSummary":      "counts words",
	"internal/runs/step/drive.go:abreast":               "looks at the clock when a place is free",
	"internal/store/kv/table.go:New":                    "bounds the reads of all calls together",
	"internal/ground/ref/named.go:Words":                "writes the words of a name",
	"internal/conversation/find.go:snippet":             "keeps the marks of the text, in which the words were found",
	"internal/ground/meaning/missing.go:plain":          "writes the words of a name",
	"cmd/piloto/cli/console/output.go:PrintJSON":        "indents for a terminal",
	"internal/runs/command/accept.go:isSameCommand":     "compares commands by their words",
	"internal/runs/command/people.go:readsConfidential": "compares a statement with another",
	"internal/runs/command/service.go:sqlClass":         "reads the words of a statement",
}

// TestIdeasAreBuiltOnce: ground/clip cuts a text and puts it on one line, ground/jcs writes JSON without escapes, ground/origin
// writes an origin, and errgroup bounds the functions that run at once.
func TestIdeasAreBuiltOnce(t *testing.T) {
	needed := map[string]bool{}
	for _, f := range sources(t, false) {
		if dir := f.dir(); !within(dir, "internal", "cmd") || within(dir, "internal/ground/clip", "internal/ground/jcs", "internal/ground/origin") {
			continue
		}
		for _, d := range f.syntax.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := f.path + ":" + fn.Name.Name
			ast.Inspect(fn, func(n ast.Node) bool {
				if use := builtAgain(n); use != "" {
					needed[name] = true
					if anotherMeaning[name] == "" {
						t.Errorf("%s: use %s", f.at(n), use)
					}
				}
				return true
			})
		}
	}
	for name := range anotherMeaning {
		if !needed[name] {
			t.Errorf("%s: take it off the list", name)
		}
	}
}

// builtAgain returns what an expression is to be replaced by; "" if by nothing.
func builtAgain(n ast.Node) string {
	switch n := n.(type) {
	case *ast.BinaryExpr: // text[:n] + "…", string(runes[:n]) + "…", u.Scheme + "://" + u.Host
		if n.Op != token.ADD {
			return ""
		}
		text, isText := n.Y.(*ast.BasicLit)
		cut := n.X
		if call, ok := cut.(*ast.CallExpr); ok && len(call.Args) > 0 && !member(call.Fun, "Join") {
			cut = call.Args[0]
		}
		if _, ok := cut.(*ast.SliceExpr); ok && isText && strings.HasPrefix(text.Value, `"…`) {
			return "clip.Runes or clip.Bytes"
		}
		if member(n.Y, "Host") {
			if left, ok := n.X.(*ast.BinaryExpr); ok && member(left.X, "Scheme") {
				return "origin.Of"
			}
		}
	case *ast.CallExpr: // make(chan struct{}, n), strings.Join(strings.Fields(text), " "), e.SetEscapeHTML(false)
		if member(n.Fun, "SetEscapeHTML") {
			return "jcs.Marshal"
		}
		if fields, ok := first(n.Args).(*ast.CallExpr); ok && member(n.Fun, "Join") && member(fields.Fun, "Fields") {
			return "clip.Line"
		}
		if fn, ok := n.Fun.(*ast.Ident); ok && fn.Name == "make" && len(n.Args) == 2 {
			channel, ok := n.Args[0].(*ast.ChanType)
			if size, fixed := n.Args[1].(*ast.BasicLit); ok && !(fixed && size.Value == "1") {
				if empty, ok := channel.Value.(*ast.StructType); ok && len(empty.Fields.List) == 0 {
					return "errgroup.Group.SetLimit"
				}
			}
		}
	}
	return ""
}

// first returns the first of some expressions; nil when there is none.
func first(list []ast.Expr) ast.Expr {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

func member(x ast.Expr, name string) bool {
	of, ok := x.(*ast.SelectorExpr)
	return ok && of.Sel.Name == name
}
