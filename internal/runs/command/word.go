package command

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"piloto/internal/ground/lazy"
)

// word is one word of a command after the expansion of the shell. dynamic means that its value is
// computed. foreign means that it is a variable that the text does not set, whose value may be a
// secret.
type word struct {
	text    string
	dynamic bool
	foreign bool
	glob    bool
	number  bool // of a value: it is a number, known or unknown
}

// maxWord is the greatest length of a word after the expansion of variables.
const maxWord = 4 << 10

// publicVariables are variables that hold no secret.
var publicVariables = lazy.Words("HOME PWD USER SHELL PATH OLDPWD HOSTNAME LANG RANDOM SECONDS LINENO UID EUID PPID TERM LOGNAME TMPDIR BASHPID ? $ ! # COLUMNS LINES OSTYPE HOSTTYPE EPOCHSECONDS")

// expandWords expands the words of a command.
func (j *analysis) expandWords(list []*syntax.Word) []word {
	var out []word
	for _, w := range list {
		out = append(out, j.expandWord(w)...)
	}
	return out
}

// expandWord expands one word: an unquoted variable may become several words.
func (j *analysis) expandWord(w *syntax.Word) []word {
	e := &expansion{in: j}
	e.addParts(w.Parts, false)
	return e.finish()
}

// expandSingle expands a word that is not split.
func (j *analysis) expandSingle(w *syntax.Word) word {
	if w == nil {
		return word{}
	}
	e := &expansion{in: j, whole: true}
	e.addParts(w.Parts, false)
	if list := e.finish(); len(list) > 0 {
		return list[0]
	}
	return word{}
}

type expansion struct {
	in    *analysis
	whole bool
	out   []word
	now   word
	begun bool
}

func (e *expansion) add(s string) {
	e.begun = true
	if len(e.now.text)+len(s) > maxWord || !e.in.spend(len(s)) {
		e.now.dynamic = true
		return
	}
	e.now.text += s
}

func (e *expansion) endWord() {
	if e.begun {
		e.out = append(e.out, e.now)
	}
	e.now, e.begun = word{}, false
}

func (e *expansion) finish() []word {
	e.endWord()
	return e.out
}

func (e *expansion) addParts(parts []syntax.WordPart, quoted bool) {
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if p.Value == "[" && len(parts) == 1 { // the command
				e.add(p.Value)
				continue
			}
			e.addLiteral(p.Value, quoted)
		case *syntax.SglQuoted:
			text := p.Value
			if p.Dollar {
				text = unescapeANSI(text)
			}
			e.add(text)
		case *syntax.DblQuoted:
			e.add("")
			e.addParts(p.Parts, true)
		case *syntax.ParamExp:
			e.addVariable(p, quoted)
		case *syntax.ArithmExp:
			e.add("0")
			e.now.dynamic = true
		default: // a substitution, or a pattern: its content is judged separately
			e.add("*")
			e.now.dynamic = true
		}
	}
}

// addLiteral adds text of the script itself.
func (e *expansion) addLiteral(s string, quoted bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s) && (!quoted || strings.IndexByte("$`\"\\\n", s[i+1]) >= 0):
			i++
			if s[i] != '\n' {
				b.WriteByte(s[i])
			}
			continue
		case !quoted && (c == '*' || c == '?' || c == '['):
			e.now.glob = true
		}
		b.WriteByte(c)
	}
	if !quoted && strings.Contains(s, "{") && strings.Contains(s, "}") && (strings.Contains(s, ",") || strings.Contains(s, "..")) {
		e.now.dynamic = true
	}
	e.add(b.String())
}

func (e *expansion) addVariable(p *syntax.ParamExp, quoted bool) {
	name := ""
	if p.Param != nil {
		name = p.Param.Value
	}
	simple := name != "" && !p.Excl && !p.Length && p.Index == nil && p.Slice == nil && p.Repl == nil && p.Exp == nil && p.Names == 0
	v, set := e.in.vars[name]
	switch {
	case name == "IFS" && simple:
		v = value{text: " ", known: true}
	case name == "HOME" && simple && !set:
		e.add("~")
		return
	case !simple || !set || !v.known:
		e.add("$" + name)
		e.now.dynamic = true
		e.now.foreign = e.now.foreign || !set && !publicVariables()[name] && !p.Length
		return
	}
	if quoted || e.whole {
		e.add(v.text)
		return
	}
	rest := v.text
	for {
		at := strings.IndexFunc(rest, unicode.IsSpace)
		if at < 0 {
			break
		}
		if at > 0 {
			e.add(rest[:at])
		}
		e.endWord()
		_, size := utf8.DecodeRuneInString(rest[at:])
		rest = rest[at+size:]
	}
	if rest != "" {
		e.add(rest)
		e.now.glob = e.now.glob || strings.ContainsAny(rest, "*?[")
	}
}

// unescapeANSI replaces the escapes of $'…'.
func unescapeANSI(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		digits, base := 0, 16
		switch c := s[i]; c {
		case 'x':
			digits = 2
		case 'u':
			digits = 4
		case 'U':
			digits = 8
		case '0', '1', '2', '3', '4', '5', '6', '7':
			digits, base = 3, 8
			i--
		case 'n', 'r', 't', 'v', 'f':
			b.WriteByte(' ')
			continue
		default:
			b.WriteByte(c)
			continue
		}
		end := i + 1
		for end < len(s) && end-i-1 < digits {
			if _, err := strconv.ParseUint(s[end:end+1], base, 8); err != nil {
				break
			}
			end++
		}
		n, _ := strconv.ParseUint(s[i+1:end], base, 32)
		b.WriteRune(rune(n))
		i = end - 1
	}
	return b.String()
}

// destructiveWords are destructive in any part whose meaning is unknown. destructiveStems also
// begin longer words (deleteMany).
var (
	destructiveWords = lazy.Words(`rm rmdir del rd dd shred wipe wipefs mkfs mke2fs mkswap truncate unlink fdisk sfdisk cfdisk gdisk sgdisk parted
		blkdiscard shutdown reboot poweroff halt kill killall pkill kill9 xkill userdel groupdel deluser delgroup drop dropdb dropuser dropdatabase
		dropcollection dropindexes erase prune flush flushall flushdb uninstall autoremove zap nuke rb srm
		autoclean deprovision decommission lvremove vgremove pvremove erase cryptsetup luksformat hdparm rmi rmdirs rimraf drain`)
	destructiveStems = []string{
		"delet", "remov", "destroy", "purg", "terminat", "truncat", "unlink", "rmdir", "uninstall", "deregister", "erase", "wipe",
		"shred", "mkfs", "rmsync", "rmtree", "shutdown", "flushall", "flushdb", "unpublish", "borra", "elimina",
	}
	devices = []string{"/dev/sd", "/dev/nvme", "/dev/hd", "/dev/vd", "/dev/xvd", "/dev/mmcblk", "/dev/disk", "/dev/mapper", "/dev/mem", "/dev/dm-", "/dev/loop", "/dev/md", "/dev/rdisk"}
)

// isDestructive reports whether a word of a text is destructive, quoted or not.
func isDestructive(text string) bool {
	text = strings.ToLower(text)
	if hasDestructiveWord(text) {
		return true
	}
	bare := strings.NewReplacer("'", "", `"`, "", `\`, "", "$@", "", "$*", "", "``", "", "$()", "").Replace(text)
	return bare != text && hasDestructiveWord(bare)
}

func hasDestructiveWord(text string) bool {
	for _, d := range devices {
		if strings.Contains(text, d) {
			return true
		}
	}
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' && r < 'a' || r > 'z' && r < utf8.RuneSelf }) {
		if destructiveWords()[w] {
			return true
		}
		for _, stem := range destructiveStems {
			if strings.HasPrefix(w, stem) {
				return true
			}
		}
	}
	return false
}
