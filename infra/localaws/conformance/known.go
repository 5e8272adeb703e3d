package main

import (
	_ "embed"
	"fmt"
	"localaws/conformance/outcome"
	"path"
	"slices"
	"strings"
)

// known.txt lists the checks that other emulators of DynamoDB are known to fail, and knownobjects.txt
// those of S3: a line "subject: reason", and below it, indented, the checks' names. A name
// may end in *; the subject may then pass some of these checks. A name that
// begins with ~ fails only sometimes.
//
//go:embed known.txt
var knownText string

//go:embed knownobjects.txt
var knownObjectsText string

// readKnown reads a list of known differences.
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
				return nil, fmt.Errorf("known differences, line %d: want \"subject: reason\", have %q", i+1, line)
			}
		default:
			out = append(out, outcome.Difference{Subject: subject, Name: name, Reason: reason})
		}
	}
	return out, nil
}

// covers reports whether a difference applies to this check.
func covers(d outcome.Difference, name string) bool {
	d.Name = strings.TrimPrefix(d.Name, "~")
	if prefix, ok := strings.CutSuffix(d.Name, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return d.Name == name
}

// surprises compares outcomes with the known differences of a subject. It returns failed checks
// that are not listed, and listed checks that passed.
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

// home returns the folder of a tool by name and version.
func home(cache, tool string) string { return path.Join(cache, "localaws", tool) }
