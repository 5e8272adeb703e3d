package command

import (
	"path"
	"strings"

	"piloto/internal/ground/lazy"
)

// trustedFolders are folders whose programs are the ones that their names suggest.
var trustedFolders = lazy.Words("/bin /usr/bin /usr/local/bin /sbin /usr/sbin /usr/local/sbin /opt/homebrew/bin")

// cmdlets are programs of PowerShell that only show, in any letter case.
var cmdlets = lazy.Words("get-childitem gci get-date get-process get-location get-content gc")

// folderDriven are programs that run code or settings of the folder in which they are called.
var folderDriven = lazy.Words("git go cargo npm yarn pnpm terraform tofu docker podman docker-compose composer poetry brew gem hg svn")

// run judges one command: its first word is the program, unless it sets a variable.
func (j *analysis) run(words []word) {
	for len(words) > 0 && isSetting(words[0].text) && !words[0].dynamic {
		name, text, _ := strings.Cut(words[0].text, "=")
		j.assign(name, word{text: text})
		j.checkSetting(name, text, true)
		words = words[1:]
	}
	if len(words) == 0 {
		return
	}
	size := len(words)
	for _, w := range words {
		size += len(w.text)
	}
	if j.depth > maxDepth || !j.spend(size) {
		j.addFinding(commandLine(words), "deep", j.unknownClass())
		return
	}
	j.trace = append(j.trace, strings.Join(texts(words), "\x00"))
	outer := j.result.Class
	j.result.Class = Safe
	j.runProgram(words)
	name := stemOf(strings.ToLower(path.Base(words[0].text)))
	j.programs[name] = max(j.programs[name], j.result.Class)
	j.result.Class = max(j.result.Class, outer)
}

// runProgram judges a command whose first word is the program.
func (j *analysis) runProgram(words []word) {
	first, args := words[0], words[1:]
	if first.dynamic || first.glob || first.text == "" {
		j.runComputed(words)
		return
	}
	name := strings.TrimSuffix(path.Base(first.text), ".exe")
	known := strings.ToLower(name)
	if dir := path.Dir(first.text); known != name && !cmdlets()[known] || strings.Contains(first.text, "/") && !trustedFolders()[dir] {
		if j.funcs[first.text] {
			j.pending = append(j.pending, args)
			return
		}
		j.runsUnseen = true
		j.addFinding(commandLine(words), "unknown", wordsClass(words))
	}
	c := call{in: j, name: stemOf(known), args: args, words: words}
	if judgeProgram, ok := programs()[c.name]; ok {
		judgeProgram(c)
		c.checkPaths()
		if j.inShared && j.result.Class == Safe && folderDriven()[c.name] { // the author of the folder controls it
			c.report("elsewhere", Sensitive)
		}
		return
	}
	if j.funcs[first.text] {
		j.pending = append(j.pending, args)
		return
	}
	c.report("unknown", wordsClass(words))
}

// call is one command with a known program. Rules for one program alone are functions beside its judge.
type call struct {
	in    *analysis // of the text in which it stands
	name  string
	args  []word
	words []word
}

func (c call) report(why string, class Class) { c.in.addFinding(commandLine(c.words), why, class) }

// gnuPrograms are programs that write files, which systems with their own have by another name.
var gnuPrograms = lazy.Words(`cp mv rm rmdir ln install dd tee truncate shred unlink split tar`)

// stemOf returns the name that all versions of a program share: python3.12, mkfs.ext4, and gcp of the GNU programs elsewhere.
func stemOf(name string) string {
	if gnu, ok := strings.CutPrefix(name, "g"); ok && gnuPrograms()[gnu] {
		return gnu
	}
	for _, stem := range []string{"mkfs", "fsck"} {
		if strings.HasPrefix(name, stem+".") {
			return stem
		}
	}
	for _, stem := range []string{"python", "perl", "ruby", "php", "lua", "node", "pip", "bash", "ksh", "tclsh", "pypy"} {
		if rest, ok := strings.CutPrefix(name, stem); ok && strings.Trim(rest, "0123456789.-") == "" {
			return stem
		}
	}
	return name
}

func isSetting(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	if !ok || name == "" || name[0] >= '0' && name[0] <= '9' {
		return false
	}
	for i := range len(name) {
		if c := name[i]; c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return true
}

// runComputed judges a command whose program is unknown until it runs.
func (j *analysis) runComputed(words []word) {
	class := max(wordsClass(words), j.unknownClass())
	first := words[0].text
	if words[0].glob {
		class = max(class, j.matchingClass(words))
	}
	if strings.Contains(first, "{") { // the shell expands it to several words
		var list []word
		for _, w := range strings.FieldsFunc(first, func(r rune) bool { return strings.ContainsRune("{},", r) }) {
			list = append(list, word{text: w})
		}
		j.pending = append(j.pending, append(list, words[1:]...))
	}
	j.runsUnseen = true
	j.addFinding(commandLine(words), "dynamic", class)
}

// matchingClass judges a command whose program is a pattern, by the programs that match it.
func (j *analysis) matchingClass(words []word) Class {
	const most = 8
	pattern := path.Base(words[0].text)
	for name := range destructiveWords() {
		if ok, _ := path.Match(pattern, name); ok {
			return Destructive
		}
	}
	var names []string
	for name := range programs() {
		if ok, _ := path.Match(pattern, name); ok {
			names = append(names, name)
		}
	}
	if len(names) <= most {
		for _, name := range names {
			j.pending = append(j.pending, append([]word{{text: name}}, words[1:]...))
		}
	}
	return Sensitive
}

// wordsClass returns the class of words whose meaning is unknown.
func wordsClass(words []word) Class {
	for _, w := range words {
		if isDestructive(w.text) {
			return Destructive
		}
	}
	return Sensitive
}

func commandLine(words []word) string {
	var b strings.Builder
	for i, w := range words {
		if b.Len() > 200 {
			break
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.text[:min(len(w.text), 200)])
	}
	return b.String()
}

// flag reports whether the call has one of the options: a long one, with or without a value, or a
// letter in a group.
func (c call) flag(options ...string) bool {
	for _, a := range c.args {
		if a.text == "--" {
			return false
		}
		if isFlag(a.text, options...) {
			return true
		}
	}
	return false
}

func isFlag(arg string, options ...string) bool {
	if !strings.HasPrefix(arg, "-") || arg == "-" {
		return false
	}
	for _, o := range options {
		long := strings.HasPrefix(o, "--")
		switch {
		case long && (arg == o || strings.HasPrefix(arg, o+"=")), arg == o:
			return true
		case long && strings.HasPrefix(arg, "--") && len(before(arg, "=")) > 2 && strings.HasPrefix(o, before(arg, "=")): // GNU programs accept an abbreviated option
			return true
		case !long && !strings.HasPrefix(arg, "--") && len(o) == 2 && strings.Contains(arg, o[1:]):
			return true
		}
	}
	return false
}

func before(s, sep string) string {
	head, _, _ := strings.Cut(s, sep)
	return head
}

// positional returns the arguments that are not options.
func (c call) positional() []word {
	var out []word
	for i, a := range c.args {
		if a.text == "--" {
			return append(out, c.args[i+1:]...)
		}
		if !strings.HasPrefix(a.text, "-") || a.text == "-" {
			out = append(out, a)
		}
	}
	return out
}

// texts returns the texts of words.
func texts(words []word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.text
	}
	return out
}

// anyDynamic reports whether the value of a word is unknown.
func anyDynamic(words []word) bool {
	for _, w := range words {
		if w.dynamic {
			return true
		}
	}
	return false
}

// isHelp reports whether the only argument asks for the version or for help.
func (c call) isHelp() bool {
	if len(c.args) != 1 || c.args[0].dynamic {
		return false
	}
	switch c.args[0].text {
	case "--version", "-V", "--help", "-version":
		return true
	}
	return false
}

// runInner judges the remaining words as a command.
func (j *analysis) runInner(words []word) {
	j.depth++
	defer func() { j.depth-- }()
	j.run(words)
}

// readCode judges a word that is run as a text of its own.
func (j *analysis) readCode(w word) {
	if w.dynamic {
		j.runsUnseen = true
		j.addFinding(w.text, "dynamic", max(wordsClass([]word{w}), j.unknownClass()))
	}
	j.read(w.text)
}
