//go:build !failpoints

package failpoint

import "time"

// On says whether moments are compiled in.
const On = false

// Here is a moment.
func Here(string) {}

// At is the moment before or after something of an owner: "owner.what.moment".
func At(_, _, _ string) {}

// Verb is At for the nearest exported method on the stack of a type.
func Verb(_, _, _ string) {}

// Clock is the clock to go by: now itself.
func Clock(now func() time.Time) func() time.Time { return now }
