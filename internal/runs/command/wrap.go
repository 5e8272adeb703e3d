package command

import (
	"slices"
	"strings"

	"piloto/internal/ground/lazy"
)

// wrapper describes a program that runs the command in its other words. valued lists its options
// with a value; skip words stand before the command.
type wrapper struct {
	class  Class // at least
	why    string
	valued string
	skip   int
}

var wrappers = map[string]wrapper{
	"sudo": {Sensitive, "privileges", "-u -g -h -p -C -T -r -t -U -D -R --user --group --host --prompt --chdir --chroot --role --type", 0},
	"doas": {Sensitive, "privileges", "-u -C", 0}, "pkexec": {Sensitive, "privileges", "--user", 0}, "gosu": {Sensitive, "privileges", "", 1}, "su-exec": {Sensitive, "privileges", "", 1},
	"nohup": {Sensitive, "process", "", 0}, "setsid": {Safe, "", "", 0}, "time": {Safe, "", "-f --format", 0}, "timeout": {Safe, "", "-s -k --signal --kill-after", 1},
	"nice": {Safe, "", "-n --adjustment", 0}, "ionice": {Safe, "", "-c -n --class --classdata", 0}, "stdbuf": {Safe, "", "-i -o -e --input --output --error", 0},
	"unbuffer": {Safe, "", "", 0}, "chronic": {Safe, "", "", 0}, "caffeinate": {Safe, "", "-t -w", 0}, "builtin": {Safe, "", "", 0},
	"busybox": {Safe, "", "", 0}, "toybox": {Safe, "", "", 0}, "exec": {Safe, "", "-a", 0}, "chroot": {Sensitive, "privileges", "", 1},
	"unshare": {Sensitive, "privileges", "", 0}, "nsenter": {Sensitive, "privileges", "-t --target -S -G", 0}, "strace": {Sensitive, "process", "-e -o -p -s -u -E -a -b -P -I -O -S -X", 0},
	"ltrace": {Sensitive, "process", "-e -o -p -s -u -n -a -l", 0}, "runuser": {Sensitive, "privileges", "-u -g -G --user", 0}, "setpriv": {Sensitive, "privileges", "", 0},
	"systemd-run": {Sensitive, "privileges", "-p -u --unit --uid --gid -E", 0}, "torsocks": {Sensitive, "network", "", 0}, "proxychains": {Sensitive, "network", "-f", 0}, "proxychains4": {Sensitive, "network", "-f", 0},
	"firejail": {Sensitive, "process", "", 0}, "taskset": {Safe, "", "", 1}, "chrt": {Safe, "", "", 1}, "coproc": {Sensitive, "process", "", 0},
	"flock": {Sensitive, "process", "-w -E --timeout --conflict-exit-code", 1}, "dotenv": {Sensitive, "secrets", "-f", 0}, "fakeroot": {Sensitive, "privileges", "", 0}, "cpulimit": {Sensitive, "process", "-l -p", 0},
	"script": {Sensitive, "writes", "", 1}, "entr": {Sensitive, "process", "", 0}, "doppler": {Sensitive, "secrets", "", 0}, "aws-vault": {Sensitive, "secrets", "", 2},
	"!": {}, "{": {}, "}": {}, "then": {}, "do": {}, "else": {}, "elif": {}, "if": {}, "while": {}, "until": {}, "function": {Sensitive, "unparsed", "", 0},
}

func wrap(c call) {
	w := wrappers[c.name]
	if c.isHelp() {
		return
	}
	c.in.addFinding(commandLine(c.words), w.why, w.class)
	if c.flag("-c", "--command") && (c.name == "flock" || c.name == "script" || c.name == "runuser" || c.name == "unshare") {
		c.commandText()
		return
	}
	rest, understood := w.command(c.args)
	if !understood {
		c.report("unknown", wordsClass(c.words))
	}
	if len(rest) == 0 {
		if w.class == Safe && c.name != "exec" && c.name != "}" && c.name != "do" && c.name != "then" && c.name != "else" {
			c.report("unknown", Sensitive)
		}
		return
	}
	c.in.runInner(rest)
}

// command returns the words of a wrapper without its own; false when one of its options is unknown.
func (w wrapper) command(args []word) ([]word, bool) {
	understood, skip := true, w.skip
	for i := 0; i < len(args); i++ {
		a := args[i].text
		switch {
		case a == "--":
			return args[min(i+1+skip, len(args)):], understood
		case strings.HasPrefix(a, "-") && a != "-":
			name, _, joined := strings.Cut(a, "=")
			for _, v := range strings.Fields(w.valued) {
				if !joined && a == v {
					i++
				}
			}
			number := strings.Trim(strings.TrimPrefix(name, "-"), "0123456789") == ""
			understood = understood && (number || strings.Contains(" "+w.valued+" -n -E -H -S -i -k -b -K -A -l -s -v -p --preserve-env --foreground --preserve-status -f -w -c ", " "+name+" "))
		case skip > 0:
			understood = understood && !args[i].dynamic
			skip--
		default:
			return args[i:], understood
		}
	}
	return nil, understood
}

// env judges env, which runs a command with other variables, or shows all of them.
func env(c call) {
	rest := c.args
	for len(rest) > 0 {
		a := rest[0]
		value, split := strings.CutPrefix(a.text, "--split-string=")
		switch {
		case split:
			c.in.readCode(word{text: value, dynamic: a.dynamic})
		case strings.HasPrefix(a.text, "-S") && len(a.text) > 2:
			c.in.readCode(word{text: a.text[2:], dynamic: a.dynamic})
		case (a.text == "-S" || a.text == "-vS" || a.text == "--split-string") && len(rest) > 1:
			c.in.readCode(rest[1])
			rest = rest[1:]
		case (a.text == "-u" || a.text == "-C" || a.text == "--unset" || a.text == "--chdir" || a.text == "-P") && len(rest) > 1:
			rest = rest[1:]
		case strings.HasPrefix(a.text, "-"):
		case isSetting(a.text):
			name, text, _ := strings.Cut(a.text, "=")
			c.in.checkSetting(name, text, true)
			c.in.assign(name, word{text: text, dynamic: a.dynamic})
		default:
			c.in.runInner(rest)
			return
		}
		rest = rest[1:]
	}
	c.report("secrets", Sensitive)
}

// commandText judges the text after -c, or every text when the position is unclear.
func (c call) commandText() {
	for i, a := range c.args {
		if isFlag(a.text, "-c", "--command") {
			if _, text, ok := strings.Cut(a.text, "--command="); ok {
				c.in.readCode(word{text: text, dynamic: a.dynamic})
				return
			}
			for n, next := range c.args[i+1:] {
				if !strings.HasPrefix(next.text, "-") && !strings.HasPrefix(next.text, "+") && next.text != "pipefail" && next.text != "errexit" {
					c.in.readCode(next)
					c.parameters(c.args[i+n+2:])
					return
				}
			}
		}
	}
}

// parameters records the $0, $1… of a text, because the text may run them.
func (c call) parameters(list []word) {
	for i, w := range list {
		c.in.dataTexts = append(c.in.dataTexts, w.text)
		if i < 2 {
			c.in.pending = append(c.in.pending, list[i:])
		}
	}
}

// shell judges sh, bash and other shells: the text after -c, or code that is not in the command.
func shell(c call) {
	if c.isHelp() {
		return
	}
	if c.name == "powershell" || c.name == "pwsh" || c.name == "cmd" { // another language
		c.in.runsUnseen = true
		c.report("unseen", wordsClass(c.words))
		return
	}
	if c.flag("--rcfile", "--init-file") || slices.ContainsFunc(c.args, func(a word) bool { return a.text == "-O" || a.text == "+O" }) {
		c.in.runsUnseen = true
		c.report("unseen", wordsClass(c.words))
	}
	if c.flag("-c", "--command") {
		c.commandText()
		if len(c.args) < 2 {
			c.in.runsUnseen = true
			c.report("unseen", Sensitive)
		}
		return
	}
	c.in.runsUnseen = true
	c.report("unseen", wordsClass(c.words))
}

// withoutDashes returns a list without the -- that ends the options before it.
func withoutDashes(list []word) []word {
	if len(list) > 0 && list[0].text == "--" {
		return list[1:]
	}
	return list
}

// eval judges words that are run as code.
func eval(c call) {
	args := withoutDashes(c.args)
	text, dynamic := strings.Join(texts(args), " "), anyDynamic(args)
	if text != "" {
		c.in.readCode(word{text: text, dynamic: dynamic})
	}
}

// source judges code in a file.
func source(c call) {
	c.in.runsUnseen = true
	c.report("unseen", wordsClass(c.words))
}

// interpreter judges a program that runs code of its own language. The code is not parsed; only its
// words are judged.
func interpreter(c call) {
	if c.isHelp() || len(c.args) == 1 && c.args[0].text == "-v" && (c.name == "node" || c.name == "perl" || c.name == "php") {
		return
	}
	if !c.flag("-c", "-e", "-E", "-r", "--eval", "--execute") || anyDynamic(c.args) {
		c.in.runsUnseen = true
	}
	c.report("unseen", wordsClass(c.words))
	if overwritesInPlace(c) || slices.ContainsFunc(c.args, func(a word) bool { return c.writesOver(a.text) }) {
		c.report("overwrites", Destructive)
	}
}

// xargs judges xargs, which runs a command with unknown words.
func xargs(c call) {
	own := c.args
	for i := 0; i < len(c.args); i++ {
		if list := xargsOptions(); !strings.HasPrefix(c.args[i].text, "-") {
			own = c.args[:i]
			break
		} else if list[c.args[i].text+":"] {
			i++
		}
	}
	if !(call{args: own}).hasOnly(xargsOptions()) {
		c.report("secrets", Sensitive)
	}
	for i := 0; i < len(c.args); i++ {
		switch a := c.args[i].text; {
		case a == "-n" || a == "-P" || a == "-I" || a == "-L" || a == "-d" || a == "-s" || a == "-E" || a == "--max-args" || a == "--max-procs" || a == "--replace" || a == "--delimiter" || a == "-J" || a == "-R":
			i++
		case a == "-a" || a == "--arg-file":
			i++
			c.report("secrets", Sensitive)
		case strings.HasPrefix(a, "-"):
		default:
			words := append([]word{}, c.args[i:]...)
			c.in.runInner(append(words, word{text: "{}", dynamic: true}))
			if c.flag("-I", "-i", "--replace") && len(words) > 0 && shells()[words[0].text] {
				c.in.runsUnseen = true
				c.report("unseen", c.in.unknownClass())
			}
			return
		}
	}
}

// remote judges a command that another machine runs.
func remote(c call) {
	c.report("network", Sensitive)
	valued := lazy.Words("-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w")
	for i := 0; i < len(c.args); i++ {
		a := c.args[i].text
		switch {
		case a == "-o" && i+1 < len(c.args):
			c.in.addFinding(c.args[i+1].text, "network", wordsClass(c.args[i+1:i+2]))
			i++
		case valued()[a]:
			i++
		case strings.HasPrefix(a, "-"):
			c.in.addFinding(a, "network", wordsClass(c.args[i:i+1]))
		default:
			if rest := withoutDashes(c.args[i+1:]); len(rest) > 0 {
				c.in.readCode(word{text: strings.Join(texts(rest), " "), dynamic: anyDynamic(rest)})
			} else {
				c.in.runsUnseen = true
			}
			return
		}
	}
}

// su judges su, which runs a text, or a shell, as another user.
func su(c call) {
	c.report("privileges", Sensitive)
	if c.flag("-c", "--command") {
		c.commandText()
		return
	}
	c.in.runsUnseen = true
}

// joinedCommand judges a program whose other words are one text for a shell.
func joinedCommand(c call) {
	c.report("process", wordsClass(c.words))
	valued := "-n --interval"
	if c.name == "parallel" {
		valued = "-j --jobs -n -N -a -I -S"
	}
	rest, _ := wrapper{valued: valued}.command(c.args)
	if c.name == "at" || c.name == "batch" || len(rest) == 0 { // it reads its commands from the input
		c.in.runsUnseen = true
	}
	if len(rest) > 0 {
		c.in.readCode(word{text: strings.Join(texts(rest), " "), dynamic: anyDynamic(rest)})
	}
}

var shells = lazy.Words("sh bash zsh dash ksh ash fish csh tcsh mksh rbash pwsh powershell cmd")
