package agent

import (
	"time"
)

// Phase is the state of a breaker at a time.
type Phase int

// The phases. The gauge uses the same numbers.
const (
	Closed   Phase = iota // the agent is called
	Open                  // it is not called until RetryAt
	HalfOpen              // one probe call decides
)

var phases = [...]string{Closed: "closed", Open: "open", HalfOpen: "half_open"}

// String returns the phase's name: closed, open or half_open.
func (p Phase) String() string { return phases[p] }

// MarshalText returns the phase's name.
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// Policy sets when a breaker opens, and for how long.
type Policy struct {
	Failures int           // failures in a row that open it; 1 to MostFailures
	Window   time.Duration // maximum age of a counted failure
	Open     time.Duration // how long it stays open
	Probe    time.Duration // lease of a probe; longer than a call can take
}

// MostFailures bounds Policy.Failures, because a breaker stores that many times.
const MostFailures = 20

// Usual is the default policy (document 001).
var Usual = Policy{Failures: 5, Window: 5 * time.Minute, Open: time.Minute, Probe: 40 * time.Second}

// withDefaults replaces unset members by those of Usual.
func (p Policy) withDefaults() Policy {
	if p.Failures <= 0 {
		p.Failures = Usual.Failures
	}
	p.Failures = min(p.Failures, MostFailures)
	for _, d := range []struct {
		set   *time.Duration
		usual time.Duration
	}{{&p.Window, Usual.Window}, {&p.Open, Usual.Open}, {&p.Probe, Usual.Probe}} {
		if *d.set <= 0 {
			*d.set = d.usual
		}
	}
	return p
}

// Breaker counts the failures of an agent's calls for an account. The zero Breaker has no
// failures and is closed.
//
// The processes that change it have their own clocks. So a period ends on either side of now: a
// time that a fast clock wrote into the future blocks calls only for the length of the period.
type Breaker struct {
	Agent     string      // ID of its server
	Failed    []time.Time // times of the failures in a row, the newest first, at most Policy.Failures
	Opens     int64       // how often it opened; calls from before the last time do not count
	OpenedAt  time.Time   // zero while it is closed
	OpenUntil time.Time
	Probe     string // ID of the running probe; "" when there is none
	ProbedAt  time.Time
	ProbedBy  time.Time // end of the probe's lease; another probe may start then
	RestUntil time.Time // it asked not to be called before; zero: never
}

// MostRest bounds how long an agent that asks for a pause is not called.
const MostRest = 12 * time.Hour

// Rests reports whether the agent is not called because it asked for a pause.
func (b Breaker) Rests(now time.Time) bool {
	return now.Before(b.RestUntil) && now.Add(MostRest).Compare(b.RestUntil) >= 0
}

// AfterPause returns the breaker after an answer that asks for a pause.
func (b Breaker) AfterPause(until time.Time) Breaker {
	b.RestUntil = until
	return b
}

// Call is an admitted call with the state of the breaker at its start. That state decides
// whether its result counts.
type Call struct {
	Opens int64
	Probe string // ID of the probe; "" when the call is none
	Name  string // of the agent, for the notification that its breaker opened
}

// Admission is a breaker's answer to a call.
type Admission int

// The admissions.
const (
	Admitted Admission = iota
	Probing            // only as a probe, which one caller gets
	Refused
)

// Admits returns whether the agent may be called at a time.
func (b Breaker) Admits(p Policy, now time.Time) Admission {
	switch {
	case b.Rests(now):
		return Refused
	case b.OpenedAt.IsZero():
		return Admitted
	case now.Before(b.OpenUntil) && now.Add(p.Open).After(b.OpenedAt):
		return Refused
	case b.Probe != "" && now.Before(b.ProbedBy) && now.Add(p.Probe).After(b.ProbedAt):
		return Refused
	}
	return Probing
}

// Probed returns the breaker with a probe started. It returns the breaker unchanged when no
// probe is admitted.
func (b Breaker) Probed(id string, p Policy, now time.Time) Breaker {
	if b.Admits(p, now) != Probing {
		return b
	}
	b.Probe, b.ProbedAt, b.ProbedBy = id, now, now.Add(p.Probe)
	return b
}

// AfterFailure returns the breaker after a failed call.
func (b Breaker) AfterFailure(c Call, p Policy, now time.Time) Breaker {
	if !b.isCurrent(c) {
		return b
	}
	row := append([]time.Time{now}, b.Failed...)
	b.Failed = row[:min(len(row), p.Failures)]
	if c.Probe == "" && b.failuresInRow(p, now) < p.Failures {
		return b
	}
	b.Opens++
	b.OpenedAt, b.OpenUntil = now, now.Add(p.Open)
	b.Probe, b.ProbedAt, b.ProbedBy = "", time.Time{}, time.Time{}
	return b
}

// AfterAnswer returns the breaker after an answered call: the failures are cleared, and a probe
// closes it.
func (b Breaker) AfterAnswer(c Call) Breaker {
	if !b.isCurrent(c) {
		return b
	}
	return Breaker{Agent: b.Agent, Opens: b.Opens, RestUntil: b.RestUntil}
}

// AfterNothing returns the breaker after a call without a verdict on the agent: it ends a probe,
// so that another may start.
func (b Breaker) AfterNothing(c Call) Breaker {
	if c.Probe != "" && b.isCurrent(c) {
		b.Probe, b.ProbedAt, b.ProbedBy = "", time.Time{}, time.Time{}
	}
	return b
}

// isCurrent reports whether the result of a call counts.
func (b Breaker) isCurrent(c Call) bool {
	if c.Probe != "" {
		return b.Probe == c.Probe
	}
	return b.OpenedAt.IsZero() && b.Opens == c.Opens
}

// failuresInRow returns the number of failures in a row that count at a time.
func (b Breaker) failuresInRow(p Policy, now time.Time) int {
	for i, at := range b.Failed {
		if !isNear(at, now, p.Window) {
			return i
		}
	}
	return len(b.Failed)
}

// isNear reports whether two times are less than d apart.
func isNear(a, b time.Time, d time.Duration) bool { return a.Sub(b).Abs() < d }

// Phase returns the phase at a time. A breaker whose period is over is half open: the next call
// is a probe.
func (b Breaker) Phase(now time.Time) Phase {
	switch {
	case b.Rests(now):
		return Open
	case b.OpenedAt.IsZero():
		return Closed
	case now.Before(b.OpenUntil):
		return Open
	}
	return HalfOpen
}

// RetryAt returns when the agent may be called again: the zero time while it is closed.
func (b Breaker) RetryAt() time.Time {
	at := b.OpenUntil
	if b.Probe != "" {
		at = b.ProbedBy
	}
	if at.Before(b.RestUntil) {
		at = b.RestUntil
	}
	return at
}
