package command

import (
	"slices"
	"strings"
	"sync"
)

// programs is what is known of programs, by name. A program that is not here is
// not known, and sensitive. They are listed when the first command is judged.
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
		"who": fixed("identity", Sensitive), "w": fixed("identity", Sensitive), "last": fixed("identity", Sensitive), "users": fixed("identity", Sensitive), "type": typed,
		"get-content": reader, "gc": reader, "gci": reader, "history": fixed("secrets", Sensitive), "set": shellOptions,
		"echo": printer, "printf": printf, "alias": alias, "trap": trap, "printenv": fixed("secrets", Sensitive), "ip": ip, "ifconfig": ifconfig,
		"unset": quiet, "exit": quiet, "return": quiet, "break": quiet, "continue": quiet, "shift": quiet, "wait": quiet, "jobs": jobs, "cd": quiet, "pushd": quiet,
		"popd": quiet, "dirs": quiet, "umask": quiet, "getopts": quiet, "local": variables, "export": variables, "declare": variables, "typeset": variables, "readonly": variables,
		"read": readVariable, "mapfile": readVariable, "readarray": readVariable, "let": fixed("dynamic", Sensitive),
	} {
		programs[list] = f
	}
	register(programs)
	return programs
}

// fixed is a program that is the same however it is called, unless a word of it
// destroys.
func fixed(why string, class Class) func(call) {
	return func(c call) { c.found(why, class) }
}

// readers read files and write to nothing but their output, but for the options
// that are named: those are sensitive.
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

// printers say something of the system, or compute; they read no file.
var printers = map[string]string{
	"true": "", "false": "", ":": "", "pwd": "", "ver": "", "get-date": "", "get-process": "", "get-location": "", "uname": "", "uptime": "", "free": "-s --seconds -c --count", "nproc": "", "arch": "", "basename": "",
	"dirname": "", "expr": "", "tty": "", "lsblk": "", "lscpu": "", "lsusb": "-D", "lspci": "-i -p -A -H -F -O", "lsmod": "",
	"test": "", "[": "", "ss": "-K --kill -D --diag -E --events -F --filter -N --net", "netstat": "-c --continuous", "getconf": "", "locale": "", "logname": "", "pgrep": "",
	"pidof": "", "findmnt": "-p --poll -F --tab-file -N --task", "echo": "", "factor": "", "ncal": "", "times": "", "bc": "-", "lsns": "", "pstree": "-a",
}

func quiet(c call) {
	if c.name == "cd" && len(c.args) == 0 {
		c.found("elsewhere", Sensitive)
	}
	if c.name == "cd" || c.name == "pushd" || c.name == "exit" {
		for _, a := range c.args {
			if c.name != "exit" && (elsewhere(a.text, true) || a.text == "-" || a.text == "/") {
				c.found("elsewhere", Sensitive)
			}
			if a.dynamic {
				c.found("dynamic", Sensitive)
			}
			if secret(a.text) && c.name != "exit" {
				c.found("secrets", Sensitive)
			}
			c.away = c.away || c.name != "exit" && strings.HasPrefix(a.text, "/")
			c.inside = c.inside || protected(a.text) && a.text != "." && a.text != ".." && a.text != "~"
		}
	}
	if c.name == "unset" {
		for _, a := range c.args {
			if steering(a.text) || a.dynamic {
				c.found("environment", Sensitive)
			}
		}
	}
}

// reader judges a program that reads files.
func reader(c call) {
	c.fetches = c.fetches || unpacks(c)
	options := strings.Fields(readers[c.name])
	if len(options) > 0 && (c.flag(options...) || options[0] == "-") {
		c.found("writes", wordsClass(c.words))
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
				c.writes(word{text: target, dynamic: a.dynamic, glob: a.glob}, false)
			}
		}
	}
	if strings.HasSuffix(c.name, "diff") && c.flag("-r", "--recursive") {
		c.found("secrets", Sensitive)
	}
	positional := c.positional()
	positional = c.readerOptions(positional)
	if (c.name == "uniq" || c.name == "xxd") && len(positional) > 1 { // the second is written
		c.found("overwrites", Sensitive)
		c.writes(positional[1], false)
	}
	if c.name == "xxd" && c.flag("-r", "-revert") && len(positional) > 1 {
		c.found("overwrites", Sensitive)
	}
	if c.name == "jq" {
		for _, a := range positional {
			if strings.Contains(strings.ToLower(a.text), "env") || strings.Contains(a.text, "import") || strings.Contains(a.text, "include") {
				c.found("secrets", Sensitive)
			}
			for _, part := range []string{"repeat", "until(", "while(", "range(", "def ", "input_filename"} {
				if strings.Contains(a.text, part) { // it may not end
					c.found("waits", Sensitive)
				}
			}
		}
	}
	if strings.HasSuffix(c.name, "grep") || c.name == "rg" {
		c.recursive(positional)
	}
	lists := lists()[c.name] // names, and no contents
	for _, a := range c.args {
		switch {
		case a.foreign, a.dynamic && (!lists || strings.HasPrefix(a.text, "-")), secret(a.text), a.glob && !lists && hiddenGlob(a.text):
			c.found("secrets", Sensitive)
			return
		}
	}
}

// printer judges a program that only says what it is told, or what everybody may
// know.
func printer(c call) {
	if c.name == "echo" {
		c.spoken = append(c.spoken, strings.Join(texts(c.args), " "))
		if c.flag("-e") && strings.Contains(shown(c.args), `\`) {
			c.fetches = true
		}
	}
	options := strings.Fields(printers[c.name])
	for _, o := range options {
		for _, a := range c.args {
			if isFlag(a.text, o) {
				c.found("unknown", wordsClass(c.words))
				return
			}
		}
	}
	if len(options) == 1 && options[0] == "-" {
		c.found("unknown", wordsClass(c.words))
	}
	for _, a := range c.args {
		c.matches(a)
		switch {
		case a.foreign, (c.name == "test" || c.name == "[") && a.dynamic && strings.Contains(a.text, "["):
			c.found("secrets", Sensitive)
			return
		}
	}
}

// processes judges ps, which shows their environment when it is asked for e in the
// manner of BSD.
func processes(c call) {
	for _, a := range c.args {
		if a.dynamic || strings.Contains(a.text, "e") && !strings.HasPrefix(a.text, "-") {
			c.found("secrets", Sensitive)
		}
		if strings.HasPrefix(a.text, "-") && !strings.HasPrefix(a.text, "--") && strings.Contains(a.text, "E") {
			c.found("secrets", Sensitive)
		}
	}
}

func printf(c call) {
	c.spoken = append(c.spoken, strings.Join(texts(c.args), " "))
	for _, a := range c.args {
		c.matches(a)
		if strings.Contains(a.text, `\x`) || strings.Contains(a.text, `\0`) || strings.Contains(a.text, `\1`) || strings.Contains(a.text, `\u`) {
			c.fetches = true
		}
		if a.foreign {
			c.found("secrets", Sensitive)
		}
	}
	if c.flag("-v") {
		c.found("dynamic", c.unknown())
	}
}

func date(c call) {
	for i, a := range c.args {
		switch {
		case isFlag(a.text, "-s", "--set", "-f", "--file"), a.foreign:
			c.found("system", Sensitive)
		case a.text == "-d" || a.text == "-r" || i > 0 && (c.args[i-1].text == "-d" || c.args[i-1].text == "-r" || c.args[i-1].text == "--date"):
		case strings.HasPrefix(a.text, "+"), strings.HasPrefix(a.text, "-"):
		default: // MMDDhhmm sets the clock
			c.found("system", Sensitive)
		}
	}
}

// jobs judges the builtin, which with -x runs a command.
func jobs(c call) {
	for i, a := range c.args {
		if strings.HasPrefix(a.text, "-") && strings.Contains(a.text, "x") {
			c.inner(c.args[i+1:])
			return
		}
	}
}

func hostname(c call) {
	if len(c.positional()) > 0 || c.flag("-F", "--file", "-b", "--boot") {
		c.found("system", Sensitive)
	}
}

func locate(c call) {
	for _, a := range c.args {
		if a.foreign || c.name == "hash" && isFlag(a.text, "-p") {
			c.found("environment", Sensitive)
		}
	}
}

// command judges the builtins command -v NAME, which looks, and command NAME, which
// runs.
func command(c call) {
	for i, a := range c.args {
		switch {
		case a.text == "-v" || a.text == "-V":
			locate(c)
			return
		case strings.HasPrefix(a.text, "-"):
		default:
			c.inner(c.args[i:])
			return
		}
	}
}

func shellOptions(c call) {
	c.pending = append(c.pending, c.positional())
	if len(c.args) == 0 {
		c.found("secrets", Sensitive) // it lists every variable
	}
}

func alias(c call) {
	for _, a := range c.args {
		if _, text, ok := strings.Cut(a.text, "="); ok {
			c.found("environment", Sensitive)
			c.code(word{text: text, dynamic: a.dynamic})
		}
	}
}

func trap(c call) {
	if list := c.positional(); len(list) > 0 && !c.flag("-l", "-p") {
		c.code(list[0])
	}
}

// variables judges export and the like where they are commands of another.
func variables(c call) {
	c.found("environment", wordsClass(c.words))
	for _, a := range c.args {
		if name, text, ok := strings.Cut(a.text, "="); ok {
			c.assign(name, word{text: text, dynamic: a.dynamic})
		}
	}
}

// readVariable judges read: what it reads is not known.
func readVariable(c call) {
	for _, a := range c.positional() {
		c.assign(a.text, word{dynamic: true})
		if steering(a.text) || a.dynamic || strings.Contains(a.text, "[") {
			c.found("environment", Sensitive)
		}
	}
	if c.flag("-C") {
		c.found("dynamic", c.unknown())
	}
}

// ip takes the beginning of a word for the word: «ip r d» deletes a route.
func ip(c call) {
	for i, a := range c.positional() {
		begins := func(words ...string) bool {
			return i > 0 && slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, a.text) })
		}
		switch {
		case i == 0 && len(a.text) > 2 && strings.HasPrefix("monitor", a.text):
			c.found("waits", Sensitive)
		case a.text == "exec":
			c.found("system", wordsClass(c.args))
		case a.text == "down", begins("delete", "flush"):
			c.found("system", Destructive)
		case begins("add", "change", "replace", "append", "monitor", "restore"), a.text == "set", a.text == "up", a.text == "save", a.text == "netns":
			c.found("system", Sensitive)
		case i == 0 && (a.text == "xfrm" || a.text == "macsec"):
			c.found("secrets", Sensitive)
		}
	}
	if dynamic(c.args) || slices.ContainsFunc(c.args, func(a word) bool {
		return slices.Contains([]string{"-b", "-ba", "-bat", "-batc", "-batch", "-force"}, a.text)
	}) {
		c.found("system", Sensitive)
	}
}

func ifconfig(c call) {
	if list := texts(c.positional()); len(list) > 1 {
		if list[1] == "down" {
			c.found("system", Destructive)
		}
		c.found("system", wordsClass(c.words))
	}
}
