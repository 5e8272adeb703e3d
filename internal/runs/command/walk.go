package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// walk judges what a parsed text would do. Substitutions, functions, branches and
// loops are judged as if all of them ran, once.
func (j *judge) walk(file *syntax.File) {
	syntax.Walk(file, func(n syntax.Node) bool {
		j.dialect(n)
		j.arithmetic(n)
		switch n := n.(type) {
		case *syntax.Stmt:
			if n.Background {
				j.find("&", "process", Sensitive)
			}
		case *syntax.FuncDecl:
			j.declare(n)
		case *syntax.ForClause:
			j.endless(n)
			j.loop(n)
		case *syntax.WhileClause:
			j.endless(n)
		case *syntax.CallExpr:
			j.call(n)
		case *syntax.DeclClause:
			j.declaration(n)
		case *syntax.Redirect:
			j.redirect(n)
		case *syntax.SglQuoted:
			j.quoted(n.Value)
		case *syntax.Lit:
			if strings.Contains(n.Value, "\\`") || strings.Contains(n.Value, `\$(`) {
				j.quoted(n.Value)
			}
		case *syntax.CoprocClause:
			j.find("coproc", "process", Sensitive)
		case *syntax.ParamExp:
			if n.Excl || n.Exp != nil && n.Exp.Op == syntax.OtherParamOps { // its value is read as code, or as a name
				j.find("${…}", "dynamic", j.unknown())
			}
			j.inherited(n)
		}
		return true
	})
}

// inherited judges that a variable is read which the text does not set: its value may be
// a secret, wherever it goes.
func (j *judge) inherited(p *syntax.ParamExp) {
	if p.Param == nil || p.Length || j.result.Class > Safe {
		return
	}
	if _, set := j.vars[p.Param.Value]; !set && !plain()[p.Param.Value] {
		j.find("$"+p.Param.Value, "secrets", Sensitive)
	}
}

// quoted judges a text that the shell leaves alone and that some commands would
// run all the same: arithmetic, tests and traps look into it.
func (j *judge) quoted(text string) {
	if strings.Contains(text, "$(") || strings.Contains(text, "`") {
		c := Sensitive
		if destroys(text) {
			c = Destructive
		}
		j.find(text, "dynamic", c)
	}
}

// declare notes a function: what it does is judged where it stands, and a call of
// it is nothing more. One that calls itself twice never ends.
func (j *judge) declare(f *syntax.FuncDecl) {
	names := f.Names
	if f.Name != nil {
		names = append(names, f.Name)
	}
	for _, name := range names {
		j.funcs[name.Value] = true
		calls := 0
		syntax.Walk(f.Body, func(n syntax.Node) bool {
			if !j.spend(1) {
				j.find(name.Value+"()", "deep", j.unknown())
				return false
			}
			if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 && j.one(call.Args[0]).text == name.Value {
				calls++
			}
			return true
		})
		if calls > 0 {
			j.find(name.Value+"()", "endless", Destructive)
		}
	}
}

// loop notes what a loop's variable may hold: its one value, or what nobody knows.
func (j *judge) loop(f *syntax.ForClause) {
	iter, ok := f.Loop.(*syntax.WordIter)
	if !ok || iter.Name == nil {
		return
	}
	list, counts := j.words(iter.Items), true
	j.assign(iter.Name.Value, word{dynamic: true})
	if steering(iter.Name.Value) {
		j.find(iter.Name.Value, "environment", Sensitive)
	}
	for _, w := range list {
		counts = counts && (!w.dynamic && w.text != "" && digits(w.text) || countsUp(w.text))
		if secret(w.text) || w.foreign || w.glob && hiddenGlob(w.text) {
			j.find(w.text, "secrets", Sensitive)
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

// countsUp reports whether an unquoted word is several numbers: {1..5}.
func countsUp(text string) bool {
	list, ok := strings.CutPrefix(text, "{")
	list, end := strings.CutSuffix(list, "}")
	from, to, dots := strings.Cut(list, "..")
	return ok && end && dots && from != "" && to != "" && digits(from) && digits(to)
}

// assign notes what a variable holds. What was assigned twice is known only when
// it is the same.
func (j *judge) assign(name string, w word) {
	v := value{text: w.text, known: !w.dynamic && !w.glob, number: w.number || !w.dynamic && w.text != "" && digits(w.text)}
	if before, twice := j.vars[name]; twice && before != v {
		v.known, v.number = false, v.number && before.number
	}
	j.vars[name] = v
}

// call judges one simple command.
func (j *judge) call(c *syntax.CallExpr) {
	for _, a := range c.Assigns {
		j.assignment(a, len(c.Args) > 0)
	}
	if len(c.Args) > 0 {
		j.run(j.words(c.Args))
	}
}

// assignment judges NAME=value, alone or before a command.
func (j *judge) assignment(a *syntax.Assign, before bool) {
	if a.Name == nil {
		return
	}
	name, w := a.Name.Value, word{dynamic: true}
	if a.Array != nil {
		var list []word
		for _, e := range a.Array.Elems {
			if e.Value != nil {
				list = append(list, j.fields(e.Value)...)
			}
		}
		j.pending = append(j.pending, list)
	}
	if a.Value != nil && a.Array == nil && a.Index == nil && !a.Append {
		w = j.one(a.Value)
		w.number = tellsNumber(a.Value) || onlyNumber(a.Value)
	}
	if !before || !w.dynamic {
		j.assign(name, w)
	}
	j.setting(name, w.text, before)
}

// setting judges that a variable is given to programs, or to the shell.
func (j *judge) setting(name, text string, given bool) {
	switch {
	case steering(name):
		c := Sensitive
		if destroys(text) {
			c = Destructive
		}
		j.find(name+"="+text, "environment", c)
		if strings.Contains(text, " ") { // a command, as those of GIT_… and PAGER are
			j.read(text)
		}
	case given && !strings.HasPrefix(name, "LC_") && !harmlessVars()[name]:
		c := Sensitive
		if destroys(text) {
			c = Destructive
		}
		j.find(name+"="+text, "environment", c)
	}
}

var (
	harmlessVars = set("LANG LANGUAGE TZ COLUMNS LINES NO_COLOR CLICOLOR IFS")
	steers       = set(`PATH ENV SHELLOPTS BASHOPTS IFS PAGER EDITOR VISUAL LESSOPEN LESSCLOSE BROWSER MANPAGER PROMPT_COMMAND PS0 PS1 PS4 HOME SHELL
		PYTHONPATH PYTHONSTARTUP PERL5LIB PERL5OPT RUBYOPT RUBYLIB NODE_OPTIONS NODE_PATH JAVA_TOOL_OPTIONS CLASSPATH KUBECONFIG http_proxy https_proxy
		HTTP_PROXY HTTPS_PROXY ALL_PROXY CDPATH TMPDIR`)
)

// steering reports whether a variable decides what programs do.
func steering(name string) bool {
	for _, prefix := range []string{"LD_", "DYLD_", "BASH_", "GIT_", "SSH_", "AWS_", "DOCKER_", "npm_", "PIP_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return steers()[name] && name != "IFS"
}

// declaration judges export, declare, local, readonly and typeset.
func (j *judge) declaration(d *syntax.DeclClause) {
	exported, counting := d.Variant.Value == "export", false
	for _, a := range d.Args {
		switch {
		case a.Name == nil: // an option, or something computed
			w := j.one(a.Value)
			exported = exported || strings.HasPrefix(w.text, "-") && strings.Contains(w.text, "x")
			counting = counting || strings.HasPrefix(w.text, "-") && strings.Contains(w.text, "i")
			if w.dynamic || d.Variant.Value == "export" && !strings.HasPrefix(w.text, "-n") || strings.HasPrefix(w.text, "-") && strings.ContainsAny(w.text, "pnx") {
				j.find(d.Variant.Value+" "+w.text, "environment", j.unknown())
			}
		case a.Naked:
			if exported {
				j.find("export "+a.Name.Value, "environment", Sensitive)
			}
		default:
			j.assignment(a, exported)
			if counting && a.Value != nil {
				j.operand(a.Value)
			}
		}
	}
	if len(d.Args) == 0 { // it lists every variable
		j.find(d.Variant.Value, "secrets", Sensitive)
	}
}

// redirect judges what a redirection reads or overwrites.
func (j *judge) redirect(r *syntax.Redirect) {
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if r.Hdoc != nil {
			j.spoken = append(j.spoken, j.one(r.Hdoc).text)
		}
		return
	case syntax.WordHdoc:
		j.spoken = append(j.spoken, j.one(r.Word).text)
		return
	}
	if r.Word == nil {
		return
	}
	w := j.one(r.Word)
	j.trace = append(j.trace, r.Op.String()+w.text)
	switch r.Op {
	case syntax.RdrIn:
		j.reads(w)
	case syntax.DplIn:
	case syntax.DplOut:
		if !digits(strings.TrimSuffix(w.text, "-")) || w.dynamic {
			j.writes(w, false)
		}
	case syntax.AppOut, syntax.RdrInOut, syntax.AppAll:
		j.writes(w, true)
	default:
		j.writes(w, false)
	}
}

func digits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// reads judges that a file is read.
func (j *judge) reads(w word) {
	switch {
	case strings.HasPrefix(w.text, "/dev/tcp/"), strings.HasPrefix(w.text, "/dev/udp/"):
		j.fetches = true
		j.find(w.text, "network", Sensitive)
	case w.dynamic, secret(w.text), w.glob && hiddenGlob(w.text):
		j.find(w.text, "secrets", Sensitive)
	case elsewhere(w.text, true):
		j.find(w.text, "elsewhere", Sensitive)
	case confides(w.text), w.glob && confidesGlob(w.text):
		j.find(w.text, "secrets", Sensitive)
	}
}

// writes judges that a file is written; added when what it held stays.
func (j *judge) writes(w word, added bool) {
	switch {
	case !w.dynamic && !w.glob && nowhere()[w.text]:
	case strings.HasPrefix(w.text, "/dev/tcp/"), strings.HasPrefix(w.text, "/dev/udp/"):
		j.fetches = true
		j.find("> "+w.text, "network", Sensitive)
	case protected(w.text) || j.inside && !strings.HasPrefix(w.text, "/") || w.glob && protectedGlob(w.text):
		j.find("> "+w.text, "protected", Destructive)
	case added:
		j.find(">> "+w.text, "writes", Sensitive)
	default:
		j.find("> "+w.text, "overwrites", Sensitive)
	}
}

var nowhere = set("/dev/null /dev/stdout /dev/stderr /dev/tty")
