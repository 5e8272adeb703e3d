// Package outcome owns what the conformance suites hand to the command that
// prints them: one outcome per check, with every subject that failed it.
//
// What must stay true: a check that was not run against a subject says so in
// Skipped and is neither passed nor failed by it.
package outcome

import "context"

// Subject is one implementation of a service, reached at a URL.
type Subject struct {
	Name string // "localaws", "dynalite", "moto"
	URL  string // http://127.0.0.1:PORT
}

// Outcome is one check, run against every subject.
type Outcome struct {
	Area string // "query", "choice": a row of the table
	Name string // unique within its suite

	// Failed says, by the subject's name, why the check failed there.
	Failed map[string]string
	// Skipped says, by the subject's name, why the check was not run there.
	Skipped map[string]string
}

// Run runs a whole suite against the subjects, each served by a process that the
// caller started and will end. It fails only when the suite itself cannot run.
type Run func(ctx context.Context, subjects ...Subject) ([]Outcome, error)

// Difference is a check that a subject is known to fail, and why.
type Difference struct {
	Subject string
	Name    string // of the check
	Reason  string
}
