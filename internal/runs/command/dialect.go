package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"piloto/internal/ground/lazy"
)

// checkDialect judges constructs that other shells read differently. A text is parsed as bash, but
// it may run in another shell: sh is dash on most servers. Tests, numbers and quotes of bash are
// commands in dash: ((reboot)) is a subshell there, [[ a > b ]] writes b, and $'\'; rm x #' ends
// its quote early. zsh runs the text in *(e:…:).
func (j *analysis) checkDialect(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.ArithmCmd:
		j.addFinding("((…))", "dynamic", j.unknownClass())
	case *syntax.ArithmExp:
		if n.Bracket {
			j.addFinding("$[…]", "dynamic", j.unknownClass())
		}
	case *syntax.LetClause:
		j.addFinding("let", "dynamic", j.unknownClass())
	case *syntax.ExtGlob:
		j.addFinding(n.Op.String()+n.Pattern.Value+")", "dynamic", j.unknownClass())
	case *syntax.SglQuoted:
		if n.Dollar && strings.Contains(n.Value, `\'`) {
			j.addFinding("$'…'", "dynamic", j.unknownClass())
		}
	case *syntax.TestClause:
		if n.Left.Line() != n.Right.Line() {
			j.addFinding("[[…]]", "dynamic", j.unknownClass())
		}
	case *syntax.ParenTest:
		j.addFinding("[[…]]", "dynamic", j.unknownClass())
	case *syntax.BinaryTest:
		j.checkTest(n)
	}
}

// checkTest judges a comparison of [[ ]] that another shell would read as more.
func (j *analysis) checkTest(n *syntax.BinaryTest) {
	more := false
	switch n.Op {
	case syntax.AndTest, syntax.OrTest: // the next word is a program, and no program begins with -
		more = !beginsWithDash(n.Y)
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
				j.checkOperand(w)
			}
		}
	}
	if more {
		j.addFinding("[[…]]", "dynamic", j.unknownClass())
	}
}

// beginsWithDash reports whether the first word of a test begins with -.
func beginsWithDash(x syntax.TestExpr) bool {
	switch x := x.(type) {
	case *syntax.UnaryTest:
		if x.Op == syntax.TsNot {
			return beginsWithDash(x.X)
		}
		return true
	case *syntax.BinaryTest:
		return beginsWithDash(x.X)
	}
	return false
}

// checkArithmetic judges the variables that arithmetic reads and sets. A bare name in it is a
// variable, and its value is again evaluated as arithmetic, which may run commands. Only a number
// is harmless.
func (j *analysis) checkArithmetic(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.ArithmExp:
		j.checkOperand(n.X)
	case *syntax.LetClause:
		for _, x := range n.Exprs {
			j.checkOperand(x)
		}
	case *syntax.CStyleLoop:
		for _, x := range []syntax.ArithmExpr{n.Init, n.Cond, n.Post} {
			j.checkOperand(x)
		}
	case *syntax.ParenArithm:
		j.checkOperand(n.X)
	case *syntax.UnaryArithm:
		if n.Op == syntax.Inc || n.Op == syntax.Dec {
			j.setNumber(n.X)
		}
		j.checkOperand(n.X)
	case *syntax.BinaryArithm:
		if strings.HasSuffix(n.Op.String(), "=") && n.Op != syntax.Eql && n.Op != syntax.Neq && n.Op != syntax.Leq && n.Op != syntax.Geq {
			j.checkOperand(n.Y)
			j.setNumber(n.X)
			return
		}
		j.checkOperand(n.X)
		j.checkOperand(n.Y)
	case *syntax.ParamExp:
		if n.Slice != nil {
			j.checkOperand(n.Slice.Offset)
			j.checkOperand(n.Slice.Length)
		}
	}
}

// setNumber records that arithmetic sets a variable.
func (j *analysis) setNumber(x syntax.ArithmExpr) {
	w, ok := x.(*syntax.Word)
	if !ok || w == nil {
		return
	}
	name := w.Lit()
	if before, set := j.vars[name]; !set || before.number {
		j.vars[name] = value{number: true}
	}
	if steersPrograms(name) {
		j.addFinding(name, "environment", Sensitive)
	}
}

// checkOperand judges one word of arithmetic.
func (j *analysis) checkOperand(x syntax.ArithmExpr) {
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
			if !printsNumber(w) {
				j.addFinding("$(…)", "dynamic", j.unknownClass())
			}
		}
	}
	for _, name := range names {
		if v := j.vars[name]; !v.number && !numberVariables()[name] {
			j.addFinding(name, "dynamic", Sensitive)
		}
	}
}

// numberVariables are variables of the shell whose values are always numbers.
var numberVariables = lazy.Words("RANDOM SECONDS LINENO UID EUID PPID BASHPID ? $ ! # COLUMNS LINES EPOCHSECONDS")

func isName(s string) bool { return isSetting(s + "=") }

// printsNumber reports whether a word is the output of a program that prints only numbers.
func printsNumber(w *syntax.Word) bool {
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

// isArithmetic reports whether a word is an arithmetic expression and nothing else.
func isArithmetic(w *syntax.Word) bool {
	if w == nil || len(w.Parts) != 1 {
		return false
	}
	_, ok := w.Parts[0].(*syntax.ArithmExp)
	return ok
}
