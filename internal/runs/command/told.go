package command

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Verdict is what the exit code of a text tells of some of the programs that it runs.
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

// Told returns what the exit code of a text, which bash runs, tells of its programs of one sort. sorts returns the sorts of a
// program by its words; one that is computed is "*". Of programs that are joined by && any may have failed: one of a sort is
// taken to be the one that did, before one of none.
func Told(text string, code int, sort Sorts, sorts func(words []string) Sorts) Verdict {
	t := newTeller(text, sort, sorts)
	ways := t.run(way{code: well}, text)
	if !t.found {
		return Absent
	}
	ways = slices.DeleteFunc(ways, func(w way) bool { return (w.code == well) != (code == 0) })
	has := func(ends ...end) bool {
		return slices.ContainsFunc(ways, func(w way) bool { return slices.Contains(ends, w.told) })
	}
	switch {
	case t.lost:
	case has(well) && !has(none, badly, blamed):
		return Passed
	case has(badly, blamed) && !has(well):
		return Broken
	}
	return Unproved
}

// end is how a program ended, or all that are looked for.
type end byte

const (
	none   end = iota // it did not run, or its code is not known
	well              // with 0
	badly             // with another code
	blamed            // with 0, and then what it is joined to ended badly
)

// A way is one of the ways in which a text may run, as every program may end well or badly.
type way struct {
	told     end          // of the programs that are looked for
	code     end          // of the last command: well or badly
	by       Sorts        // of the program that the code is from
	piped    [maxPipe]end // codes of the last pipeline
	job      end          // of the last command in the background
	vars     string       // variables that hold a code, each as " name=" and the code
	errexit  bool
	pipefail bool
	left     string // the word that leaves what runs: exit, return, break or continue
}

// teller follows the ways of a text.
type teller struct {
	*analysis
	sort   Sorts
	sorts  func(words []string) Sorts
	bodies map[string]*syntax.Stmt // of functions
	called int                     // functions whose body is followed
	loops  int                     // loops around, within the function
	found  bool                    // the text has a program that is looked for
	lost   bool                    // not all ways are known
}

func newTeller(text string, sort Sorts, sorts func(words []string) Sorts) *teller {
	return &teller{analysis: &analysis{text: text, vars: map[string]value{}}, sort: sort, sorts: sorts, bodies: map[string]*syntax.Stmt{}}
}

// Limits of the ways of a text. Beyond them nothing is told.
const (
	maxWays = 64 // at each place
	maxPipe = 4  // commands of a pipeline whose codes are known
)

// each follows ways on that were not left, and returns those that they become, each once.
func (t *teller) each(ways []way, on func(way) []way) (all []way) {
	seen := map[way]bool{}
	for _, w := range ways {
		next := []way{w}
		if w.left == "" {
			next = on(w)
		}
		for _, n := range next {
			if !seen[n] {
				seen[n] = true
				all = append(all, n)
			}
		}
	}
	if len(all) > maxWays {
		t.lost = true
	}
	return all
}

// with changes ways that were not left, one by one.
func with(ways []way, change func(*way)) []way {
	for i := range ways {
		if ways[i].left == "" {
			change(&ways[i])
		}
	}
	return ways
}

// apart follows something in a shell of its own: what it told and its code come back, and nothing else.
func (t *teller) apart(w way, follow func(way) []way) []way {
	loops, bodies := t.loops, t.bodies
	t.loops, t.bodies = 0, maps.Clone(bodies)
	ways := follow(w)
	t.loops, t.bodies = loops, bodies
	for i, in := range ways {
		ways[i] = w
		ways[i].told, ways[i].code, ways[i].by = in.told, in.code, in.by
	}
	return ways
}

// ended is a way after a command with one code.
func (w way) ended(code end, by Sorts) way {
	w.code, w.by, w.piped = code, by, [maxPipe]end{code}
	return w
}

// either returns both ways in which a command may end.
func (w way) either(by Sorts) []way { return []way{w.ended(well, by), w.ended(badly, by)} }

// run follows a text. Of one that is no bash only the words are looked at.
func (t *teller) run(w way, text string) []way {
	if t.depth < maxDepth && len(text) <= maxText && nesting(text) <= maxNesting {
		if file, ok := parse(text); ok {
			t.depth++
			defer func() { t.depth-- }()
			return t.list([]way{w}, file.Stmts, false)
		}
	}
	t.lost = true
	for piece := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune("&|;\n(){}`", r) }) {
		t.look(strings.Fields(piece))
	}
	return []way{w}
}

// look returns the sorts of a program by its words.
func (t *teller) look(words []string) (sorts Sorts) {
	if len(words) > 0 {
		sorts = t.sorts(words)
		t.found = t.found || sorts&t.sort != 0
	}
	return sorts
}

// list follows statements. guarded means that their code is asked for, so that set -e does not end the text.
func (t *teller) list(ways []way, list []*syntax.Stmt, guarded bool) []way {
	for _, s := range list {
		ways = t.each(ways, func(w way) []way { return t.statement(w, s, guarded) })
	}
	return ways
}

func (t *teller) statement(w way, s *syntax.Stmt, guarded bool) []way {
	if t.lost = t.lost || !t.spend(1); t.lost {
		t.scan(s)
		return []way{w}
	}
	if co, ok := s.Cmd.(*syntax.CoprocClause); ok {
		s = &syntax.Stmt{Cmd: co.Stmt.Cmd, Redirs: co.Stmt.Redirs, Background: true}
	}
	if s.Background || s.Coprocess {
		return with(t.apart(w, func(w way) []way { return t.command(w, s, true) }), func(w *way) {
			w.job = w.code
			*w = w.ended(well, 0)
		})
	}
	guarded = guarded || s.Negated
	return with(t.command(w, s, guarded), func(w *way) {
		if s.Negated {
			w.code = well + badly - w.code
		}
		if list, ok := s.Cmd.(*syntax.BinaryCmd); ok && (list.Op == syntax.AndStmt || list.Op == syntax.OrStmt) || guarded || !w.errexit || w.code == well {
			return
		}
		w.left = "exit"
		w.blame()
	})
}

// scan looks at all programs of a statement whose ways are not followed.
func (t *teller) scan(s *syntax.Stmt) {
	syntax.Walk(s, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok {
			t.look(wordsOf(t.expandWords(c.Args)))
		}
		return true
	})
}

// blame notes that a program of no sort failed, which the programs that are looked for are joined to.
func (w *way) blame() {
	if w.code == badly && w.by == 0 && w.told == well {
		w.told = blamed
	}
}

// command follows a statement without its marks.
func (t *teller) command(w way, s *syntax.Stmt, guarded bool) []way {
	ways := []way{w}
	for _, r := range s.Redirs {
		ways = t.substitutions(ways, r)
	}
	return t.each(with(ways, func(o *way) { o.code, o.by = w.code, w.by }), func(w way) []way {
		switch c := s.Cmd.(type) {
		case nil, *syntax.LetClause:
			return []way{w.ended(well, 0)}
		case *syntax.CallExpr:
			return t.call(w, c, s.Redirs, guarded)
		case *syntax.DeclClause:
			return with(t.substitutions([]way{w}, c), func(o *way) { *o = t.assigned(*o, w, c.Args).ended(well, 0) })
		case *syntax.BinaryCmd:
			return t.joined(w, c, guarded)
		case *syntax.Subshell:
			return t.apart(w, func(w way) []way { return t.list([]way{w}, c.Stmts, guarded) })
		case *syntax.Block:
			return t.list([]way{w}, c.Stmts, guarded)
		case *syntax.TimeClause:
			if c.Stmt == nil {
				return []way{w}
			}
			return t.statement(w, c.Stmt, guarded)
		case *syntax.IfClause:
			return t.branch(w, c, guarded)
		case *syntax.WhileClause:
			return t.loop(w, c.Do, guarded, func(w way, _ int) (in, out []way) {
				for _, o := range t.list([]way{w}, c.Cond, true) {
					if goes := (o.code == well) != c.Until; o.left != "" || goes {
						in = append(in, o)
					} else {
						out = append(out, o)
					}
				}
				return in, out
			})
		case *syntax.ForClause:
			return t.over(w, c, guarded)
		case *syntax.CaseClause:
			return t.cases(w, c, guarded)
		case *syntax.FuncDecl:
			t.declare(c)
			return []way{w.ended(well, 0)}
		case *syntax.TestClause:
			if b, ok := c.X.(*syntax.BinaryTest); ok {
				x, _ := b.X.(*syntax.Word)
				y, _ := b.Y.(*syntax.Word)
				return w.compared(x, b.Op.String(), y)
			}
		}
		return w.either(0)
	})
}

// declare notes a function. Which of two of one name is called depends on the way.
func (t *teller) declare(f *syntax.FuncDecl) {
	if f.Name == nil || f.Body == nil {
		return
	}
	if before, again := t.bodies[f.Name.Value]; again && before != f.Body {
		t.lost = true
		t.scan(f.Body)
	}
	t.bodies[f.Name.Value] = f.Body
}

// joined follows "&&", "||" and "|".
func (t *teller) joined(w way, c *syntax.BinaryCmd, guarded bool) []way {
	switch c.Op {
	case syntax.AndStmt, syntax.OrStmt:
		return t.each(t.statement(w, c.X, true), func(x way) []way {
			if (x.code == well) != (c.Op == syntax.AndStmt) {
				return []way{x}
			}
			return with(t.statement(x, c.Y, guarded), func(y *way) {
				if c.Op == syntax.AndStmt && x.told == well && w.told != well {
					y.blame()
				}
			})
		})
	}
	part := func(w way, s *syntax.Stmt) []way {
		if inner, ok := s.Cmd.(*syntax.BinaryCmd); ok && len(s.Redirs) == 0 && (inner.Op == syntax.Pipe || inner.Op == syntax.PipeAll) {
			return t.joined(w, inner, guarded)
		}
		return with(t.apart(w, func(w way) []way { return t.statement(w, s, guarded) }), func(o *way) { o.piped = [maxPipe]end{o.code} })
	}
	return t.each(part(w, c.X), func(x way) []way {
		in := x
		in.code, in.by, in.piped = w.code, w.by, w.piped // it begins beside the first
		return with(part(in, c.Y), func(y *way) {
			code := y.code
			if y.pipefail && y.code == well {
				y.code, y.by = x.code, x.by
			}
			y.piped = x.piped
			if i := slices.Index(y.piped[:], none); i > 0 {
				y.piped[i] = code
			}
		})
	})
}

func (t *teller) branch(w way, c *syntax.IfClause, guarded bool) []way {
	if len(c.Cond) == 0 { // else
		return t.list([]way{w}, c.Then, guarded)
	}
	return t.each(t.list([]way{w}, c.Cond, true), func(w way) []way {
		switch {
		case w.code == well:
			return t.list([]way{w}, c.Then, guarded)
		case c.Else != nil:
			return t.branch(w, c.Else, guarded)
		}
		w.code, w.by = well, 0
		return []way{w}
	})
}

// loop follows a body again and again. turn returns the ways into the body at its nth turn, and those that do not go in.
func (t *teller) loop(w way, body []*syntax.Stmt, guarded bool, turn func(w way, n int) (in, out []way)) (all []way) {
	type at struct {
		way
		first bool
	}
	todo, seen := []at{{w.ended(well, 0), true}}, map[at]bool{}
	for len(todo) > 0 {
		now := todo[0]
		todo = todo[1:]
		n := 1
		if now.first {
			n = 0
		}
		t.loops++
		in, out := turn(now.way, n)
		all = append(all, with(out, func(o *way) { o.code, o.by = now.code, now.by })...)
		in = t.list(in, body, guarded)
		t.loops--
		for _, o := range in {
			next := at{o, false}
			switch o.left {
			case "break":
				o.left = ""
				all = append(all, o.ended(well, 0))
			case "continue", "":
				if next.left = ""; !seen[next] && !t.lost {
					seen[next] = true
					todo = append(todo, next)
				}
			default:
				all = append(all, o)
			}
		}
	}
	return t.each(all, func(w way) []way { return []way{w} })
}

// over follows a for. Patterns and plain words are at least one turn, a single word is one.
func (t *teller) over(w way, c *syntax.ForClause, guarded bool) []way {
	iter, words := (*syntax.WordIter)(nil), []word(nil)
	ways := t.substitutions([]way{w}, c.Loop)
	if iter, _ = c.Loop.(*syntax.WordIter); iter != nil {
		words = t.expandWords(iter.Items)
		t.assign(iter.Name.Value, word{dynamic: true})
	}
	some := slices.ContainsFunc(words, func(w word) bool { return !w.dynamic })
	single := len(words) == 1 && some && !words[0].glob
	return t.each(ways, func(w way) []way {
		return t.loop(w, c.Do, guarded, func(w way, n int) (in, out []way) {
			if n > 0 || !some {
				out = []way{w}
			}
			if n == 0 || !single {
				in = []way{w}
			}
			return in, out
		})
	})
}

func (t *teller) cases(w way, c *syntax.CaseClause, guarded bool) (all []way) {
	return t.each(t.substitutions([]way{w}, c.Word), func(w way) (all []way) {
		open := true
		for _, item := range c.Items {
			for _, p := range item.Patterns {
				open = open && t.expandSingle(p).text != "*"
			}
			all = append(all, t.list([]way{w.ended(well, 0)}, item.Stmts, guarded)...)
		}
		if open {
			all = append(all, w.ended(well, 0))
		}
		return all
	})
}
