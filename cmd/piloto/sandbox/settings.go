package sandbox

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

var (
	// harmless are settings by which git runs nothing, and reads no other configuration.
	harmless = regexp.MustCompile(`^(user\.(name|email)|branch\..*\.(remote|merge|rebase|description|pushremote)|remote\..*\.(url|fetch|pushurl|push|tagopt|prune|mirror|skipfetchall)` +
		`|core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol|safecrlf|quotepath|abbrev|compression|sparsecheckout|sparsecheckoutcone)` +
		`|submodule\..*\.(url|active|branch)|init\.defaultbranch|pull\.(rebase|ff)|push\.(default|autosetupremote)|fetch\.prune|merge\.(ff|conflictstyle)|rebase\.(autosquash|autostash)|color\..*)$`)

	// unrun are settings beside them that name a file which git does not run.
	unrun = regexp.MustCompile(`^(safe\.directory|commit\.template|.*file|.*files)$`)
)

// settings notes the configurations of a git folder, those of the person, and the files that they name. Work is the
// folder whose files it keeps.
func (o *obeyed) settings(folder, work string) {
	works := []string{work}
	for _, name := range []string{"config", "config.worktree"} {
		for _, s := range o.options(filepath.Join(folder, name)) {
			if s.name == "core.worktree" {
				works = append(works, o.follow(folder, s.value))
			}
		}
	}
	for _, work := range works {
		o.configuration(folder, "config", work)
		o.configuration(folder, "config.worktree", work)
		o.own(work)
	}
}

// own notes the configurations of the person and of the machine.
func (o *obeyed) own(work string) {
	home := homeOf()
	further := os.Getenv("XDG_CONFIG_HOME")
	if further == "" {
		further = filepath.Join(home, ".config")
	}
	for _, path := range []string{
		os.Getenv("GIT_CONFIG_GLOBAL"), filepath.Join(home, ".gitconfig"), filepath.Join(further, "git", "config"),
		os.Getenv("GIT_CONFIG_SYSTEM"), "/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig",
	} {
		if filepath.IsAbs(path) {
			o.configuration("", path, work)
		}
	}
}

// configuration notes a configuration, whose path is relative to a folder, and the files that it names.
func (o *obeyed) configuration(folder, path, work string) {
	dir, name := filepath.Split(withHome(path))
	dir = o.follow(folder, dir)
	real := o.file(filepath.Join(dir, name), configuration)
	if !o.once("configuration", dir, real, work) {
		return
	}
	for _, s := range o.options(real) {
		section, _, _ := strings.Cut(s.name, ".")
		switch last := s.name[strings.LastIndex(s.name, ".")+1:]; {
		case s.value == "":
		case last == "path" && (section == "include" || section == "includeif"):
			o.configuration(dir, s.value, work)
		case s.name == "core.hookspath":
			o.hooks(work, withHome(s.value))
		case s.name == "init.templatedir":
			template := o.follow(work, withHome(s.value))
			o.hooks(template, "hooks")
			o.configuration(template, "config", work)
		case section == "alias" && s.value[0] != '!', harmless.MatchString(s.name), section != "alias" && unrun.MatchString(s.name):
		default:
			o.programs(strings.TrimPrefix(s.value, "!"), work, section == "alias")
		}
	}
}

// programs notes the files that a line of a shell in a setting may run. Each word of the line, of the code in it too, is
// searched in the folder in which git runs it, and in each folder that the line names, because it may change to that or have
// it in its PATH. Of a line that runs only when it is asked for, scripts and programs count, and nothing else that it names.
func (o *obeyed) programs(line, work string, asked bool) {
	line = strings.NewReplacer("${HOME}", homeOf(), "$HOME", homeOf(), "~/", homeOf()+"/").Replace(line)
	words := namesIn(line)
	folders := []string{work}
	for _, word := range words {
		real := o.follow(work, word)
		if info, err := os.Stat(real); err == nil && info.IsDir() && real != work && len(folders) < mostFolders {
			folders = append(folders, real)
		}
	}
	bare := slices.ContainsFunc(words, readsScripts) // sh x runs ./x, and x alone does not
	if !asked {
		words = append(words, byName(words)...)
	}
	for i, folder := range folders {
		for _, word := range words {
			if i > 0 || bare || strings.ContainsAny(word, "/.") {
				o.program(word, folder, asked)
			}
		}
	}
}

// namesIn returns the words of a line that may be names of files: the words of the shell, and their parts between other
// signs than names have, as in code. The rest of a word of options is one, as in -Clib.
func namesIn(line string) (words []string) {
	add := func(word string) {
		if word != "" && len(words) < mostNamed && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	texts := []string{line}
	if file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), ""); err == nil {
		syntax.Walk(file, func(n syntax.Node) bool {
			if w, ok := n.(*syntax.Word); ok {
				texts = append(texts, wordText(w))
				add(wordText(w))
			}
			return true
		})
	}
	for _, text := range texts {
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n;|&()<>{}[]\"'`\\=:,$", r) }) {
			add(word)
			if word[0] == '-' && !strings.HasPrefix(word, "--") {
				add(word[min(2, len(word)):])
				add(word[min(3, len(word)):])
			}
		}
	}
	return words
}

// readsScripts reports whether a word is a program that runs a file which it is given by its name alone.
func readsScripts(word string) bool {
	base := filepath.Base(word)
	return readsCode[base] != nil || readsFiles[base] != nil || isPython.MatchString(base) || base == "." || base == "source"
}

// scriptName finds the ends of names of files that programs run.
var scriptName = regexp.MustCompile(`\.(?:[ck]?sh|bash|zsh|fish|py|rb|pl|php|lua|awk|sed|[cm]?[jt]s|ps1|exe|bat|cmd)$`)

// program notes a file that a word names below a folder.
func (o *obeyed) program(word, folder string, asked bool) {
	for _, path := range []string{word, strings.TrimLeft(word, "/")} { // $(…)/file is in the folder
		real := o.follow(folder, path)
		info, err := os.Lstat(real)
		if path == "" || err != nil || !info.Mode().IsRegular() || asked && info.Mode()&0o111 == 0 && !scriptName.MatchString(real) {
			continue
		}
		o.file(real, program)
	}
}

// withHome returns a path as git reads it in a setting.
func withHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(homeOf(), rest)
	}
	return path
}

func homeOf() string {
	home, _ := os.UserHomeDir()
	return home
}

// onlyHarmless reports whether a configuration has no setting beside those of another one and harmless ones. A setting
// with escapes is not harmless.
func onlyHarmless(text, former string) bool {
	all, plain := parse(text)
	known, _ := parse(former)
	return plain && !slices.ContainsFunc(all, func(s option) bool { return !slices.Contains(known, s) && !harmless.MatchString(s.name) })
}

// options returns the settings of a configuration.
func (o *obeyed) options(path string) []option {
	all, known := o.parsed[path]
	if !known {
		all, _ = parse(readSmall(path))
		o.parsed[path] = all
	}
	return all
}

// An option is a setting. Its name is lowercase except for the part between the first dot and the last one.
type option struct{ name, value string }

// parse returns the settings of a configuration as git reads them, up to its first error. It is plain when it has no error,
// and no value over several lines.
func parse(text string) (all []option, plain bool) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\uFEFF"), "\r\n", "\n")
	plain = true
	section := ""
	for {
		text = strings.TrimLeft(text, " \t\n\r\v\f")
		switch {
		case text == "":
			return all, plain
		case text[0] == '#', text[0] == ';':
			_, text, _ = strings.Cut(text, "\n")
			continue
		}
		if head := heading.FindStringSubmatch(text); head != nil {
			section, text = strings.ToLower(head[1])+".", text[len(head[0]):]
			if head[2] != "" {
				section += escaped.ReplaceAllString(head[2][1:len(head[2])-1], "$1") + "."
			}
			continue
		}
		key := keyName.FindStringSubmatch(text)
		if key == nil {
			return all, false
		}
		s := option{name: section + strings.ToLower(key[1])}
		text = text[len(key[0]):]
		if key[2] != "" {
			var ok bool
			before := text
			if s.value, text, ok = valueOf(text); !ok {
				return all, false
			}
			plain = plain && !strings.Contains(before[:len(before)-len(text)], "\\\n")
		}
		all = append(all, s)
	}
}

var (
	heading = regexp.MustCompile(`^\[([A-Za-z0-9.-]+)(?:[ \t]+("(?:[^"\\\n]|\\[^\n])*"))?\]`)
	escaped = regexp.MustCompile(`\\(.)`)
	keyName = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:(=)|\n|$)`)
)

// valueOf returns the value that a text begins with, and the text after its line.
func valueOf(text string) (value, rest string, ok bool) {
	var b strings.Builder
	quoted, comment, blank := false, false, ""
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\n':
			return b.String(), text[i+1:], !quoted
		case comment:
			continue
		case !quoted && strings.IndexByte(" \t\r\v\f", c) >= 0:
			if b.Len() > 0 {
				blank += string(c)
			}
			continue
		case !quoted && (c == '#' || c == ';'):
			comment = true
			continue
		}
		b.WriteString(blank)
		blank = ""
		switch {
		case c == '"':
			quoted = !quoted
		case c != '\\':
			b.WriteByte(c)
		default:
			if i++; i == len(text) { // git reads the end as that of a line
				return b.String(), "", !quoted
			}
			switch by, known := afterBackslash[text[i]]; {
			case known:
				b.WriteString(by)
			default:
				return "", "", false
			}
		}
	}
	return b.String(), "", !quoted
}

// afterBackslash are the meanings of the characters after a backslash.
var afterBackslash = map[byte]string{'\n': "", 't': "\t", 'b': "\b", 'n': "\n", '\\': `\`, '"': `"`}
