// Package lazy makes values of a program's text when they are first used, because most starts of a function use few of
// them. Its functions are not inlined: each of their many calls would have closures of its own, 0.3 MB of an executable.
package lazy

import (
	"regexp"
	"strings"
	"sync"
)

// Words returns the set of the words of a list, which white space separates.
//
//go:noinline
func Words(list string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for word := range strings.FieldsSeq(list) {
			set[word] = true
		}
		return set
	})
}

// Pattern returns a compiled regular expression. The first use of one that is not valid panics.
//
//go:noinline
func Pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
