package tool

import (
	"regexp"
	"regexp/syntax"
)

// Limits of the patterns in schemas. The running time of RE2 is linear in the text and in the length of the
// program; x{999} alone is a thousand steps.
const (
	maxPattern = 2000 // bytes
	maxProgram = 5000 // steps
)

// Patterns selects the usable patterns of one document or schema. It refuses patterns that RE2 cannot compile, that
// are too long, or that together exceed Left.
type Patterns struct {
	Left int // steps that further patterns may have
}

// Usable reports whether a pattern can be compiled and matched at little cost. Every query reduces Left; one about
// an unusable pattern may reduce it most.
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

// Compile returns the program of a usable pattern, else nil.
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

// steps estimates the number of steps in the program of a pattern.
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
