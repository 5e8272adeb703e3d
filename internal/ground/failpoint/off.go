//go:build !failpoints

package failpoint

import "time"

// On reports whether failpoints are compiled in.
const On = false

// Here marks a failpoint.
func Here(string) {}

// At marks the failpoint "owner.action.moment".
func At(_, _, _ string) {}

// Verb marks the failpoint "owner.Method.moment". Method is the nearest exported method of the type on the stack.
func Verb(_, _, _ string) {}

// Environment returns the variables that arm another process: none.
func Environment() []string { return nil }

// Clock returns the clock to use: now itself.
func Clock(now func() time.Time) func() time.Time { return now }

// Concurrency returns how many functions of tasks may run at once: 0, as many as there are.
func Concurrency() int { return 0 }
