package claim

import (
	"slices"
	"strings"

	"piloto/internal/ground/lazy"
)

// Command is a command that the client of a job ran on its machine.
type Command struct {
	Line string
	Code int  // exit code
	Safe bool // it is known to change nothing
}

// OnMachine says that a client carries out calls, and which commands it ran. What a command did is not known, so each that ended well
// excuses any act that can be one of a machine. It does not excuse what a command has a name for: a commit needs one that commits.
func (r *Record) OnMachine(ran ...Command) {
	r.machine = true
	for _, c := range ran {
		r.commands = append(r.commands, c)
		r.know(slices.Values(namesIn(c.Line)))
		if c.Safe {
			continue
		}
		r.did = true
		r.act(slices.Values(namesIn(c.Line)))
		if c.Code != 0 {
			continue
		}
		for _, k := range []Kind{Any, Create, Remove, Change, Send, Run, Hold, Open} {
			r.kinds[k] = true
		}
	}
}

// What an act may need of commands, beside a word of theirs, or one of several: "pr|mr".
const (
	anyCommand = "*"
	tested     = "*tested"
	built      = "*built"
)

// needed reports whether an act needs a command that did not run.
func (r *Record) needed(a Act) bool {
	return slices.ContainsFunc(a.Needs, func(need string) bool {
		switch need {
		case anyCommand:
			return len(r.commands) == 0
		case tested:
			return !r.passed(tests())
		case built:
			return !r.passed(builds())
		}
		return !slices.ContainsFunc(r.commands, func(c Command) bool {
			words := namesIn(c.Line)
			return c.Code == 0 && slices.ContainsFunc(strings.Split(need, "|"), func(w string) bool { return slices.Contains(words, w) })
		})
	})
}

// passed reports whether the last command with one of some words ended well; if none has one, whether any did that is not known to only
// read.
func (r *Record) passed(of map[string]bool) bool {
	known, good := false, false
	for _, c := range r.commands {
		switch {
		case has(namesIn(c.Line), of):
			known, good = true, c.Code == 0
		case !known && !c.Safe:
			good = good || c.Code == 0
		}
	}
	return good
}

var tests = lazy.Words(`test tests testing spec specs check pytest unittest jest jasmine ava karma playwright cypress behave nose2 vitest mocha rspec phpunit ctest tox nox verify prueba pruebas`)

var builds = lazy.Words(`build compile make tsc gradle gradlew mvn cargo webpack vite cmake ninja bazel compilar`)

// needs returns what the act of a verb needs of commands: «he hecho el commit», «he subido el push», “I ran the tests”.
func needs(words []string, at int) (list []string) {
	if word := commits()[words[at]]; word != "" {
		return []string{word}
	}
	from, to := clauseOf(words, at)
	if making()[words[at]] {
		for _, w := range words[at+1 : min(to, at+5)] {
			if word := commits()[w]; word != "" {
				return []string{word}
			}
		}
		for _, w := range words[from:at] { // «el commit está hecho»
			if word := commits()[w]; word != "" && at-from < 6 {
				return []string{word}
			}
		}
	}
	if running()[words[at]] && has(words[at:to], runs()) {
		return []string{anyCommand}
	}
	return nil
}

// commits are the words of what git does, each with the word of the command.
func commits() map[string]string {
	return map[string]string{
		"commit": "commit", "commits": "commit", "committed": "commit", "commiteado": "commit", "commiteados": "commit", "commiteada": "commit", "commiteé": "commit",
		"push": "push", "pushed": "push", "pusheado": "push", "pusheados": "push", "pusheé": "push",
	}
}

var (
	making  = lazy.Words(`hecho hice hecha hechos creado creada realizado realizada lanzado subido made created done completed finished`)
	running = lazy.Words(`ejecutado ejecute ejecuté ejecutada ejecutadas ejecutados lanzado lanzada lanzadas lancé corrido pasado run ran executed`)
	runs    = lazy.Words(`test tests prueba pruebas suite comando comandos command commands`)
)

// Checks reports whether a command line tests, and whether it builds: one of its commands has a word for it, and is none that only looks
// at files or handles them. A text in quotes is no command, but after -c.
func Checks(line string) (does struct{ Tests, Builds bool }) {
	if at := strings.Index(line, "<<"); at >= 0 { // what follows that line is a text
		head, _, _ := strings.Cut(line[at:], "\n")
		line = line[:at] + head
	}
	line = quoted().ReplaceAllString(line, "$1; $2$3")
	for one := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune("&|;\n(){}`", r) }) {
		words := strings.Fields(one)
		for len(words) > 0 && (strings.Contains(words[0], "=") || before()[words[0]] || strings.Trim(words[0], "0123456789smh") == "") {
			words = words[1:]
		}
		if len(words) == 0 || plain()[words[0]] || len(words) > 1 && prepares()[words[1]] {
			continue
		}
		names := namesIn(strings.Join(words, " "))
		does.Tests, does.Builds = does.Tests || has(names, tests()), does.Builds || has(names, builds())
	}
	return does
}

var (
	quoted = lazy.Pattern(`(-c\s+)(?:"([^"]*)"|'([^']*)')|"[^"]*"|'[^']*'`)
	before = lazy.Words(`if then else elif do while until ! time env sudo nice nohup exec timeout xargs`)
	plain  = lazy.Words(`cd pushd popd echo printf cat head tail less more grep egrep fgrep rg ag find fd ls tree wc sort uniq cut tr sed awk diff cmp comm test [ [[
mkdir rmdir rm cp mv ln touch chmod chown stat file which type du df ps kill sleep export source . set unset true false pwd basename dirname date read
git gh glab curl wget tar zip unzip gzip tee jq yq man apt apt-get brew pip pip3 fi done for case`)
	prepares = lazy.Words(`install i ci add get uninstall remove init create fmt clean search list ls login publish version help doc`)
)
