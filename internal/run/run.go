// Package run owns what becomes of a plan after it was proposed: confirmation,
// cancellation, start, finish, and the sweep that heals what a crash left.
//
// Every transition is one conditional write that also appends its event and the
// message a person sees. A run that was confirmed is started until it runs, and
// a run that ended is settled until its chat is free: both are found again by
// the time at which they are due.
package run

import (
	"piloto/internal/locale"
	"piloto/internal/plan"
)

// Confirmation is one person's yes to exactly one plan.
type Confirmation struct {
	Account string
	User    string
	RunID   string
	Digest  plan.Digest
	Key     string // Idempotency-Key, optional: the same key gets the same answer
	Typed   string // the message that confirmed, when it was typed; it is stored in the same write
	Locale  locale.Tag
	TraceID string
}

// Cancellation is one person's no to a draft, or a stop to a run.
type Cancellation struct {
	Account string
	User    string
	RunID   string
	Digest  plan.Digest // optional: refuse when the draft is another
	Typed   string
	Locale  locale.Tag
}
