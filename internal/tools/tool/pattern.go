package tool

import (
	"regexp"
	"regexp/syntax"
)

// Limits of the patterns in schemas. A program of RE2 is linear in the text and in
// its own length, and x{999} is a thousand steps long.
const (
	maxPattern = 2000 // bytes
	maxProgram = 5000 // steps
)

// Patterns judges the patterns of one document or schema: those that RE2 does not
// know, that are long, or that are too much together are not for use.
type Patterns struct {
	Left int // steps that may still be made
}

// Usable reports whether a pattern can be made and matched at little cost. Asking
// costs, too: most for a pattern that is not usable.
func (p *Patterns) Usable(pattern string) bool {
	if p.Left <= 0 || len(pattern) > maxPattern {
		return false
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		p.Left -= len(pattern)
		return false
	}
	size := steps(tree)
	p.Left -= min(size, maxProgram)
	return size <= maxProgram
}

// Compile returns the program of a pattern that is usable, else nil.
func (p *Patterns) Compile(pattern string) *regexp.Regexp {
	if !p.Usable(pattern) {
		return nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil
	}
	return re
}

// steps returns about how many steps the program of a pattern has.
func steps(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)/2
	for _, sub := range re.Sub {
		n += steps(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, 1<<20)
}
