package command

import (
	"slices"
	"strings"
)

// readerOptions judges the options of some readers, and returns their arguments without the values
// of options.
func (c call) readerOptions(positional []word) []word {
	if c.name == "xxd" {
		positional = positionalWithout(c, "-l", "-s", "-c", "-g", "-n", "-o")
	}
	if strings.HasPrefix(c.name, "base") && c.flag("-d", "-D", "--decode") {
		c.report("secrets", Sensitive)
	}
	if c.name == "tail" {
		c.checkFollow("-f", "-F", "--follow", "--retry")
	}
	if c.name == "less" && !c.hasOnly(lessOptions()) || c.name == "xmllint" && (!c.hasOnly(xmlOptions()) || slices.ContainsFunc(c.args, func(a word) bool { return strings.Contains(a.text, "://") || strings.Contains(a.text, "document(") })) {
		c.report("unknown", wordsClass(c.words))
	}
	if c.name == "strings" && slices.ContainsFunc(positional, func(a word) bool { return strings.HasPrefix(a.text, "@") }) { // options from a file
		c.report("unknown", Sensitive)
	}
	if (c.name == "less" || c.name == "more") && slices.ContainsFunc(c.args, func(a word) bool { return strings.HasPrefix(a.text, "+") || a.dynamic }) {
		c.report("unknown", wordsClass(c.words))
	}
	return positional
}

// typeBuiltin judges type, which shows the kind of a name, and in other shells shows a file.
func typeBuiltin(c call) {
	locate(c)
	for _, a := range c.args {
		if strings.ContainsAny(a.text, "./") {
			c.in.checkRead(a)
		}
	}
}

// positionalWithout returns the arguments that are neither options nor the values of the given
// options.
func positionalWithout(c call, valued ...string) []word {
	var list []word
	for i, a := range c.args {
		if i > 0 && slices.Contains(valued, c.args[i-1].text) {
			continue
		}
		list = append(list, a)
	}
	return call{args: list}.positional()
}

// checkGlob judges an argument that is only printed, and that the shell expands to names of files.
func (c call) checkGlob(a word) {
	if a.glob && (isSecret(a.text) || leavesFolder(a.text, false) || isHiddenGlob(a.text)) || len(a.text) > 1 && a.text[0] == '~' && a.text[1] != '/' {
		c.report("elsewhere", Sensitive)
	}
}

// decodes reports whether a program turns data into text that may be code.
func decodes(c call) bool {
	switch c.name {
	case "base64", "base32", "xxd", "zcat", "rev", "tr", "iconv", "tac":
		return true
	}
	return false
}

// checkRecursive judges a search through many files: it reads files that may hold secrets, and a
// pattern that matches almost every line shows them.
func (c call) checkRecursive(positional []word) {
	whole := c.name == "rg" || c.flag("-r", "-R", "--recursive", "--dereference-recursive", "--hidden", "-u", "-uu") || c.searchesIgnored() ||
		slices.ContainsFunc(c.args, func(a word) bool { return strings.Contains(a.text, "recurs") })
	many := whole || slices.ContainsFunc(positional, func(a word) bool { return a.glob && isConfidentialGlob(a.text) })
	if !many {
		return
	}
	if c.flag("-v", "--invert-match") || slices.ContainsFunc(c.args, func(a word) bool { return a.text == "recurse" || a.text == "-drecurse" }) || slices.ContainsFunc(c.patterns(positional), isBroad) { // it matches almost every line
		c.report("secrets", Sensitive)
		return
	}
	for _, a := range positional {
		p := cleanPath(a.text)
		if whole && (p == "/" || p == "~" || p == ".." || isHiddenGlob(p)) || c.name == "rg" && (c.searchesIgnored() || c.flag("--hidden", "-u", "-uu", "-uuu", "-.")) {
			c.report("secrets", Sensitive)
			return
		}
	}
}

// searchesIgnored reports whether a search includes ignored files.
func (c call) searchesIgnored() bool {
	return slices.ContainsFunc(c.args, func(a word) bool { return strings.HasPrefix(a.text, "--no-ignore") })
}

// patterns returns the patterns of a search.
func (c call) patterns(positional []word) []string {
	var list []string
	for i, a := range c.args {
		value, long := strings.CutPrefix(a.text, "--regexp=")
		switch {
		case long:
			list = append(list, value)
		case strings.HasPrefix(a.text, "-") && !strings.HasPrefix(a.text, "--") && strings.HasSuffix(a.text, "e") && i+1 < len(c.args), a.text == "--regexp" && i+1 < len(c.args):
			list = append(list, c.args[i+1].text)
		case strings.HasPrefix(a.text, "-e"):
			list = append(list, a.text[2:])
		}
	}
	if len(list) == 0 && len(positional) > 0 && !c.flag("--files", "--type-list") {
		list = append(list, positional[0].text)
	}
	return list
}

// isBroad reports whether a pattern, or one of its alternatives, matches almost any text: it has no
// three letters in sequence.
func isBroad(pattern string) bool {
	const least = 3
	for _, part := range strings.Split(strings.ReplaceAll(pattern, `\|`, "|"), "|") {
		longest, run, class := 0, 0, false
		for i := range len(part) {
			switch b := part[i]; {
			case b == '[':
				class, run = true, 0
			case b == ']':
				class = false
			case class:
			case b|0x20 >= 'a' && b|0x20 <= 'z' || b >= '0' && b <= '9' || b == '_' || b >= 0x80:
				if run++; i > 0 && part[i-1] == '\\' {
					run = 0
				}
			case b == '?' || b == '*' || b == '{': // the character before it is optional
				run = 0
			default:
				run = 0
			}
			longest = max(longest, run)
		}
		if longest < least {
			return true
		}
	}
	return false
}
