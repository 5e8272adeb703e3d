// Package usage counts turns. It defines the counted attributes of a turn (contract, outcome,
// reason, agent, latency), the counters of a day, and the totals of an account's days.
//
// Invariants: counting never fails a turn, and delays it by at most a second. An account's total
// only grows, because the counters of a day only grow and the total contains every day. Names
// that a client, a model or a server chooses create at most a fixed number of counters. An
// account's numbers count only its own turns.
//
// Counters are for people and alarms. A turn may be lost, or counted twice because the store's
// response was lost. Credit and runs must be exact, so their own packages count them.
package usage
