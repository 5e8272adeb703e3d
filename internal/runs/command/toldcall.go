package command

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"piloto/internal/ground/lazy"
)

// call follows one simple command.
func (t *teller) call(w way, c *syntax.CallExpr, redirs []*syntax.Redirect, guarded bool) []way {
	ways := t.substitutions([]way{w}, c)
	if len(c.Args) == 0 { // the code is that of a substitution
		return with(ways, func(o *way) { *o = t.assigned(*o, w, c.Assigns).ended(o.code, o.by) })
	}
	words := t.expandWords(c.Args)
	return t.each(with(ways, func(o *way) { o.code, o.by = w.code, w.by }), func(w way) []way {
		return t.program(w, words, c.Args, redirs, guarded)
	})
}

// program follows a program by its words. args are the same as they are written.
func (t *teller) program(w way, words []word, args []*syntax.Word, redirs []*syntax.Redirect, guarded bool) []way {
	var leaves bool
	if words, leaves = unwrapped(words); leaves {
		return leaving(t.program(w, words, args, redirs, guarded), "exit")
	}
	if len(words) == 0 {
		return w.either(0)
	}
	name := nameOf(words[0])
	body, function := t.bodies[name]
	switch {
	case quiet()[name]:
		return []way{w.ended(well, 0)}
	case function && t.depth < maxDepth:
		loops := t.loops
		t.depth, t.called, t.loops = t.depth+1, t.called+1, 0
		defer func() { t.depth, t.called, t.loops = t.depth-1, t.called-1, loops }()
		ways := t.statement(w, body, guarded)
		for i := range ways {
			ways[i].left = strings.TrimPrefix(ways[i].left, "return")
		}
		return ways
	case slices.ContainsFunc(words, func(w word) bool { return shells()[nameOf(w)] }): // docker exec app sh -c …
		at := slices.IndexFunc(words, func(w word) bool { return shells()[nameOf(w)] })
		if text, options, ok := t.codeOf(words[at+1:], redirs); ok && (at == 0 || len(options) > 0) {
			called := t.called
			t.called = 0
			defer func() { t.called = called }()
			return t.apart(w, func(w way) []way {
				w = way{told: w.told, code: well}
				w.set(options)
				return t.run(w, text)
			})
		}
	}
	if ways, is := t.builtin(w, name, words, args); is {
		return ways
	}
	sorts := t.look(wordsOf(words))
	ways := w.either(sorts)
	if sorts&t.sort == 0 {
		return ways
	}
	for i := range ways {
		ways[i].told = max(ways[i].code, w.told)
	}
	return ways
}

// builtin follows a program of the shell itself that its ways depend on.
func (t *teller) builtin(w way, name string, words []word, args []*syntax.Word) (ways []way, is bool) {
	last := args[len(args)-1]
	switch name {
	case "exit", "return":
		if name == "return" && t.called == 0 { // it returns from nothing
			return []way{w.ended(badly, 0)}, true
		}
		if len(args) == 1 {
			return leaving([]way{w}, name), true
		}
		return leaving(w.coded(w.value(last)), name), true
	case "break", "continue":
		if w = w.ended(well, 0); t.loops > 0 {
			w.left = name
		}
		return []way{w}, true
	case "false":
		return []way{w.ended(badly, 0)}, true
	case "set":
		w.set(words[1:])
		return []way{w.ended(well, 0)}, true
	case "wait":
		switch v := w.value(last); {
		case len(args) == 1:
			return []way{w.ended(well, 0)}, true
		case strings.HasPrefix(words[len(words)-1].text, "%"):
			return w.coded(w.job), true
		default:
			return w.coded(v), true
		}
	case "[", "test":
		if operands := args[1:]; len(operands) >= 3 && len(operands) <= 4 {
			return w.compared(operands[0], operands[1].Lit(), operands[2]), true
		}
	case "eval":
		return t.run(w, strings.Join(texts(words[1:]), " ")), true
	case "trap": // it may end the text with another code
		t.lost = t.lost || slices.ContainsFunc(words, func(w word) bool { return w.dynamic || strings.Contains(w.text, "exit") })
		return []way{w.ended(well, 0)}, true
	}
	return nil, false
}

// leaving returns ways that a word leaves.
func leaving(ways []way, by string) []way {
	return with(ways, func(w *way) { w.left = by })
}

// coded returns the ways of a command that ends with a code, which may be unknown.
func (w way) coded(code end) []way {
	if code == none {
		return w.either(0)
	}
	return []way{w.ended(code, 0)}
}

// compared returns the ways of a test, which may be of a code: [ $? -eq 0 ].
func (w way) compared(x *syntax.Word, op string, y *syntax.Word) []way {
	v := none
	if x != nil && y != nil && w.value(y) == well {
		v = w.value(x)
	}
	switch op {
	case "-eq", "=", "==":
		return w.coded(v)
	case "-ne", "!=", "-gt":
		if v != none {
			v = well + badly - v
		}
		return w.coded(v)
	}
	return w.either(0)
}

// value returns the code that a word is: a number, $?, or a variable that holds one.
func (w way) value(of *syntax.Word) end {
	parts := of.Parts
	if len(parts) == 1 {
		if q, ok := parts[0].(*syntax.DblQuoted); ok {
			parts = q.Parts
		}
	}
	if len(parts) != 1 {
		return none
	}
	switch p := parts[0].(type) {
	case *syntax.Lit:
		switch {
		case p.Value == "" || !digits(p.Value):
			return none
		case strings.Trim(p.Value, "0") == "":
			return well
		}
		return badly
	case *syntax.ParamExp:
		if p.Param == nil || p.Excl || p.Length || p.Slice != nil || p.Repl != nil || p.Exp != nil {
			return none
		}
		switch name := p.Param.Value; name {
		case "?":
			return w.code
		case "!":
			return w.job
		case "PIPESTATUS":
			at := "0"
			if index, ok := p.Index.(*syntax.Word); ok {
				at = index.Lit()
			}
			if len(at) == 1 && at[0] >= '0' && at[0] < '0'+maxPipe {
				return w.piped[at[0]-'0']
			}
		default:
			if _, rest, ok := strings.Cut(w.vars, " "+name+"="); ok {
				return end(rest[0] - '0')
			}
		}
	}
	return none
}

// assigned notes which variables hold a code: o is the way that was before the command.
func (t *teller) assigned(w, o way, list []*syntax.Assign) way {
	for _, a := range list {
		if a.Name == nil || a.Naked {
			continue
		}
		name, v := a.Name.Value, none
		if before, rest, ok := strings.Cut(w.vars, " "+name+"="); ok {
			w.vars = before + rest[1:]
		}
		text := word{dynamic: true}
		if a.Value != nil && a.Index == nil && !a.Append {
			v, text = o.value(a.Value), t.expandSingle(a.Value)
		}
		t.assign(name, text)
		if v != none {
			w.vars += " " + name + "=" + string('0'+rune(v))
		}
	}
	return w
}

// set follows the options of set, and of a shell.
func (w *way) set(options []word) {
	for _, o := range options {
		on := !strings.HasPrefix(o.text, "+")
		switch {
		case o.text == "pipefail":
			w.pipefail = true
		case o.text == "errexit":
			w.errexit = true
		case strings.HasPrefix(o.text, "--"):
			return
		case strings.HasPrefix(o.text, "-") || !on:
			if strings.Contains(o.text, "e") {
				w.errexit = on
			}
			if !on && strings.Contains(o.text, "o") {
				w.pipefail = false
				return
			}
		}
	}
}

// unwrapped returns the words of the program that a program runs, whose code is its own: of timeout, env, xargs. leaves means that the
// shell is left with it.
func unwrapped(words []word) (rest []word, leaves bool) {
	for rest = words; len(rest) > 0; {
		name := nameOf(rest[0])
		of, wraps := wrappers[name]
		switch {
		case name == "exec" && len(rest) > 1:
			return rest[1:], true
		case name == "env":
			of = wrapper{valued: "-u -C --unset --chdir"}
		case name == "xargs":
			of = wrapper{valued: "-a -d -E -I -L -n -P -s"}
		case name == "command" && len(rest) > 1 && !strings.HasPrefix(strings.ToLower(rest[1].text), "-v"):
			of = wrapper{}
		case !wraps || name == "exec" || of.why == "writes" || name == "entr":
			return rest, false
		}
		rest, _ = of.command(rest[1:])
		for name == "env" && len(rest) > 0 && isSetting(rest[0].text) {
			rest = rest[1:]
		}
	}
	return nil, false
}

// codeOf returns the text that a shell runs, and its options: after -c, or of its input.
func (t *teller) codeOf(args []word, redirs []*syntax.Redirect) (text string, options []word, ok bool) {
	code := false
	for i, a := range args {
		switch {
		case strings.HasPrefix(a.text, "-") || strings.HasPrefix(a.text, "+"):
			code = code || !strings.HasPrefix(a.text, "--") && strings.Contains(a.text, "c")
		case a.text == "pipefail" || a.text == "errexit":
		default:
			return a.text, args[:i], code
		}
	}
	for _, r := range redirs {
		switch {
		case r.Hdoc != nil:
			return t.expandSingle(r.Hdoc).text, args, true
		case r.Op == syntax.WordHdoc:
			return t.expandSingle(r.Word).text, args, true
		}
	}
	return "", nil, false
}

// substitutions follows the texts within words: $(…), and <(…). The code is that of the last one, or 0.
func (t *teller) substitutions(ways []way, within syntax.Node) []way {
	ways = with(slices.Clone(ways), func(w *way) { w.code, w.by = well, 0 })
	syntax.Walk(within, func(n syntax.Node) bool {
		var list []*syntax.Stmt
		switch n := n.(type) {
		case *syntax.CmdSubst:
			list = n.Stmts
		case *syntax.ProcSubst:
			list = n.Stmts
		default:
			return true
		}
		ways = t.each(ways, func(w way) []way {
			return t.apart(w, func(w way) []way {
				w.errexit = false
				return t.list([]way{w}, list, false)
			})
		})
		return false
	})
	return ways
}

// wordsOf returns the texts of words, "*" for a computed one.
func wordsOf(words []word) []string {
	list := texts(words)
	for i, w := range words {
		if w.dynamic {
			list[i] = "*"
		}
	}
	return list
}

// nameOf returns the name of a program without its folder.
func nameOf(w word) string { return path.Base(w.text) }

// quiet are programs that are taken to end with 0.
var quiet = lazy.Words(`cd pushd popd echo printf true : tail head tee cat sed sort uniq wc tr cut date sleep`)
