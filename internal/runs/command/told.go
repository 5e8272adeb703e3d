package command

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"piloto/internal/ground/lazy"
)

// Verdict is the evidence of the exit code of a text about some of the programs that it runs.
type Verdict int

// The verdicts.
const (
	Absent   Verdict = iota // it runs none of them
	Unproved                // the code may be that of another program
	Passed                  // all of them ran, and ended with 0
	Broken                  // one of them did not end with 0, or was not reached
)

// Sorts are sorts of programs, a bit for each.
type Sorts uint8

// Lenient is the sort of a program that may end with 0 although its own commands failed, or although it ran nothing: make -i.
const Lenient Sorts = 1 << 7

// Told returns the verdict of the exit code of a text, which bash runs, on its programs of one sort. sorts returns the sorts
// of a program by its words; one that is computed is "*". The code is theirs where they are alone, joined by &&, the last of
// a list or of a pipeline, or where set -e or pipefail make it theirs. Of programs that are joined by && any may have failed:
// one of the sort is taken to be the one that did, before one of none.
func Told(text string, code int, sort Sorts, sorts func(words []string) Sorts) Verdict {
	t := &follower{in: &analysis{text: text, vars: map[string]value{}}, sort: sort, sorts: sorts}
	switch p := t.whole(text, options{}); {
	case !p.found:
		return Absent
	case !p.sure || t.leaves:
		return Unproved
	case code == 0 && p.lenient:
		return Unproved
	case code == 0:
		return Passed
	case p.other:
		return Unproved
	}
	return Broken
}

// A part describes the programs of a part of a text.
type part struct {
	found bool // it has a program of the sort
	sure  bool // its code is theirs
	other bool // it has a program of another sort, behind those of the sort

	lenient bool // a program of the sort is Lenient
}

// options are those of the shell that decide whose code a text has.
type options struct{ errexit, pipefail bool }

// follower follows the exit code through a text.
type follower struct {
	in     *analysis
	sort   Sorts
	sorts  func(words []string) Sorts
	leaves bool // the text may end early, with a code of its own, or run other programs than it names
}

// and joins two parts. The second is reached, and has the code, only if the first ended with 0.
func (p part) and(next part) part {
	all := part{found: p.found || next.found, sure: (!p.found || p.sure) && (!next.found || next.sure), other: next.other, lenient: p.lenient || next.lenient}
	if !next.found {
		all.other = p.other || next.other
	}
	return all
}

// then joins two parts. The second is reached, and has the code, at any code of the first.
func (p part) then(next part) part {
	all := p.and(next)
	all.sure = all.sure && !p.found
	return all
}

func (p part) unsure() part { return part{found: p.found, other: p.other} }

// whole follows a whole text. A text that is no bash is only split into words.
func (t *follower) whole(text string, set options) (all part) {
	if t.in.depth < maxDepth && t.in.spend(len(text)) && len(text) <= maxText && nesting(text) <= maxNesting {
		if file, ok := parse(text); ok {
			t.in.depth++
			defer func() { t.in.depth-- }()
			return t.list(file.Stmts, &set)
		}
	}
	for piece := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune("&|;\n(){}`", r) }) {
		all = all.and(t.partOf(strings.Fields(piece)).unsure())
	}
	return all
}

// partOf returns the part of a program, by its words.
func (t *follower) partOf(words []string) part {
	if len(words) == 0 {
		return part{}
	}
	of := t.sorts(words)
	found := of&t.sort != 0
	return part{found: found, sure: found, other: !found && of != 0, lenient: found && of&Lenient != 0}
}

// list reads statements. The options that they set hold for those behind them.
func (t *follower) list(list []*syntax.Stmt, set *options) (all part) {
	ends := false // the shell ends where the statement before fails
	for _, s := range list {
		p := t.statement(s, set)
		if ends {
			all = all.and(p)
		} else {
			all = all.then(p)
		}
		b, joined := s.Cmd.(*syntax.BinaryCmd)
		ends = set.errexit && !s.Negated && !(joined && (b.Op == syntax.AndStmt || b.Op == syntax.OrStmt))
		if joined && b.Op == syntax.OrStmt {
			_, ends = fails(b.Y)
		}
	}
	return all
}

func (t *follower) statement(s *syntax.Stmt, set *options) part {
	p := t.command(s, set)
	for _, r := range s.Redirs {
		p = p.and(t.hidden(r))
	}
	if s.Background || s.Coprocess || s.Negated {
		return p.unsure()
	}
	return p
}

func (t *follower) command(s *syntax.Stmt, set *options) part {
	switch c := s.Cmd.(type) {
	case nil:
		return part{}
	case *syntax.CallExpr:
		return t.call(c, s.Redirs, set)
	case *syntax.BinaryCmd:
		return t.joined(c, set)
	case *syntax.Subshell:
		own := *set
		return t.list(c.Stmts, &own)
	case *syntax.Block:
		return t.list(c.Stmts, set)
	case *syntax.TimeClause:
		if c.Stmt == nil {
			return part{}
		}
		return t.statement(c.Stmt, set)
	case *syntax.FuncDecl: // it may have the name of a program
		t.leaves = true
	}
	return t.scan(s.Cmd)
}

// joined reads "&&", "||" and "|". The right side of "||" replaces the code of the left side, unless it ends the shell with
// one that is not 0.
func (t *follower) joined(c *syntax.BinaryCmd, set *options) part {
	left, right := *set, *set
	if c.Op == syntax.AndStmt || c.Op == syntax.OrStmt {
		left.errexit = false // bash does not end there
	}
	began := left
	x := t.statement(c.X, &left)
	leaves := t.leaves
	y := t.statement(c.Y, &right)
	t.leaves = t.leaves || left != began || right != *set // they hold for a part of the text, or perhaps
	switch {
	case c.Op == syntax.AndStmt, c.Op != syntax.OrStmt && set.pipefail:
		return x.and(y)
	case c.Op != syntax.OrStmt:
		return x.then(y)
	}
	if no, _ := fails(c.Y); no {
		t.leaves = leaves
		return x.and(part{other: y.found || y.other})
	}
	return x.and(y).unsure()
}

// fails reports whether a statement has a code that is not 0, and whether it ends the shell with it.
func fails(s *syntax.Stmt) (no, ends bool) {
	if block, ok := s.Cmd.(*syntax.Block); ok && len(block.Stmts) > 0 {
		return fails(block.Stmts[len(block.Stmts)-1])
	}
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || s.Background || s.Negated {
		return false, false
	}
	code := call.Args[len(call.Args)-1].Lit()
	switch call.Args[0].Lit() {
	case "false":
		return true, false
	case "exit", "return":
		no = len(call.Args) == 2 && digits(code) && strings.Trim(code, "0") != ""
	}
	return no, no
}

// scan collects all programs of a part whose code is not followed: of a branch, a loop, a function.
func (t *follower) scan(within syntax.Node) (all part) {
	syntax.Walk(within, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok {
			if words, _ := unwrapped(t.in.expandWords(c.Args)); len(words) > 0 {
				all = all.and(t.program(words, nil, &options{}))
			}
		}
		return true
	})
	return all.unsure()
}

// hidden collects the programs of the texts within words: $(…), and <(…).
func (t *follower) hidden(within syntax.Node) (all part) {
	syntax.Walk(within, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			for _, s := range n.Stmts {
				all = all.and(t.scan(s))
			}
			return false
		case *syntax.ProcSubst:
			for _, s := range n.Stmts {
				all = all.and(t.scan(s))
			}
			return false
		}
		return true
	})
	return all
}

// call reads one simple command, and the text that it gives to a shell.
func (t *follower) call(c *syntax.CallExpr, redirs []*syntax.Redirect, set *options) part {
	inside := t.hidden(c)
	words, leaves := unwrapped(t.in.expandWords(c.Args))
	for _, a := range c.Assigns {
		if a.Name != nil && a.Value != nil && len(c.Args) == 0 {
			t.in.assign(a.Name.Value, t.in.expandSingle(a.Value))
		}
	}
	if len(words) == 0 {
		return inside
	}
	own := t.program(words, redirs, set)
	t.leaves = t.leaves || leaves && !own.found
	return inside.and(own)
}

func (t *follower) program(words []word, redirs []*syntax.Redirect, set *options) part {
	switch name := nameOf(words[0]); name {
	case "set":
		set.change(words[1:])
		return part{}
	case "eval":
		return t.whole(strings.Join(texts(words[1:]), " "), *set)
	case "exit", "return", "trap":
		t.leaves = t.leaves || name != "trap" && (len(words) < 2 || words[1].dynamic || strings.Trim(words[1].text, "0") == "") ||
			slices.ContainsFunc(words[1:], func(w word) bool { return strings.Contains(w.text, "exit") })
		return part{}
	case "find":
		return t.found(words[1:], redirs, set)
	}
	if at := slices.IndexFunc(words, func(w word) bool { return shells()[nameOf(w)] }); at >= 0 { // docker exec app sh -c …
		if text, given, ok := t.codeOf(words[at+1:], redirs); ok && (at == 0 || len(given) > 0) {
			own := options{}
			own.change(given)
			return t.whole(text, own)
		}
	}
	return t.partOf(wordsOf(words))
}

// found reads the programs that find runs. Its code is theirs only where they end with "+".
func (t *follower) found(args []word, redirs []*syntax.Redirect, set *options) (all part) {
	for i := 0; i < len(args); i++ {
		if !runsEach()[args[i].text] {
			continue
		}
		inner := args[i+1:]
		end := slices.IndexFunc(inner, func(w word) bool { return w.text == ";" || w.text == "+" })
		if end < 0 {
			return all
		}
		if words, _ := unwrapped(inner[:end]); len(words) > 0 {
			p := t.program(words, redirs, set)
			if inner[end].text == ";" {
				p = p.unsure()
			}
			all = all.and(p)
		}
		i += end + 1
	}
	return all
}

var runsEach = lazy.Words("-exec -execdir -ok -okdir")

// change follows the options of set, and of a shell.
func (o *options) change(given []word) {
	on := true
	for _, g := range given {
		switch {
		case g.text == "pipefail":
			o.pipefail = on
			continue
		case g.text == "errexit":
			o.errexit = on
			continue
		}
		on = !strings.HasPrefix(g.text, "+")
		switch {
		case strings.HasPrefix(g.text, "--"):
			return
		case strings.HasPrefix(g.text, "-") || !on:
			if strings.Contains(g.text, "e") {
				o.errexit = on
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
func (t *follower) codeOf(args []word, redirs []*syntax.Redirect) (text string, options []word, ok bool) {
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
			return t.in.expandSingle(r.Hdoc).text, args, true
		case r.Op == syntax.WordHdoc:
			return t.in.expandSingle(r.Word).text, args, true
		}
	}
	return "", nil, false
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
