package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A text is parsed as bash reads it, and whoever runs it may have another shell: sh is
// dash on most servers. What bash takes for a test, a number or a quote, dash takes for
// commands: ((reboot)) is a subshell there, [[ a > b ]] writes b, and $'\'; rm x #' ends
// its quote early. zsh runs what stands in *(e:…:).
func (j *judge) dialect(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.ArithmCmd:
		j.find("((…))", "dynamic", j.unknown())
	case *syntax.ArithmExp:
		if n.Bracket {
			j.find("$[…]", "dynamic", j.unknown())
		}
	case *syntax.LetClause:
		j.find("let", "dynamic", j.unknown())
	case *syntax.ExtGlob:
		j.find(n.Op.String()+n.Pattern.Value+")", "dynamic", j.unknown())
	case *syntax.SglQuoted:
		if n.Dollar && strings.Contains(n.Value, `\'`) {
			j.find("$'…'", "dynamic", j.unknown())
		}
	case *syntax.TestClause:
		if n.Left.Line() != n.Right.Line() {
			j.find("[[…]]", "dynamic", j.unknown())
		}
	case *syntax.ParenTest:
		j.find("[[…]]", "dynamic", j.unknown())
	case *syntax.BinaryTest:
		j.test(n)
	}
}

// test judges a comparison of [[ ]] that another shell would read as more.
func (j *judge) test(n *syntax.BinaryTest) {
	more := false
	switch n.Op {
	case syntax.AndTest, syntax.OrTest: // the next word is a program, and none begins with -
		more = !dashed(n.Y)
	case syntax.TsBefore, syntax.TsAfter:
		more = true
	case syntax.TsReMatch:
		w, ok := n.Y.(*syntax.Word)
		more = !ok || strings.ContainsAny(w.Lit(), "|&;<>()")
		for i := 0; ok && i < len(w.Parts); i++ {
			lit, plain := w.Parts[i].(*syntax.Lit)
			more = more || plain && strings.ContainsAny(lit.Value, "|&;<>()")
		}
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr: // numbers
		for _, x := range []syntax.TestExpr{n.X, n.Y} {
			if w, ok := x.(*syntax.Word); ok {
				j.operand(w)
			}
		}
	}
	if more {
		j.find("[[…]]", "dynamic", j.unknown())
	}
}

// dashed reports whether the first word of a test begins with -.
func dashed(x syntax.TestExpr) bool {
	switch x := x.(type) {
	case *syntax.UnaryTest:
		if x.Op == syntax.TsNot {
			return dashed(x.X)
		}
		return true
	case *syntax.BinaryTest:
		return dashed(x.X)
	}
	return false
}

// arithmetic judges what a node of arithmetic reads and sets. A bare name in it is a
// variable, and what that holds is arithmetic again, which may run commands: a number is
// all that is harmless.
func (j *judge) arithmetic(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.ArithmExp:
		j.operand(n.X)
	case *syntax.LetClause:
		for _, x := range n.Exprs {
			j.operand(x)
		}
	case *syntax.CStyleLoop:
		for _, x := range []syntax.ArithmExpr{n.Init, n.Cond, n.Post} {
			j.operand(x)
		}
	case *syntax.ParenArithm:
		j.operand(n.X)
	case *syntax.UnaryArithm:
		if n.Op == syntax.Inc || n.Op == syntax.Dec {
			j.counts(n.X)
		}
		j.operand(n.X)
	case *syntax.BinaryArithm:
		if strings.HasSuffix(n.Op.String(), "=") && n.Op != syntax.Eql && n.Op != syntax.Neq && n.Op != syntax.Leq && n.Op != syntax.Geq {
			j.operand(n.Y)
			j.counts(n.X)
			return
		}
		j.operand(n.X)
		j.operand(n.Y)
	case *syntax.ParamExp:
		if n.Slice != nil {
			j.operand(n.Slice.Offset)
			j.operand(n.Slice.Length)
		}
	}
}

// counts notes that arithmetic sets a variable.
func (j *judge) counts(x syntax.ArithmExpr) {
	w, ok := x.(*syntax.Word)
	if !ok || w == nil {
		return
	}
	name := w.Lit()
	if before, set := j.vars[name]; !set || before.number {
		j.vars[name] = value{number: true}
	}
	if steering(name) {
		j.find(name, "environment", Sensitive)
	}
}

// operand judges one word of arithmetic.
func (j *judge) operand(x syntax.ArithmExpr) {
	w, ok := x.(*syntax.Word)
	if !ok || w == nil {
		return
	}
	var names []string
	if isName(w.Lit()) {
		names = append(names, w.Lit())
	}
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.ParamExp:
			if p.Param != nil && !p.Length {
				names = append(names, p.Param.Value)
			}
		case *syntax.CmdSubst:
			if !tellsNumber(w) {
				j.find("$(…)", "dynamic", j.unknown())
			}
		}
	}
	for _, name := range names {
		if v := j.vars[name]; !v.number && !numbers()[name] {
			j.find(name, "dynamic", Sensitive)
		}
	}
}

// numbers are variables of the shell that are always numbers.
var numbers = set("RANDOM SECONDS LINENO UID EUID PPID BASHPID ? $ ! # COLUMNS LINES EPOCHSECONDS")

func isName(s string) bool { return isSetting(s + "=") }

// tellsNumber reports whether a word is what a program says that only says numbers.
func tellsNumber(w *syntax.Word) bool {
	if w == nil || len(w.Parts) != 1 {
		return false
	}
	s, ok := w.Parts[0].(*syntax.CmdSubst)
	if !ok || len(s.Stmts) != 1 {
		return false
	}
	cmd := s.Stmts[0].Cmd
	for {
		pipe, ok := cmd.(*syntax.BinaryCmd)
		if !ok || pipe.Op != syntax.Pipe {
			break
		}
		cmd = pipe.Y.Cmd
	}
	c, ok := cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 {
		return false
	}
	first := c.Args[0].Lit()
	return first == "wc" || first == "nproc" || first == "date" && len(c.Args) == 2 && c.Args[1].Lit() == "+%s"
}

// onlyNumber reports whether a word is an arithmetic expression and nothing else.
func onlyNumber(w *syntax.Word) bool {
	if w == nil || len(w.Parts) != 1 {
		return false
	}
	_, ok := w.Parts[0].(*syntax.ArithmExp)
	return ok
}
