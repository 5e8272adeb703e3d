package main

import (
	_ "embed"
	"fmt"
	"localaws/conformance/outcome"
	"path"
	"slices"
	"strings"
)

// known.txt lists the checks that other emulators of DynamoDB are known to fail:
// a line "subject: reason", and below it, indented, the checks' names. A name
// may end in *, for some of which the subject may pass. One that begins with ~
// fails at some times only.
//
//go:embed known.txt
var knownText string

// readKnown reads the list of known differences.
func readKnown(text string) ([]outcome.Difference, error) {
	var out []outcome.Difference
	subject, reason := "", ""
	for i, line := range strings.Split(text, "\n") {
		name := strings.TrimSpace(line)
		switch {
		case name == "" || strings.HasPrefix(line, "#"):
		case line[0] != '\t':
			var ok bool
			if subject, reason, ok = strings.Cut(line, ": "); !ok {
				return nil, fmt.Errorf("known.txt:%d: want \"subject: reason\", have %q", i+1, line)
			}
		default:
			out = append(out, outcome.Difference{Subject: subject, Name: name, Reason: reason})
		}
	}
	return out, nil
}

// covers says whether a difference is of this check.
func covers(d outcome.Difference, name string) bool {
	d.Name = strings.TrimPrefix(d.Name, "~")
	if prefix, ok := strings.CutSuffix(d.Name, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return d.Name == name
}

// surprises compares outcomes with what is known of a subject: checks that fail
// without being listed, and listed ones that pass.
func surprises(subject string, outcomes []outcome.Outcome, known []outcome.Difference) []string {
	var out []string
	for _, o := range outcomes {
		why, failed := o.Failed[subject]
		_, skipped := o.Skipped[subject]
		listed, wavers := false, false
		for _, d := range known {
			if d.Subject == subject && covers(d, o.Name) {
				listed, wavers = true, wavers || strings.HasPrefix(d.Name, "~") || strings.HasSuffix(d.Name, "*")
			}
		}
		switch {
		case failed && !listed:
			out = append(out, fmt.Sprintf("%s newly fails %s:\n%s", subject, o.Name, indent(why)))
		case listed && !wavers && !failed && !skipped:
			out = append(out, fmt.Sprintf("%s newly passes %s", subject, o.Name))
		}
	}
	for _, d := range known {
		if d.Subject == subject && !slices.ContainsFunc(outcomes, func(o outcome.Outcome) bool { return covers(d, o.Name) }) {
			out = append(out, fmt.Sprintf("there is no check %s, which %s is said to fail", d.Name, subject))
		}
	}
	return out
}

func indent(s string) string { return "\t" + strings.ReplaceAll(s, "\n", "\n\t") }

// home is where a tool of that name and version is kept.
func home(cache, tool string) string { return path.Join(cache, "localaws", tool) }
