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

// recursive judges a search through whole folders: of those where secrets lie, it
// reads them.
func (c call) recursive(positional []word) {
	if !c.flag("-r", "-R", "--recursive", "--dereference-recursive", "--hidden", "--no-ignore", "-u", "-uu") && c.name != "rg" {
		return
	}
	if c.flag("-v", "--invert-match") { // it finds almost every line
		c.found("secrets", Sensitive)
		return
	}
	for _, a := range positional {
		p := cleaned(a.text)
		if strings.Trim(a.text, ".*^$+?=: []|()'\"") == "" && a.text != "." || a.text == "." && len(positional) > 0 && positional[0].text == "." { // it finds every line
			c.found("secrets", Sensitive)
			return
		}
		if p == "/" || p == "~" || p == ".." || hiddenGlob(p) || c.name == "rg" && c.flag("--hidden", "-u", "-uu", "-uuu", "-.", "--no-ignore") {
			c.found("secrets", Sensitive)
			return
		}
	}
}
