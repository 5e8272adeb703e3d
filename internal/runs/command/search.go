package command

import (
	"slices"
	"strings"
)

// mostCalls is how many commands of one find are read.
const mostCalls = 10

// find judges find: where it looks, and what it does with what it finds.
func find(c call) {
	for _, a := range c.args { // the places that it looks in
		if strings.HasPrefix(a.text, "-") || a.text == "(" || a.text == "!" {
			break
		}
		if elsewhere(a.text, false) || a.text == "/" && !slices.Contains(texts(c.args), "-maxdepth") {
			c.found("elsewhere", Sensitive)
		}
	}
	calls := 0
	for i, a := range c.args {
		switch a.text {
		case "-delete":
			c.found("deletes", Destructive)
		case "-fprint", "-fprint0", "-fprintf", "-fls":
			c.found("overwrites", Sensitive)
			if i+1 < len(c.args) {
				c.writes(c.args[i+1], false)
			}
		case "-files0-from":
			c.found("secrets", Sensitive)
		case "-exec", "-execdir", "-ok", "-okdir":
			if calls++; calls > mostCalls {
				c.found("deep", wordsClass(c.words))
				return
			}
			c.each(c.args[i+1:])
		}
		if a.dynamic || secret(a.text) {
			c.found("secrets", max(Sensitive, wordsClass(c.words[:1])))
		}
	}
}

// each judges the command of -exec: the files it is given are not known.
func (c call) each(rest []word) {
	end := len(rest)
	for i, a := range rest {
		if a.text == ";" || a.text == "+" && i > 0 && rest[i-1].text == "{}" {
			end = i
			break
		}
	}
	var words []word
	for _, a := range rest[:end] {
		a.dynamic = a.dynamic || strings.Contains(a.text, "{}")
		words = append(words, a)
	}
	if len(words) == 0 {
		c.found("unknown", Sensitive)
		return
	}
	c.inner(words)
}

func finder(c call) {
	for i, a := range c.args {
		if isFlag(a.text, "-x", "-X", "--exec", "--exec-batch") {
			c.inner(append(append([]word{}, c.args[i+1:]...), word{text: "{}", dynamic: true}))
			c.found("unknown", wordsClass(c.words))
			return
		}
		if a.dynamic || secret(a.text) {
			c.found("secrets", Sensitive)
		}
	}
}

// sed judges sed: it reads, as long as its script only prints, deletes lines of
// what it prints, or replaces.
func sed(c call) {
	if c.flag("-i", "--in-place", "-f", "--file") {
		c.found("overwrites", wordsClass(c.words[:1]))
		for _, a := range c.positional() {
			if protected(a.text) {
				c.found("protected", Destructive)
			}
		}
		return
	}
	scripted := false
	var files []word
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		value, long := strings.CutPrefix(a.text, "--expression=")
		switch {
		case long:
			c.script(word{text: value, dynamic: a.dynamic})
			scripted = true
		case (a.text == "-e" || a.text == "--expression" || a.text == "-ne" || a.text == "-Ee" || a.text == "-re") && i+1 < len(c.args):
			i++
			c.script(c.args[i])
			scripted = true
		case a.text == "-n", a.text == "-E", a.text == "-r", a.text == "-s", a.text == "-u", a.text == "-z", a.text == "--quiet", a.text == "--posix", a.text == "-nE", a.text == "-En", a.text == "-nr", a.text == "--regexp-extended", a.text == "--version":
		case strings.HasPrefix(a.text, "-") && a.text != "-":
			c.found("unknown", wordsClass(c.words))
		default:
			files = append(files, a)
		}
	}
	if !scripted && len(files) > 0 {
		c.script(files[0])
		files = files[1:]
	}
	for _, f := range files {
		c.reads(f)
	}
}

func (c call) script(w word) {
	for _, part := range strings.FieldsFunc(w.text, func(r rune) bool { return r == '\n' }) {
		if !onlyPrints(strings.TrimSpace(part)) || w.dynamic {
			c.found("writes", wordsClass([]word{w}))
			return
		}
	}
}

// onlyPrints reports whether one command of sed is known to be harmless: an
// address and p, d, q, = or l, or s with only the flags g, i, p and a number.
func onlyPrints(s string) bool {
	s = strings.TrimLeft(s, "0123456789,$ ~+")
	if strings.HasPrefix(s, "/") {
		rest, ok := upTo(s[1:], '/')
		if !ok {
			return false
		}
		s = strings.TrimLeft(rest, "I ,0123456789$+")
		if strings.HasPrefix(s, "/") {
			if s, ok = upTo(s[1:], '/'); !ok {
				return false
			}
		}
	}
	s = strings.TrimLeft(s, "! ")
	switch s {
	case "p", "d", "q", "=", "l", "P", "D", "n", "G", "$!N":
		return true
	}
	if len(s) < 4 || s[0] != 's' && s[0] != 'y' || s[1] == '\\' || s[1] == ';' {
		return false
	}
	rest, ok := upTo(s[2:], s[1])
	if !ok {
		return false
	}
	if rest, ok = upTo(rest, s[1]); !ok {
		return false
	}
	return strings.Trim(rest, "gipIm0123456789 ") == ""
}

// upTo returns what follows the first delimiter that is not escaped.
func upTo(s string, delimiter byte) (after string, ok bool) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case delimiter:
			return s[i+1:], true
		}
	}
	return "", false
}
