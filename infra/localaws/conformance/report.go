package main

import (
	"fmt"
	"localaws/conformance/outcome"
	"slices"
	"strings"
)

// suite holds the outcomes of one package of checks for its subjects.
type suite struct {
	title    string
	subjects []string
	outcomes []outcome.Outcome
	known    []outcome.Difference
}

// table returns areas × subjects, as passed of run.
func (s suite) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | %s |\n|---|%s\n", s.title, strings.Join(s.subjects, " | "), strings.Repeat("---:|", len(s.subjects)))
	var areas []string
	for _, o := range s.outcomes {
		if !slices.Contains(areas, o.Area) {
			areas = append(areas, o.Area)
		}
	}
	for _, area := range areas {
		s.row(&b, area, func(o outcome.Outcome) bool { return o.Area == area })
	}
	s.row(&b, "**all**", func(outcome.Outcome) bool { return true })
	return b.String()
}

func (s suite) row(b *strings.Builder, title string, in func(outcome.Outcome) bool) {
	fmt.Fprintf(b, "| %s |", title)
	for _, subject := range s.subjects {
		passed, run := s.count(subject, in)
		fmt.Fprintf(b, " %d/%d |", passed, run)
	}
	b.WriteString("\n")
}

func (s suite) count(subject string, in func(outcome.Outcome) bool) (passed, run int) {
	for _, o := range s.outcomes {
		if _, skipped := o.Skipped[subject]; skipped || !in(o) {
			continue
		}
		run++
		if _, failed := o.Failed[subject]; !failed {
			passed++
		}
	}
	return passed, run
}

// differences lists the known failures of each subject, by reason.
func (s suite) differences() string {
	var b strings.Builder
	for _, subject := range s.subjects {
		var reasons []string
		names := map[string][]string{}
		for _, o := range s.outcomes {
			if _, failed := o.Failed[subject]; !failed {
				continue
			}
			reason := "not explained yet"
			for _, d := range s.known {
				if d.Subject == subject && covers(d, o.Name) {
					reason = d.Reason
					break
				}
			}
			if names[reason] == nil {
				reasons = append(reasons, reason)
			}
			names[reason] = append(names[reason], code(o.Name))
		}
		if reasons == nil {
			continue
		}
		fmt.Fprintf(&b, "\n#### %s · %s\n\n", s.title, subject)
		for _, reason := range reasons {
			fmt.Fprintf(&b, "- %s (%d):\n", reason, len(names[reason]))
			slices.Sort(names[reason]) // some checks are in no order
			for _, name := range names[reason] {
				fmt.Fprintf(&b, "  - %s\n", name)
			}
		}
	}
	return b.String()
}

// code formats a name that may contain backquotes and control characters.
func code(name string) string {
	name = fmt.Sprintf("%q", name)
	name = name[1 : len(name)-1]
	return "`` " + strings.ReplaceAll(name, `\"`, `"`) + " ``"
}

// resultsFile is written by -update.
const resultsFile = "infra/localaws/conformance/results.md"

// totals returns one line: of each subject, checks passed of checks run.
func (s suite) totals() string {
	var parts []string
	for _, subject := range s.subjects {
		passed, run := s.count(subject, func(outcome.Outcome) bool { return true })
		parts = append(parts, fmt.Sprintf("%s %d/%d", subject, passed, run))
	}
	return s.title + ": " + strings.Join(parts, ", ") + "."
}

// document returns the content of results.md.
func document(suites []suite, versions string) string {
	var b strings.Builder
	b.WriteString("# Conformance\n\n<!-- Written by `go run ./infra/localaws/conformance -update`. Do not edit. -->\n\n" +
		"The embedded engines and other emulators, held to what AWS does: every check goes through the production SDK client to a socket. " +
		"A cell is checks passed of checks run. " + versions + "\n\n")
	for _, s := range suites {
		b.WriteString("- " + s.totals() + "\n")
	}
	b.WriteString("\n## Tables, machines and objects\n\n")
	for _, s := range suites {
		b.WriteString(s.table() + "\n")
	}
	b.WriteString("## Known differences\n\nWhat the other emulators do differently, and why. A check that newly fails or newly passes is noticed.\n")
	for _, s := range suites {
		b.WriteString(s.differences())
	}
	return b.String()
}
