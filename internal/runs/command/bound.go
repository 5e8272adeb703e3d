package command

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Limits of a safe command.
const (
	maxWait  = 600       // seconds of all sleeps together
	maxCount = 1_000_000 // of seq
)

// sleep judges the time that a command waits.
func sleep(c call) {
	for _, a := range c.args {
		c.in.waited += seconds(a)
	}
	if len(c.args) > 0 && c.in.waited > maxWait && !c.isHelp() {
		c.report("waits", Sensitive)
	}
}

// seconds returns the time that one argument of sleep waits, or more than maxWait when it is
// unknown.
func seconds(w word) float64 {
	text, unit := w.text, 1.0
	if n := len(text); n > 1 {
		switch text[n-1] {
		case 's':
			text = text[:n-1]
		case 'm':
			text, unit = text[:n-1], 60
		case 'h':
			text, unit = text[:n-1], 3600
		case 'd':
			text, unit = text[:n-1], 86400
		}
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || w.dynamic || n < 0 || n != n || n > 1e9 {
		return maxWait + 1
	}
	return n * unit
}

// seq judges how far a command counts.
func seq(c call) {
	for _, a := range c.args {
		if n, err := strconv.ParseFloat(a.text, 64); a.foreign || err == nil && (n > maxCount || n < -maxCount || n != 0 && n < 0.001 && n > -0.001) {
			c.report("waits", Sensitive)
		}
	}
}

// sampler judges a program that measures repeatedly: with a pause it needs a count.
func sampler(c call) {
	list, turns := c.positional(), 1.0
	if len(list) > 1 {
		turns = seconds(list[len(list)-1])
	}
	if len(list) == 1 || len(list) > 1 && seconds(list[len(list)-2])*turns > maxWait || c.flag("-w", "--watch") {
		c.report("waits", Sensitive)
	}
	printer(c)
}

// top judges a display of processes: it must run in batch mode, once.
func top(c call) {
	text := " " + strings.Join(texts(c.args), " ") + " "
	if !c.flag("-b") || !strings.Contains(text, "n1 ") && !strings.Contains(text, "n 1 ") || c.flag("-c", "-E") || anyDynamic(c.args) {
		c.report("waits", Sensitive)
	}
}

// checkLoop judges loops that wait, and loops without an end in their head.
func (j *analysis) checkLoop(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.WhileClause:
		reads := false
		for _, s := range n.Cond {
			c, ok := s.Cmd.(*syntax.CallExpr)
			reads = reads || ok && len(c.Args) > 0 && c.Args[0].Lit() == "read"
		}
		if !reads {
			j.addFinding("while", "waits", Sensitive)
		}
	case *syntax.ForClause:
		iter, ok := n.Loop.(*syntax.WordIter)
		if !ok {
			if c, is := n.Loop.(*syntax.CStyleLoop); is && c.Cond == nil {
				j.addFinding("for", "waits", Sensitive)
			}
			return
		}
		if n.Select {
			j.addFinding("select", "waits", Sensitive)
		}
		turns := len(j.expandWords(iter.Items))
		if slices.ContainsFunc(iter.Items, func(w *syntax.Word) bool { return w.Lit() == "" || strings.Contains(w.Lit(), "{") }) {
			turns = maxCount
		}
		syntax.Walk(n, func(n syntax.Node) bool {
			if !j.spend(1) {
				j.addFinding("for", "deep", j.unknownClass())
				return false
			}
			if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 1 && j.expandSingle(c.Args[0]).text == "sleep" {
				if seconds(j.expandSingle(c.Args[1]))*float64(turns) > maxWait {
					j.addFinding("sleep", "waits", Sensitive)
				}
			}
			return true
		})
	}
}

// checkFollow judges a program that shows new lines until it is stopped.
func (c call) checkFollow(options ...string) {
	if c.flag(options...) {
		c.report("waits", Sensitive)
	}
}
