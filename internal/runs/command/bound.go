package command

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of what a safe command may take.
const (
	longestWait = 600       // seconds of all sleeps together
	mostCounted = 1_000_000 // of seq
)

// sleep judges how long a command waits.
func sleep(c call) {
	for _, a := range c.args {
		c.waited += seconds(a)
	}
	if len(c.args) > 0 && c.waited > longestWait && !c.only() {
		c.found("waits", Sensitive)
	}
}

// seconds is what one word of sleep waits, or more than anything when it is not known.
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
		return longestWait + 1
	}
	return n * unit
}

// seq judges how much is counted.
func seq(c call) {
	for _, a := range c.args {
		if n, err := strconv.ParseFloat(a.text, 64); a.foreign || err == nil && (n > mostCounted || n < -mostCounted || n != 0 && n < 0.001 && n > -0.001) {
			c.found("waits", Sensitive)
		}
	}
}

// sampler judges what measures again and again: with a pause it needs a count.
func sampler(c call) {
	list, turns := c.positional(), 1.0
	if len(list) > 1 {
		turns = seconds(list[len(list)-1])
	}
	if len(list) == 1 || len(list) > 1 && seconds(list[len(list)-2])*turns > longestWait || c.flag("-w", "--watch") {
		c.found("waits", Sensitive)
	}
	printer(c)
}

// top shows processes: once, when it is asked to.
func top(c call) {
	text := " " + strings.Join(texts(c.args), " ") + " "
	if !c.flag("-b") || !strings.Contains(text, "n1 ") && !strings.Contains(text, "n 1 ") || c.flag("-c", "-E") || dynamic(c.args) {
		c.found("waits", Sensitive)
	}
}

// endless judges loops that nothing in their head ends, and loops that wait.
func (j *judge) endless(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.WhileClause:
		reads := false
		for _, s := range n.Cond {
			c, ok := s.Cmd.(*syntax.CallExpr)
			reads = reads || ok && len(c.Args) > 0 && c.Args[0].Lit() == "read"
		}
		if !reads {
			j.find("while", "waits", Sensitive)
		}
	case *syntax.ForClause:
		iter, ok := n.Loop.(*syntax.WordIter)
		if !ok {
			if c, is := n.Loop.(*syntax.CStyleLoop); is && c.Cond == nil {
				j.find("for", "waits", Sensitive)
			}
			return
		}
		if n.Select {
			j.find("select", "waits", Sensitive)
		}
		turns := len(j.words(iter.Items))
		if slices.ContainsFunc(iter.Items, func(w *syntax.Word) bool { return w.Lit() == "" || strings.Contains(w.Lit(), "{") }) {
			turns = mostCounted
		}
		syntax.Walk(n, func(n syntax.Node) bool {
			if !j.spend(1) {
				j.find("for", "deep", j.unknown())
				return false
			}
			if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 1 && j.one(c.Args[0]).text == "sleep" {
				if seconds(j.one(c.Args[1]))*float64(turns) > longestWait {
					j.find("sleep", "waits", Sensitive)
				}
			}
			return true
		})
	}
}

// follows judges a program that shows what is added, until it is stopped.
func (c call) follows(options ...string) {
	if c.flag(options...) {
		c.found("waits", Sensitive)
	}
}
