package command

import (
	"slices"
	"strings"
	"sync"
)

// programs returns the functions that judge programs, by name. A program without an entry is
// unknown, and therefore sensitive. The map is built when the first command is judged.
func programs() map[string]func(call) {
	known.once.Do(func() { known.programs = listPrograms() })
	return known.programs
}

var known struct {
	once     sync.Once
	programs map[string]func(call)
}

func listPrograms() map[string]func(call) {
	programs := map[string]func(call){}
	for name := range readers {
		programs[name] = reader
	}
	for name := range printers {
		programs[name] = printer
	}
	for list, f := range map[string]func(call){
		"find": find, "ps": processes, "fd": finder, "sed": sed, "gsed": sed, "date": date, "hostname": hostname, "which": locate, "hash": locate,
		"command": command, "sort": reader, "sleep": sleep, "seq": seq, "id": self, "groups": self, "whoami": self, "vmstat": sampler, "iostat": sampler, "mpstat": sampler, "top": top,
		"who": fixedClass("identity", Sensitive), "w": fixedClass("identity", Sensitive), "last": fixedClass("identity", Sensitive), "users": fixedClass("identity", Sensitive), "type": typeBuiltin,
		"get-content": reader, "gc": reader, "gci": reader, "history": fixedClass("secrets", Sensitive), "set": shellOptions,
		"echo": printer, "printf": printf, "alias": alias, "trap": trap, "printenv": fixedClass("secrets", Sensitive), "ip": ip, "ifconfig": ifconfig,
		"unset": shellBuiltin, "exit": shellBuiltin, "return": shellBuiltin, "break": shellBuiltin, "continue": shellBuiltin, "shift": shellBuiltin, "wait": shellBuiltin, "jobs": jobs, "cd": shellBuiltin, "pushd": shellBuiltin,
		"popd": shellBuiltin, "dirs": shellBuiltin, "umask": shellBuiltin, "getopts": shellBuiltin, "local": variables, "export": variables, "declare": variables, "typeset": variables, "readonly": variables,
		"read": readVariable, "mapfile": readVariable, "readarray": readVariable, "let": fixedClass("dynamic", Sensitive),
	} {
		programs[list] = f
	}
	register(programs)
	return programs
}

// fixedClass judges a program that has one class for all calls.
func fixedClass(why string, class Class) func(call) {
	return func(c call) { c.report(why, class) }
}

// readers read files and write only to their output, except with the named options: those are
// sensitive.
var readers = map[string]string{
	"ls": "", "dir": "", "vdir": "", "cat": "", "head": "", "tail": "", "wc": "--files0-from", "df": "", "du": "--files0-from", "stat": "", "file": "-C --compile -m -f",
	"cut": "", "paste": "", "nl": "", "tac": "", "rev": "", "fold": "", "fmt": "", "column": "", "comm": "", "join": "", "expand": "", "unexpand": "",
	"cmp": "", "diff": "--to-file --from-file", "diff3": "--diff-program", "sdiff": "-o --output --diff-program", "md5sum": "", "sha1sum": "", "sha224sum": "", "sha256sum": "", "sha384sum": "",
	"sha512sum": "", "b2sum": "", "cksum": "", "sum": "", "readlink": "", "realpath": "", "od": "", "hexdump": "", "strings": "", "grep": "-f --file", "egrep": "-f --file",
	"fgrep": "-f --file", "zgrep": "-f", "rg": "--hostname-bin --pre --pre-glob -f --file -z --search-zip", "sort": "-o --output -T --temporary-directory --compress-program --files0-from",
	"tree": "-o --output --fromfile --infofile", "jq": "-f --from-file -L --rawfile --slurpfile", "zcat": "", "look": "", "tsort": "", "ptx": "-o -i -b -G --traditional --only-file --ignore-file --break-file", "xmllint": "", "cal": "", "uniq": "",
	"namei": "", "lsattr": "", "getfacl": "", "bat": "--pager --build --clear", "iconv": "-o --output", "tr": "", "csplit": "-", "shasum": "", "dos2unix": "-", "numfmt": "",
	"base64": "", "base32": "", "xxd": "", "less": "", "more": "", "get-content": "", "gc": "", "get-childitem": "", "gci": "",
}

// printers show data of the system, or compute; they read no file.
var printers = map[string]string{
	"true": "", "false": "", ":": "", "pwd": "", "ver": "", "get-date": "", "get-process": "", "get-location": "", "uname": "", "uptime": "", "free": "-s --seconds -c --count", "nproc": "", "arch": "", "basename": "",
	"dirname": "", "expr": "", "tty": "", "lsblk": "", "lscpu": "", "lsusb": "-D", "lspci": "-i -p -A -H -F -O", "lsmod": "",
	"test": "", "[": "", "ss": "-K --kill -D --diag -E --events -F --filter -N --net", "netstat": "-c --continuous", "getconf": "", "locale": "", "logname": "", "pgrep": "",
	"pidof": "", "findmnt": "-p --poll -F --tab-file -N --task", "echo": "", "factor": "", "ncal": "", "times": "", "bc": "-", "lsns": "", "pstree": "-a",
}

func shellBuiltin(c call) {
	if c.name == "cd" && len(c.args) == 0 {
		c.report("elsewhere", Sensitive)
	}
	if c.name == "cd" || c.name == "pushd" || c.name == "exit" {
		for _, a := range c.args {
			if c.name != "exit" && (leavesFolder(a.text, true) || a.text == "-" || a.text == "/") {
				c.report("elsewhere", Sensitive)
			}
			if a.dynamic {
				c.report("dynamic", Sensitive)
			}
			if isSecret(a.text) && c.name != "exit" {
				c.report("secrets", Sensitive)
			}
			c.in.inShared = c.in.inShared || c.name != "exit" && strings.HasPrefix(a.text, "/")
			c.in.inProtected = c.in.inProtected || isProtected(a.text) && a.text != "." && a.text != ".." && a.text != "~"
		}
	}
	if c.name == "unset" {
		for _, a := range c.args {
			if steersPrograms(a.text) || a.dynamic {
				c.report("environment", Sensitive)
			}
		}
	}
}

// reader judges a program that reads files.
func reader(c call) {
	c.in.fetches = c.in.fetches || decodes(c)
	options := strings.Fields(readers[c.name])
	if len(options) > 0 && (c.flag(options...) || options[0] == "-") {
		class := wordsClass(c.words)
		if c.name != "sort" && strings.Contains(readers[c.name]+" ", "-o ") && c.flag("-o", "--output") {
			class = Destructive
		}
		c.report("writes", class)
	}
	if c.name == "sort" {
		for i, a := range c.args {
			target, joined := strings.CutPrefix(a.text, "-o")
			if value, long := strings.CutPrefix(a.text, "--output="); long {
				target, joined = value, true
			}
			if i > 0 && (c.args[i-1].text == "-o" || c.args[i-1].text == "--output") {
				target, joined = a.text, true
			}
			if joined && target != "" {
				c.in.checkWrite(word{text: target, dynamic: a.dynamic, glob: a.glob}, false)
			}
		}
	}
	if strings.HasSuffix(c.name, "diff") && c.flag("-r", "--recursive") {
		c.report("secrets", Sensitive)
	}
	positional := c.positional()
	positional = c.readerOptions(positional)
	if (c.name == "uniq" || c.name == "xxd") && len(positional) > 1 { // the second one is written
		c.report("overwrites", Sensitive)
		c.in.checkWrite(positional[1], false)
	}
	if c.name == "jq" {
		for _, a := range positional {
			if strings.Contains(strings.ToLower(a.text), "env") || strings.Contains(a.text, "import") || strings.Contains(a.text, "include") {
				c.report("secrets", Sensitive)
			}
			for _, part := range []string{"repeat", "until(", "while(", "range(", "def ", "input_filename"} {
				if strings.Contains(a.text, part) { // it may not end
					c.report("waits", Sensitive)
				}
			}
		}
	}
	if strings.HasSuffix(c.name, "grep") || c.name == "rg" {
		c.checkRecursive(positional)
	}
	lists := listers()[c.name] // names only, no content
	for _, a := range c.args {
		switch {
		case a.foreign, a.dynamic && (!lists || strings.HasPrefix(a.text, "-")), isSecret(a.text), a.glob && !lists && isHiddenGlob(a.text):
			c.report("secrets", Sensitive)
			return
		}
	}
}

// printer judges a program that prints only its arguments, or public data.
func printer(c call) {
	if c.name == "echo" {
		c.in.dataTexts = append(c.in.dataTexts, strings.Join(texts(c.args), " "))
		if c.flag("-e") && strings.Contains(commandLine(c.args), `\`) {
			c.in.fetches = true
		}
	}
	options := strings.Fields(printers[c.name])
	for _, o := range options {
		for _, a := range c.args {
			if isFlag(a.text, o) {
				c.report("unknown", wordsClass(c.words))
				return
			}
		}
	}
	if len(options) == 1 && options[0] == "-" {
		c.report("unknown", wordsClass(c.words))
	}
	for _, a := range c.args {
		c.checkGlob(a)
		switch {
		case a.foreign, (c.name == "test" || c.name == "[") && a.dynamic && strings.Contains(a.text, "["):
			c.report("secrets", Sensitive)
			return
		}
	}
}

// processes judges ps, whose BSD option e shows environments.
func processes(c call) {
	for _, a := range c.args {
		if a.dynamic || strings.Contains(a.text, "e") && !strings.HasPrefix(a.text, "-") {
			c.report("secrets", Sensitive)
		}
		if strings.HasPrefix(a.text, "-") && !strings.HasPrefix(a.text, "--") && strings.Contains(a.text, "E") {
			c.report("secrets", Sensitive)
		}
	}
}

func printf(c call) {
	c.in.dataTexts = append(c.in.dataTexts, strings.Join(texts(c.args), " "))
	for _, a := range c.args {
		c.checkGlob(a)
		if strings.Contains(a.text, `\x`) || strings.Contains(a.text, `\0`) || strings.Contains(a.text, `\1`) || strings.Contains(a.text, `\u`) {
			c.in.fetches = true
		}
		if a.foreign {
			c.report("secrets", Sensitive)
		}
	}
	if c.flag("-v") {
		c.report("dynamic", c.in.unknownClass())
	}
}

func date(c call) {
	for i, a := range c.args {
		switch {
		case isFlag(a.text, "-s", "--set", "-f", "--file"), a.foreign:
			c.report("system", Sensitive)
		case a.text == "-d" || a.text == "-r" || i > 0 && (c.args[i-1].text == "-d" || c.args[i-1].text == "-r" || c.args[i-1].text == "--date"):
		case strings.HasPrefix(a.text, "+"), strings.HasPrefix(a.text, "-"):
		default: // MMDDhhmm sets the clock
			c.report("system", Sensitive)
		}
	}
}

// jobs judges the builtin, which with -x runs a command.
func jobs(c call) {
	for i, a := range c.args {
		if strings.HasPrefix(a.text, "-") && strings.Contains(a.text, "x") {
			c.in.runInner(c.args[i+1:])
			return
		}
	}
}

func hostname(c call) {
	if len(c.positional()) > 0 || c.flag("-F", "--file", "-b", "--boot") {
		c.report("system", Sensitive)
	}
}

func locate(c call) {
	for _, a := range c.args {
		if a.foreign || c.name == "hash" && isFlag(a.text, "-p") {
			c.report("environment", Sensitive)
		}
	}
}

// command judges the builtins command -v NAME, which only locates NAME, and command NAME, which runs it.
func command(c call) {
	for i, a := range c.args {
		switch {
		case a.text == "-v" || a.text == "-V":
			locate(c)
			return
		case strings.HasPrefix(a.text, "-"):
		default:
			c.in.runInner(c.args[i:])
			return
		}
	}
}

func shellOptions(c call) {
	c.in.pending = append(c.in.pending, c.positional())
	if len(c.args) == 0 {
		c.report("secrets", Sensitive) // it lists every variable
	}
}

func alias(c call) {
	for _, a := range c.args {
		if _, text, ok := strings.Cut(a.text, "="); ok {
			c.report("environment", Sensitive)
			c.in.readCode(word{text: text, dynamic: a.dynamic})
		}
	}
}

func trap(c call) {
	if list := c.positional(); len(list) > 0 && !c.flag("-l", "-p") {
		c.in.readCode(list[0])
	}
}

// variables judges export and similar builtins when another command runs them.
func variables(c call) {
	c.report("environment", wordsClass(c.words))
	for _, a := range c.args {
		if name, text, ok := strings.Cut(a.text, "="); ok {
			c.in.assign(name, word{text: text, dynamic: a.dynamic})
		}
	}
}

// readVariable judges read, whose value is unknown.
func readVariable(c call) {
	for _, a := range c.positional() {
		c.in.assign(a.text, word{dynamic: true})
		if steersPrograms(a.text) || a.dynamic || strings.Contains(a.text, "[") {
			c.report("environment", Sensitive)
		}
	}
	if c.flag("-C") {
		c.report("dynamic", c.in.unknownClass())
	}
}

// ip judges ip, which accepts abbreviated words: «ip r d» deletes a route.
func ip(c call) {
	for i, a := range c.positional() {
		begins := func(words ...string) bool {
			return i > 0 && slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, a.text) })
		}
		switch {
		case i == 0 && len(a.text) > 2 && strings.HasPrefix("monitor", a.text):
			c.report("waits", Sensitive)
		case a.text == "exec":
			c.report("system", wordsClass(c.args))
		case a.text == "down", begins("delete", "flush"):
			c.report("system", Destructive)
		case begins("add", "change", "replace", "append", "monitor", "restore"), a.text == "set", a.text == "up", a.text == "save", a.text == "netns":
			c.report("system", Sensitive)
		case i == 0 && (a.text == "xfrm" || a.text == "macsec"):
			c.report("secrets", Sensitive)
		}
	}
	if anyDynamic(c.args) || slices.ContainsFunc(c.args, func(a word) bool {
		return slices.Contains([]string{"-b", "-ba", "-bat", "-batc", "-batch", "-force"}, a.text)
	}) {
		c.report("system", Sensitive)
	}
}

func ifconfig(c call) {
	if list := texts(c.positional()); len(list) > 1 {
		if list[1] == "down" {
			c.report("system", Destructive)
		}
		c.report("system", wordsClass(c.words))
	}
}
