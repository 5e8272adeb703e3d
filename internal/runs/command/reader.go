package command

import (
	"slices"
	"strings"
)

// readerOptions judges the options of some readers, and returns what is left of their
// words without the values of options.
func (c call) readerOptions(positional []word) []word {
	if c.name == "xxd" {
		positional = positionalWithout(c, "-l", "-s", "-c", "-g", "-n", "-o")
	}
	if strings.HasPrefix(c.name, "base") && c.flag("-d", "-D", "--decode") {
		c.found("secrets", Sensitive)
	}
	if c.name == "tail" {
		c.follows("-f", "-F", "--follow", "--retry")
	}
	if c.name == "less" && !c.within(lessOptions()) || c.name == "xmllint" && (!c.within(xmlOptions()) || slices.ContainsFunc(c.args, func(a word) bool { return strings.Contains(a.text, "://") || strings.Contains(a.text, "document(") })) {
		c.found("unknown", wordsClass(c.words))
	}
	if c.name == "strings" && slices.ContainsFunc(positional, func(a word) bool { return strings.HasPrefix(a.text, "@") }) { // options from a file
		c.found("unknown", Sensitive)
	}
	if (c.name == "less" || c.name == "more") && slices.ContainsFunc(c.args, func(a word) bool { return strings.HasPrefix(a.text, "+") || a.dynamic }) {
		c.found("unknown", wordsClass(c.words))
	}
	return positional
}

// typed judges type, which tells what a name is, and in other shells shows a file.
func typed(c call) {
	locate(c)
	for _, a := range c.args {
		if strings.ContainsAny(a.text, "./") {
			c.reads(a)
		}
	}
}

// positionalWithout are the arguments that are no options, nor the values of some.
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

// matches judges a word that is only said, and that the shell makes names of files of.
func (c call) matches(a word) {
	if a.glob && (secret(a.text) || elsewhere(a.text, false) || hiddenGlob(a.text)) || len(a.text) > 1 && a.text[0] == '~' && a.text[1] != '/' {
		c.found("elsewhere", Sensitive)
	}
}

// unpacks reports whether a program turns data into other text, of which nobody
// knows whether it is code.
func unpacks(c call) bool {
	switch c.name {
	case "base64", "base32", "xxd", "zcat", "rev", "tr", "iconv", "tac":
		return true
	}
	return false
}

// recursive judges a search through many files: of those where secrets lie, it reads
// them, and a pattern that almost every line has shows them.
func (c call) recursive(positional []word) {
	whole := c.name == "rg" || c.flag("-r", "-R", "--recursive", "--dereference-recursive", "--hidden", "-u", "-uu") || c.everything() ||
		slices.ContainsFunc(c.args, func(a word) bool { return strings.Contains(a.text, "recurs") })
	many := whole || slices.ContainsFunc(positional, func(a word) bool { return a.glob && confidesGlob(a.text) })
	if !many {
		return
	}
	if c.flag("-v", "--invert-match") || slices.ContainsFunc(c.args, func(a word) bool { return a.text == "recurse" || a.text == "-drecurse" }) || slices.ContainsFunc(c.searched(positional), broad) { // it finds almost every line
		c.found("secrets", Sensitive)
		return
	}
	for _, a := range positional {
		p := cleaned(a.text)
		if whole && (p == "/" || p == "~" || p == ".." || hiddenGlob(p)) || c.name == "rg" && (c.everything() || c.flag("--hidden", "-u", "-uu", "-uuu", "-.")) {
			c.found("secrets", Sensitive)
			return
		}
	}
}

// everything reports whether a search is told to leave out no file.
func (c call) everything() bool {
	return slices.ContainsFunc(c.args, func(a word) bool { return strings.HasPrefix(a.text, "--no-ignore") })
}

// searched are the patterns of a search.
func (c call) searched(positional []word) []string {
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

// broad reports whether a pattern, or a part of it, is found in almost any text: nothing
// in it is three letters long.
func broad(pattern string) bool {
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
			case b == '?' || b == '*' || b == '{': // what is before it may be missing
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
