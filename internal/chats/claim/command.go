package claim

import (
	"slices"
	"strings"

	"piloto/internal/ground/lazy"
	"piloto/internal/runs/command"
)

// Command is a command that the client of a job ran on its machine.
type Command struct {
	Line string
	Code int  // exit code
	Safe bool // it is known to change nothing
}

// OnMachine records that a client carries out calls, and the commands that it ran. The effects of a command are not
// known, so each that ended well excuses any act that can be one of a machine. It does not excuse an act with a command
// of its own: a commit needs one that commits.
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

// The commands that an act may need, beside a word of theirs, or one of several: "pr|mr".
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
			return !r.passed(thatTest)
		case built:
			return !r.passed(thatBuild)
		}
		return !slices.ContainsFunc(r.commands, func(c Command) bool { return c.verdict(withWord, calls(strings.Split(need, "|"))) == command.Passed })
	})
}

// passed reports whether the last command whose exit code covers programs of a sort ended well; if none runs one,
// whether an unknown program did.
func (r *Record) passed(sort command.Sorts) bool {
	known, good := false, false
	for _, c := range r.commands {
		switch c.verdict(sort, sorts) {
		case command.Absent:
			good = good || !known && !c.Safe && c.verdict(unknownSort, sorts) == command.Passed
		case command.Unproved:
			known, good = true, known && good
		case command.Passed:
			known, good = true, true
		case command.Broken:
			known, good = true, false
		}
	}
	return good
}

// needs returns the commands that an act needs: «he hecho el commit», «he subido el push», “I ran the tests”.
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

// commits are the words for acts of git, each with the word of the command.
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
