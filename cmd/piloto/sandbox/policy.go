package sandbox

import (
	"path"
	"slices"
	"strings"

	"piloto/internal/runs/command"
)

// A Mode says which commands a person is asked about.
type Mode string

// The modes. Any other one asks about all commands.
const (
	ConfirmAll       Mode = "confirm-all"
	ConfirmSensitive Mode = "confirm-sensitive"
	Yolo             Mode = "yolo"
)

// A Policy decides which commands run, which wait for a yes, and which never run. The table is in the documentation of
// this package.
type Policy struct {
	Mode        Mode
	AllowedOnly bool     // refuse sensitive commands that are not dev, and destructive ones
	Dev         []string // programs with their first arguments, such as "go test": the dev commands
	Unconfined  bool     // commands run without a sandbox: none of them is safe
}

// unsure are the programs that are never safe on a person's machine: a test runs any code of the workspace, and the
// history and the configuration of a repository may hold secrets that its files no longer have.
var unsure = []string{"go", "git"}

// classify returns the class of a line on a person's machine.
func (p Policy) classify(line string) (command.Class, []command.Finding) {
	found := command.Classify(line)
	if found.Class != command.Safe {
		return found.Class, found.Findings
	}
	list, ok := command.Plains(line)
	if p.Unconfined || !ok || slices.ContainsFunc(list, func(c command.Plain) bool { return slices.Contains(unsure, path.Base(c.Words[0])) }) {
		return command.Sensitive, found.Findings
	}
	return command.Safe, found.Findings
}

// A Verdict is the handling of a command.
type Verdict int

// The verdicts. The zero one is the careful one.
const (
	Ask Verdict = iota
	Allow
	Refuse
)

// A Decision is the verdict of a policy on a line.
type Decision struct {
	Verdict  Verdict
	Class    command.Class
	Dev      bool              // it is a dev command, inside of sensitive
	Findings []command.Finding // why it is not safe
}

// Judge decides about a line. Each line is judged anew, by its text alone.
func (p Policy) Judge(line string) Decision {
	var d Decision
	d.Class, d.Findings = p.classify(line)
	d.Dev = d.Class == command.Sensitive && p.isDev(line)
	switch {
	case p.AllowedOnly && d.Class != command.Safe && !d.Dev:
		d.Verdict = Refuse
	case p.Mode == Yolo && (d.Class == command.Safe || d.Dev), p.Mode == ConfirmSensitive && d.Class == command.Safe:
		d.Verdict = Allow
	}
	return d
}

// isDev reports whether a line has dev commands, and beside them safe commands only.
func (p Policy) isDev(line string) bool {
	list, ok := command.Plains(line)
	dev := false
	for _, c := range list {
		switch {
		case p.lists(c.Words):
			dev = true
		default:
			if class, _ := p.classify(c.Text); class != command.Safe {
				return false
			}
		}
	}
	return ok && dev
}

// lists reports whether a command begins with the words of a dev command.
func (p Policy) lists(words []string) bool {
	return slices.ContainsFunc(p.Dev, func(entry string) bool {
		want := strings.Fields(entry)
		return len(want) > 0 && len(words) >= len(want) && slices.Equal(words[:len(want)], want)
	})
}
