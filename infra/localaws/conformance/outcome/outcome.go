// Package outcome defines the results that the conformance suites return to the command that prints
// them: one outcome per check, with every subject that failed it.
//
// One rule holds: a check that was not run against a subject is in Skipped, and counts neither as
// passed nor as failed.
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

	// Failed holds the reasons of the failures, by the subject's name.
	Failed map[string]string
	// Skipped holds the reasons why the check was not run, by the subject's name.
	Skipped map[string]string
}

// Run runs a whole suite against the subjects; the caller starts and stops their processes. It
// fails only when the suite itself cannot run.
type Run func(ctx context.Context, subjects ...Subject) ([]Outcome, error)

// Difference is a check that a subject is known to fail, with the reason.
type Difference struct {
	Subject string
	Name    string // name of the check
	Reason  string
}
