// Package usage owns how turns are counted: what is told of one (by which
// contract it came, what it came to, why, which agent it went to, how long it
// took), how those facts become counters of a day, and what a sum of days says.
//
// What stays true: counting never fails or delays what is counted, by more than
// the second it may take; a total of an account only grows, because a day's
// counters only grow and every day is in it; no name that a client, a model or a
// server chooses makes a new counter beyond a fixed number of them; and one
// account's numbers are made of its own turns alone.
//
// A counter is a hint for people and alarms. One that was lost, or counted twice
// because an answer of the store was lost, changes nothing else: what must be exact
// (credit, runs) is counted where it is kept.
package usage
