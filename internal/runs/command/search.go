package command

import (
	"slices"
	"strings"
)

// maxFindCommands is the greatest number of commands that are read in one find.
const maxFindCommands = 10

// find judges find: the folders that it searches, and the actions on the files that it finds.
func find(c call) {
	for _, a := range c.args { // the folders that it searches
		if strings.HasPrefix(a.text, "-") || a.text == "(" || a.text == "!" {
			break
		}
		if leavesFolder(a.text, false) || a.text == "/" && !slices.Contains(texts(c.args), "-maxdepth") {
			c.report("elsewhere", Sensitive)
		}
	}
	calls := 0
	for i, a := range c.args {
		switch a.text {
		case "-delete":
			c.report("deletes", Destructive)
		case "-fprint", "-fprint0", "-fprintf", "-fls":
			c.report("overwrites", Sensitive)
			if i+1 < len(c.args) {
				c.in.checkWrite(c.args[i+1], false)
			}
		case "-files0-from":
			c.report("secrets", Sensitive)
		case "-exec", "-execdir", "-ok", "-okdir":
			if calls++; calls > maxFindCommands {
				c.report("deep", wordsClass(c.words))
				return
			}
			c.runForFound(c.args[i+1:])
		}
		if a.dynamic || isSecret(a.text) {
			c.report("secrets", max(Sensitive, wordsClass(c.words[:1])))
		}
	}
}

// runForFound judges the command of -exec, whose file arguments are unknown.
func (c call) runForFound(rest []word) {
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
		c.report("unknown", Sensitive)
		return
	}
	c.in.runInner(words)
}

func finder(c call) {
	for i, a := range c.args {
		if isFlag(a.text, "-x", "-X", "--exec", "--exec-batch") {
			c.in.runInner(append(append([]word{}, c.args[i+1:]...), word{text: "{}", dynamic: true}))
			c.report("unknown", wordsClass(c.words))
			return
		}
		if a.dynamic || isSecret(a.text) {
			c.report("secrets", Sensitive)
		}
	}
}

// sed judges sed: it only reads if its script only prints, drops or replaces lines in the output.
func sed(c call) {
	c.checkScriptFiles()
	if c.flag("-i", "--in-place", "-f", "--file") {
		class := wordsClass(c.words[:1])
		if overwritesInPlace(c) {
			class = Destructive
		}
		c.report("overwrites", class)
		for _, a := range c.positional() {
			if isProtected(a.text) {
				c.report("protected", Destructive)
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
			c.checkScript(word{text: value, dynamic: a.dynamic})
			scripted = true
		case (a.text == "-e" || a.text == "--expression" || a.text == "-ne" || a.text == "-Ee" || a.text == "-re") && i+1 < len(c.args):
			i++
			c.checkScript(c.args[i])
			scripted = true
		case a.text == "-n", a.text == "-E", a.text == "-r", a.text == "-s", a.text == "-u", a.text == "-z", a.text == "--quiet", a.text == "--posix", a.text == "-nE", a.text == "-En", a.text == "-nr", a.text == "--regexp-extended", a.text == "--version":
		case strings.HasPrefix(a.text, "-") && a.text != "-":
			c.report("unknown", wordsClass(c.words))
		default:
			files = append(files, a)
		}
	}
	if !scripted && len(files) > 0 {
		c.checkScript(files[0])
		files = files[1:]
	}
	for _, f := range files {
		c.in.checkRead(f)
	}
}

func (c call) checkScript(w word) {
	for _, part := range strings.FieldsFunc(w.text, func(r rune) bool { return r == '\n' }) {
		if !onlyPrints(strings.TrimSpace(part)) || w.dynamic {
			c.report("writes", wordsClass([]word{w}))
			return
		}
	}
}

// onlyPrints reports whether one command of sed is known to be harmless: an address with p, d, q, =
// or l, or s with only the flags g, i, p and a number.
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

// upTo returns the text after the first delimiter that is not escaped.
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
