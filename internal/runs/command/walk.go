package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"piloto/internal/ground/lazy"
)

// walk judges a parsed text. Substitutions, functions, branches and loops are judged as if all of
// them ran once.
func (j *analysis) walk(file *syntax.File) {
	syntax.Walk(file, func(n syntax.Node) bool {
		j.checkDialect(n)
		j.checkArithmetic(n)
		switch n := n.(type) {
		case *syntax.Stmt:
			if n.Background {
				j.addFinding("&", "process", Sensitive)
			}
		case *syntax.FuncDecl:
			j.declareFunction(n)
		case *syntax.ForClause:
			j.checkLoop(n)
			j.setLoopVariable(n)
		case *syntax.WhileClause:
			j.checkLoop(n)
		case *syntax.CallExpr:
			j.runCall(n)
		case *syntax.DeclClause:
			j.checkDeclaration(n)
		case *syntax.Redirect:
			j.checkRedirect(n)
		case *syntax.SglQuoted:
			j.checkQuoted(n.Value)
		case *syntax.Lit:
			if strings.Contains(n.Value, "\\`") || strings.Contains(n.Value, `\$(`) {
				j.checkQuoted(n.Value)
			}
		case *syntax.CoprocClause:
			j.addFinding("coproc", "process", Sensitive)
		case *syntax.ParamExp:
			if n.Excl || n.Exp != nil && n.Exp.Op == syntax.OtherParamOps { // its value is read as code, or as a name
				j.addFinding("${…}", "dynamic", j.unknownClass())
			}
			j.checkVariable(n)
		}
		return true
	})
}

// checkVariable judges the use of a variable that the text does not set: its value may be a secret.
func (j *analysis) checkVariable(p *syntax.ParamExp) {
	if p.Param == nil || p.Length || j.result.Class > Safe {
		return
	}
	if _, set := j.vars[p.Param.Value]; !set && !publicVariables()[p.Param.Value] {
		j.addFinding("$"+p.Param.Value, "secrets", Sensitive)
	}
}

// checkQuoted judges a text that the shell does not expand and that some commands run nevertheless:
// arithmetic, tests and traps evaluate it.
func (j *analysis) checkQuoted(text string) {
	if strings.Contains(text, "$(") || strings.Contains(text, "`") {
		c := Sensitive
		if isDestructive(text) {
			c = Destructive
		}
		j.addFinding(text, "dynamic", c)
	}
}

// declareFunction records a function. Its body is judged where it stands, so a call of it adds
// nothing. A function that calls itself never ends.
func (j *analysis) declareFunction(f *syntax.FuncDecl) {
	names := f.Names
	if f.Name != nil {
		names = append(names, f.Name)
	}
	for _, name := range names {
		j.funcs[name.Value] = true
		calls := 0
		syntax.Walk(f.Body, func(n syntax.Node) bool {
			if !j.spend(1) {
				j.addFinding(name.Value+"()", "deep", j.unknownClass())
				return false
			}
			if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 && j.expandSingle(call.Args[0]).text == name.Value {
				calls++
			}
			return true
		})
		if calls > 0 {
			j.addFinding(name.Value+"()", "endless", Destructive)
		}
	}
}

// setLoopVariable records the possible value of a loop's variable: its only value, or an unknown
// one.
func (j *analysis) setLoopVariable(f *syntax.ForClause) {
	iter, ok := f.Loop.(*syntax.WordIter)
	if !ok || iter.Name == nil {
		return
	}
	list, counts := j.expandWords(iter.Items), true
	j.assign(iter.Name.Value, word{dynamic: true})
	if steersPrograms(iter.Name.Value) {
		j.addFinding(iter.Name.Value, "environment", Sensitive)
	}
	for _, w := range list {
		counts = counts && (!w.dynamic && w.text != "" && digits(w.text) || countsUp(w.text))
		if isSecret(w.text) || w.foreign || w.glob && isHiddenGlob(w.text) {
			j.addFinding(w.text, "secrets", Sensitive)
		}
	}
	if len(list) == 1 {
		j.assign(iter.Name.Value, list[0])
	}
	if v := j.vars[iter.Name.Value]; counts && len(list) > 0 {
		v.number = true
		j.vars[iter.Name.Value] = v
	}
}

// countsUp reports whether an unquoted word expands to several numbers: {1..5}.
func countsUp(text string) bool {
	list, ok := strings.CutPrefix(text, "{")
	list, end := strings.CutSuffix(list, "}")
	from, to, dots := strings.Cut(list, "..")
	return ok && end && dots && from != "" && to != "" && digits(from) && digits(to)
}

// assign records the value of a variable. After a second assignment it is known only if both values
// are equal.
func (j *analysis) assign(name string, w word) {
	v := value{text: w.text, known: !w.dynamic && !w.glob, number: w.number || !w.dynamic && w.text != "" && digits(w.text)}
	if before, twice := j.vars[name]; twice && before != v {
		v.known, v.number = false, v.number && before.number
	}
	j.vars[name] = v
}

// runCall judges one simple command.
func (j *analysis) runCall(c *syntax.CallExpr) {
	for _, a := range c.Assigns {
		j.checkAssignment(a, len(c.Args) > 0)
	}
	if len(c.Args) > 0 {
		j.run(j.expandWords(c.Args))
	}
}

// checkAssignment judges NAME=value, alone or before a command.
func (j *analysis) checkAssignment(a *syntax.Assign, before bool) {
	if a.Name == nil {
		return
	}
	name, w := a.Name.Value, word{dynamic: true}
	if a.Array != nil {
		var list []word
		for _, e := range a.Array.Elems {
			if e.Value != nil {
				list = append(list, j.expandWord(e.Value)...)
			}
		}
		j.pending = append(j.pending, list)
	}
	if a.Value != nil && a.Array == nil && a.Index == nil && !a.Append {
		w = j.expandSingle(a.Value)
		w.number = printsNumber(a.Value) || isArithmetic(a.Value)
	}
	if !before || !w.dynamic {
		j.assign(name, w)
	}
	j.checkSetting(name, w.text, before)
}

// checkSetting judges a variable that is passed to programs, or to the shell.
func (j *analysis) checkSetting(name, text string, given bool) {
	switch {
	case steersPrograms(name):
		c := Sensitive
		if isDestructive(text) {
			c = Destructive
		}
		j.addFinding(name+"="+text, "environment", c)
		if strings.Contains(text, " ") { // a command, as in GIT_… and PAGER
			j.read(text)
		}
	case given && !strings.HasPrefix(name, "LC_") && !harmlessVars()[name]:
		c := Sensitive
		if isDestructive(text) {
			c = Destructive
		}
		j.addFinding(name+"="+text, "environment", c)
	}
}

var (
	harmlessVars = lazy.Words("LANG LANGUAGE TZ COLUMNS LINES NO_COLOR CLICOLOR IFS")
	steers       = lazy.Words(`PATH ENV SHELLOPTS BASHOPTS IFS PAGER EDITOR VISUAL LESSOPEN LESSCLOSE BROWSER MANPAGER PROMPT_COMMAND PS0 PS1 PS4 HOME SHELL
		PYTHONPATH PYTHONSTARTUP PERL5LIB PERL5OPT RUBYOPT RUBYLIB NODE_OPTIONS NODE_PATH JAVA_TOOL_OPTIONS CLASSPATH KUBECONFIG http_proxy https_proxy
		HTTP_PROXY HTTPS_PROXY ALL_PROXY CDPATH TMPDIR`)
)

// steersPrograms reports whether a variable controls the behaviour of programs.
func steersPrograms(name string) bool {
	for _, prefix := range []string{"LD_", "DYLD_", "BASH_", "GIT_", "SSH_", "AWS_", "DOCKER_", "npm_", "PIP_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return steers()[name] && name != "IFS"
}

// checkDeclaration judges export, declare, local, readonly and typeset.
func (j *analysis) checkDeclaration(d *syntax.DeclClause) {
	exported, counting := d.Variant.Value == "export", false
	for _, a := range d.Args {
		switch {
		case a.Name == nil: // an option, or a computed word
			w := j.expandSingle(a.Value)
			exported = exported || strings.HasPrefix(w.text, "-") && strings.Contains(w.text, "x")
			counting = counting || strings.HasPrefix(w.text, "-") && strings.Contains(w.text, "i")
			if w.dynamic || d.Variant.Value == "export" && !strings.HasPrefix(w.text, "-n") || strings.HasPrefix(w.text, "-") && strings.ContainsAny(w.text, "pnx") {
				j.addFinding(d.Variant.Value+" "+w.text, "environment", j.unknownClass())
			}
		case a.Naked:
			if exported {
				j.addFinding("export "+a.Name.Value, "environment", Sensitive)
			}
		default:
			j.checkAssignment(a, exported)
			if counting && a.Value != nil {
				j.checkOperand(a.Value)
			}
		}
	}
	if len(d.Args) == 0 { // it lists every variable
		j.addFinding(d.Variant.Value, "secrets", Sensitive)
	}
}

// checkRedirect judges the file that a redirection reads or overwrites.
func (j *analysis) checkRedirect(r *syntax.Redirect) {
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if r.Hdoc != nil {
			j.dataTexts = append(j.dataTexts, j.expandSingle(r.Hdoc).text)
		}
		return
	case syntax.WordHdoc:
		j.dataTexts = append(j.dataTexts, j.expandSingle(r.Word).text)
		return
	}
	if r.Word == nil {
		return
	}
	if _, ok := r.Word.Parts[0].(*syntax.ProcSubst); ok && len(r.Word.Parts) == 1 { // a pipe: its command is judged where it stands
		return
	}
	w := j.expandSingle(r.Word)
	j.trace = append(j.trace, r.Op.String()+w.text)
	switch r.Op {
	case syntax.RdrIn:
		j.checkRead(w)
	case syntax.DplIn:
	case syntax.DplOut:
		if !digits(strings.TrimSuffix(w.text, "-")) || w.dynamic {
			j.checkWrite(w, false)
		}
	case syntax.AppOut, syntax.RdrInOut, syntax.AppAll:
		j.checkWrite(w, true)
	default:
		j.checkWrite(w, false)
	}
}

func digits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// checkRead judges a file that is read.
func (j *analysis) checkRead(w word) {
	switch {
	case strings.HasPrefix(w.text, "/dev/tcp/"), strings.HasPrefix(w.text, "/dev/udp/"):
		j.fetches = true
		j.addFinding(w.text, "network", Sensitive)
	case w.dynamic, isSecret(w.text), w.glob && isHiddenGlob(w.text):
		j.addFinding(w.text, "secrets", Sensitive)
	case leavesFolder(w.text, true):
		j.addFinding(w.text, "elsewhere", Sensitive)
	case isConfidential(w.text), w.glob && isConfidentialGlob(w.text):
		j.addFinding(w.text, "secrets", Sensitive)
	}
}

// checkWrite judges a file that is written; added means that its content stays. Whether there is such a file is not known
// here, and its content does not come back.
func (j *analysis) checkWrite(w word, added bool) {
	switch {
	case !w.dynamic && !w.glob && nowhere()[w.text]:
	case strings.HasPrefix(w.text, "/dev/tcp/"), strings.HasPrefix(w.text, "/dev/udp/"):
		j.fetches = true
		j.addFinding("> "+w.text, "network", Sensitive)
	case isProtected(w.text) || j.inProtected && !strings.HasPrefix(w.text, "/") || w.glob && isProtectedGlob(w.text):
		j.addFinding("> "+w.text, "protected", Destructive)
	case added:
		j.addFinding(">> "+w.text, "writes", Sensitive)
	default:
		j.addFinding("> "+w.text, "overwrites", Destructive)
	}
}

var nowhere = lazy.Words("/dev/null /dev/stdout /dev/stderr /dev/tty")
