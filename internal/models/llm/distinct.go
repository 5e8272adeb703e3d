package llm

import (
	"fmt"
	"slices"
)

// Distinct returns the calls of an answer with ids by which a result names one of them: a call whose id is missing, or is
// that of another call of the answer or of the messages before it, gets a new one. A new id follows from its position, and
// has nine letters and digits, because some providers accept no other length.
func Distinct(calls []Call, before []Message) []Call {
	taken := map[string]bool{"": true}
	for _, m := range before {
		for _, c := range m.Calls {
			taken[c.ID] = true
		}
	}
	calls = slices.Clone(calls)
	for i := range calls {
		for n := len(before); taken[calls[i].ID]; n++ {
			calls[i].ID = fmt.Sprintf("c%04d%04d", n%10000, i%10000)
		}
		taken[calls[i].ID] = true
	}
	return calls
}
