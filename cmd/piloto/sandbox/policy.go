package sandbox

import (
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
	AllowedOnly bool     // refuse what is sensitive and no dev command, and what is destructive
	Dev         []string // programs with their first arguments, such as "go test": the dev commands
}

// A Verdict says what happens with a command.
type Verdict int

// The verdicts. The zero one is the careful one.
const (
	Ask Verdict = iota
	Allow
	Refuse
)

// A Decision is what a policy says of a line.
type Decision struct {
	Verdict  Verdict
	Class    command.Class
	Dev      bool              // it is a dev command, inside of sensitive
	Findings []command.Finding // why it is not safe
}

// Judge decides about a line. Each line is judged anew, by its text alone.
func (p Policy) Judge(line string) Decision {
	found := command.Classify(line)
	d := Decision{Class: found.Class, Findings: found.Findings}
	d.Dev = found.Class == command.Sensitive && p.isDev(line)
	switch {
	case p.AllowedOnly && found.Class != command.Safe && !d.Dev:
		d.Verdict = Refuse
	case p.Mode == Yolo && (found.Class == command.Safe || d.Dev), p.Mode == ConfirmSensitive && found.Class == command.Safe:
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
		case command.Classify(c.Text).Class != command.Safe:
			return false
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
