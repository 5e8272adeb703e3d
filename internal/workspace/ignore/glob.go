// Package ignore reads .gitignore files, and names the folders whose files are not a person's work, such as
// node_modules. A test compares its answers with those of git.
//
// A pattern is compiled to a regular expression of linear time, so that no pattern of a hostile file is slow.
package ignore

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// MaxPattern is the longest pattern, in bytes.
const MaxPattern = 1_000

// ErrPattern means that a pattern is too long, or ends inside of brackets or of an escape.
var ErrPattern = errors.New("ignore: the pattern is too long or not complete")

// Glob compiles a pattern for whole names of files: * and ? stay in one folder, ** crosses folders, [a-z] is one
// character, and {a,b} is one of two. A pattern without a slash is for the last segment of a name, in any folder.
// The error is ErrPattern.
func Glob(pattern string) (*regexp.Regexp, error) {
	anchored := strings.TrimPrefix(pattern, "/")
	expression, err := translate(anchored, true)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(pattern, "/") {
		expression = `(?:.*/)?` + expression
	}
	return compile(expression)
}

func compile(expression string) (*regexp.Regexp, error) {
	re, err := regexp.Compile(`(?s)\A` + expression + `\z`)
	if err != nil { // it is no UTF-8
		return nil, ErrPattern
	}
	return re, nil
}

// translate writes a pattern as a regular expression. braces allows {a,b}, which .gitignore files do not have.
func translate(pattern string, braces bool) (string, error) {
	if len(pattern) > MaxPattern {
		return "", ErrPattern
	}
	g := glob{pattern: pattern, literal: strings.IndexAny(pattern, `*?[\`)}
	g.braces = braces && balanced(pattern)
	for g.at < len(pattern) {
		if err := g.next(); err != nil {
			return "", err
		}
	}
	return g.out.String(), nil
}

// balanced reports whether each { has its }, so that both can be read as alternatives.
func balanced(pattern string) bool {
	open := 0
	for _, c := range pattern {
		switch c {
		case '{':
			open++
		case '}':
			open--
		}
		if open < 0 {
			return false
		}
	}
	return open == 0
}

// glob is the state of a translation.
type glob struct {
	pattern string
	at      int
	literal int // where the literal beginning of the pattern ends
	braces  bool
	depth   int // of braces
	out     strings.Builder
}

// next translates the next part of the pattern.
func (g *glob) next() error {
	c := g.pattern[g.at]
	switch {
	case c == '*':
		g.stars()
		return nil
	case c == '?':
		g.out.WriteString(`[^/]`)
	case c == '[':
		return g.class()
	case c == '\\':
		if g.at++; g.at == len(g.pattern) {
			return ErrPattern
		}
		g.quote()
		return nil
	case g.braces && c == '{':
		g.depth++
		g.out.WriteString(`(?:`)
	case g.braces && c == '}':
		g.depth--
		g.out.WriteString(`)`)
	case g.depth > 0 && c == ',':
		g.out.WriteString(`|`)
	default:
		g.quote()
		return nil
	}
	g.at++
	return nil
}

// quote writes one byte of the pattern literally. The bytes of a longer character follow one another.
func (g *glob) quote() {
	end := g.at + 1
	for end < len(g.pattern) && g.pattern[end]&0xC0 == 0x80 {
		end++
	}
	g.out.WriteString(regexp.QuoteMeta(g.pattern[g.at:end]))
	g.at = end
}

// stars translates a run of stars. Two stand for folders if they are a whole segment. Git compares the literal beginning
// of a pattern apart, so that a segment also begins where that beginning ends.
func (g *glob) stars() {
	start := g.at
	for g.at < len(g.pattern) && g.pattern[g.at] == '*' {
		g.at++
	}
	whole := start == 0 || g.pattern[start-1] == '/' || start == g.literal
	switch rest := g.pattern[g.at:]; {
	case g.at-start == 1 || !whole:
		g.out.WriteString(`[^/]*`)
	case rest == "":
		g.out.WriteString(`.*`)
	case rest[0] == '/':
		g.at++
		g.out.WriteString(`(?:.*/)?`)
	default:
		g.out.WriteString(`[^/]*`)
	}
}

// posix lists the classes that brackets may name.
const posix = " alnum alpha blank cntrl digit graph lower print punct space upper xdigit "

// class translates brackets.
func (g *glob) class() error {
	i, p := g.at+1, g.pattern
	var set strings.Builder
	negated := i < len(p) && (p[i] == '!' || p[i] == '^')
	if negated {
		i++
	}
	for first := true; first || i >= len(p) || p[i] != ']'; first = false {
		if strings.HasPrefix(p[i:], "[:") {
			name, _, ok := strings.Cut(p[i+2:], ":]")
			if !ok || !strings.Contains(posix, " "+name+" ") {
				return ErrPattern
			}
			set.WriteString(unslashed(name))
			i += len(name) + 4
			continue
		}
		low, next, err := character(p, i)
		if err != nil {
			return err
		}
		high := low
		if next+1 < len(p) && p[next] == '-' && p[next+1] != ']' {
			if high, next, err = character(p, next+1); err != nil {
				return err
			}
		}
		set.WriteString(span(low, high, negated))
		i = next
	}
	g.at = i + 1
	switch {
	case negated:
		g.out.WriteString(`[^/` + set.String() + `]`)
	case set.Len() == 0:
		g.out.WriteString(never)
	default:
		g.out.WriteString(`[` + set.String() + `]`)
	}
	return nil
}

// never is a class that matches no character.
const never = `[^\x00-\x{10FFFF}]`

// unslashed returns a named class without the slash, which brackets never stand for.
func unslashed(name string) string {
	switch name {
	case "graph":
		return `!-.0-~`
	case "print":
		return ` -.0-~`
	case "punct":
		return `!-.:-@\[-` + "`" + `{-~`
	}
	return `[:` + name + `:]`
}

// character reads the character at a position in brackets, and returns the position after it.
func character(p string, i int) (c rune, next int, err error) {
	if i < len(p) && p[i] == '\\' {
		i++
	}
	if i >= len(p) {
		return 0, i, ErrPattern
	}
	c, size := utf8.DecodeRuneInString(p[i:])
	return c, i + size, nil
}

// span returns a range for a class without the slash, which brackets never stand for.
func span(low, high rune, negated bool) string {
	switch {
	case low > high:
		return ""
	case !negated && low <= '/' && high >= '/':
		return span(low, '/'-1, true) + span('/'+1, high, true)
	}
	return fmt.Sprintf(`\x{%x}-\x{%x}`, low, high)
}
