package agent

import (
	"time"
)

// Phase is how a breaker stands.
type Phase int

// The phases. Their numbers are those of the gauge that shows them.
const (
	Closed   Phase = iota // the agent is called
	Open                  // it is not, until RetryAt
	HalfOpen              // one call finds out whether it is to be called again
)

var phases = [...]string{Closed: "closed", Open: "open", HalfOpen: "half_open"}

// String is the phase's name: closed, open or half_open.
func (p Phase) String() string { return phases[p] }

// MarshalText writes the phase's name.
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// Policy is when a breaker opens, and for how long.
type Policy struct {
	Failures int           // in a row, that open it; 1 to MostFailures
	Window   time.Duration // how old the failures of a row may be
	Open     time.Duration // how long nobody is called
	Probe    time.Duration // how long one call has to find out; longer than a call can take
}

// MostFailures bounds Policy.Failures: so many times are kept of each agent.
const MostFailures = 20

// Usual is the policy where none is set (document 001).
var Usual = Policy{Failures: 5, Window: 5 * time.Minute, Open: time.Minute, Probe: 40 * time.Second}

// whole is the policy with what it does not say taken from Usual.
func (p Policy) whole() Policy {
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

// Breaker is what an account knows of whether an agent answers. The zero Breaker
// is that of an agent nobody failed to reach; it is closed.
//
// The machines that move it have clocks of their own. So a time holds for as long
// as it is meant to on either side of now, and no longer: one that a fast clock
// wrote into the future locks nobody out for good.
type Breaker struct {
	Agent     string      // the id of its server
	Failed    []time.Time // the failures of the row, the last first, at most Policy.Failures
	Opens     int64       // how often it opened; calls that began before the last time count for nothing
	OpenedAt  time.Time   // zero while it is closed
	OpenUntil time.Time
	Probe     string // whose call finds out; "" when nobody's does
	ProbedAt  time.Time
	ProbedBy  time.Time // when the probe is given up, and another may be made
}

// Call is an admitted call, as the breaker was when it was: what its result counts
// for depends on it.
type Call struct {
	Opens int64
	Probe string // the probe that it is; "" for none
}

// Admission is whether an agent may be called.
type Admission int

// What a breaker says to a caller.
const (
	Admitted Admission = iota
	Probing            // by whoever takes the probe first
	Refused
)

// Admits says whether the agent may be called at a time.
func (b Breaker) Admits(p Policy, now time.Time) Admission {
	switch {
	case b.OpenedAt.IsZero():
		return Admitted
	case now.Before(b.OpenUntil) && now.Add(p.Open).After(b.OpenedAt):
		return Refused
	case b.Probe != "" && now.Before(b.ProbedBy) && now.Add(p.Probe).After(b.ProbedAt):
		return Refused
	}
	return Probing
}

// Probed is the breaker once somebody took its probe. It stays as it is while it
// does not admit one.
func (b Breaker) Probed(id string, p Policy, now time.Time) Breaker {
	if b.Admits(p, now) != Probing {
		return b
	}
	b.Probe, b.ProbedAt, b.ProbedBy = id, now, now.Add(p.Probe)
	return b
}

// AfterFailure is the breaker once a call failed.
func (b Breaker) AfterFailure(c Call, p Policy, now time.Time) Breaker {
	if !b.counts(c) {
		return b
	}
	row := append([]time.Time{now}, b.Failed...)
	b.Failed = row[:min(len(row), p.Failures)]
	if c.Probe == "" && b.row(p, now) < p.Failures {
		return b
	}
	b.Opens++
	b.OpenedAt, b.OpenUntil = now, now.Add(p.Open)
	b.Probe, b.ProbedAt, b.ProbedBy = "", time.Time{}, time.Time{}
	return b
}

// AfterAnswer is the breaker once a call was answered: the row is over, and a
// probe closes it.
func (b Breaker) AfterAnswer(c Call) Breaker {
	if !b.counts(c) {
		return b
	}
	return Breaker{Agent: b.Agent, Opens: b.Opens}
}

// AfterNothing is the breaker once a call ended that says nothing of the agent: a
// probe is another's to make.
func (b Breaker) AfterNothing(c Call) Breaker {
	if c.Probe != "" && b.counts(c) {
		b.Probe, b.ProbedAt, b.ProbedBy = "", time.Time{}, time.Time{}
	}
	return b
}

// counts reports whether the result of a call changes anything.
func (b Breaker) counts(c Call) bool {
	if c.Probe != "" {
		return b.Probe == c.Probe
	}
	return b.OpenedAt.IsZero() && b.Opens == c.Opens
}

// row is how many failures stand in a row at a time, from the last one on.
func (b Breaker) row(p Policy, now time.Time) int {
	for i, at := range b.Failed {
		if !near(at, now, p.Window) {
			return i
		}
	}
	return len(b.Failed)
}

// near reports whether two times are less than d apart.
func near(a, b time.Time, d time.Duration) bool { return a.Sub(b).Abs() < d }

// Phase is how the breaker stands at a time. One whose time is over is half open:
// the next call finds out.
func (b Breaker) Phase(now time.Time) Phase {
	switch {
	case b.OpenedAt.IsZero():
		return Closed
	case now.Before(b.OpenUntil):
		return Open
	}
	return HalfOpen
}

// RetryAt is when the agent is called again: zero while it is closed.
func (b Breaker) RetryAt() time.Time {
	if b.Probe != "" {
		return b.ProbedBy
	}
	return b.OpenUntil
}
